"""Questions over one's entries; what is summarised by itself, and what is sent to no model, feed by feed."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "questions",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), server_default="pending", nullable=False),
        sa.Column("scope", sa.Text(), server_default="{}", nullable=False),
        sa.Column("answer", sa.Text(), server_default="{}", nullable=False),
        sa.Column("model", sa.Text(), server_default="", nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_questions_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_questions")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_questions_user_id", "questions", ["user_id", "id"])
    op.add_column("folders", sa.Column("summary_words", sa.Integer(), nullable=True))
    op.add_column("subscriptions", sa.Column("summary_words", sa.Integer(), nullable=True))
    op.add_column("subscriptions", sa.Column("local_only", sa.Boolean(), server_default=sa.false(), nullable=False))
