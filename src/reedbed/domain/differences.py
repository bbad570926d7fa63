"""What changed between two versions of a text: by words where that is readable, else by sentences.

Myers' shortest edit script, with a bound on the number of edits: texts that differ more have nothing to show
word by word, and the bound keeps any pair of texts within a fraction of a second.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Literal

from reedbed.domain.folding import CJK
from reedbed.domain.records import record

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
