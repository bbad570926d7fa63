"""Feeds that are muted until a time, and how the sidebar shows what is unread in a feed."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"

MUTED = sa.text("muted_until IS NOT NULL")


def upgrade() -> None:
    op.add_column("subscriptions", sa.Column("muted_until", sa.BigInteger()))
    op.add_column("subscriptions", sa.Column("unread_display", sa.Text(), server_default="number", nullable=False))
    op.create_index("ix_subscriptions_muted", "subscriptions", ["user_id"], sqlite_where=MUTED, postgresql_where=MUTED)
