"""Services that are told of digests and of feeds that stop."""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    for name in ("digests", "stopped_feeds"):
        op.add_column("share_targets", sa.Column(name, sa.Boolean(), server_default=sa.false(), nullable=False))
