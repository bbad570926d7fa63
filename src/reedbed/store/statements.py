"""Statements written once in SQLAlchemy Core, compiled once per engine, run by the driver directly.

Building and compiling a Core statement costs more than most of our queries (1-2 ms against 0.1), so a
`Statement` is made at import, compiled at its first use on each engine, and from then on is plain SQL text.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from sqlalchemy import BigInteger, ClauseElement, ColumnElement, Dialect, Table, bindparam, delete, tuple_
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.postgresql import asyncpg

from reedbed.domain.records import record
from reedbed.store.sql import select

SQLITE: Dialect = sqlite.dialect(paramstyle="qmark")
POSTGRESQL: Dialect = asyncpg.dialect()

Params = Mapping[str, Any]


@record
class Compiled:
    sql: str
    arguments: Callable[[Params], Sequence[Any]]
    """What fills the statement's places, from what is given by name."""


class Statement:
    """One SQL statement for both engines; `params` given at run time fill its bind parameters."""

    __slots__ = ("_clause", "_columns", "_compiled")

    def __init__(self, clause: ClauseElement, *, columns: Sequence[str] | None = None) -> None:
        self._clause = clause
        self._columns = list(columns) if columns is not None else None
        self._compiled: dict[str, Compiled] = {}

    def on(self, dialect: Dialect) -> Compiled:
        compiled = self._compiled.get(dialect.name)
        if compiled is None:
            compiled = self._compiled[dialect.name] = self._compile(dialect)
        return compiled

    def _compile(self, dialect: Dialect) -> Compiled:
        compiled: Any = self._clause.compile(dialect=dialect, column_keys=self._columns)
        if "POSTCOMPILE" in str(compiled):
            raise TypeError("a list in a statement is one parameter: use among()")
        names: Sequence[str] = compiled.positiontup or ()
        constants = {name: bind.value for name, bind in compiled.binds.items() if not bind.required}
        return Compiled(str(compiled), _filler(names, constants))


def _filler(names: Sequence[str], constants: Mapping[str, Any]) -> Callable[[Params], Sequence[Any]]:
    if len(names) > 1 and constants.keys().isdisjoint(names):
        return itemgetter(*names)  # the rows of a crawl come by the ten thousand
    return lambda params: [params[name] if name in params else constants[name] for name in names]


class Shapes:
    """A family of statements that differ by filters: each shape is built once and kept.

    The key must come from a small closed set (view, order, has-cursor ...), never from user text.
    """

    __slots__ = ("_build", "_made")

    def __init__(self, build: Callable[..., ClauseElement]) -> None:
        self._build = build
        self._made: dict[tuple[Any, ...], Statement] = {}

    def __call__(self, *shape: Any) -> Statement:
        made = self._made.get(shape)
        if made is None:
            made = self._made[shape] = Statement(self._build(*shape))
        return made


def delete_some(table: Table, *which: ColumnElement[bool]) -> ClauseElement:
    """At most `:most` of these rows, so that many can be deleted without holding up others."""
    key = list(table.primary_key.columns)
    some = select(*key).where(*which).limit(bindparam("most", type_=BigInteger))
    return delete(table).where(tuple_(*key).in_(some))
