"""Chapters and transcripts that were fetched."""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "recording_texts",
        sa.Column("entry_id", Id, autoincrement=False, nullable=False),
        sa.Column("chapters", sa.Text()),
        sa.Column("chapters_at", sa.BigInteger()),
        sa.Column("transcript", sa.Text()),
        sa.Column("transcript_at", sa.BigInteger()),
        sa.ForeignKeyConstraint(
            ["entry_id"], ["entries.id"], name=op.f("fk_recording_texts_entry_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("entry_id", name=op.f("pk_recording_texts")),
    )
