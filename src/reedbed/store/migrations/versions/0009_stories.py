"""Stories: entries of several feeds about one event."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "stories",
        sa.Column("id", Id, autoincrement=False, nullable=False),
        sa.Column("merged_into", Id, nullable=True),
        sa.Column("newest_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["merged_into"], ["stories.id"], name=op.f("fk_stories_merged_into"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stories")),
    )
    op.create_index("ix_stories_newest_at", "stories", ["newest_at"], unique=False)
    op.create_index("ix_stories_merged_into", "stories", ["merged_into"], unique=False)
    op.create_table(
        "story_entries",
        sa.Column("entry_id", Id, autoincrement=False, nullable=False),
        sa.Column("story_id", Id, nullable=False),
        sa.Column("feed_id", Id, nullable=False),
        sa.Column("sort_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["entry_id"], ["entries.id"], name=op.f("fk_story_entries_entry_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["story_id"], ["stories.id"], name=op.f("fk_story_entries_story_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("entry_id", name=op.f("pk_story_entries")),
    )
    op.create_index(
        "ix_story_entries_story", "story_entries", ["story_id", "sort_at", "entry_id", "feed_id"], unique=False
    )
    op.create_index(
        "ix_story_entries_feed", "story_entries", ["feed_id", "sort_at", "story_id", "entry_id"], unique=False
    )
    op.create_table(
        "story_splits",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("entry_id", Id, autoincrement=False, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_story_splits_user_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["entry_id"], ["entries.id"], name=op.f("fk_story_splits_entry_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "entry_id", name=op.f("pk_story_splits")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_story_splits_entry_id", "story_splits", ["entry_id"], unique=False)
