"""Bounds for markup before a real HTML parser sees it.

The parsing rules of HTML let a small document cost much: a scan of all open elements for each new one, a
comparison of each attribute with all others, formatting elements re-opened in every paragraph. Documents
long enough for that to hurt are rewritten here in one linear walk: comments and raw text elements go, what
nests too deep loses its tag, and every `<` that begins no tag is escaped, so that the parser sees the tags
counted here.
"""

import re
from collections import Counter

from reedbed.ingest.clean.markup import (
    MAX_ATTRIBUTES,
    NAME_ENDS,
    find_tag_end,
    read_attributes,
    write_tag,
)

MAX_CHARS = 1_000_000
MAX_TAGS = 60_000
MAX_DEPTH = 96
MAX_FORMATTING = 8

# Under these a document cannot cost more than some milliseconds, whatever it says.
_HARMLESS_CHARS = 30_000
_HARMLESS_TAGS = 600
_LONG_ATTRIBUTES = 2_000

_TOKEN = re.compile(
    r"<(?:!--(?:-?>|.*?(?:--!?>|\Z))|[!?][^>]*(?:>|\Z)|/[^a-zA-Z>][^>]*(?:>|\Z)|/>"
    r"|(?P<close>/?)(?P<name>[a-zA-Z][^ \t\n\f\r/>]*))",
    re.DOTALL,
)
_RAW_TEXT_ENDS = {
    name: re.compile(rf"</{name}{NAME_ENDS}", re.IGNORECASE)
    for name in (
        "script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes", "plaintext",
    )
}  # fmt: skip
_VOID = frozenset(
    (
        "area", "base", "br", "col", "embed", "hr", "img", "input", "keygen", "link", "meta", "param",
        "source", "track", "wbr", "bgsound", "basefont", "frame", "image",
    )
)  # fmt: skip
_FORMATTING = frozenset(
    (
        "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
    )
)  # fmt: skip


def bounded(html: str) -> str:
    if len(html) <= _HARMLESS_CHARS and html.count("<") <= _HARMLESS_TAGS:
        return html
    return _Walk().through(html[:MAX_CHARS])


class _Walk:
    def __init__(self) -> None:
        self.open: Counter[str] = Counter()
        self.depth = 0
        self.formatting = 0
        self.tags = 0

    def through(self, html: str) -> str:
        kept: list[str] = []
        end = 0
        while token := _TOKEN.search(html, end):
            kept.append(html[end : token.start()].replace("<", "&lt;"))
            end = token.end()
            if token["name"]:
                tag_end = find_tag_end(html, end)
                if tag_end == -1 or self.tags > MAX_TAGS:
                    return "".join(kept)
                name, attributes, end = token["name"].lower(), html[end:tag_end], tag_end + 1
                if token["close"]:
                    kept.append(self._closed(name))
                elif name in _RAW_TEXT_ENDS:
                    kept.append(f"<iframe{attributes}></iframe>" if name == "iframe" else "")
                    end = _past_raw_text(html, name, end)
                else:
                    kept.append(self._tag(name, attributes))
        kept.append(html[end:].replace("<", "&lt;"))
        return "".join(kept)

    def _tag(self, name: str, attributes: str) -> str:
        self.tags += 1
        if (
            len(attributes) > _LONG_ATTRIBUTES
            and attributes.count("=") + attributes.count(" ") > MAX_ATTRIBUTES
        ):
            tag = write_tag(name, read_attributes(attributes))
        else:
            tag = f"<{name}{attributes}>"
        return tag if name in _VOID or self._opened(name) else ""

    def _opened(self, name: str) -> bool:
        formatting = name in _FORMATTING
        if self.depth >= MAX_DEPTH or (formatting and self.formatting >= MAX_FORMATTING):
            return False
        self.depth += 1
        self.formatting += formatting
        self.open[name] += 1
        return True

    def _closed(self, name: str) -> str:
        self.tags += 1
        if not self.open[name]:
            # A stray </p> or </br> makes an element; no other stray end tag does anything.
            return ""
        self.depth -= 1
        self.formatting -= name in _FORMATTING
        self.open[name] -= 1
        return f"</{name}>"


def _past_raw_text(html: str, name: str, start: int) -> int:
    """Where the text after a raw text element begins: behind its end tag, or at the end of the document."""
    closing = _RAW_TEXT_ENDS[name].search(html, start)
    end = find_tag_end(html, closing.end()) if closing else -1
    return len(html) if end == -1 else end + 1
