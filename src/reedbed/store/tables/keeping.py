"""What retention removed, and what it tells about it."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, Table, Text

from reedbed.store.tables.columns import Id, metadata, moment, number, own_id

removed_keys = Table(
    "removed_keys",
    metadata,
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("key", BigInteger, primary_key=True, autoincrement=False),  # see `domain.retention.removed_keys`
    moment("missed_at", null=True),  # since when the feed's document no longer lists it
    Index("ix_removed_keys_missed_at", "missed_at"),
    sqlite_with_rowid=False,
)

cleanups = Table(
    "cleanups",
    metadata,
    own_id(),
    moment("started_at"),
    moment("finished_at", null=True),
    number("entries_removed"),
    number("unread_removed"),
    number("articles_cleared"),
    number("failures_removed"),
    number("feeds_removed"),
    number("bytes_freed"),
    Column("age_days", Integer),  # how far the size of the database made it go; NULL: no further than set
    Column("notes", Text, nullable=False, server_default=""),
    Index("ix_cleanups_started_at", "started_at"),
    sqlite_autoincrement=True,
)

cleanup_notices = Table(
    "cleanup_notices",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    number("unread_removed"),
    moment("removed_at"),
)

imported_reads = Table(  # what was read in another program and has not arrived here yet
    "imported_reads",
    metadata,
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("key", BigInteger, primary_key=True, autoincrement=False),  # see `domain.retention.removed_key`
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    moment("created_at"),
    Index("ix_imported_reads_created_at", "created_at"),
    Index("ix_imported_reads_user_id", "user_id"),
    sqlite_with_rowid=False,
)
