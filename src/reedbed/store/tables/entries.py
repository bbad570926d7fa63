"""Entries, shared like their feeds, with their bodies in a table of their own.

An entry with an `audience_id` was not published by the feed it is in: it came along when another feed merged
into this one. Only the members of the audience see it.
"""

from sqlalchemy import Column, ForeignKey, Index, Integer, Table, Text

from reedbed.store.tables.columns import Id, metadata, moment, number, own_id, partial_index

audiences = Table(  # those who followed a feed when it merged into another, or took another address
    "audiences",
    metadata,
    own_id(),
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), nullable=False),
    Index("ix_audiences_feed_id", "feed_id"),
    sqlite_autoincrement=True,
)

audience_members = Table(
    "audience_members",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column(
        "audience_id",
        Id,
        ForeignKey("audiences.id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    number("since_id"),  # as in `subscriptions`: entries at or below are not visible
    Index("ix_audience_members_audience_id", "audience_id"),
    sqlite_with_rowid=False,
)

entries = Table(
    "entries",
    metadata,
    own_id(),
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), nullable=False),
    Column("guid", Text),
    Column("url", Text),
    Column("normalized_url", Text),
    Column("change_hash", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("author", Text),
    Column("summary", Text, nullable=False, server_default=""),  # plain preview, at most 300 characters
    Column("image", Text),
    Column("language", Text),
    Column("words", Integer, nullable=False, server_default="0"),
    Column("version", Integer, nullable=False, server_default="1"),
    moment("published_at", null=True),
    moment("fetched_at"),
    moment("changed_at", null=True),
    moment("sort_at"),
    Column("audience_id", Id),  # NULL: everybody who follows the feed
    partial_index(
        "uq_entries_guid", "feed_id", "guid", where="guid IS NOT NULL AND audience_id IS NULL", unique=True
    ),
    partial_index("ix_entries_audience", "feed_id", "guid", where="audience_id IS NOT NULL"),
    partial_index("ix_entries_url", "feed_id", "normalized_url", where="normalized_url IS NOT NULL"),
    Index("ix_entries_feed_sort", "feed_id", "sort_at", "id", "audience_id"),
    Index("ix_entries_sort", "sort_at", "id"),
    Index("ix_entries_fetched_at", "fetched_at"),
    partial_index("ix_entries_changed_at", "changed_at", where="changed_at IS NOT NULL"),
    sqlite_autoincrement=True,
)

entry_bodies = Table(
    "entry_bodies",
    metadata,
    Column(
        "entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    ),
    Column("content", Text, nullable=False),  # sanitised HTML
    Column(
        "extra", Text, nullable=False, server_default="{}"
    ),  # JSON: enclosures, authors, categories, comments
    Column("full_content", Text),
    moment("full_attempted_at", null=True),
    partial_index("ix_entry_bodies_full", "entry_id", where="full_content IS NOT NULL"),
)

entry_versions = Table(
    "entry_versions",
    metadata,
    Column(
        "entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    ),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("title", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("change_hash", Text, nullable=False),
    moment("replaced_at"),
    sqlite_with_rowid=False,
)
