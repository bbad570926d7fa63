"""Pages that are watched for changes."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    op.add_column("page_feeds", sa.Column("watched", sa.Text(), nullable=True))
