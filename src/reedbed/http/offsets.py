"""Cursors for short lists ordered by name, where a position is good enough."""

from reedbed.domain.errors import Invalid

MOST = 1_000_000


def read_offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    digits = cursor.removeprefix("o")
    if cursor == digits or not digits.isascii() or not digits.isdigit() or len(digits) > 7:
        raise Invalid("This cursor is not valid any more. Start again from the first page.", field="cursor")
    return min(int(digits), MOST)


def next_offset(offset: int, limit: int, found: int) -> str | None:
    """`found` counts one more row than was wanted, when there is one."""
    return f"o{offset + limit}" if found > limit else None
