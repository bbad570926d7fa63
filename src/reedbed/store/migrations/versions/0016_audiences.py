"""Entries that only some followers of a feed see."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "audiences",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("feed_id", Id, nullable=False),
        sa.ForeignKeyConstraint(["feed_id"], ["feeds.id"], name=op.f("fk_audiences_feed_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audiences")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_audiences_feed_id", "audiences", ["feed_id"])
    op.create_table(
        "audience_members",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("audience_id", Id, autoincrement=False, nullable=False),
        sa.Column("since_id", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_audience_members_user_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["audience_id"], ["audiences.id"], name=op.f("fk_audience_members_audience_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "audience_id", name=op.f("pk_audience_members")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_audience_members_audience_id", "audience_members", ["audience_id"])
    op.add_column("entries", sa.Column("audience_id", Id))
    op.drop_index("uq_entries_guid", "entries")
    _index("uq_entries_guid", ["feed_id", "guid"], "guid IS NOT NULL AND audience_id IS NULL", unique=True)
    _index("ix_entries_audience", ["feed_id", "guid"], "audience_id IS NOT NULL")
    op.drop_index("ix_entries_feed_sort", "entries")
    op.create_index("ix_entries_feed_sort", "entries", ["feed_id", "sort_at", "id", "audience_id"])


def _index(name: str, columns: list[str], where: str, *, unique: bool = False) -> None:
    op.create_index(
        name, "entries", columns, unique=unique, sqlite_where=sa.text(where), postgresql_where=sa.text(where)
    )
