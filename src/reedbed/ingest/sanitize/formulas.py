"""Formulas and task lists, rewritten before cleaning.

What stands between `<math>` and `</math>` becomes the small part of MathML that `rules.py` knows: every element
ended, text in tokens alone, tokens without elements. So no parser can find HTML in a formula, where old and new
browsers disagree about what it means.
"""

import re
from html import escape, unescape

from reedbed.ingest.sanitize.attributes import MAX_TITLE
from reedbed.ingest.sanitize.media import NAME_ENDS, find_tag_end, read_attributes, write_tag
from reedbed.ingest.sanitize.rules import ELEMENTS, FORMULA_ELEMENTS, FORMULA_TOKENS

_COMMENT = r"<!--(?:-?>|.*?(?:--!?>|\Z))"
# Also what is skipped: a formula in a comment, a script or the attribute of another tag is none.
_MATH = re.compile(
    rf"{_COMMENT}|<(?P<raw>script|style){NAME_ENDS}.*?(?:</(?P=raw){NAME_ENDS}|\Z)"
    rf"|<(?P<end>/?)(?:(?:m|mml|math):)?(?P<name>math){NAME_ENDS}"
    r"|(?P<tag><(?=[a-zA-Z][^<>]*<)[a-zA-Z][^ \t\n\f\r/<>]*)",
    re.IGNORECASE | re.DOTALL,
)
_ANY_MATH = re.compile(rf"</?(?:(?:m|mml|math):)?math{NAME_ENDS}", re.IGNORECASE)
_END_OF_MATH = re.compile(rf"</(?:(?:m|mml|math):)?math{NAME_ENDS}", re.IGNORECASE)
_BLOCK = re.compile(rf"</?(?:p|div|h[1-6]|[ou]l|li|table|t[dhr]|blockquote|pre|hr|br|img){NAME_ENDS}", re.IGNORECASE)
_TAG = re.compile(rf"{_COMMENT}|<[!?][^>]*>?|<(/?)(?:(?:m|mml|math):)?([a-zA-Z][^ \t\n\f\r/>]*)|<", re.DOTALL)
# Parts of MathML that only group what they hold, or that browsers have given up.
_GROUPS = frozenset(("maction", "menclose", "mpadded", "none", "semantics"))
_RENAMED = dict.fromkeys(_GROUPS, "mrow") | {"mlabeledtr": "mtr"}
_SKIPPED = frozenset(("annotation", "annotation-xml", "script", "style", "svg"))
_MAX_DEPTH = 32
_SPACE = " \t\n\f\r\xa0"  # `str.isspace` also counts control characters
_FENCE = "<mrow><mo>"


def rewrite_formulas(html: str) -> str:
    if _ANY_MATH.search(html) is None:
        return html
    last_end = max((tag.start() for tag in _END_OF_MATH.finditer(html)), default=-1)
    parts: list[str] = []
    end = 0
    while start := _MATH.search(html, end):
        in_tag = start["name"] or start["tag"]
        tag_end = find_tag_end(html, start.end()) if in_tag else start.end() - 1
        if tag_end == -1:
            break
        if not start["name"]:
            parts.append(html[end : tag_end + 1])
            end = tag_end + 1
            continue
        parts.append(html[end : start.start()])
        end = tag_end + 1
        if not start["end"] and html[tag_end - 1] != "/":
            inside, end = _inside(html, end, ended=end <= last_end)
            parts.append(_Formula().write(read_attributes(html[start.end() : tag_end]), inside))
    return _without_copies("".join(parts) + html[end:]) if end else html


def _inside(html: str, start: int, *, ended: bool) -> tuple[str, int]:
    """The content of a formula and the position behind it. Without an end tag it ends with a block, as in a browser."""
    if not ended:
        block = _BLOCK.search(html, start)
        end = block.start() if block else len(html)
        return html[start:end], end
    closing = _END_OF_MATH.search(html, start)
    end = find_tag_end(html, closing.end()) if closing else -1
    return html[start : closing.start() if closing else -1], len(html) if end == -1 else end + 1


class _Formula:
    def __init__(self) -> None:
        self.parts: list[str] = []
        self.open: list[tuple[str, str]] = []  # the name as it was written, and what ends it
        self.separators: list[str] = []  # of the open <mfenced>
        self.has_text = False

    def write(self, attributes: dict[str, str], inside: str) -> str:
        self._start("math", attributes)
        end = 0
        while tag := _TAG.search(inside, end):
            self._text(inside[end : tag.start()])
            end = self._tag(inside, tag)
        self._text(inside[end:])
        self._end("math")
        alternative = escape(attributes.get("alttext", "")[:MAX_TITLE], quote=False)
        return "".join(self.parts) if self.has_text else alternative

    def _tag(self, inside: str, tag: re.Match[str]) -> int:
        """Write what stands for the tag; return the position behind it."""
        name = (tag[2] or "").lower()
        if not name:
            if tag[0] == "<":
                self._text("&lt;")
            return tag.end()
        tag_end = find_tag_end(inside, tag.end())
        if tag_end == -1:
            return len(inside)
        if tag[1]:
            self._end(name)
        elif name in _SKIPPED:
            return _end_of(inside, name, tag_end)
        elif self.open[-1][0] not in FORMULA_TOKENS and self._may_open(name):
            opened = self._start(name, read_attributes(inside[tag.end() : tag_end]))
            if opened and inside[tag_end - 1] == "/":
                self._end(name)
        return tag_end + 1

    def _may_open(self, name: str) -> bool:
        """Whether the element stays within the depth, which counts <mfenced> as two and leaves a last level to text."""
        depth = len(self.open) + len(self.separators) + (name == "mfenced")
        return depth < _MAX_DEPTH - (name not in FORMULA_TOKENS)

    def _start(self, name: str, attributes: dict[str, str]) -> bool:
        written = _RENAMED.get(name, name)
        if self.open and self.open[-1][0] == "mfenced" and not self.parts[-1].startswith(_FENCE):
            self.parts.append(self.separators[-1])
        if name == "mfenced":
            opening, closing = attributes.get("open", "("), attributes.get("close", ")")
            separator = escape(attributes.get("separators", ",").strip()[:1], quote=False)
            self.separators.append(separator and f"<mo>{separator}</mo>")
            self.parts.append(f"{_FENCE}{escape(opening[:4], quote=False)}</mo><mrow>")
            self.open.append((name, f"</mrow><mo>{escape(closing[:4], quote=False)}</mo></mrow>"))
        elif written not in FORMULA_ELEMENTS or (written == "math" and self.open):
            return False
        else:
            allowed = ELEMENTS[written].attributes
            kept = {key: value for key, value in attributes.items() if key in allowed}
            self.parts.append(write_tag(written, kept))
            self.open.append((name, f"</{written}>"))
        return True

    def _end(self, name: str) -> None:
        if any(open_name == name for open_name, _ in self.open):
            while self.open:
                open_name, end_tag = self.open.pop()
                self.parts.append(end_tag)
                if open_name == "mfenced":
                    self.separators.pop()
                if open_name == name:
                    return

    def _text(self, text: str) -> None:
        blank = not (unescape(text) if "&" in text else text).strip(_SPACE)
        self.has_text |= not blank
        if self.open[-1][0] in FORMULA_TOKENS:
            self.parts.append(text)
        elif not blank:
            self.parts.append(f"<mtext>{text.strip(_SPACE)}</mtext>")


def _end_of(inside: str, name: str, tag_end: int) -> int:
    if inside[tag_end - 1] == "/":
        return tag_end + 1
    closing = re.compile(rf"</(?:(?:m|mml|math):)?{name}{NAME_ENDS}", re.IGNORECASE).search(inside, tag_end)
    after = find_tag_end(inside, closing.end()) if closing else -1
    return len(inside) if after == -1 else after + 1


# --- Copies of a formula, for browsers without MathML

_FALLBACK_IMAGE = re.compile(r'<img(?=[^<>]* class="[^"<>]*mwe-math-fallback-image)', re.IGNORECASE)
_COPY = re.compile(r'<span(?=[^<>]* class="katex-html")[^<>]*>')
_SPAN = re.compile(rf"<(/?)span{NAME_ENDS}", re.IGNORECASE)


def _without_copies(html: str) -> str:
    if "mwe-math-fallback-image" in html:
        html = _without_fallback_images(html)
    return _without_katex(html) if "katex-html" in html else html


def _without_fallback_images(html: str) -> str:
    parts: list[str] = []
    end = 0
    while image := _FALLBACK_IMAGE.search(html, end):
        tag_end = find_tag_end(html, image.end())
        if tag_end == -1:
            break
        parts.append(html[end : image.start()])
        end = tag_end + 1
    return "".join(parts) + html[end:]


def _without_katex(html: str) -> str:
    parts: list[str] = []
    end = 0
    while copy := _COPY.search(html, end):
        depth = 1
        for span in _SPAN.finditer(html, copy.end()):
            depth += -1 if span[1] else 1
            if not depth:
                break
        else:
            break
        parts.append(html[end : copy.start()])
        end = span.end() + 1
    return "".join(parts) + html[end:]


# --- Boxes of task lists

_INPUT = re.compile(rf"<input{NAME_ENDS}", re.IGNORECASE)
_START_OF_ITEM = re.compile(r"<li(?:\s[^<>]*)?>\s*(?:<(?:p|label|span|div)(?:\s[^<>]*)?>\s*){0,3}\Z", re.IGNORECASE)
_LONGEST_START = 400


def boxes_to_text(html: str) -> str:
    """Write ☐ and ☑ for the boxes at the start of list items, and for others that nobody was meant to press."""
    parts: list[str] = []
    end = 0
    while box := _INPUT.search(html, end):
        tag_end = find_tag_end(html, box.end())
        if tag_end == -1:
            break
        attributes = read_attributes(html[box.end() : tag_end])
        before = html[max(0, box.start() - _LONGEST_START) : box.start()]
        parts.append(html[end : box.start()])
        if attributes.get("type", "").lower() == "checkbox" and (
            "disabled" in attributes or _START_OF_ITEM.search(before)
        ):
            space = "" if html[tag_end + 1 : tag_end + 2].isspace() else " "
            parts.append(("☑" if "checked" in attributes else "☐") + space)
        end = tag_end + 1
    return "".join(parts) + html[end:]
