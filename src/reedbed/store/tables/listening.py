"""What is read aloud, and its sound in parts of fixed size."""

from sqlalchemy import Column, ForeignKey, Index, Integer, LargeBinary, Table, Text, UniqueConstraint

from reedbed.store.tables.columns import Id, id_column, metadata, moment, number, owner

spoken = Table(
    "spoken",
    metadata,
    id_column(),
    owner(),
    Column("kind", Text, nullable=False),  # entry, digest
    Column("source_id", Id, nullable=False),
    Column("title", Text, nullable=False, server_default=""),
    Column("language", Text, nullable=False, server_default=""),
    Column("status", Text, nullable=False, server_default="pending"),  # pending, ready, failed
    Column("error", Text),
    Column("media_type", Text, nullable=False, server_default=""),
    number("length"),  # bytes
    number("seconds"),
    Column("chapters", Text, nullable=False, server_default="[]"),  # JSON: [start, title, url]
    Column("transcript", Text, nullable=False, server_default="[]"),  # JSON: [start, text]
    number("characters"),
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="SET NULL")),  # of the user's own feed
    moment("created_at"),
    UniqueConstraint("user_id", "kind", "source_id"),
    Index("ix_spoken_entry_id", "entry_id"),
    Index("ix_spoken_created_at", "created_at"),
    sqlite_autoincrement=True,
)

spoken_parts = Table(
    "spoken_parts",
    metadata,
    Column("spoken_id", Id, ForeignKey("spoken.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("data", LargeBinary, nullable=False),
)
