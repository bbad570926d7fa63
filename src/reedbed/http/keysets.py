"""Cursors for lists in the order of their ids, newest first."""

from reedbed.domain.paging import decode_cursor, encode_cursor


def before_of(cursor: str | None, view: str) -> int | None:
    """The id below which the page begins; None for the first one."""
    return None if cursor is None else decode_cursor(cursor, "newest", view).id


def cursor_after(last_id: int | None, view: str) -> str | None:
    return None if last_id is None else encode_cursor(0, last_id, "newest", view)
