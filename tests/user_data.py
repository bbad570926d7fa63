"""A user who has one of everything: a row in every table that a user can own, each text of it marked.

New tables are filled by themselves, from the metadata; only texts with a form of their own are named here.
"""

import json
from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Float, Integer, LargeBinary, Table, insert, select

from reedbed.domain.framing import SCORES
from reedbed.domain.times import DAY, Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query
from reedbed.store.tables import metadata
from tests.rows import as_tuple

MARK = "alices-private-words"
EMAIL = "alice-of-the-reeds@example.org"

ANALYSED = json.dumps({"title": MARK, "description": MARK, **{name: [MARK, MARK] for name in (*SCORES, "overall")}})

RECIPE = json.dumps(
    {
        "source": "markup",
        "selectors": {"item": MARK},
        "fingerprints": {"path": "", "classes": [], "link_pattern": ""},
        "data_path": "",
    }
)

FORMS: dict[tuple[str, str], Any] = {
    ("page_feeds", "recipe"): RECIPE,
    ("page_feeds", "former_recipe"): RECIPE,
    ("page_feeds", "watched"): '{"passages": [], "change": null}',
    ("users", "email"): EMAIL,
    ("users", "role"): "user",
    ("feeds", "url"): "http://127.0.0.1:9/alice.xml",
    ("recordings", "number"): 0,
    ("recordings", "url"): f"https://example.org/{MARK}.mp3",
    ("playback_positions", "number"): 0,
    ("playback_queue", "number"): 0,
    ("tokens", "kind"): "api",
    ("tokens", "scopes"): "read write",
    ("mail_links", "purpose"): "invite",
    ("event_log", "detail"): "{}",
    ("jobs", "kind"): "import",
    ("jobs", "payload"): "{}",
    ("jobs", "report"): "{}",
    ("jobs", "state"): "done",
    ("undo_steps", "marks"): "[]",
    ("rules", "conditions"): '{"match": "all", "of": []}',
    ("rules", "actions"): "[]",
    ("searches", "query"): "heron",
    ("analyses", "key"): "alices-analysis",
    ("analyses", "reasons"): ANALYSED,
    ("entry_analyses", "key"): "alices-analysis",
    ("digests", "content"): "{}",
    ("digests", "scope"): "{}",
    ("digests", "status"): "ready",
    ("questions", "answer"): "{}",
    ("questions", "scope"): "{}",
    ("questions", "status"): "ready",
    ("digest_schedules", "scope"): "{}",
    ("digest_schedules", "zone"): "UTC",
    ("shared_stories", "content"): "{}",
    ("published_feeds", "view"): '{"view": "all"}',
    ("webhook_deliveries", "event"): "test",
    ("webhook_deliveries", "subject"): "{}",
    ("webhook_deliveries", "state"): "delivered",
    ("feed_translations", "mode"): "always",
    ("spoken", "kind"): "digest",
    ("spoken", "status"): "ready",
    ("spoken", "error"): None,
    ("spoken", "chapters"): json.dumps([[0.0, MARK, ""]]),
    ("spoken", "transcript"): json.dumps([[0.0, MARK]]),
    ("spoken", "media_type"): "audio/wav",
    ("spoken", "length"): len(MARK),
    ("spoken_parts", "number"): 0,
    ("books", "source"): json.dumps({"tag": MARK}),
    ("books", "status"): "ready",
    ("books", "error"): None,
    ("books", "left_out"): "{}",
    ("books", "length"): len(MARK),
    ("book_parts", "number"): 0,
    ("book_plans", "source"): json.dumps({"tag": MARK}),
    ("book_plans", "sent"): "[]",
    ("book_plans", "error"): None,
    ("share_targets", "kind"): "linkding",
    ("share_targets", "secrets"): "{}",
}
LEFT_ALONE = {("feeds", "owner_id"), ("folders", "parent_id"), ("stories", "merged_into")}
PROGRAMS_OWN = {"leases", "app_settings", "alembic_version"}
HIDING = {"muted"}
"""A row in it hides the user's only entry."""


async def give_everything(tx: Tx, now: Instant) -> dict[str, int]:
    """The id of the row in each table that has ids."""
    ids: dict[str, int] = {}
    for table in metadata.sorted_tables:
        if table.name in PROGRAMS_OWN | HIDING:
            continue
        row = {column.name: _value(column, ids, now) for column in table.columns if _is_given(column)}
        made = insert(table)
        if "id" in table.c:
            made = made.returning(table.c.id)
            ids[table.name] = await tx.get(Query(made, columns=list(row), into=int), row)
        else:
            await tx.run(Command(made, columns=list(row)), row)
    return ids


async def everything(tx: Tx, user_id: int, feed_id: int) -> dict[str, list[tuple[Any, ...]]]:
    """All that the user owns, and the entries of the feed, as rows to compare."""
    return {
        table.name: sorted(await tx.all(Query(select(table).where(whose), into=as_tuple)))
        for table in metadata.sorted_tables
        if (whose := _whose(table, user_id, feed_id)) is not None
    }


def _whose(table: Table, user_id: int, feed_id: int) -> Any:
    if table.name == "users":
        return table.c.id == user_id
    if "user_id" in table.c:
        return table.c.user_id == user_id
    return table.c.feed_id == feed_id if table.name == "entries" else None


def _is_given(column: Column[Any]) -> bool:
    if column.autoincrement is True or (column.table.name, column.name) in LEFT_ALONE:
        return False
    if (column.table.name, column.name) in FORMS or column.foreign_keys:
        return True
    return not column.nullable and column.server_default is None


def _value(column: Column[Any], ids: dict[str, int], now: Instant) -> Any:
    table, name = column.table.name, column.name
    if (table, name) in FORMS:
        return FORMS[table, name]
    for key in column.foreign_keys:
        return ids[key.column.table.name]
    if name.endswith("_id") and (known := _plural(name[:-3])) in ids:
        return ids[known]
    if name == "expires_at":
        return now + DAY
    if isinstance(column.type, Boolean):
        return False
    if isinstance(column.type, Float):
        return 0.0
    if isinstance(column.type, LargeBinary):
        return MARK.encode()
    if isinstance(column.type, (BigInteger, Integer)):
        return now if name.endswith("_at") or name == "at" else 1
    return f"{MARK} {table}.{name}"


def _plural(noun: str) -> str:
    return {"entry": "entries", "search": "searches", "story": "stories"}.get(noun, f"{noun}s")
