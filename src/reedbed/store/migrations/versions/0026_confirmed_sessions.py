"""When the user of a session last proved who they are."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    op.add_column("sessions", sa.Column("confirmed_at", sa.BigInteger(), nullable=True))
