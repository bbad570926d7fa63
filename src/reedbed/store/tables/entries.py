"""Entries, their bodies, versions, tags and stories, words of the search, what was deleted; recordings and books."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, LargeBinary, Table, Text, UniqueConstraint

from reedbed.store.tables.columns import Id, flag, id_column, metadata, moment, number, owner, partial_index

entries = Table(
    "entries",
    metadata,
    id_column(),
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
    Column("audience_id", Id),  # NULL: all subscribers of the feed
    partial_index("uq_entries_guid", "feed_id", "guid", where="guid IS NOT NULL AND audience_id IS NULL", unique=True),
    partial_index("ix_entries_audience", "feed_id", "guid", where="audience_id IS NOT NULL"),
    partial_index("ix_entries_address", "normalized_url", "feed_id", where="normalized_url IS NOT NULL"),
    Index("ix_entries_feed_sort", "feed_id", "sort_at", "id", "audience_id"),
    Index("ix_entries_sort", "sort_at", "id"),
    Index("ix_entries_fetched_at", "fetched_at"),
    partial_index("ix_entries_changed_at", "changed_at", where="changed_at IS NOT NULL"),
    sqlite_autoincrement=True,
)

entry_bodies = Table(
    "entry_bodies",
    metadata,
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("content", Text, nullable=False),  # sanitised HTML
    Column("extra", Text, nullable=False, server_default="{}"),  # JSON: enclosures, authors, categories, comments
    Column("full_content", Text),
    moment("full_attempted_at", null=True),
    Column("translated", Text),  # sanitised HTML of all translations, for the search index
    Column("transcript", Text),  # plain text of the recording's transcript, fetched on request
    partial_index("ix_entry_bodies_full", "entry_id", where="full_content IS NOT NULL"),
)

entry_versions = Table(
    "entry_versions",
    metadata,
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("title", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("change_hash", Text, nullable=False),
    moment("replaced_at"),
    sqlite_with_rowid=False,
)

audiences = Table(  # the subscribers of a feed when it was merged into another or moved to a new URL
    "audiences",
    metadata,
    id_column(),
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), nullable=False),
    Index("ix_audiences_feed_id", "feed_id"),
    sqlite_autoincrement=True,
)

audience_members = Table(
    "audience_members",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("audience_id", Id, ForeignKey("audiences.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    number("since_id"),  # as in `subscriptions`: entries up to this id are not visible
    Index("ix_audience_members_audience_id", "audience_id"),
    sqlite_with_rowid=False,
)

article_selectors = Table(
    "article_selectors",
    metadata,
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("kept", Text, nullable=False, server_default=""),  # CSS selectors, one per line
    Column("dropped", Text, nullable=False, server_default=""),
    moment("changed_at"),  # articles extracted before this time are extracted again
)

_exact_text = Text().with_variant(Text(collation="C"), "postgresql")  # ordered by letters, not by a locale

word_forms = Table(
    "word_forms",
    metadata,
    Column("stem", _exact_text, primary_key=True),
    Column("language", Text, primary_key=True),
    Column("word", Text, primary_key=True),
    sqlite_with_rowid=False,
)

tags = Table(
    "tags",
    metadata,
    id_column(),
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
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Index("ix_entry_tags_entry", "user_id", "entry_id"),
    Index("ix_entry_tags_entry_id", "entry_id"),
    sqlite_with_rowid=False,
)

stories = Table(
    "stories",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=False),  # the id of its first entry
    Column("merged_into", Id, ForeignKey("stories.id", ondelete="CASCADE")),
    moment("newest_at"),
    Index("ix_stories_newest_at", "newest_at"),
    Index("ix_stories_merged_into", "merged_into"),
)

story_entries = Table(
    "story_entries",
    metadata,
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("story_id", Id, ForeignKey("stories.id", ondelete="CASCADE"), nullable=False),
    Column("feed_id", Id, nullable=False),  # as in `entries`
    Column("sort_at", BigInteger, nullable=False),
    Index("ix_story_entries_story", "story_id", "sort_at", "entry_id", "feed_id"),
    Index("ix_story_entries_feed", "feed_id", "sort_at", "story_id", "entry_id"),
)

story_splits = Table(  # the user has removed the entry from the story
    "story_splits",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    moment("created_at"),
    # The entry that the user removed, if this one followed because it is like it. It may be gone.
    Column("because_id", BigInteger),
    Index("ix_story_splits_entry_id", "entry_id"),
    sqlite_with_rowid=False,
)

story_pairs = Table(  # the story of the one entry may be that of the other: a model decides
    "story_pairs",
    metadata,
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("other_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("status", Text, nullable=False, server_default="waiting"),  # same, different, unsure, joined
    moment("added_at"),
    Index("ix_story_pairs_other_id", "other_id"),
    Index("ix_story_pairs_status", "status", "entry_id"),
    sqlite_with_rowid=False,
)

story_follows = Table(  # the user wants to know when an entry joins the story
    "story_follows",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("story_id", Id, ForeignKey("stories.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    moment("created_at"),
    Index("ix_story_follows_story_id", "story_id"),
    sqlite_with_rowid=False,
)

story_joins = Table(  # for this user, the entries of the story belong to the target
    "story_joins",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("story_id", Id, ForeignKey("stories.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("target_id", Id, ForeignKey("stories.id", ondelete="CASCADE"), nullable=False),  # never joined itself
    moment("created_at"),
    Index("ix_story_joins_story_id", "story_id"),
    Index("ix_story_joins_target_id", "target_id"),
    sqlite_with_rowid=False,
)


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


# --- Playback


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


# --- Books


book_plans = Table(
    "book_plans",
    metadata,
    id_column(),
    owner(),
    Column("source", Text, nullable=False),  # JSON
    number("minute"),  # of the day
    Column("weekday", Integer),  # 0 is Monday
    Column("zone", Text, nullable=False),
    flag("mail"),
    moment("next_at"),
    moment("last_at", null=True),
    Column("sent", Text, nullable=False, server_default="[]"),  # JSON: ids of entries or digests
    Column("error", Text),
    moment("created_at"),
    Index("ix_book_plans_user_id", "user_id"),
    Index("ix_book_plans_next_at", "next_at"),
    sqlite_autoincrement=True,
)

books = Table(
    "books",
    metadata,
    id_column(),
    owner(),
    Column("source", Text, nullable=False),  # JSON
    Column("title", Text, nullable=False),
    Column("language", Text, nullable=False, server_default=""),
    Column("status", Text, nullable=False, server_default="pending"),  # pending, ready, failed
    Column("error", Text),
    number("progress"),  # percent
    number("entries"),
    number("pictures"),
    Column("left_out", Text, nullable=False, server_default="{}"),  # JSON
    number("length"),  # bytes
    moment("created_at"),
    moment("finished_at", null=True),
    Column("plan_id", Id, ForeignKey("book_plans.id", ondelete="SET NULL")),
    Column("mail_to", Text, nullable=False, server_default=""),
    Column("mail_status", Text, nullable=False, server_default=""),  # pending, sent, failed
    Column("mail_error", Text, nullable=False, server_default=""),
    Index("ix_books_user_id", "user_id", "id"),
    Index("ix_books_created_at", "created_at"),
    Index("ix_books_plan_id", "plan_id"),
    sqlite_autoincrement=True,
)

book_parts = Table(
    "book_parts",
    metadata,
    Column("book_id", Id, ForeignKey("books.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("data", LargeBinary, nullable=False),
)
