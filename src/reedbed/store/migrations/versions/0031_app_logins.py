"""Logins of apps that the page grants."""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "app_logins",
        sa.Column("poll_hash", sa.Text(), nullable=False),
        sa.Column("code_hash", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("user_id", Id),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_app_logins_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("poll_hash", name=op.f("pk_app_logins")),
        sa.UniqueConstraint("code_hash", name=op.f("uq_app_logins_code_hash")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_app_logins_user_id", "app_logins", ["user_id"])
