"""Stories: entries of several feeds about one event, shared like the entries; what a user sees is filtered.

An entry that is alone with its event has no row here.
"""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Table

from reedbed.store.tables.columns import Id, metadata, moment

stories = Table(
    "stories",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=False),  # that of the entry it began with
    Column("merged_into", Id, ForeignKey("stories.id", ondelete="CASCADE")),
    moment("newest_at"),
    Index("ix_stories_newest_at", "newest_at"),
    Index("ix_stories_merged_into", "merged_into"),
)

story_entries = Table(
    "story_entries",
    metadata,
    Column(
        "entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    ),
    Column("story_id", Id, ForeignKey("stories.id", ondelete="CASCADE"), nullable=False),
    Column("feed_id", Id, nullable=False),  # as in `entries`
    Column("sort_at", BigInteger, nullable=False),
    Index("ix_story_entries_story", "story_id", "sort_at", "entry_id", "feed_id"),
    Index("ix_story_entries_feed", "feed_id", "sort_at", "story_id", "entry_id"),
)

story_splits = Table(  # this user says: not the same story
    "story_splits",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column(
        "entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    ),
    moment("created_at"),
    Index("ix_story_splits_entry_id", "entry_id"),
    sqlite_with_rowid=False,
)
