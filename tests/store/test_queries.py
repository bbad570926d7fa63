"""Every query selects as many columns as its rows are made of."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

from sqlalchemy import Select

import reedbed.store
from reedbed.store.engine.postgresql import POSTGRESQL
from reedbed.store.engine.statements import SQLITE, Query, TupleMapper


def _queries() -> Iterator[tuple[str, Query[object]]]:
    for module in pkgutil.walk_packages(reedbed.store.__path__, "reedbed.store."):
        if "migrations" in module.name:
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, Query):
                yield f"{module.name}.{name}", value


def _columns(query: Query[object]) -> int | None:
    """None for a query that is written as text."""
    clause = query._clause
    if isinstance(clause, Select):
        return len(clause.selected_columns)
    returning = getattr(clause, "_returning", ())
    return len(clause.exported_columns) if returning else None


def test_every_query_selects_what_its_rows_are_made_of() -> None:
    checked, wrong = 0, list[str]()
    for name, query in _queries():
        columns = _columns(query)
        if columns is None or (isinstance(query.into, type) and query.into in (int, bool, float, bytes)):
            continue
        checked += 1
        if isinstance(query.into, TupleMapper):
            if query.into.columns != columns:
                wrong.append(f"{name}: {columns} columns, {query.into.columns} types")
            continue
        try:
            inspect.signature(query.into).bind(*range(columns))
        except TypeError as error:
            wrong.append(f"{name}: {columns} columns, {error}")
    assert checked > 150 and not wrong, "\n".join(wrong)


def test_every_query_compiles_on_both_engines() -> None:
    for _, query in _queries():
        assert query.on(SQLITE).sql and query.on(POSTGRESQL).sql
