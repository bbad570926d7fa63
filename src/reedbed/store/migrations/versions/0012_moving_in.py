"""What was read in another program before its feeds are fetched here."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "imported_reads",
        sa.Column("feed_id", Id, autoincrement=False, nullable=False),
        sa.Column("key", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["feed_id"], ["feeds.id"], name=op.f("fk_imported_reads_feed_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_imported_reads_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("feed_id", "key", "user_id", name=op.f("pk_imported_reads")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_imported_reads_created_at", "imported_reads", ["created_at"])
    op.create_index("ix_imported_reads_user_id", "imported_reads", ["user_id"])
