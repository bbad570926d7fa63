"""Stories that a user follows."""

import sqlalchemy as sa
from alembic import op

revision = "0047"
down_revision = "0046"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "story_follows",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("story_id", Id, autoincrement=False, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_story_follows_user_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["story_id"], ["stories.id"], name=op.f("fk_story_follows_story_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "story_id", name=op.f("pk_story_follows")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_story_follows_story_id", "story_follows", ["story_id"], unique=False)
