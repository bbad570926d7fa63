"""How much room each table and each index takes."""

from sqlalchemy import text

from reedbed.domain.records import record
from reedbed.store.database import Tx
from reedbed.store.statements import Statement

# Reads every page's head: seconds on a file of gigabytes, in a reader's thread of its own.
_SQLITE = Statement(
    text(
        "SELECT s.name, s.tbl_name, SUM(d.pgsize) FROM dbstat AS d JOIN sqlite_schema AS s "
        "ON s.name = d.name WHERE d.aggregate = 1 GROUP BY s.name, s.tbl_name ORDER BY 3 DESC LIMIT 40"
    )
)
_POSTGRESQL = Statement(
    text(
        "SELECT c.relname, COALESCE(t.relname, c.relname), "
        "CASE WHEN c.relkind = 'i' THEN pg_relation_size(c.oid) ELSE pg_table_size(c.oid) END "
        "FROM pg_class AS c LEFT JOIN pg_index AS i ON i.indexrelid = c.oid "
        "LEFT JOIN pg_class AS t ON t.oid = i.indrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace "
        "WHERE c.relkind IN ('r', 'i') AND n.nspname = current_schema() ORDER BY 3 DESC LIMIT 40"
    )
)


@record
class Size:
    name: str
    table: str
    size: int
    """Bytes."""


async def largest(tx: Tx) -> list[Size]:
    """The forty largest, the largest first."""
    rows = await tx.all(_SQLITE if tx.engine == "sqlite" else _POSTGRESQL)
    return [Size(name, table, int(size)) for name, table, size in rows]
