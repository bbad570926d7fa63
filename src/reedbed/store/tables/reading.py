"""What a user follows and has read.

What is unread is a row in `unread`; what is visible and has no row is read.
"""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, Table, Text, UniqueConstraint, text

from reedbed.store.tables.columns import Id, flag, metadata, moment, number, own_id, owner, partial_index

folders = Table(
    "folders",
    metadata,
    own_id(),
    owner(),
    Column("parent_id", Id, ForeignKey("folders.id", ondelete="SET NULL")),
    Column("name", Text, nullable=False),
    number("position"),
    Column("summary_words", Integer),  # as of a subscription; NULL takes that of the folder around it
    moment("created_at"),
    Index("ix_folders_user_id", "user_id"),
    sqlite_autoincrement=True,
)

subscriptions = Table(
    "subscriptions",
    metadata,
    own_id(),
    owner(),
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), nullable=False),
    Column("folder_id", Id, ForeignKey("folders.id", ondelete="SET NULL")),
    Column("title", Text),  # the user's own; NULL takes the feed's
    Column("asked_url", Text, nullable=False, server_default=""),  # the address as the user gave it
    number("position"),
    flag("paused"),
    Column("interval", BigInteger),
    Column("full_text", Text, nullable=False, server_default="auto"),  # auto, always, never
    flag("notify"),
    # how much this user wishes to be kept; NULL takes the server's limit, 0 is without one
    Column("keep_entries", Integer),
    Column("keep_days", Integer),
    Column("keep_unread_days", Integer),
    # new entries with at least so many words are summarised; -1: none; NULL takes the folder's
    Column("summary_words", Integer),
    flag("local_only"),  # its texts are sent to no model of somebody else
    Column("opml", Text),  # JSON of unknown OPML attributes, given back on export
    number("since_id"),  # entries at or below are not visible
    number("read_to"),  # unread rows at or below are dead, unless kept
    number("newest_id"),  # newest entry fanned out to this user
    number("unread"),
    moment("subscribed_at"),
    moment("unsubscribed_at", null=True),
    UniqueConstraint("user_id", "feed_id"),
    Index("ix_subscriptions_feed_id", "feed_id"),
    partial_index("ix_subscriptions_wish", "feed_id", "interval", where="interval IS NOT NULL"),
    sqlite_autoincrement=True,
)

unread = Table(
    "unread",
    metadata,
    Column("user_id", Id, primary_key=True, autoincrement=False),
    Column("sort_at", BigInteger, primary_key=True, autoincrement=False),
    Column("entry_id", Id, primary_key=True, autoincrement=False),
    Column("feed_id", Id, nullable=False),
    flag("kept"),  # marked unread by hand: alive even below the mark
    Index("ix_unread_feed", "user_id", "feed_id", "sort_at", "entry_id", "kept"),
    Index("uq_unread_entry", "user_id", "entry_id", unique=True),
    Index(
        "ix_unread_kept", "user_id", "entry_id", sqlite_where=text("kept = 1"), postgresql_where=text("kept")
    ),
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
        Column(
            "user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
        ),
        Column("sort_at", BigInteger, primary_key=True, autoincrement=False),
        Column(
            "entry_id",
            Id,
            ForeignKey("entries.id", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        moment("marked_at"),
        Index(f"uq_{name}_entry", "user_id", "entry_id", unique=True),
        Index(f"ix_{name}_entry_id", "entry_id"),
        sqlite_with_rowid=False,
    )


starred = _marks("starred")
later = _marks("later")
# Shown nowhere unless asked for; never unread, starred, kept for later, tagged or in the history.
muted = _marks("muted")

read_history = Table(
    "read_history",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column(
        "entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    ),
    moment("read_at"),
    Index("ix_read_history_user_id_read_at", "user_id", "read_at", "entry_id"),
    Index("ix_read_history_entry_id", "entry_id"),
    sqlite_with_rowid=False,
)

tags = Table(
    "tags",
    metadata,
    own_id(),
    owner(),
    Column("name", Text, nullable=False),
    moment("created_at"),
    UniqueConstraint("user_id", "name"),
    sqlite_autoincrement=True,
)

entry_tags = Table(
    "entry_tags",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("tag_id", Id, ForeignKey("tags.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("sort_at", BigInteger, primary_key=True, autoincrement=False),
    Column(
        "entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    ),
    Index("ix_entry_tags_entry", "user_id", "entry_id"),
    Index("ix_entry_tags_entry_id", "entry_id"),
    sqlite_with_rowid=False,
)

undo_steps = Table(
    "undo_steps",
    metadata,
    own_id(),
    owner(),
    Column("token_hash", Text, nullable=False, unique=True),
    Column("marks", Text, nullable=False),  # JSON: what to put back
    number("marked"),
    moment("created_at"),
    moment("expires_at"),
    Index("ix_undo_steps_user_id", "user_id"),
    Index("ix_undo_steps_expires_at", "expires_at"),
)

undo_rows = Table(
    "undo_rows",
    metadata,
    Column(
        "undo_id", Id, ForeignKey("undo_steps.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    ),
    Column("entry_id", Id, primary_key=True, autoincrement=False),
    Column("feed_id", Id, nullable=False),
    Column("sort_at", BigInteger, nullable=False),
    flag("kept"),
    sqlite_with_rowid=False,
)
