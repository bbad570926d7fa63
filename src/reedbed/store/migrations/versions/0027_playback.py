"""Recordings of entries, positions in them and the queue of each user."""

from collections.abc import Iterator
from typing import Any

import orjson
import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
AT_ONCE = 2_000


def upgrade() -> None:
    op.create_table(
        "recordings",
        sa.Column("entry_id", Id, autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("type", sa.Text()),
        sa.Column("seconds", sa.BigInteger()),
        sa.Column("length", sa.BigInteger()),
        sa.ForeignKeyConstraint(["entry_id"], ["entries.id"], name=op.f("fk_recordings_entry_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("entry_id", "number", name=op.f("pk_recordings")),
        sqlite_with_rowid=False,
    )
    _create_positions()
    _create_queue()
    op.add_column("subscriptions", sa.Column("playback_speed", sa.Integer()))
    op.add_column("subscriptions", sa.Column("without_shorts", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("feeds", sa.Column("has_recordings", sa.Boolean(), server_default=sa.false(), nullable=False))
    _fill_recordings()


def _create_positions() -> None:
    op.create_table(
        "playback_positions",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("entry_id", Id, autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("started", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("seconds", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("total", sa.BigInteger()),
        sa.Column("done", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("played_at", sa.BigInteger(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        *_keys("playback_positions"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_playback_positions_changed_at", "playback_positions", ["user_id", "changed_at"])
    op.create_index("ix_playback_positions_entry_id", "playback_positions", ["entry_id"])


def _create_queue() -> None:
    op.create_table(
        "playback_queue",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("entry_id", Id, autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("added_at", sa.BigInteger(), nullable=False),
        *_keys("playback_queue"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_playback_queue_entry_id", "playback_queue", ["entry_id"])


def _keys(table: str) -> list[sa.Constraint]:
    return [
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f(f"fk_{table}_user_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["entry_id"], ["entries.id"], name=op.f(f"fk_{table}_entry_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "entry_id", "number", name=op.f(f"pk_{table}")),
    ]


def _fill_recordings() -> None:
    """Entries of before keep their files in a JSON field of the body."""
    connection = op.get_bind()
    after = 0
    while True:
        rows = connection.execute(
            sa.text(
                "SELECT entry_id, extra FROM entry_bodies WHERE entry_id > :after "
                "AND extra LIKE '%\"enclosures\"%' ORDER BY entry_id LIMIT :most"
            ),
            {"after": after, "most": AT_ONCE},
        ).all()
        if not rows:
            break
        found = [recording for entry_id, extra in rows for recording in _recordings(entry_id, extra)]
        if found:
            connection.execute(
                sa.text(
                    "INSERT INTO recordings (entry_id, number, kind, url, type, seconds, length) "
                    "VALUES (:entry_id, :number, :kind, :url, :type, :seconds, :length)"
                ),
                found,
            )
        after = rows[-1][0]
    op.execute(
        "UPDATE feeds SET has_recordings = TRUE WHERE id IN "
        "(SELECT feed_id FROM entries WHERE id IN (SELECT entry_id FROM recordings))"
    )


def _recordings(entry_id: int, extra: str) -> Iterator[dict[str, Any]]:
    number = 0
    for item in orjson.loads(extra).get("enclosures", ()):
        kind = (item.get("type") or "").partition("/")[0]
        if kind in ("audio", "video"):
            yield {
                "entry_id": entry_id,
                "number": number,
                "kind": kind,
                "url": item["url"],
                "type": item.get("type"),
                "seconds": item.get("duration"),
                "length": item.get("length"),
            }
            number += 1
