"""Translations of entries, the blocks that they are made of, and what users want translated."""

from sqlalchemy import Column, ForeignKey, Index, Integer, Table, Text, UniqueConstraint

from reedbed.store.tables.columns import Id, flag, id_column, metadata, moment, number

translations = Table(
    "translations",
    metadata,
    id_column(),
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), nullable=False),
    Column("language", Text, nullable=False),  # that it is translated into
    Column("source", Text, nullable=False, server_default=""),  # the language of the original
    Column("text_hash", Text, nullable=False),  # of what is or was to be translated
    Column("version", Integer, nullable=False),  # of the entry
    flag("of_full"),  # uses the full article
    Column("queue_key", Text, nullable=False),  # of the last request in `summary_queue`
    Column("title", Text, nullable=False, server_default=""),
    Column("summary", Text, nullable=False, server_default=""),
    Column("content", Text, nullable=False, server_default=""),  # sanitised HTML
    Column("pairs", Text, nullable=False, server_default=""),  # the same beside the original
    Column("provider", Text, nullable=False, server_default=""),
    number("blocks"),
    number("kept"),  # blocks that stay in the original
    moment("made_at", null=True),  # NULL: never finished
    Column("made_hash", Text, nullable=False, server_default=""),  # the `text_hash` that it was made of
    moment("created_at"),
    UniqueConstraint("entry_id", "language"),
    Index("ix_translations_text_hash", "text_hash"),
)

translated_blocks = Table(
    "translated_blocks",
    metadata,
    Column("key", Text, primary_key=True),  # feed, hash of the original, language, provider
    Column("text", Text),  # with markers; NULL: every try failed
    number("tries"),
    moment("created_at"),
    Index("ix_translated_blocks_created_at", "created_at"),
)

translation_views = Table(  # what a user chose to see of an entry
    "translation_views",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("view", Text, nullable=False),  # original, translation, both
    Index("ix_translation_views_entry_id", "entry_id"),
    sqlite_with_rowid=False,
)

feed_translations = Table(  # a feed without a row is translated as the preferences say
    "feed_translations",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("mode", Text, nullable=False),  # always, never
    Index("ix_feed_translations_feed_id", "feed_id"),
    sqlite_with_rowid=False,
)
