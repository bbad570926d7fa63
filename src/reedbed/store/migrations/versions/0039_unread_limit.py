"""How many of a feed's newest entries stay unread."""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"


def upgrade() -> None:
    op.add_column("subscriptions", sa.Column("unread_limit", sa.Integer()))
