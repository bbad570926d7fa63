"""Text: cleaning, folding for the search index, and the differences between two versions."""

import codecs
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from itertools import groupby
from typing import Literal

from reedbed.domain.records import record

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# Control characters, zero-width characters and bidirectional overrides. Joiners and direction marks stay:
# Persian, Indic scripts and many emoji need them.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u180e\u200b\u202a-\u202e\u2060-\u2069\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff]"
)
_INVISIBLE_ALONE = "\u061c\u200c\u200d\u200e\u200f "


def clean_line(text: str) -> str:
    """A name or title as one line without invisible characters; empty if nothing visible remains."""
    line = " ".join(text.split())
    if line.isascii() and line.isprintable():
        return line
    line = " ".join(_HIDDEN.sub("", line).split())
    return line if line.strip(_INVISIBLE_ALONE) else ""


def storable(text: str) -> str:
    """Without NUL, which PostgreSQL rejects, and lone surrogates, which UTF-8 cannot encode."""
    return _UNSTORABLE.sub("", text)


def writable(text: str) -> str:
    """Without the characters that XML does not allow."""
    return _NOT_XML.sub("", text)


_RIGHT_TO_LEFT = frozenset(("ar", "arc", "ckb", "dv", "fa", "he", "iw", "ks", "ps", "sd", "ug", "ur", "yi"))


def text_direction(text: str, language: str = "") -> Literal["ltr", "rtl"]:
    """The direction of most letters of a text; for a text without letters, that of its language."""
    directions = [unicodedata.bidirectional(char) for char in text[:500]]
    right_to_left = sum(direction in ("R", "AL") for direction in directions)
    left_to_right = directions.count("L")
    if not right_to_left and not left_to_right:
        return "rtl" if language.partition("-")[0].lower() in _RIGHT_TO_LEFT else "ltr"
    return "rtl" if right_to_left > left_to_right else "ltr"


# --- Folding

CJK = "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003134f"

_MAX_FOREIGN_WORDS = 20
_CJK_RUN = re.compile(f"[{CJK}]+")
_EAST_ASIAN = re.compile(f"[{CJK}\u1100-\u11ff\uff61-\uffdc]")
_NON_WORD = re.compile(r"[\W_]")
_SYMBOLS = re.compile("[\u2122\u2120\u00a9\u00ae]")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_ACCENTED = re.compile("[\u00c0-\u04ff\u1e00-\u1fff]+")
_CHAR_FOLDS = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "þ": "th", "ħ": "h", "ı": "i"}
)
_FOLDED_CHARS = re.compile(f"[{''.join(map(chr, _CHAR_FOLDS))}]")


def index_text(text: str) -> str:
    """The text to index: only tokens and spaces. CJK runs become overlapping pairs."""
    folded = _fold_alphabet(text)
    if folded is None:
        folded = _fold_mixed(text, _fold_with_pairs)
    return _fold_with_pairs(text) if folded is None else folded


def query_tokens(text: str) -> tuple[str, ...]:
    """The tokens that must follow each other in `index_text` for a phrase to match."""
    tokens = index_text(text).split()
    # In the index a CJK run ends with its last character alone, so that single characters can be found.
    # Drop it from the query, because it does not occur inside a longer run.
    if len(tokens) > 1 and len(tokens[-1]) == 1 and is_cjk(tokens[-1]) and _ends_pair(tokens[-2], tokens[-1]):
        tokens.pop()
    return tuple(tokens)


def is_cjk(text: str) -> bool:
    return _CJK_RUN.match(text) is not None


def fold(text: str) -> str:
    """Folded, but without CJK pairs: nearly always one character out for one in."""
    folded = _fold_alphabet(text)
    if folded is None:
        folded = _fold_mixed(text, _fold_any)
    return _fold_any(text) if folded is None else folded


def fold_with_positions(text: str) -> tuple[str, Sequence[int]]:
    """The folded text, and for each of its characters the index in `text` it comes from."""
    if text.isascii():
        return _fold_ascii(text), range(len(text))
    parts: list[str] = []
    positions: list[int] = []
    for run in _runs_folding_one_to_one().finditer(text):
        start, end = run.span()
        if run.lastgroup:
            parts.append(fold(run[0]))
            positions += range(start, end)
        else:
            folded_chars = list(map(_fold_char, run[0]))
            parts += folded_chars
            positions += [start + index for index, folded in enumerate(folded_chars) for _ in folded]
    return "".join(parts), positions


@cache
def _runs_folding_one_to_one() -> re.Pattern[str]:
    """Runs of letters and signs that each fold to one character, as nearly all do outside of East Asia; and others."""
    ranges = ((0x20, 0x250), (0x370, 0x530), (0x2010, 0x2060), (0x20A0, 0x20C0), (0x2190, 0x2200))
    signs = [chr(code) for first, last in ranges for code in range(first, last)]
    safe = re.escape("".join(sign for sign in signs if len(_fold_char(sign)) == 1))
    return re.compile(f"(?P<safe>[{safe}]+)|[^{safe}]+")


def _fold_alphabet(text: str) -> str | None:
    if text.isascii():
        return _fold_ascii(text)
    western, *others = _ALPHABETS
    try:
        return western.fold(text)
    except UnicodeEncodeError as error:
        foreign = text[error.start : error.end]
    for alphabet in others:
        try:
            alphabet.fold(foreign)  # short, and tells most alphabets apart
            return alphabet.fold(text)
        except UnicodeEncodeError:
            continue
    return None


def _fold_ascii(text: str) -> str:
    return text.encode("ascii").translate(_ALPHABETS[0].table).decode("ascii")


def _fold_mixed(text: str, fold_foreign: Callable[[str], str]) -> str | None:
    """Fold a western text with a few foreign words, only those the slow way; None if there are too many."""
    western, parts, start = _ALPHABETS[0], list[str](), 0
    for _ in range(_MAX_FOREIGN_WORDS):
        try:
            return "".join((*parts, western.fold(text[start:])))
        except UnicodeEncodeError as foreign:
            word = slice(start + foreign.start, start + foreign.end)
            parts += (western.fold(text[start : word.start]), fold_foreign(text[word]))
            start = word.stop
    return None


def _fold_with_pairs(text: str) -> str:
    return _CJK_RUN.sub(_pairs, _fold_any(text))


def _pairs(run: re.Match[str]) -> str:
    chars = run.group()
    pairs = map(str.__add__, chars, chars[1:])
    return f" {' '.join(pairs)} {chars[-1]} "


def _ends_pair(token: str, char: str) -> bool:
    return len(token) == 2 and token[1] == char and is_cjk(token)


def _fold_any(text: str) -> str:
    text = _INVISIBLE.sub("", _SYMBOLS.sub(" ", text)).replace("\u00b5", "u")
    if _EAST_ASIAN.search(text):
        # Decomposing and recomposing Korean syllables and voiced kana would cost more than everything else.
        text = _ACCENTED.sub(_decomposed, unicodedata.normalize("NFKC", text).casefold())
    else:
        text = unicodedata.normalize("NFKD", text).casefold()
    text = _ACCENTS.sub("", text)
    if _FOLDED_CHARS.search(text):
        text = text.translate(_CHAR_FOLDS)
    return _NON_WORD.sub(" ", text)


def _decomposed(run: re.Match[str]) -> str:
    return unicodedata.normalize("NFKD", run.group())


@lru_cache(maxsize=4096)
def _fold_char(char: str) -> str:
    return _fold_any(char)


def _drop_symbols(error: UnicodeError) -> tuple[str, int]:
    """Codec error handler: drop emoji, arrows and loose accents, but fail on a letter of another alphabet."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    folded = "".join(map(_fold_char, error.object[error.start : error.end]))
    if folded.strip():
        raise error
    return folded, error.end


_DROP_SYMBOLS = "reedbed.blank-signs"
codecs.register_error(_DROP_SYMBOLS, _drop_symbols)


class _Alphabet:
    """A one-byte encoding used as a folding table: thirty times faster than folding single characters.

    Characters that fold to two letters become a control byte first and are expanded afterwards.
    """

    def __init__(self, encoding: str) -> None:
        self.encoding = encoding
        self.dropped = b""
        table, expanded = bytearray(b" " * 256), dict[str, int]()
        for byte in range(256):
            folded = _fold_any(bytes([byte]).decode(encoding, "replace"))
            if not folded:
                self.dropped += bytes([byte])
            elif len(folded) == 1:
                table[byte] = folded.encode(encoding)[0]
            else:
                table[byte] = expanded.setdefault(folded, len(expanded) + 1)
        self.table = bytes(table)
        self.expanded = [(bytes([placeholder]), chars.encode(encoding)) for chars, placeholder in expanded.items()]

    def fold(self, text: str) -> str:
        narrow = text.encode(self.encoding, _DROP_SYMBOLS).translate(self.table, self.dropped)
        for placeholder, chars in self.expanded:
            narrow = narrow.replace(placeholder, chars)
        return narrow.decode(self.encoding)


# Western, Central European, Cyrillic, Greek, Turkish: nearly all text from outside East Asia.
_ALPHABETS = tuple(map(_Alphabet, ("cp1252", "cp1250", "cp1251", "cp1253", "cp1254")))


# --- Differences

Kind = Literal["same", "added", "removed"]

MAX_EDITS = 400
MAX_PIECES = 20_000

_WORDS = re.compile(rf"\s+|[{CJK}]|(?:(?![{CJK}])\w)+|[^\w\s]+")
_SENTENCES = re.compile(r".*?(?:[.!?。！？]+(?:\s+|\Z)|\n+|\Z)", re.DOTALL)


@record
class Difference:
    kind: Kind
    text: str


def differences(before: str, after: str) -> tuple[Difference, ...]:
    """Compare two texts by words, or by sentences if too much changed.

    Without the added parts the result is `before`, without the removed ones `after`. Uses Myers' shortest
    edit script with a limit on the number of edits: a word diff of very different texts is unreadable, and
    the limit keeps the run time within a fraction of a second.
    """
    if before == after:
        return _merged([Difference("same", before)])
    for splitter in (_WORDS, _SENTENCES):
        old, new = splitter.findall(before), splitter.findall(after)
        edits = _edits(old, new)
        if edits is not None:
            return _merged(edits)
    return _merged([Difference("removed", before), Difference("added", after)])


def _edits(old: list[str], new: list[str]) -> list[Difference] | None:
    """The shortest edit script; None if it is too long to be readable."""
    head = _common_prefix(old, new)
    tail = _common_prefix(old[head:][::-1], new[head:][::-1])
    old_end, new_end = len(old) - tail, len(new) - tail
    if max(old_end, new_end) - head > MAX_PIECES:
        return None
    middle = _shortest_edits(old[head:old_end], new[head:new_end])
    if middle is None:
        return None
    return [Difference("same", "".join(old[:head])), *middle, Difference("same", "".join(old[old_end:]))]


def _common_prefix(first: Sequence[str], second: Sequence[str]) -> int:
    for index, (left, right) in enumerate(zip(first, second, strict=False)):
        if left != right:
            return index
    return min(len(first), len(second))


def _shortest_edits(old: list[str], new: list[str]) -> list[Difference] | None:
    """Each round allows one more edit; `furthest` holds the index in `old` that each diagonal reached."""
    furthest = {1: 0}
    rounds: list[dict[int, int]] = []
    for edits in range(MAX_EDITS + 1):
        rounds.append(dict(furthest))
        for diagonal in range(-edits, edits + 1, 2):
            x = _slide(old, new, _step(furthest, diagonal, edits), diagonal)
            furthest[diagonal] = x
            if x >= len(old) and x - diagonal >= len(new):
                return _backtrack(old, new, rounds)
    return None


def _step(furthest: dict[int, int], diagonal: int, edits: int) -> int:
    """Down (an addition) or right (a removal), whichever got further."""
    if _goes_down(furthest, diagonal, edits):
        return furthest[diagonal + 1]
    return furthest[diagonal - 1] + 1


def _goes_down(furthest: dict[int, int], diagonal: int, edits: int) -> bool:
    if diagonal == -edits:
        return True
    return diagonal != edits and furthest[diagonal - 1] < furthest[diagonal + 1]


def _slide(old: list[str], new: list[str], x: int, diagonal: int) -> int:
    y = x - diagonal
    while x < len(old) and y < len(new) and old[x] == new[y]:
        x += 1
        y += 1
    return x


def _backtrack(old: list[str], new: list[str], rounds: list[dict[int, int]]) -> list[Difference]:
    edits_reversed: list[Difference] = []
    x, y = len(old), len(new)
    for edits in range(len(rounds) - 1, -1, -1):
        diagonal = x - y
        down = _goes_down(rounds[edits], diagonal, edits)
        previous = diagonal + 1 if down else diagonal - 1
        from_x = rounds[edits][previous]
        from_y = from_x - previous
        while x > max(from_x, 0) and y > max(from_y, 0):
            x, y = x - 1, y - 1
            edits_reversed.append(Difference("same", old[x]))
        if edits:
            edits_reversed.append(Difference("added", new[from_y]) if down else Difference("removed", old[from_x]))
        x, y = from_x, from_y
    return edits_reversed[::-1]


def _merged(parts: Iterable[Difference]) -> tuple[Difference, ...]:
    """Join neighbours of one kind, put removed before added, and keep no single space between two changes."""
    merged: list[Difference] = []
    removed = added = space = ""
    for kind, group in groupby(parts, key=lambda part: part.kind):
        text = "".join(part.text for part in group)
        if kind == "same" and text.isspace() and (removed or added):
            space = text
        elif kind == "same":
            merged += _changed(removed, added, space + text)
            removed = added = space = ""
        else:
            removed += space + text if kind == "removed" else space
            added += space + text if kind == "added" else space
            space = ""
    merged += _changed(removed, added, space)
    return tuple(part for part in merged if part.text)


def _changed(removed: str, added: str, same: str) -> tuple[Difference, ...]:
    return Difference("removed", removed), Difference("added", added), Difference("same", same)


# --- Numbers


def digits_value(text: str, longest: int = 9) -> int | None:
    """The number that these ASCII digits write; None for anything else and for more digits, which fit nowhere."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= longest else None
