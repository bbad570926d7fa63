"""Walks along (sort_at, id), the order of every list of entries, from a place onwards."""

from typing import Any

from sqlalchemy import ColumnElement, FromClause, literal_column, tuple_

from reedbed.domain.paging import Order
from reedbed.store.sql import func

LOWEST = -(2**62)
HIGHEST = 2**62
"""Every moment, id and number of rows lies between these, and both engines can hold them."""

_LOWEST: ColumnElement[int] = literal_column(str(LOWEST))
_HIGHEST: ColumnElement[int] = literal_column(str(HIGHEST))


def entry_id_of(table: FromClause) -> ColumnElement[Any]:
    return table.c.entry_id if "entry_id" in table.c else table.c.id


def in_direction(order: Order, *columns: ColumnElement[Any]) -> list[ColumnElement[Any]]:
    return [column.desc() if order == "newest" else column.asc() for column in columns]


def beyond(
    order: Order, here: tuple[ColumnElement[Any], ...], place: tuple[ColumnElement[Any], ...]
) -> ColumnElement[bool]:
    """What the order shows after this place."""
    row, there = tuple_(*here), tuple_(*place)
    return row < there if order == "newest" else row > there


def up_to(order: Order, key: ColumnElement[Any], last: ColumnElement[Any]) -> ColumnElement[bool]:
    """What the order shows no later than `last`; all of it where there is no last one."""
    if order == "newest":
        return key >= func.coalesce(last, _LOWEST)
    return key <= func.coalesce(last, _HIGHEST)
