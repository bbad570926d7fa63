"""The text of transcripts, for search, summaries and questions."""

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"


def upgrade() -> None:
    op.add_column("entry_bodies", sa.Column("transcript", sa.Text()))
