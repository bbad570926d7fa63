"""Stories that a user has joined."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "story_joins",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("story_id", Id, autoincrement=False, nullable=False),
        sa.Column("target_id", Id, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_story_joins_user_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["story_id"], ["stories.id"], name=op.f("fk_story_joins_story_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["target_id"], ["stories.id"], name=op.f("fk_story_joins_target_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "story_id", name=op.f("pk_story_joins")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_story_joins_story_id", "story_joins", ["story_id"], unique=False)
    op.create_index("ix_story_joins_target_id", "story_joins", ["target_id"], unique=False)
