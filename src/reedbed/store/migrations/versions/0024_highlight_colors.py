"""Highlights have one of four colours, and the time of their last review."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    op.add_column("highlights", sa.Column("color", sa.Text(), nullable=False, server_default="yellow"))
    op.add_column("highlights", sa.Column("reviewed_at", sa.BigInteger(), nullable=True))
