"""Requests in flight at each host, and when the next one may begin."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.create_table(
        "host_turns",
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("next_at", sa.BigInteger(), nullable=False),
        sa.Column("in_flight", sa.Text(), server_default="{}", nullable=False),
        sa.PrimaryKeyConstraint("host", name=op.f("pk_host_turns")),
        # Written with every request and worthless after a crash: without a log, no commit waits for the disk.
        prefixes=["UNLOGGED"] if op.get_bind().dialect.name == "postgresql" else [],
    )
