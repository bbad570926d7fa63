"""What SQLite and PostgreSQL say differently, said once."""

from typing import Any

from sqlalchemy import BigInteger, ColumnElement, bindparam, literal_column
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import BindParameter
from sqlalchemy.sql.functions import GenericFunction
from sqlalchemy.sql.selectable import Join
from sqlalchemy.types import ARRAY, Boolean, TypeEngine


class among(ColumnElement[bool]):  # noqa: N801  reads as a word of SQL: among(entries.c.id, "ids")
    """`column IN (the list given at run time)`, as one bind parameter on both engines."""

    inherit_cache = False
    type = Boolean()
    _is_implicitly_boolean = True  # else SQLite is asked for "(… IN …) = 1", which no index serves

    def __init__(self, column: ColumnElement[Any], name: str, type_: TypeEngine[Any] | None = None) -> None:
        self.column = column
        self.values: BindParameter[Any] = bindparam(name, type_=ARRAY(type_ or BigInteger()))


@compiles(among, "postgresql")
def _among_postgresql(element: among, compiler: SQLCompiler, **kw: Any) -> str:
    return f"{compiler.process(element.column, **kw)} = ANY({compiler.process(element.values, **kw)})"


@compiles(among, "sqlite")
def _among_sqlite(element: among, compiler: SQLCompiler, **kw: Any) -> str:
    values: BindParameter[Any] = bindparam(element.values.key)
    column, given = compiler.process(element.column, **kw), compiler.process(values, **kw)
    return f"{column} IN (SELECT value FROM json_each({given}))"  # noqa: S608  both are compiled SQL, not text


class larger(GenericFunction[int]):  # noqa: N801
    """The larger of two numbers."""

    inherit_cache = True
    type = BigInteger()
    name = "larger"


class smaller(GenericFunction[int]):  # noqa: N801
    """The smaller of two numbers."""

    inherit_cache = True
    type = BigInteger()
    name = "smaller"


@compiles(larger, "postgresql")
def _larger_postgresql(element: larger, compiler: SQLCompiler, **kw: Any) -> str:
    return f"greatest({compiler.process(element.clauses, **kw)})"


@compiles(larger, "sqlite")
def _larger_sqlite(element: larger, compiler: SQLCompiler, **kw: Any) -> str:
    return f"max({compiler.process(element.clauses, **kw)})"


@compiles(smaller, "postgresql")
def _smaller_postgresql(element: smaller, compiler: SQLCompiler, **kw: Any) -> str:
    return f"least({compiler.process(element.clauses, **kw)})"


@compiles(smaller, "sqlite")
def _smaller_sqlite(element: smaller, compiler: SQLCompiler, **kw: Any) -> str:
    return f"min({compiler.process(element.clauses, **kw)})"


class in_order(Join):  # noqa: N801
    """A join whose left side is read first, for each of its rows the right one.

    SQLite knows no statistics here and likes to begin with the table whose index gives the order; its
    CROSS JOIN keeps the order as written. PostgreSQL decides by its statistics.
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


class database_size(GenericFunction[int]):  # noqa: N801
    """Bytes of the whole database."""

    inherit_cache = True
    type = BigInteger()
    name = "database_size"


@compiles(database_size, "sqlite")
def _database_size_sqlite(element: database_size, compiler: SQLCompiler, **kw: Any) -> str:
    return "(SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size())"


@compiles(database_size, "postgresql")
def _database_size_postgresql(element: database_size, compiler: SQLCompiler, **kw: Any) -> str:
    return "pg_database_size(current_database())"


class database_in_use(GenericFunction[int]):  # noqa: N801
    """Bytes of the database without the pages that SQLite keeps free; PostgreSQL does not tell them apart."""

    inherit_cache = True
    type = BigInteger()
    name = "database_in_use"


@compiles(database_in_use, "sqlite")
def _database_in_use_sqlite(element: database_in_use, compiler: SQLCompiler, **kw: Any) -> str:
    return (
        "(SELECT (page_count - freelist_count) * page_size"
        " FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size())"
    )


@compiles(database_in_use, "postgresql")
def _database_in_use_postgresql(element: database_in_use, compiler: SQLCompiler, **kw: Any) -> str:
    return "pg_database_size(current_database())"


def unindexed(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """The column as a mere number, so that no index on it is chosen where a better one is known."""
    return column + literal_column("0")


class database_now(GenericFunction[int]):  # noqa: N801
    """The moment by the clock of the database, which all processes share."""

    inherit_cache = True
    type = BigInteger()
    name = "database_now"


@compiles(database_now, "sqlite")
def _database_now_sqlite(element: database_now, compiler: SQLCompiler, **kw: Any) -> str:
    return "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"


@compiles(database_now, "postgresql")
def _database_now_postgresql(element: database_now, compiler: SQLCompiler, **kw: Any) -> str:
    return "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"
