"""Feeds whose entries are read from the list on a page."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "page_feeds",
        sa.Column("feed_id", Id, autoincrement=False, nullable=False),
        sa.Column("recipe", sa.Text(), nullable=False),
        sa.Column("former_recipe", sa.Text(), nullable=True),
        sa.Column("rebuilt_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["feed_id"], ["feeds.id"], name=op.f("fk_page_feeds_feed_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("feed_id", name=op.f("pk_page_feeds")),
        sqlite_with_rowid=False,
    )
