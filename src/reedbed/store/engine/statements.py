"""SQL statements for both engines: compiled once, with helpers where SQLite and PostgreSQL differ.

A `Query` returns rows and knows what they become, a `Command` returns none; both wrap a SQLAlchemy Core clause.
`QueryFamily` and `CommandFamily` hold variants that differ by filters. Building
blocks: `among` (IN with a list parameter), `in_order` (a join with a fixed order), `larger`, `beyond` (keyset
pagination), `containing` (a LIKE pattern) and so on.
"""

import typing
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from operator import itemgetter
from typing import Any, Generic, Protocol, Self, TypeVar, overload

import sqlalchemy
from sqlalchemy import (
    BigInteger,
    ClauseElement,
    ColumnElement,
    Dialect,
    FromClause,
    Select,
    Table,
    Text,
    bindparam,
    cast,
    delete,
    literal_column,
    tuple_,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.sqlite.dml import OnConflictDoNothing, OnConflictDoUpdate
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import BindParameter
from sqlalchemy.sql.functions import GenericFunction
from sqlalchemy.sql.selectable import Join
from sqlalchemy.types import ARRAY, Boolean, TypeEngine

from reedbed.domain.failures import load_failure
from reedbed.domain.pagination import Order
from reedbed.domain.records import record


class _Functions(Protocol):
    def __getattr__(self, name: str) -> Callable[..., ColumnElement[Any]]: ...


# SQLAlchemy's own types of selected columns take pyright an eighth of `make check`; `Query` knows what rows become.
select: Callable[..., Select[Any]] = sqlalchemy.select
func: _Functions = typing.cast("_Functions", sqlalchemy.func)

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")

SQLITE: Dialect = sqlite.dialect(paramstyle="qmark")

Param = int | float | str | bytes | Sequence[int | str | None] | Sequence[tuple[str, str]] | None
Params = Mapping[str, Param]


@record
class Compiled:
    sql: str
    arguments: Callable[[Params], Sequence[Any]]
    """Turns named parameters into the statement's positional arguments."""


class Statement:
    """One SQL statement for both engines, compiled for each on first use. Use `Query` or `Command`."""

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


class Command(Statement):
    """A statement that returns no rows."""


class Query(Statement, Generic[T]):
    """A statement that returns rows; each becomes `into(*columns)`."""

    __slots__ = ("into",)

    def __init__(self, clause: ClauseElement, into: Callable[..., T], *, columns: Sequence[str] | None = None) -> None:
        super().__init__(clause, columns=columns)
        self.into: Callable[..., T] = _checked(into)


def _filler(names: Sequence[str], constants: Mapping[str, Any]) -> Callable[[Params], Sequence[Any]]:
    if len(names) > 1 and constants.keys().isdisjoint(names):
        return itemgetter(*names)  # fast path: a refresh writes tens of thousands of rows
    return lambda params: [params[name] if name in params else constants[name] for name in names]


class CommandFamily:
    """Commands that differ by filters; each variant is built once and cached.

    The key must come from a small closed set (view, order, has-cursor ...), never from user text.
    """

    __slots__ = ("_build", "_variants")

    def __init__(self, build: Callable[..., ClauseElement]) -> None:
        self._build = build
        self._variants: dict[tuple[object, ...], Command] = {}

    def __call__(self, *variant: object) -> Command:
        command = self._variants.get(variant)
        if command is None:
            command = self._variants[variant] = Command(self._build(*variant))
        return command


class QueryFamily(Generic[T]):
    """Like `CommandFamily`, for queries."""

    __slots__ = ("_build", "_into", "_variants")

    def __init__(self, build: Callable[..., ClauseElement], into: Callable[..., T]) -> None:
        self._build = build
        self._into = into
        self._variants: dict[tuple[object, ...], Query[T]] = {}

    def __call__(self, *variant: object) -> Query[T]:
        query = self._variants.get(variant)
        if query is None:
            query = self._variants[variant] = Query(self._build(*variant), into=self._into)
        return query


def total(column: ColumnElement[Any]) -> ColumnElement[int]:
    """A sum of whole numbers; PostgreSQL alone would answer with a decimal."""
    return cast(func.sum(column), BigInteger)


# --- What rows become


def optional(convert: Callable[[Any], A]) -> Callable[[object], A | None]:
    """For a column that may be NULL."""
    return lambda value: None if value is None else convert(value)


@overload
def row_of(a: Callable[[Any], A], b: Callable[[Any], B], /) -> Callable[[object, object], tuple[A, B]]: ...
@overload
def row_of(
    a: Callable[[Any], A], b: Callable[[Any], B], c: Callable[[Any], C], /
) -> Callable[[object, object, object], tuple[A, B, C]]: ...
@overload
def row_of(
    a: Callable[[Any], A], b: Callable[[Any], B], c: Callable[[Any], C], d: Callable[[Any], D], /
) -> Callable[[object, object, object, object], tuple[A, B, C, D]]: ...
@overload
def row_of(
    a: Callable[[Any], A], b: Callable[[Any], B], c: Callable[[Any], C], d: Callable[[Any], D], e: Callable[[Any], E], /
) -> Callable[[object, object, object, object, object], tuple[A, B, C, D, E]]: ...
def row_of(*converters: Callable[[Any], object]) -> Callable[..., tuple[object, ...]]:
    """A tuple of values with these types."""
    return TupleMapper(converters)


class TupleMapper:
    __slots__ = ("_converted", "columns")

    def __init__(self, converters: Sequence[Callable[[Any], object]]) -> None:
        self.columns = len(converters)
        # Drivers return texts as such, and numbers but for sums and means of PostgreSQL.
        self._converted = [
            (index, _exact(convert) if convert in (int, float) else convert)
            for index, convert in enumerate(converters)
            if convert is not str
        ]

    def __call__(self, *row: object) -> tuple[object, ...]:
        if not self._converted:
            return row
        values = list(row)
        for index, convert in self._converted:
            values[index] = convert(values[index])
        return tuple(values)


def _exact(convert: Callable[[Any], object]) -> Callable[[object], object]:
    return lambda value: convert(value) if isinstance(value, Decimal) else value


def _checked(convert: Callable[..., T]) -> Callable[..., T]:
    """`str` would turn NULL into a word."""
    return typing.cast("Callable[..., T]", _text) if convert is str else convert


def _text(value: str | None) -> str:
    if value is None:
        raise TypeError("NULL in a column of text")
    return value


def delete_some(table: Table, *which: ColumnElement[bool]) -> ClauseElement:
    """Delete at most `:limit` of these rows, so that a large delete does not block other transactions."""
    key = list(table.primary_key.columns)
    batch = select(*key).where(*which).limit(bindparam("limit", type_=BigInteger))
    return delete(table).where(tuple_(*key).in_(batch))


# --- Inserts


class _SkipKnown(OnConflictDoNothing):
    inherit_cache = True
    constraint_target = None


class _UpdateKnown(OnConflictDoUpdate):
    inherit_cache = True
    constraint_target = None


class Insert(sqlite.Insert):
    """INSERT with ON CONFLICT for both engines.

    The class for SQLite lacks only `constraint_target`, which PostgreSQL's compiler reads. PostgreSQL's own class
    would take 3 MB of every process.
    """

    inherit_cache = True

    def on_conflict_do_nothing(self, *args: Any, **kwargs: Any) -> Self:
        return self.ext(_SkipKnown(*args, **kwargs))

    def on_conflict_do_update(self, *args: Any, **kwargs: Any) -> Self:
        return self.ext(_UpdateKnown(*args, **kwargs))


def insert(table: Table) -> Insert:
    return Insert(table)


# --- SQL elements that compile differently on each engine

# Lower-case class names: they are used like SQL functions, `among(entries.c.id, "ids")`.
# ruff: noqa: N801


class among(ColumnElement[bool]):
    """`column IN (list)` with the whole list as one bind parameter, on both engines."""

    inherit_cache = False
    type = Boolean()
    _is_implicitly_boolean = True  # otherwise SQLite gets "(… IN …) = 1", which cannot use an index

    def __init__(self, column: ColumnElement[Any], name: str, type_: TypeEngine[Any] | None = None) -> None:
        self.column = column
        self.values: BindParameter[Any] = bindparam(name, type_=ARRAY(type_ or BigInteger()))


@compiles(among, "postgresql")
def _among_postgresql(element: among, compiler: SQLCompiler, **kw: Any) -> str:
    return f"{compiler.process(element.column, **kw)} = ANY({compiler.process(element.values, **kw)})"


@compiles(among, "sqlite")
def _among_sqlite(element: among, compiler: SQLCompiler, **kw: Any) -> str:
    values: BindParameter[Any] = bindparam(element.values.key)
    column, items = compiler.process(element.column, **kw), compiler.process(values, **kw)
    return f"{column} IN (SELECT value FROM json_each({items}))"  # noqa: S608  both are compiled SQL, not text


class of_user(ColumnElement[bool]):
    """The row (of a table with `user_id` and `entry_id`) belongs to the user and to one of these entries.

    Without statistics SQLite prefers a longer index (user, feed …) over (user, entry) and scans all of the
    user's rows. Compared as a pair, only the right index applies.
    """

    inherit_cache = False
    type = Boolean()
    _is_implicitly_boolean = True

    def __init__(self, table: FromClause, user: str, ids: str) -> None:
        self.user, self.entry = table.c.user_id, table.c.entry_id
        self.user_id: BindParameter[Any] = bindparam(user, type_=BigInteger())
        self.ids: BindParameter[Any] = bindparam(ids, type_=ARRAY(BigInteger()))


@compiles(of_user, "postgresql")
def _of_user_postgresql(element: of_user, compiler: SQLCompiler, **kw: Any) -> str:
    user, entry = compiler.process(element.user, **kw), compiler.process(element.entry, **kw)
    user_id, ids = compiler.process(element.user_id, **kw), compiler.process(element.ids, **kw)
    return f"{user} = {user_id} AND {entry} = ANY({ids})"


@compiles(of_user, "sqlite")
def _of_user_sqlite(element: of_user, compiler: SQLCompiler, **kw: Any) -> str:
    values: BindParameter[Any] = bindparam(element.ids.key)
    user, entry = compiler.process(element.user, **kw), compiler.process(element.entry, **kw)
    user_id, ids = compiler.process(element.user_id, **kw), compiler.process(values, **kw)
    return f"({user}, {entry}) IN (SELECT {user_id}, value FROM json_each({ids}))"  # noqa: S608  compiled SQL


class _Number(GenericFunction[int]):
    """A number with different SQL on each engine; `{}` is replaced by the arguments."""

    inherit_cache = True
    type: TypeEngine[Any] = BigInteger()
    _register = False
    sqlite: str
    postgresql: str


@compiles(_Number, "sqlite")
def _number_sqlite(element: _Number, compiler: SQLCompiler, **kw: Any) -> str:
    return element.sqlite.format(compiler.process(element.clauses, **kw))


@compiles(_Number, "postgresql")
def _number_postgresql(element: _Number, compiler: SQLCompiler, **kw: Any) -> str:
    return element.postgresql.format(compiler.process(element.clauses, **kw))


class larger(_Number):
    sqlite = "max({})"
    postgresql = "greatest({})"


class smaller(_Number):
    sqlite = "min({})"
    postgresql = "least({})"


class database_size(_Number):
    """Bytes of the whole database."""

    sqlite = "(SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size())"
    postgresql = "pg_database_size(current_database())"


class database_in_use(_Number):
    """Bytes of the database without free pages. PostgreSQL does not know, so there it is the whole size."""

    sqlite = (
        "(SELECT (page_count - freelist_count) * page_size"
        " FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size())"
    )
    postgresql = database_size.postgresql


class database_now(_Number):
    """The time in ms by the clock of the database, which all processes share."""

    sqlite = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
    postgresql = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"


class joined_ids(_Number):
    """The numbers of a group as a text, with commas."""

    type = Text()
    sqlite = "group_concat({})"
    postgresql = "string_agg(CAST({} AS TEXT), ',')"


class in_order(Join):
    """A join that reads the left side first, then the right side for each of its rows.

    SQLite has no statistics here and tends to start with the table whose index provides the order. CROSS JOIN
    makes it keep the order as written. PostgreSQL decides by its statistics.
    """

    inherit_cache = False


@compiles(in_order, "sqlite")
def _in_order_sqlite(element: in_order, compiler: SQLCompiler, **kw: Any) -> str:
    kw["asfrom"] = True
    left, right = compiler.process(element.left, **kw), compiler.process(element.right, **kw)
    assert element.onclause is not None
    return f"{left} CROSS JOIN {right} ON {compiler.process(element.onclause, from_linter=None)}"


@compiles(in_order, "postgresql")
def _in_order_postgresql(element: in_order, compiler: SQLCompiler, **kw: Any) -> str:
    return compiler.process(Join(element.left, element.right, element.onclause), **kw)


def unindexed(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """The column as an expression, so that the planner cannot use an index on it and takes a better one."""
    return column + literal_column("0")


def select_once(rows: Select[Any]) -> Select[Any]:
    """For claims: select and lock the rows exactly once, whatever the plan.

    As a plain subquery PostgreSQL may run the selection again for every row it compares and lock the next row
    each time: a claim of one row would take them all.
    """
    chosen = rows.cte("chosen")
    return select(*chosen.c)


def keyed(key: Callable[[Any], A], into: Callable[..., T]) -> Callable[..., tuple[A, T]]:
    """The first column, and what becomes of the others."""

    def build(first: object, *rest: object) -> tuple[A, T]:
        return key(first), into(*rest)

    return build


def with_failure(into: Callable[..., T], position: int) -> Callable[..., T]:
    """The column at this position holds a stored failure."""

    def build(*row: Any) -> T:
        return into(*row[:position], load_failure(row[position]), *row[position + 1 :])

    return build


LOWEST = -(2**62)
HIGHEST = 2**62
"""Every timestamp, id and row count is between these, and both engines can store them."""

_LOWEST: ColumnElement[int] = literal_column(str(LOWEST))
_HIGHEST: ColumnElement[int] = literal_column(str(HIGHEST))


def entry_id_of(table: FromClause) -> ColumnElement[Any]:
    return table.c.entry_id if "entry_id" in table.c else table.c.id


def in_direction(order: Order, *columns: ColumnElement[Any]) -> list[ColumnElement[Any]]:
    return [column.desc() if order == "newest" else column.asc() for column in columns]


def beyond(
    order: Order, columns: tuple[ColumnElement[Any], ...], cursor: tuple[ColumnElement[Any], ...]
) -> ColumnElement[bool]:
    """Rows that come after the cursor in this order (keyset pagination)."""
    row, last = tuple_(*columns), tuple_(*cursor)
    return row < last if order == "newest" else row > last


def up_to(order: Order, key: ColumnElement[Any], last: ColumnElement[Any]) -> ColumnElement[bool]:
    """Rows that come no later than `last` in this order; all rows if `last` is NULL."""
    if order == "newest":
        return key >= func.coalesce(last, _LOWEST)
    return key <= func.coalesce(last, _HIGHEST)


def containing(text: str) -> str:
    """A pattern for `lower(column) LIKE … ESCAPE '\\'` that matches this text anywhere."""
    escaped = text.lower().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"
