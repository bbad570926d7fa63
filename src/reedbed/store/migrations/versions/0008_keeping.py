"""How long entries are kept, what was removed, and what is said about it."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    for wish in ("keep_entries", "keep_days", "keep_unread_days"):
        op.add_column("subscriptions", sa.Column(wish, sa.Integer(), nullable=True))
    op.create_index(
        "ix_entry_bodies_full",
        "entry_bodies",
        ["entry_id"],
        sqlite_where=sa.text("full_content IS NOT NULL"),
        postgresql_where=sa.text("full_content IS NOT NULL"),
    )
    op.create_table(
        "removed_keys",
        sa.Column("feed_id", Id, autoincrement=False, nullable=False),
        sa.Column("key", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("missed_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["feed_id"], ["feeds.id"], name=op.f("fk_removed_keys_feed_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("feed_id", "key", name=op.f("pk_removed_keys")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_removed_keys_missed_at", "removed_keys", ["missed_at"])
    op.create_table(
        "cleanups",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        *(_number(name) for name in _COUNTED),
        sa.Column("age_days", sa.Integer(), nullable=True),
        sa.Column("notes", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cleanups")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_cleanups_started_at", "cleanups", ["started_at"])
    op.create_table(
        "cleanup_notices",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        _number("unread_removed"),
        sa.Column("removed_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_cleanup_notices_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_cleanup_notices")),
    )
    if op.get_bind().dialect.name == "sqlite":
        # What was indexed, so that exactly that can be taken out again; see `store/search/fts5.py`.
        op.execute("ALTER TABLE search_keys ADD COLUMN digest INTEGER")


_COUNTED = ("entries_removed", "unread_removed", "articles_cleared", "failures_removed", "feeds_removed", "bytes_freed")


def _number(name: str) -> "sa.Column[int]":
    return sa.Column(name, sa.BigInteger(), server_default=sa.text("0"), nullable=False)
