"""What was deleted by age."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, Table, Text

from reedbed.store.tables.columns import Id, id_column, metadata, moment, number

removed_keys = Table(
    "removed_keys",
    metadata,
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("key", BigInteger, primary_key=True, autoincrement=False),  # see `domain.retention.removed_keys`
    moment("missed_at", null=True),  # when the feed's document stopped listing it
    Index("ix_removed_keys_missed_at", "missed_at"),
    sqlite_with_rowid=False,
)

cleanups = Table(
    "cleanups",
    metadata,
    id_column(),
    moment("started_at"),
    moment("finished_at", null=True),
    number("entries_removed"),
    number("unread_removed"),
    number("articles_cleared"),
    number("failures_removed"),
    number("feeds_removed"),
    number("bytes_freed"),
    Column("age_days", Integer),  # retention shortened by the database size limit; NULL: as configured
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
