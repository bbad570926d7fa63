"""Pages of lists in the order of their ids, newest first."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from fastapi import Response

from reedbed.domain.paging import decode_cursor, encode_cursor
from reedbed.http.json import json_response


class Listed(Protocol):
    @property
    def id(self) -> int: ...


T = TypeVar("T", bound=Listed)


def before_of(cursor: str | None, view: str) -> int | None:
    """The id below which the page begins; None for the first one."""
    return None if cursor is None else decode_cursor(cursor, "newest", view).id


def newest_first(found: Sequence[T], size: int, view: str, as_json: Callable[[T], object]) -> Response:
    """The page of `size` items; that one more was found tells that there is a next one."""
    shown = found[:size]
    following = encode_cursor(0, shown[-1].id, "newest", view) if len(found) > size else None
    return json_response({"items": [as_json(one) for one in shown], "next_cursor": following})
