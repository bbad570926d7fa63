"""Selectors for whole articles, feed by feed; and what a large job works on, in pieces."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "article_selectors",
        sa.Column("feed_id", Id, autoincrement=False, nullable=False),
        sa.Column("kept", sa.Text(), server_default="", nullable=False),
        sa.Column("dropped", sa.Text(), server_default="", nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["feed_id"], ["feeds.id"], name=op.f("fk_article_selectors_feed_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("feed_id", name=op.f("pk_article_selectors")),
    )
    op.create_table(
        "job_pieces",
        sa.Column("job_id", Id, autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_pieces_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "number", name=op.f("pk_job_pieces")),
    )
