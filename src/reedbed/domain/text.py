"""What changed between two versions of a text: by words where that is readable, else by sentences.

Myers' shortest edit script, with a bound on the number of edits: texts that differ more have nothing to show
word by word, and the bound keeps any pair of texts within a fraction of a second.
"""

import codecs
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Literal

from reedbed.domain.records import record

ENTER_AGAIN = (
    "The password has to be entered again: it is encrypted with a key that this server does not have."
)

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# Controls, characters of no width, and those that turn the text behind them around. Joiners and the marks of
# direction stay: Persian, Indic scripts and many emoji need them.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u180e\u200b\u202a-\u202e\u2060-\u2069\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff]"
)
_NOTHING_ALONE = "\u061c\u200c\u200d\u200e\u200f "


def shown_line(text: str) -> str:
    """A name or a title as one line that shows what it says; empty when nothing of it can be seen."""
    line = " ".join(_HIDDEN.sub("", " ".join(text.split())).split())
    return line if line.strip(_NOTHING_ALONE) else ""


def storable(text: str) -> str:
    """Without NUL, which PostgreSQL does not take, and lone surrogates, which UTF-8 cannot say."""
    return _UNSTORABLE.sub("", text)


def writable(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return _UNWRITABLE.sub("", text)


CJK = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003134f"
)

_FEW_FOREIGN_WORDS = 20
_CJK_RUN = re.compile(f"[{CJK}]+")
_EAST_ASIAN = re.compile(f"[{CJK}\u1100-\u11ff\uff61-\uffdc]")
_NO_WORD = re.compile(r"[\W_]")
_SIGNS = re.compile("[\u2122\u2120\u00a9\u00ae]")
_UNSEEN = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_ACCENTED = re.compile("[\u00c0-\u04ff\u1e00-\u1fff]+")
_LETTERS = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "þ": "th", "ħ": "h", "ı": "i"}
)
_SPECIAL = re.compile(f"[{''.join(map(chr, _LETTERS))}]")


def index_text(text: str) -> str:
    """What to give to the index: tokens and blanks, nothing else."""
    folded = _fold_alphabet(text)
    if folded is None:
        folded = _fold_mixed(text)
    return _in_pairs(text) if folded is None else folded


def query_tokens(text: str) -> tuple[str, ...]:
    """The tokens a phrase must meet one after the other in `index_text`."""
    tokens = index_text(text).split()
    # A run ends with its last sign alone, so that one sign is found anywhere; inside a run it is not there.
    if len(tokens) > 1 and len(tokens[-1]) == 1 and is_cjk(tokens[-1]) and _ends_pair(tokens[-2], tokens[-1]):
        tokens.pop()
    return tuple(tokens)


def is_cjk(text: str) -> bool:
    return _CJK_RUN.match(text) is not None


def fold(text: str) -> str:
    """Folded, but not in pairs: one character in, nearly always one out."""
    folded = _fold_alphabet(text)
    return _fold_any(text) if folded is None else folded


def fold_with_places(text: str) -> tuple[str, Sequence[int]]:
    """The folded text, and for each of its characters the place in `text` it comes from."""
    if text.isascii():
        return _fold_ascii(text), range(len(text))
    pieces = list(map(_fold_sign, text))
    return "".join(pieces), [place for place, piece in enumerate(pieces) for _ in piece]


def _fold_alphabet(text: str) -> str | None:
    if text.isascii():
        return _fold_ascii(text)
    for alphabet in _ALPHABETS:
        try:
            return alphabet.fold(text)
        except UnicodeEncodeError:
            continue
    return None


def _fold_ascii(text: str) -> str:
    return text.encode("ascii").translate(_ALPHABETS[0].table).decode("ascii")


def _fold_mixed(text: str) -> str | None:
    """A western text with a few foreign words, which alone are folded the slow way; None if they are many."""
    western, pieces, start = _ALPHABETS[0], list[str](), 0
    for _ in range(_FEW_FOREIGN_WORDS):
        try:
            return "".join((*pieces, western.fold(text[start:])))
        except UnicodeEncodeError as foreign:
            word = slice(start + foreign.start, start + foreign.end)
            pieces += (western.fold(text[start : word.start]), _in_pairs(text[word]))
            start = word.stop
    return None


def _in_pairs(text: str) -> str:
    return _CJK_RUN.sub(_pairs, _fold_any(text))


def _pairs(run: re.Match[str]) -> str:
    signs = run.group()
    pairs = map(str.__add__, signs, signs[1:])
    return f" {' '.join(pairs)} {signs[-1]} "


def _ends_pair(token: str, sign: str) -> bool:
    return len(token) == 2 and token[1] == sign and is_cjk(token)


def _fold_any(text: str) -> str:
    text = _UNSEEN.sub("", _SIGNS.sub(" ", text)).replace("\u00b5", "u")
    if _EAST_ASIAN.search(text):
        # Taking Korean syllables and voiced kana apart and together again would cost more than all the rest.
        text = _ACCENTED.sub(_bare, unicodedata.normalize("NFKC", text).casefold())
    else:
        text = unicodedata.normalize("NFKD", text).casefold()
    text = _ACCENTS.sub("", text)
    if _SPECIAL.search(text):
        text = text.translate(_LETTERS)
    return _NO_WORD.sub(" ", text)


def _bare(run: re.Match[str]) -> str:
    return unicodedata.normalize("NFKD", run.group())


@lru_cache(maxsize=4096)
def _fold_sign(sign: str) -> str:
    return _fold_any(sign)


def _blank_signs(error: UnicodeError) -> tuple[str, int]:
    """Emoji, arrows and loose accents are no reason to leave an alphabet; a letter of another one is."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    folded = "".join(map(_fold_sign, error.object[error.start : error.end]))
    if folded.strip():
        raise error
    return folded, error.end


_BLANK_SIGNS = "reedbed.blank-signs"
codecs.register_error(_BLANK_SIGNS, _blank_signs)


class _Alphabet:
    """A one-byte encoding as a folding table: thirty times faster than sign by sign.

    What folds to two letters passes the table as a control byte and is spelled out afterwards.
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
        self.expanded = [(bytes([mark]), letters.encode(encoding)) for letters, mark in expanded.items()]

    def fold(self, text: str) -> str:
        narrow = text.encode(self.encoding, _BLANK_SIGNS).translate(self.table, self.dropped)
        for mark, letters in self.expanded:
            narrow = narrow.replace(mark, letters)
        return narrow.decode(self.encoding)


# Western, Central European, Cyrillic, Greek, Turkish: together nearly all that is written outside East Asia.
_ALPHABETS = tuple(map(_Alphabet, ("cp1252", "cp1250", "cp1251", "cp1253", "cp1254")))


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
    """Pieces that give `before` without the added ones, and `after` without the removed ones."""
    if before == after:
        return _tidy([Difference("same", before)])
    for pieces in (_WORDS, _SENTENCES):
        old, new = pieces.findall(before), pieces.findall(after)
        found = _edits(old, new)
        if found is not None:
            return _tidy(found)
    return _tidy([Difference("removed", before), Difference("added", after)])


def _edits(old: list[str], new: list[str]) -> list[Difference] | None:
    """The shortest way from one to the other; None where it is too long to be worth reading."""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    old_end, new_end = len(old) - tail, len(new) - tail
    if max(old_end, new_end) - head > MAX_PIECES:
        return None
    middle = _shortest(old[head:old_end], new[head:new_end])
    if middle is None:
        return None
    return [Difference("same", "".join(old[:head])), *middle, Difference("same", "".join(old[old_end:]))]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return place
    return min(len(one), len(other))


def _shortest(old: list[str], new: list[str]) -> list[Difference] | None:
    """Each round allows one edit more; `furthest` holds how far into `old` each diagonal came."""
    furthest = {1: 0}
    rounds: list[dict[int, int]] = []
    for edits in range(MAX_EDITS + 1):
        rounds.append(dict(furthest))
        for diagonal in range(-edits, edits + 1, 2):
            x = _slide(old, new, _step(furthest, diagonal, edits), diagonal)
            furthest[diagonal] = x
            if x >= len(old) and x - diagonal >= len(new):
                return _way_back(old, new, rounds)
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


def _way_back(old: list[str], new: list[str], rounds: list[dict[int, int]]) -> list[Difference]:
    found: list[Difference] = []
    x, y = len(old), len(new)
    for edits in range(len(rounds) - 1, -1, -1):
        diagonal = x - y
        down = _goes_down(rounds[edits], diagonal, edits)
        previous = diagonal + 1 if down else diagonal - 1
        from_x = rounds[edits][previous]
        from_y = from_x - previous
        while x > max(from_x, 0) and y > max(from_y, 0):
            x, y = x - 1, y - 1
            found.append(Difference("same", old[x]))
        if edits:
            found.append(Difference("added", new[from_y]) if down else Difference("removed", old[from_x]))
        x, y = from_x, from_y
    return found[::-1]


def _tidy(pieces: Iterable[Difference]) -> tuple[Difference, ...]:
    """Neighbours of one kind as one, removed before added, and no lonely blank between two changes."""
    shown: list[Difference] = []
    removed = added = blank = ""
    for kind, group in groupby(pieces, key=lambda piece: piece.kind):
        text = "".join(piece.text for piece in group)
        if kind == "same" and text.isspace() and (removed or added):
            blank = text
        elif kind == "same":
            shown += _changed(removed, added, blank + text)
            removed = added = blank = ""
        else:
            removed += blank + text if kind == "removed" else blank
            added += blank + text if kind == "added" else blank
            blank = ""
    shown += _changed(removed, added, blank)
    return tuple(piece for piece in shown if piece.text)


def _changed(removed: str, added: str, same: str) -> tuple[Difference, ...]:
    return Difference("removed", removed), Difference("added", added), Difference("same", same)
