"""Feeds and folders that are kept out of the list of everything unread."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    for table in ("subscriptions", "folders"):
        op.add_column(table, sa.Column("in_unread", sa.Boolean(), server_default=sa.true(), nullable=False))
