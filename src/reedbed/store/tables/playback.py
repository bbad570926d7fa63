"""Audio and video: recordings of entries, positions and queues; what is read aloud, in parts of fixed size."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, LargeBinary, Table, Text, UniqueConstraint

from reedbed.store.tables.columns import Id, flag, id_column, metadata, moment, number, owner

recordings = Table(  # the audio and video files of entries
    "recordings",
    metadata,
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),  # from 0; stays when the URL changes
    Column("kind", Text, nullable=False),  # audio, video
    Column("url", Text, nullable=False),
    Column("type", Text),
    Column("seconds", BigInteger),
    Column("length", BigInteger),
    sqlite_with_rowid=False,
)

recording_texts = Table(  # fetched on the first request
    "recording_texts",
    metadata,
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("chapters", Text),  # JSON: [start, title]
    moment("chapters_at", null=True),
    Column("transcript", Text),  # JSON: [start, text, speaker]
    moment("transcript_at", null=True),
)

playback_positions = Table(
    "playback_positions",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    number("started"),  # where the last stretch of playing began, in seconds
    number("seconds"),
    Column("total", BigInteger),  # length of the file that was played
    flag("done"),
    moment("played_at"),  # by the clock of the player, never in the future
    moment("changed_at"),
    Index("ix_playback_positions_changed_at", "user_id", "changed_at"),
    Index("ix_playback_positions_entry_id", "entry_id"),
    sqlite_with_rowid=False,
)

playback_queue = Table(  # the first row of a user is what plays
    "playback_queue",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    number("place"),
    moment("added_at"),
    Index("ix_playback_queue_entry_id", "entry_id"),
    sqlite_with_rowid=False,
)

app_logins = Table(  # of apps that are granted access by the page
    "app_logins",
    metadata,
    Column("poll_hash", Text, primary_key=True),  # of the secret with which the app asks
    Column("code_hash", Text, nullable=False, unique=True),  # of the secret in the URL of the page
    Column("name", Text, nullable=False),
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE")),  # who has granted it
    moment("created_at"),
    moment("expires_at"),
    Index("ix_app_logins_user_id", "user_id"),
    sqlite_with_rowid=False,
)


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
