"""Bounds for markup before a real HTML parser sees it.

The parsing rules of HTML let a small document cost much: a scan of all open elements for each new one, a
comparison of each attribute with all others, formatting elements re-opened in every paragraph. Documents
long enough for that to hurt are rewritten here in one linear walk: comments and raw text elements go, what
nests too deep loses its tag, and every `<` that begins no tag is escaped, so that the parser sees the tags
counted here.
"""

import re
from collections import Counter

from reedbed.ingest.clean.markup import ATTRIBUTES, MAX_ATTRIBUTES, NAME_ENDS, read_attributes, write_tag

MAX_CHARS = 1_000_000
MAX_TAGS = 60_000
MAX_DEPTH = 96
MAX_FORMATTING = 8

# Under these a document cannot cost more than some milliseconds, whatever it says.
_HARMLESS_CHARS = 30_000
_HARMLESS_TAGS = 600
_LONG_ATTRIBUTES = 2_000

_TOKEN = re.compile(
    r"<(?:(?P<comment>!--(?:-?>|.*?(?:--!?>|\Z))|[!?][^>]*(?:>|\Z)|/[^a-zA-Z>][^>]*(?:>|\Z)|/>)"
    rf"|(?P<raw>script|style|textarea|title|xmp|iframe|noembed|noframes|plaintext){NAME_ENDS}"
    rf"(?P<frame>{ATTRIBUTES})>.*?(?:</(?P=raw){NAME_ENDS}[^>]*>|\Z)"
    rf"|(?P<close>/?)(?P<name>[a-zA-Z][^ \t\n\f\r/>]*+)(?P<attributes>{ATTRIBUTES})>"
    r"|(?P<unfinished>/?[a-zA-Z]))",
    re.IGNORECASE | re.DOTALL,
)
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
        for token in _TOKEN.finditer(html):
            kept.append(html[end : token.start()].replace("<", "&lt;"))
            end = token.end()
            if token["unfinished"] or self.tags > MAX_TAGS:
                return "".join(kept)
            kept.append(self._token(token))
        kept.append(html[end:].replace("<", "&lt;"))
        return "".join(kept)

    def _token(self, token: re.Match[str]) -> str:
        if token["name"]:
            return self._tag(token)
        if token["raw"] and token["raw"].lower() == "iframe":
            return f"<iframe{token['frame']}></iframe>"
        return ""

    def _tag(self, token: re.Match[str]) -> str:
        self.tags += 1
        name = token["name"].lower()
        if token["close"]:
            return self._closed(name)
        attributes = token["attributes"]
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
        if not self.open[name]:
            # A stray </p> or </br> makes an element; no other stray end tag does anything.
            return ""
        self.depth -= 1
        self.formatting -= name in _FORMATTING
        self.open[name] -= 1
        return f"</{name}>"
