"""Cut clean markup into the blocks that a translator gets, and put the translated blocks back into it.

A block is the text between two block-level tags. Its inline tags become numbered markers, `⟦1⟧…⟦/1⟧`, and what must
not be translated (code, images, addresses) becomes one marker, `⟦2⟧`. All other markup is kept as it is, byte for
byte, so that only the words of a block can change.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import unescape

from reedbed.domain.records import record
from reedbed.domain.translations import MARKER, block_key

# A formula is one tag.
_TAG = re.compile(r"<(/?)([a-z0-9]+)((?<=<math)(?: [^>]*)?>.*?</math|[^>]*)>", re.DOTALL)
_PAIRED = frozenset(
    "a abbr b bdi bdo cite del dfn em i ins mark q s small span strong sub sup time u".split()  # noqa: SIM905
)
_ATOMIC = frozenset("audio code img kbd math picture ruby samp var video wbr".split())  # noqa: SIM905
_VOID = frozenset("br col hr img math source wbr".split())  # noqa: SIM905
_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_LETTER = re.compile(r"[^\W\d_]")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")
_ENDS_SENTENCE = re.compile(r"[.!?…:。！？][\"'”’»)\]]*\s*\Z")
_WHOLE_PARAGRAPH = re.compile(r"<(p|h[1-6])(?: [^>]*)?>\Z")
_PARAGRAPH_NAME = re.compile(r"p|h[1-6]")
_OWN_LANGUAGE = re.compile(r' (?:lang|dir)="[^"]*"')
_OWN_ID = re.compile(r' id="[^"]*"')
SPLIT_CHARS = 1_200
"""Longer texts are split between sentences."""


@record
class Block:
    key: str
    """The hash of the text with its markers."""
    text: str
    tags: tuple[tuple[str, str], ...]
    """For each marker, the start and the end tag, or the whole markup and nothing."""

    def markup(self, text: str) -> str:
        """The text, in which markers are replaced by the tags that they stand for."""
        return MARKER.sub(lambda found: self.tags[int(found[2]) - 1][bool(found[1])], _escape(text))


@record
class CutMarkup:
    parts: tuple[str | Block, ...]
    """In this order they are the markup again. Every tag outside blocks is one part."""

    @property
    def blocks(self) -> list[Block]:
        return [part for part in self.parts if isinstance(part, Block)]


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def cut_blocks(clean_html: str) -> CutMarkup:
    parts: list[str | Block] = []
    run: list[str] = []
    verbatim = 0
    for token in _tokens(clean_html):
        tag = _TAG.fullmatch(token)
        if tag is not None and tag[2] == "pre":
            verbatim += -1 if tag[1] else 1
        if verbatim == 0 and (tag is None or tag[2] in _PAIRED or tag[2] in _ATOMIC or tag[2] in ("br", "source")):
            run.append(token)
            continue
        parts += _cut_run(run)
        run = []
        parts.append(token)
    return CutMarkup((*parts, *_cut_run(run)))


def put_together(markup: CutMarkup, translate: Callable[[Block], str]) -> str:
    """The markup with other contents of its blocks."""
    return "".join(part if isinstance(part, str) else translate(part) for part in markup.parts)


def _tokens(html: str) -> Iterator[str]:
    end = 0
    for tag in _TAG.finditer(html):
        if tag.start() > end:
            yield html[end : tag.start()]
        yield tag[0]
        end = tag.end()
    if end < len(html):
        yield html[end:]


# --- One run of text and inline tags


def _cut_run(tokens: Sequence[str]) -> list[str | Block]:
    if not any(_LETTER.search(token) for token in tokens if not token.startswith("<")):
        return list(tokens)
    parts: list[str | Block] = []
    for piece in _pieces(_grouped(tokens)):
        start, end = _outer(piece)
        parts += [*piece[:start], *_as_block(piece[start:end]), *piece[end:]]
    return parts


def _grouped(tokens: Sequence[str]) -> list[str]:
    """The tokens, in which elements that are not translated are one token."""
    grouped: list[str] = []
    position = 0
    while position < len(tokens):
        tag = _TAG.fullmatch(tokens[position])
        length = 1
        if tag is not None and not tag[1]:
            end = _end_of_element(tokens, position)
            is_mark = tag[2] in ("sup", "sub") and not _has_letters(tokens[position:end])
            if tag[2] in _ATOMIC or (is_mark and end > position + 1):
                length = end - position
        grouped.append("".join(tokens[position : position + length]))
        position += length
    return grouped


def _has_letters(tokens: Sequence[str]) -> bool:
    return any(len(_LETTER.findall(token)) > 1 for token in tokens if not token.startswith("<"))


def _end_of_element(tokens: Sequence[str], start: int) -> int:
    """The position after the end tag; after the start tag if there is none in this run."""
    opened = _TAG.fullmatch(tokens[start])
    assert opened is not None
    if opened[2] in _VOID:
        return start + 1
    depth = 0
    for position in range(start, len(tokens)):
        tag = _TAG.fullmatch(tokens[position])
        if tag is not None and tag[2] == opened[2]:
            depth += -1 if tag[1] else 1
            if depth == 0:
                return position + 1
    return start + 1


def _pieces(tokens: Sequence[str]) -> Iterator[list[str]]:
    """Parts that can be translated alone: cut at unpaired tags, at line breaks after sentences, and in long texts."""
    piece: list[str] = []
    depth = length = 0
    unpaired = _unpaired(tokens)
    for position, token in enumerate(tokens):
        tag = _TAG.fullmatch(token)
        if tag is not None and (position in unpaired or (tag[2] == "br" and depth == 0 and _ends_here(piece))):
            yield piece
            yield [token]
            piece, length = [], 0
            continue
        if tag is not None and tag[2] in _PAIRED:
            depth += -1 if tag[1] else 1
        if tag is None and depth == 0 and length + len(token) > SPLIT_CHARS:
            *whole, token = _split(token)
            for text in whole:
                yield [*piece, text]
                piece, length = [], 0
        piece.append(token)
        length += len(token) if tag is None else 0
    yield piece


def _split(text: str) -> list[str]:
    """The text in parts that end with a sentence."""
    parts, start = [""], 0
    for found in _SENTENCE_END.finditer(text):
        parts[-1] += text[start : found.end()]
        start = found.end()
        if len(parts[-1]) > SPLIT_CHARS // 2:
            parts.append("")
    parts[-1] += text[start:]
    return parts


def _ends_here(piece: Sequence[str]) -> bool:
    """Whether a line break ends a paragraph, because a sentence or another line ends before it."""
    before = next((token for token in reversed(piece) if token.strip()), "")
    return before.startswith("<br") or _ENDS_SENTENCE.search(before) is not None


def _unpaired(tokens: Sequence[str]) -> set[int]:
    opened: list[tuple[str, int]] = []
    unpaired: set[int] = set()
    for position, token in enumerate(tokens):
        tag = _TAG.fullmatch(token)
        if tag is None or tag[2] not in _PAIRED:
            continue
        if not tag[1]:
            opened.append((tag[2], position))
        elif opened and opened[-1][0] == tag[2]:
            opened.pop()
        else:
            unpaired.add(position)
    return unpaired | {position for _, position in opened}


def _outer(piece: Sequence[str]) -> tuple[int, int]:
    """Where the text begins and ends, without tags and spaces around all of it."""
    start, end = 0, len(piece)
    while start < end and (end - start > 1 or not _TAG.match(piece[start])):
        first, last = piece[start], piece[end - 1]
        opened = _TAG.match(first)
        if not first.strip() or (opened and not opened[1] and opened[2] not in _PAIRED):
            start += 1
        elif not last.strip() or ((tag := _TAG.match(last)) and tag[2] not in _PAIRED):
            end -= 1
        elif opened and not opened[1] and _end_of_element(piece, start) == end and end - start > 1:
            start, end = start + 1, end - 1
        else:
            break
    return start, end


def _as_block(tokens: Sequence[str]) -> list[str | Block]:
    """The block, between the spaces around it. Text that contains our brackets or no word stays as it is."""
    source = "".join(tokens)
    words = "".join(token for token in tokens if not token.startswith("<"))
    if not _LETTER.search(_ADDRESS.sub("", words)) or "⟦" in source or "⟧" in source:
        return list(tokens)
    text, tags = _with_markers(tokens)
    before = text[: len(text) - len(text.lstrip())]
    after = text[len(text.rstrip()) :]
    stripped = text.strip()
    return [part for part in (before, Block(block_key(stripped), stripped, tuple(tags)), after) if part]


def _with_markers(tokens: Sequence[str]) -> tuple[str, list[tuple[str, str]]]:
    text: list[str] = []
    tags: list[tuple[str, str]] = []
    opened: list[int] = []

    def atomic(markup: str) -> str:
        tags.append((markup, ""))
        return f"⟦{len(tags)}⟧"

    for token in tokens:
        tag = _TAG.match(token)
        if tag is None:
            text.append(_ADDRESS.sub(lambda found: atomic(_escape(found[0])), unescape(token)))
        elif tag[2] not in _PAIRED or tag.end() < len(token):
            text.append(atomic(token))
        elif tag[1]:
            number = opened.pop()
            tags[number - 1] = (tags[number - 1][0], token)
            text.append(f"⟦/{number}⟧")
        else:
            text.append(atomic(token))
            opened.append(len(tags))
    return "".join(text), tags


# --- Original and translation beside each other


@record
class Pair:
    """A block and its translation, each as the contents of an element."""

    start: str
    """The start tag of the element, without language."""
    end: str
    original: str
    translated: str
    is_phrase: bool
    """It stands within a paragraph, where no other paragraph may be."""


def put_in_pairs(markup: CutMarkup, translate: Callable[[Block], str | None], write: Callable[[Pair], str]) -> str:
    """The markup with each block beside its translation; a block without one stands alone."""
    parts, written, position = markup.parts, list[str](), 0
    while position < len(parts):
        end = _end_of_paragraph(parts, position)
        inner = parts[position + 1 : end - 1] if end else parts[position : position + 1]
        block = next((item for item in inner if isinstance(item, Block)), None)
        translated = None if block is None else translate(block)
        if block is None or translated is None:
            written.append(_joined(parts[position : end or position + 1]))
        else:
            start, stop = _element(parts, position, end)
            other = _joined(inner, {block.key: translated})
            written.append(write(Pair(start, stop, _joined(inner), other, start == "<span>")))
        position = end or position + 1
    return "".join(written)


def without_id(start_tag: str) -> str:
    return _OWN_ID.sub("", start_tag)


def _joined(parts: Sequence[str | Block], translated: Mapping[str, str] | None = None) -> str:
    return "".join(
        part if isinstance(part, str) else (translated or {}).get(part.key) or part.markup(part.text) for part in parts
    )


def _element(parts: Sequence[str | Block], position: int, end: int | None) -> tuple[str, str]:
    if end is not None:
        return _OWN_LANGUAGE.sub("", str(parts[position])), str(parts[end - 1])
    return ("<span>", "</span>") if _is_in_paragraph(parts, position) else ("<div>", "</div>")


def _end_of_paragraph(parts: Sequence[str | Block], start: int) -> int | None:
    """The end of a paragraph or heading that begins here, if it holds one block and nothing else of weight."""
    opened = _WHOLE_PARAGRAPH.match(str(parts[start]))
    blocks = 0
    for position in range(start + 1, len(parts) if opened else 0):
        part = parts[position]
        if isinstance(part, Block):
            blocks += 1
        elif opened and part == f"</{opened[1]}>":
            return position + 1 if blocks == 1 else None
        elif (tag := _TAG.match(part)) and tag[2] not in _PAIRED:
            return None
    return None


def _is_in_paragraph(parts: Sequence[str | Block], position: int) -> bool:
    """Whether the innermost open paragraph or heading has not ended before this part."""
    for part in reversed(parts[:position]):
        tag = _TAG.match(part) if isinstance(part, str) else None
        if tag is not None and _PARAGRAPH_NAME.fullmatch(tag[2]):
            return not tag[1]
        if tag is not None and tag[2] not in _PAIRED and tag[2] not in _ATOMIC and tag[2] != "br":
            return False
    return False
