"""What a user keeps."""

from sqlalchemy import Column, ForeignKey, Index, Table, Text, UniqueConstraint

from reedbed.store.tables.columns import Id, flag, metadata, moment, number, own_id, owner

bookmarks = Table(
    "bookmarks",
    metadata,
    own_id(),
    owner(),
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="SET NULL")),
    Column("url", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("feed_title", Text, nullable=False),
    moment("published_at", null=True),
    moment("created_at"),
    UniqueConstraint("user_id", "url"),
    Index("ix_bookmarks_user_id", "user_id", "id"),
    Index("ix_bookmarks_entry_id", "entry_id"),
)

highlights = Table(
    "highlights",
    metadata,
    own_id(),
    owner(),
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="SET NULL")),
    Column("entry_title", Text, nullable=False),
    Column("entry_url", Text),
    Column("quote", Text, nullable=False),
    Column("prefix", Text, nullable=False, server_default=""),
    Column("suffix", Text, nullable=False, server_default=""),
    Column("note", Text, nullable=False, server_default=""),
    moment("created_at"),
    moment("updated_at"),
    Index("ix_highlights_user_id", "user_id", "id"),
    Index("ix_highlights_entry_id", "entry_id"),
)

searches = Table(
    "searches",
    metadata,
    own_id(),
    owner(),
    Column("name", Text, nullable=False),
    Column("query", Text, nullable=False),
    number("position"),
    moment("created_at"),
    UniqueConstraint("user_id", "name"),
)

rules = Table(
    "rules",
    metadata,
    own_id(),
    owner(),
    Column("name", Text, nullable=False),
    Column("conditions", Text, nullable=False),
    Column("actions", Text, nullable=False),
    flag("enabled", on=True),
    number("position"),
    number("matched"),
    moment("created_at"),
    Index("ix_rules_user_id", "user_id", "position"),
)

published_feeds = Table(
    "published_feeds",
    metadata,
    own_id(),
    owner(),
    Column("name", Text, nullable=False),
    Column("token_hash", Text, nullable=False, unique=True),
    Column("view", Text, nullable=False),  # JSON of the view it shows
    moment("created_at"),
    moment("last_used_at", null=True),
    Index("ix_published_feeds_user_id", "user_id"),
)
