"""Translations of entries."""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "translations",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("entry_id", Id, nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False, server_default=""),
        sa.Column("text_hash", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("of_full", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("queue_key", sa.Text(), nullable=False),
        *(
            sa.Column(name, sa.Text(), nullable=False, server_default="")
            for name in ("title", "summary", "content", "pairs", "provider")
        ),
        sa.Column("blocks", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
        sa.Column("kept", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
        sa.Column("made_at", sa.BigInteger()),
        sa.Column("made_hash", sa.Text(), nullable=False, server_default=""),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        _entry("translations"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_translations")),
        sa.UniqueConstraint("entry_id", "language", name=op.f("uq_translations_entry_id_language")),
    )
    op.create_index("ix_translations_text_hash", "translations", ["text_hash"])
    op.create_table(
        "translated_blocks",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("text", sa.Text()),
        sa.Column("tries", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_translated_blocks")),
    )
    op.create_index("ix_translated_blocks_created_at", "translated_blocks", ["created_at"])
    op.create_table(
        "translation_views",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("entry_id", Id, autoincrement=False, nullable=False),
        sa.Column("view", sa.Text(), nullable=False),
        _user("translation_views"),
        _entry("translation_views"),
        sa.PrimaryKeyConstraint("user_id", "entry_id", name=op.f("pk_translation_views")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_translation_views_entry_id", "translation_views", ["entry_id"])
    op.create_table(
        "feed_translations",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("feed_id", Id, autoincrement=False, nullable=False),
        sa.Column("mode", sa.Text(), nullable=False),
        _user("feed_translations"),
        sa.ForeignKeyConstraint(
            ["feed_id"], ["feeds.id"], name=op.f("fk_feed_translations_feed_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "feed_id", name=op.f("pk_feed_translations")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_feed_translations_feed_id", "feed_translations", ["feed_id"])
    op.add_column("entry_bodies", sa.Column("translated", sa.Text()))


def _user(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f(f"fk_{table}_user_id"), ondelete="CASCADE")


def _entry(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["entry_id"], ["entries.id"], name=op.f(f"fk_{table}_entry_id"), ondelete="CASCADE")
