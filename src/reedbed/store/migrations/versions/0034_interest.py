"""What a user is interested in, and lists ranked by it."""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "interest_models",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("numbers", sa.LargeBinary(), nullable=False),
        sa.Column("names", sa.Text(), server_default="", nullable=False),
        sa.Column("rest", sa.Text(), server_default="{}", nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_interest_models_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_interest_models")),
    )
    op.create_table(
        "interest_rankings",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("entries", sa.LargeBinary(), nullable=False),
        sa.Column("oldest_at", sa.BigInteger(), nullable=False),
        sa.Column("oldest_id", Id, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_interest_rankings_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "id", name=op.f("pk_interest_rankings")),
        sqlite_with_rowid=False,
    )
