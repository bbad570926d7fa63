"""Questions that are answered later, when an entry does."""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"


def upgrade() -> None:
    op.add_column("questions", sa.Column("watched_at", sa.BigInteger(), nullable=True))
    is_watched = sa.text("watched_at IS NOT NULL")
    op.create_index(
        "ix_questions_watched", "questions", ["watched_at"], sqlite_where=is_watched, postgresql_where=is_watched
    )
