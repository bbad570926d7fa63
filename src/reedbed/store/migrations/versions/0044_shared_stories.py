"""Public copies of stories."""

import sqlalchemy as sa
from alembic import op

revision = "0044"
down_revision = "0043"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "shared_stories",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_used_at", sa.BigInteger()),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_shared_stories_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shared_stories")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_shared_stories_token_hash")),
    )
    op.create_index("ix_shared_stories_user_id", "shared_stories", ["user_id"])
