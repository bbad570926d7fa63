"""Rows as plain tuples, for queries that a test writes itself."""

from typing import Any


def as_tuple(*row: Any) -> tuple[Any, ...]:
    return row
