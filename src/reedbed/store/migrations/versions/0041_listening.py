"""What is read aloud."""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "spoken",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("source_id", Id, nullable=False),
        sa.Column("title", sa.Text(), nullable=False, server_default=""),
        sa.Column("language", sa.Text(), nullable=False, server_default=""),
        sa.Column("status", sa.Text(), nullable=False, server_default="pending"),
        sa.Column("error", sa.Text()),
        sa.Column("media_type", sa.Text(), nullable=False, server_default=""),
        sa.Column("length", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
        sa.Column("seconds", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
        sa.Column("chapters", sa.Text(), nullable=False, server_default="[]"),
        sa.Column("transcript", sa.Text(), nullable=False, server_default="[]"),
        sa.Column("characters", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
        sa.Column("entry_id", Id),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_spoken_user_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["entry_id"], ["entries.id"], name=op.f("fk_spoken_entry_id"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_spoken")),
        sa.UniqueConstraint("user_id", "kind", "source_id", name=op.f("uq_spoken_user_id_kind_source_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_spoken_entry_id", "spoken", ["entry_id"])
    op.create_index("ix_spoken_created_at", "spoken", ["created_at"])
    op.create_table(
        "spoken_parts",
        sa.Column("spoken_id", Id, autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["spoken_id"], ["spoken.id"], name=op.f("fk_spoken_parts_spoken_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("spoken_id", "number", name=op.f("pk_spoken_parts")),
    )
