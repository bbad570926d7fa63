"""What a user has read, starred, saved and highlighted."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, LargeBinary, Table, Text, UniqueConstraint

from reedbed.store.tables.columns import Id, flag, id_column, metadata, moment, number, owner, partial_index

unread = Table(
    "unread",
    metadata,
    Column("user_id", Id, primary_key=True, autoincrement=False),
    Column("sort_at", BigInteger, primary_key=True, autoincrement=False),
    Column("entry_id", Id, primary_key=True, autoincrement=False),
    Column("feed_id", Id, nullable=False),
    flag("kept"),  # marked unread by hand: unread even below the read marker
    Index("ix_unread_feed", "user_id", "feed_id", "sort_at", "entry_id", "kept"),
    Index("uq_unread_entry", "user_id", "entry_id", unique=True),
    partial_index("ix_unread_kept", "user_id", "entry_id", where="kept = 1", on_postgresql="kept"),
    sqlite_with_rowid=False,
)

parked_unread = Table(
    "parked_unread",
    metadata,
    Column("user_id", Id, primary_key=True, autoincrement=False),
    Column("feed_id", Id, primary_key=True, autoincrement=False),
    Column("entry_id", Id, primary_key=True, autoincrement=False),
    Column("sort_at", BigInteger, nullable=False),
    flag("kept"),
    sqlite_with_rowid=False,
)


def _marks(name: str) -> Table:
    return Table(
        name,
        metadata,
        Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
        Column("sort_at", BigInteger, primary_key=True, autoincrement=False),
        Column("entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
        moment("marked_at"),
        Index(f"uq_{name}_entry", "user_id", "entry_id", unique=True),
        Index(f"ix_{name}_entry_id", "entry_id"),
        sqlite_with_rowid=False,
    )


starred = _marks("starred")

later = _marks("later")

# Hidden unless requested explicitly; never unread, starred, saved for later, tagged or in the history.
muted = _marks("muted")

read_history = Table(
    "read_history",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    moment("read_at"),
    Index("ix_read_history_user_id_read_at", "user_id", "read_at", "entry_id"),
    Index("ix_read_history_entry_id", "entry_id"),
    sqlite_with_rowid=False,
)

undo_steps = Table(
    "undo_steps",
    metadata,
    id_column(),
    owner(),
    Column("token_hash", Text, nullable=False, unique=True),
    Column("marks", Text, nullable=False),  # JSON: the state to restore
    number("marked"),
    moment("created_at"),
    moment("expires_at"),
    Index("ix_undo_steps_user_id", "user_id"),
    Index("ix_undo_steps_expires_at", "expires_at"),
)

undo_rows = Table(
    "undo_rows",
    metadata,
    Column("undo_id", Id, ForeignKey("undo_steps.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("entry_id", Id, primary_key=True, autoincrement=False),
    Column("feed_id", Id, nullable=False),
    Column("sort_at", BigInteger, nullable=False),
    flag("kept"),
    sqlite_with_rowid=False,
)

imported_reads = Table(  # entries read in another program that have not arrived here yet
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

bookmarks = Table(
    "bookmarks",
    metadata,
    id_column(),
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
    id_column(),
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
    Column("color", Text, nullable=False, server_default="yellow"),
    moment("reviewed_at", null=True),
    Index("ix_highlights_user_id", "user_id", "id"),
    Index("ix_highlights_entry_id", "entry_id"),
)

interest_models = Table(
    "interest_models",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("numbers", LargeBinary, nullable=False),  # as `InterestModel.dump` packs them, at most 400 KB
    Column("names", Text, nullable=False, server_default=""),  # of the features, in the same order
    Column("rest", Text, nullable=False, server_default="{}"),  # JSON
    moment("created_at"),
    moment("changed_at"),
)

interest_rankings = Table(  # lists as they were ranked for their first page, so that the next pages follow it
    "interest_rankings",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("entries", LargeBinary, nullable=False),  # ids of 64 bits, those from outside the user's taste negative
    Column("oldest_at", BigInteger, nullable=False),  # where the list goes on by time
    Column("oldest_id", Id, nullable=False),
    moment("created_at"),
    sqlite_with_rowid=False,
)

repeated_entries = Table(  # for this user, the entry has the address of an earlier one in another feed
    "repeated_entries",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("first_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), nullable=False),
    Index("ix_repeated_entries_entry_id", "entry_id"),
    Index("ix_repeated_entries_first_id", "first_id", "user_id"),
    sqlite_with_rowid=False,
)
