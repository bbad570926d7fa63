"""Entries that a user's rules have muted."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "muted",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("sort_at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("entry_id", Id, autoincrement=False, nullable=False),
        sa.Column("marked_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["entry_id"], ["entries.id"], name=op.f("fk_muted_entry_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_muted_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "sort_at", "entry_id", name=op.f("pk_muted")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_muted_entry_id", "muted", ["entry_id"])
    op.create_index("uq_muted_entry", "muted", ["user_id", "entry_id"], unique=True)
