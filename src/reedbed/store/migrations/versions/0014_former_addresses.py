"""Where feeds were before they moved."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "former_addresses",
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("feed_id", Id, nullable=False),
        sa.ForeignKeyConstraint(
            ["feed_id"], ["feeds.id"], name=op.f("fk_former_addresses_feed_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("url", name=op.f("pk_former_addresses")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_former_addresses_feed_id", "former_addresses", ["feed_id"])
