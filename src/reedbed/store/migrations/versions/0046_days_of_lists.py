"""Whether a list has a heading for each day."""

import sqlalchemy as sa
from alembic import op

revision = "0046"
down_revision = "0045"


def upgrade() -> None:
    op.add_column("list_settings", sa.Column("days", sa.Text(), server_default="", nullable=False))
