"""Doubtful pairs of entries that a model judges, and entries that follow one that a user set apart."""

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("story_splits", sa.Column("because_id", sa.BigInteger()))
    op.create_table(
        "story_pairs",
        sa.Column("entry_id", Id, autoincrement=False, nullable=False),
        sa.Column("other_id", Id, autoincrement=False, nullable=False),
        sa.Column("status", sa.Text(), nullable=False, server_default="waiting"),
        sa.Column("added_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["entry_id"], ["entries.id"], name=op.f("fk_story_pairs_entry_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["other_id"], ["entries.id"], name=op.f("fk_story_pairs_other_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("entry_id", "other_id", name=op.f("pk_story_pairs")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_story_pairs_other_id", "story_pairs", ["other_id"])
    op.create_index("ix_story_pairs_status", "story_pairs", ["status", "entry_id"])
