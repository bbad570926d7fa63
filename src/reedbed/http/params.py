"""Path and query parameters: ids, page limits and cursors."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Protocol, TypeVar

from fastapi import Query
from pydantic import BeforeValidator, WithJsonSchema

from reedbed.domain.errors import Invalid, NotFound
from reedbed.domain.pagination import MAX_LIMIT, decode_cursor, encode_cursor
from reedbed.http.models import ID_SCHEMA, ListPage, parse_id
from reedbed.http.responses import Json


def path_id(value: Any) -> int:
    """An impossible id in a path is a 404, like an unknown one."""
    try:
        return parse_id(value)
    except ValueError:
        raise NotFound("There is nothing with this id.") from None


IdPath = Annotated[int, BeforeValidator(path_id), ID_SCHEMA]


_LIMIT = {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT}

# A string, so that `page_limit` writes the error message for a wrong one.
PageLimit = Annotated[str | None, Query(), WithJsonSchema(_LIMIT)]
PageCursor = Annotated[str | None, Query(max_length=200)]


class Listed(Protocol):
    @property
    def id(self) -> int: ...


T = TypeVar("T")
ListedT = TypeVar("ListedT", bound=Listed)


def before_of(cursor: str | None, view: str) -> int | None:
    """Return the id below which the page begins; None for the first page."""
    return None if cursor is None else decode_cursor(cursor, "newest", view).id


def newest_first(rows: Sequence[ListedT], size: int, view: str, respond: Callable[[ListedT], T]) -> Json[ListPage[T]]:
    """Return a page of `size` items; `rows` has one more if there is a next page."""
    items = rows[:size]
    next_cursor = encode_cursor(0, items[-1].id, "newest", view) if len(rows) > size else None
    return Json(ListPage([respond(item) for item in items], next_cursor))


# Cursors for short lists ordered by name, where an offset is good enough.
MAX_OFFSET = 1_000_000


def read_offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    digits = cursor.removeprefix("o")
    if cursor == digits or not digits.isascii() or not digits.isdigit() or len(digits) > 7:
        raise Invalid("This cursor is not valid any more. Start again from the first page.", field="cursor")
    return min(int(digits), MAX_OFFSET)


def next_offset(offset: int, limit: int, row_count: int) -> str | None:
    """`row_count` is `limit` + 1 if there is a next page."""
    return f"o{offset + limit}" if row_count > limit else None
