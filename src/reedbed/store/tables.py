"""Every table, once. Migrations are written by hand and compared with this in a test.

Moments are BIGINT milliseconds (see `domain.times`). `feeds` and `entries` are shared by all users; what has
a `user_id` belongs to one. What is unread is a row in `unread`; what is visible and has no row is read.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
    true,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

Id = BigInteger().with_variant(Integer(), "sqlite")


def _id() -> Column[int]:
    return Column("id", Id, primary_key=True, autoincrement=True)


def _user() -> Column[int]:
    return Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), nullable=False)


def _moment(name: str, *, null: bool = False) -> Column[int]:
    return Column(name, BigInteger, nullable=null)


def _flag(name: str, *, on: bool = False) -> Column[bool]:
    return Column(name, Boolean, nullable=False, server_default=true() if on else false())


def _number(name: str, start: int = 0) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default=text(str(start)))


# ---- accounts --------------------------------------------------------------------------------------

users = Table(
    "users",
    metadata,
    _id(),
    Column("email", Text, nullable=False, unique=True),
    Column("password_hash", Text),
    Column("role", Text, nullable=False, server_default="user"),  # owner, admin, user
    Column("preferences", Text, nullable=False, server_default="{}"),
    _moment("email_verified_at", null=True),
    _moment("privacy_accepted_at", null=True),
    _moment("created_at"),
    _moment("disabled_at", null=True),
    sqlite_autoincrement=True,
)

sessions = Table(
    "sessions",
    metadata,
    _id(),
    _user(),
    Column("token_hash", Text, nullable=False, unique=True),
    Column("user_agent", Text),
    Column("ip", Text),
    _moment("created_at"),
    _moment("last_active_at"),
    _moment("expires_at"),
    Index("ix_sessions_user_id", "user_id"),
    Index("ix_sessions_expires_at", "expires_at"),
)

tokens = Table(
    "tokens",
    metadata,
    _id(),
    _user(),
    Column("kind", Text, nullable=False),  # api, app_password
    Column("name", Text, nullable=False),
    Column("scopes", Text, nullable=False),  # "read write admin"
    Column("secret_hash", Text, nullable=False, unique=True),
    Column("fever_digest", Text, unique=True),  # SHA-256 of the Fever key, app passwords only
    _moment("created_at"),
    _moment("last_used_at", null=True),
    _moment("expires_at", null=True),
    Index("ix_tokens_user_id", "user_id"),
)

mail_links = Table(
    "mail_links",
    metadata,
    _id(),
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE")),
    Column("purpose", Text, nullable=False),  # reset, verify, invite
    Column("email", Text, nullable=False),
    Column("token_hash", Text, nullable=False, unique=True),
    _moment("created_at"),
    _moment("expires_at"),
    _moment("used_at", null=True),
)

event_log = Table(
    "event_log",
    metadata,
    _id(),
    Column("user_id", Id, ForeignKey("users.id", ondelete="SET NULL")),
    Column("kind", Text, nullable=False),  # user_registered, user_login, feed_added, ...
    Column("detail", Text, nullable=False, server_default="{}"),
    _moment("at"),
    Index("ix_event_log_at", "at"),
    Index("ix_event_log_user_id_at", "user_id", "at"),
)

# ---- feeds and their fetch state -------------------------------------------------------------------

feeds = Table(
    "feeds",
    metadata,
    _id(),
    Column("url", Text, nullable=False),
    Column("owner_id", Id, ForeignKey("users.id", ondelete="CASCADE")),  # set: a private feed of this user
    Column("kind", Text, nullable=False, server_default="web"),  # web, mail, saved
    Column("title", Text, nullable=False, server_default=""),
    Column("description", Text),
    Column("site_url", Text),
    Column("self_url", Text),
    Column("hub_url", Text),
    Column("language", Text),
    Column("icon_url", Text),
    Column("icon_id", Id, ForeignKey("blobs.id", ondelete="SET NULL")),
    _moment("icon_checked_at", null=True),
    _moment("created_at"),
    _moment("deleted_at", null=True),
    # the operator's settings
    _flag("enabled", on=True),
    _flag("polling", on=True),
    _flag("operator_added"),  # polled without a subscriber, too
    Column("proxy", Text),
    Column("user_agent", Text),
    Column("username", Text),
    Column("password", Text),
    Column("interval", BigInteger),
    Column("max_failures", Integer),
    _flag("allow_duplicate_urls"),
    # what was learnt
    _flag("guid_unreliable"),
    _number("guid_collisions"),
    Index(
        "uq_feeds_shared_url",
        "url",
        unique=True,
        sqlite_where=text("owner_id IS NULL"),
        postgresql_where=text("owner_id IS NULL"),
    ),
    Index(
        "uq_feeds_private_url",
        "owner_id",
        "url",
        unique=True,
        sqlite_where=text("owner_id IS NOT NULL"),
        postgresql_where=text("owner_id IS NOT NULL"),
    ),
    Index(
        "ix_feeds_without_icon",
        "id",
        sqlite_where=text("icon_checked_at IS NULL"),
        postgresql_where=text("icon_checked_at IS NULL"),
    ),
    sqlite_autoincrement=True,
)

feed_fetch_state = Table(
    "feed_fetch_state",
    metadata,
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("host", Text, nullable=False, server_default=""),
    Column("status", Text, nullable=False, server_default="pending"),
    Column("etag", Text),
    Column("last_modified", Text),
    Column("cache_control", Text),
    _moment("expires_at", null=True),
    _moment("retry_after_until", null=True),
    _moment("last_checked_at", null=True),
    _moment("next_check_at", null=True),  # NULL rests: stopped, paused by all, or not polled
    Column("next_check_rule", Text),
    Column("next_check_delay", BigInteger),  # what the rule gave, before jitter
    Column("last_http_status", Integer),
    _moment("last_success_at", null=True),
    _moment("last_error_at", null=True),
    Column("last_error", Text),
    _number("consecutive_failures"),
    _moment("stopped_at", null=True),
    Column("stop_reason", Text),
    Column("body_hash", Text),
    _moment("last_changed_at", null=True),
    Column("average_gap", BigInteger),  # milliseconds between entries, from the feed's own history
    Column("rhythm", Text),  # JSON of the feed's own hints
    Column("redirect_url", Text),
    _number("redirect_count"),
    _number("oldest_listed_id"),  # smallest entry id in the newest document: the floor for later subscribers
    _number("newest_entry_id"),
    _moment("newest_entry_at", null=True),  # the youngest publication seen
    Column("lease_holder", Text),
    _moment("leased_until", null=True),
    _flag("urgent"),  # asked for by a person or never fetched: before the schedule
    Index(
        "ix_feed_fetch_state_due",
        "next_check_at",
        sqlite_where=text("next_check_at IS NOT NULL"),
        postgresql_where=text("next_check_at IS NOT NULL"),
    ),
    Index(
        "ix_feed_fetch_state_urgent",
        "next_check_at",
        sqlite_where=text("urgent = 1"),
        postgresql_where=text("urgent"),
    ),
)

feed_history = Table(
    "feed_history",
    metadata,
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("hour", BigInteger, primary_key=True, autoincrement=False),  # start of the hour
    _number("checks"),
    _number("unchanged"),
    _number("failures"),
    _number("new_entries"),
    _number("bytes"),
    _number("took_ms"),
    sqlite_with_rowid=False,
)

blobs = Table(
    "blobs",
    metadata,
    _id(),
    Column("hash", Text, nullable=False, unique=True),
    Column("media_type", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),
    _moment("created_at"),
)

# ---- entries ---------------------------------------------------------------------------------------

entries = Table(
    "entries",
    metadata,
    _id(),
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
    _moment("published_at", null=True),
    _moment("fetched_at"),
    _moment("changed_at", null=True),
    _moment("sort_at"),
    Index(
        "uq_entries_guid",
        "feed_id",
        "guid",
        unique=True,
        sqlite_where=text("guid IS NOT NULL"),
        postgresql_where=text("guid IS NOT NULL"),
    ),
    Index(
        "ix_entries_url",
        "feed_id",
        "normalized_url",
        sqlite_where=text("normalized_url IS NOT NULL"),
        postgresql_where=text("normalized_url IS NOT NULL"),
    ),
    Index("ix_entries_feed_sort", "feed_id", "sort_at", "id"),
    Index("ix_entries_sort", "sort_at", "id"),
    Index("ix_entries_fetched_at", "fetched_at"),
    Index(
        "ix_entries_changed_at",
        "changed_at",
        sqlite_where=text("changed_at IS NOT NULL"),
        postgresql_where=text("changed_at IS NOT NULL"),
    ),
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
    _moment("full_attempted_at", null=True),
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
    _moment("replaced_at"),
    sqlite_with_rowid=False,
)

# ---- what a user follows and has read --------------------------------------------------------------

folders = Table(
    "folders",
    metadata,
    _id(),
    _user(),
    Column("parent_id", Id, ForeignKey("folders.id", ondelete="SET NULL")),
    Column("name", Text, nullable=False),
    _number("position"),
    _moment("created_at"),
    Index("ix_folders_user_id", "user_id"),
    sqlite_autoincrement=True,
)

subscriptions = Table(
    "subscriptions",
    metadata,
    _id(),
    _user(),
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), nullable=False),
    Column("folder_id", Id, ForeignKey("folders.id", ondelete="SET NULL")),
    Column("title", Text),  # the user's own; NULL takes the feed's
    Column("asked_url", Text, nullable=False, server_default=""),  # the address as the user gave it
    _number("position"),
    _flag("paused"),
    Column("interval", BigInteger),
    Column("full_text", Text, nullable=False, server_default="auto"),  # auto, always, never
    _flag("notify"),
    Column("opml", Text),  # JSON of unknown OPML attributes, given back on export
    _number("since_id"),  # entries at or below are not visible
    _number("read_to"),  # unread rows at or below are dead, unless kept
    _number("newest_id"),  # newest entry fanned out to this user
    _number("unread"),
    _moment("subscribed_at"),
    _moment("unsubscribed_at", null=True),
    UniqueConstraint("user_id", "feed_id"),
    Index("ix_subscriptions_feed_id", "feed_id"),
    Index(
        "ix_subscriptions_wish",
        "feed_id",
        "interval",
        sqlite_where=text("interval IS NOT NULL"),
        postgresql_where=text("interval IS NOT NULL"),
    ),
    sqlite_autoincrement=True,
)

unread = Table(
    "unread",
    metadata,
    Column("user_id", Id, primary_key=True, autoincrement=False),
    Column("sort_at", BigInteger, primary_key=True, autoincrement=False),
    Column("entry_id", Id, primary_key=True, autoincrement=False),
    Column("feed_id", Id, nullable=False),
    _flag("kept"),  # marked unread by hand: alive even below the mark
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
    _flag("kept"),
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
        _moment("marked_at"),
        Index(f"uq_{name}_entry", "user_id", "entry_id", unique=True),
        Index(f"ix_{name}_entry_id", "entry_id"),
        sqlite_with_rowid=False,
    )


starred = _marks("starred")
later = _marks("later")

read_history = Table(
    "read_history",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column(
        "entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    ),
    _moment("read_at"),
    Index("ix_read_history_user_id_read_at", "user_id", "read_at", "entry_id"),
    Index("ix_read_history_entry_id", "entry_id"),
    sqlite_with_rowid=False,
)

tags = Table(
    "tags",
    metadata,
    _id(),
    _user(),
    Column("name", Text, nullable=False),
    _moment("created_at"),
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
    _id(),
    _user(),
    Column("token_hash", Text, nullable=False, unique=True),
    Column("marks", Text, nullable=False),  # JSON: what to put back
    _number("marked"),
    _moment("created_at"),
    _moment("expires_at"),
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
    _flag("kept"),
    sqlite_with_rowid=False,
)

# ---- what a user keeps -----------------------------------------------------------------------------

bookmarks = Table(
    "bookmarks",
    metadata,
    _id(),
    _user(),
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="SET NULL")),
    Column("url", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("feed_title", Text, nullable=False),
    _moment("published_at", null=True),
    _moment("created_at"),
    UniqueConstraint("user_id", "url"),
    Index("ix_bookmarks_user_id", "user_id", "id"),
    Index("ix_bookmarks_entry_id", "entry_id"),
)

highlights = Table(
    "highlights",
    metadata,
    _id(),
    _user(),
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="SET NULL")),
    Column("entry_title", Text, nullable=False),
    Column("entry_url", Text),
    Column("quote", Text, nullable=False),
    Column("prefix", Text, nullable=False, server_default=""),
    Column("suffix", Text, nullable=False, server_default=""),
    Column("note", Text, nullable=False, server_default=""),
    _moment("created_at"),
    _moment("updated_at"),
    Index("ix_highlights_user_id", "user_id", "id"),
    Index("ix_highlights_entry_id", "entry_id"),
)

searches = Table(
    "searches",
    metadata,
    _id(),
    _user(),
    Column("name", Text, nullable=False),
    Column("query", Text, nullable=False),
    _number("position"),
    _moment("created_at"),
    UniqueConstraint("user_id", "name"),
)

rules = Table(
    "rules",
    metadata,
    _id(),
    _user(),
    Column("name", Text, nullable=False),
    Column("conditions", Text, nullable=False),
    Column("actions", Text, nullable=False),
    _flag("enabled", on=True),
    _number("position"),
    _number("matched"),
    _moment("created_at"),
    Index("ix_rules_user_id", "user_id", "position"),
)

published_feeds = Table(
    "published_feeds",
    metadata,
    _id(),
    _user(),
    Column("name", Text, nullable=False),
    Column("token_hash", Text, nullable=False, unique=True),
    Column("view", Text, nullable=False),  # JSON of the view it shows
    _moment("created_at"),
    _moment("last_used_at", null=True),
    Index("ix_published_feeds_user_id", "user_id"),
)

# ---- what a model wrote ----------------------------------------------------------------------------

summaries = Table(
    "summaries",
    metadata,
    _id(),
    Column("key", Text, nullable=False, unique=True),  # content hash and variant: see `domain.summaries`
    Column("content_hash", Text, nullable=False),
    Column("variant", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("language", Text, nullable=False),
    Column("one_line", Text, nullable=False),
    Column("text", Text, nullable=False),
    _number("tokens_in"),
    _number("tokens_out"),
    _number("cost"),  # millionths
    _moment("created_at"),
    Index("ix_summaries_content_hash", "content_hash"),
)

entry_summaries = Table(
    "entry_summaries",
    metadata,
    Column(
        "entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    ),
    Column("variant", Text, primary_key=True),
    Column("key", Text, nullable=False),
    Column("version", Integer, nullable=False),  # of the entry the key was made from
    _flag("of_full"),  # made from the full article
    Index("ix_entry_summaries_key", "key"),
    sqlite_with_rowid=False,
)

summary_queue = Table(
    "summary_queue",
    metadata,
    _id(),
    Column("key", Text, nullable=False, unique=True),
    Column("content_hash", Text, nullable=False),
    Column("variant", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("language", Text, nullable=False),
    Column("user_id", Id, ForeignKey("users.id", ondelete="SET NULL")),  # who asked first, for the budget
    _number("priority"),  # 10 opened by a reader, 0 background
    _number("attempts"),
    _number("empties"),  # empty answers in a row
    Column("last_error", Text),
    Column("error_type", Text),  # temporary, permanent
    _moment("locked_at", null=True),
    Column("lease_holder", Text),
    _moment("cooldown_until", null=True),
    _moment("created_at"),
    Index("ix_summary_queue_order", "model", "priority", "created_at"),
    Index("ix_summary_queue_content_hash", "content_hash"),
    Index("ix_summary_queue_user_id", "user_id"),
)

summary_failures = Table(
    "summary_failures",
    metadata,
    _id(),
    Column("key", Text, nullable=False, unique=True),
    Column("content_hash", Text, nullable=False),
    Column("last_error", Text),
    _moment("failed_at"),
    Index("ix_summary_failures_content_hash", "content_hash"),
)

ai_models = Table(
    "ai_models",
    metadata,
    Column("name", Text, primary_key=True),
    Column("state", Text, nullable=False, server_default="CLOSED"),  # CLOSED, OPEN, HALF
    _number("failures"),  # in a row
    _number("half_successes"),
    _moment("last_failure_at", null=True),
    _moment("last_success_at", null=True),
    _moment("last_call_at", null=True),
    _moment("rate_limited_until", null=True),
)

ai_usage = Table(
    "ai_usage",
    metadata,
    Column("day", BigInteger, primary_key=True, autoincrement=False),  # its first moment, UTC
    _number("calls"),
    _number("tokens_in"),
    _number("tokens_out"),
    _number("cost"),  # millionths
)

ai_user_usage = Table(
    "ai_user_usage",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("day", BigInteger, primary_key=True, autoincrement=False),
    _number("calls"),
    _number("tokens_in"),
    _number("tokens_out"),
    _number("cost"),
    sqlite_with_rowid=False,
)

digests = Table(
    "digests",
    metadata,
    _id(),
    _user(),
    Column("status", Text, nullable=False, server_default="pending"),  # pending, ready, failed
    Column("scope", Text, nullable=False, server_default="{}"),  # JSON: folder_id, tag, q
    Column("content", Text, nullable=False, server_default="{}"),  # JSON: paragraphs and sources
    Column("model", Text, nullable=False, server_default=""),
    Column("language", Text, nullable=False, server_default=""),
    _number("entries"),
    Column("error", Text),
    _moment("since"),
    _moment("until"),
    _moment("created_at"),
    _moment("finished_at", null=True),
    Index("ix_digests_user_id", "user_id", "id"),
    sqlite_autoincrement=True,
)

digest_schedules = Table(
    "digest_schedules",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("minute", Integer, nullable=False),  # of the user's day
    Column("zone", Text, nullable=False),
    Column("scope", Text, nullable=False, server_default="{}"),
    _flag("mail"),
    _moment("next_at"),
    Index("ix_digest_schedules_next_at", "next_at"),
)

# ---- the program itself ----------------------------------------------------------------------------

leases = Table(
    "leases",
    metadata,
    Column("name", Text, primary_key=True),
    Column("holder", Text, nullable=False),
    _moment("taken_at"),
    _moment("heartbeat_at"),
    _moment("expires_at"),
)

app_settings = Table(
    "app_settings",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
    _moment("updated_at"),
)

jobs = Table(
    "jobs",
    metadata,
    _id(),
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE")),
    Column("kind", Text, nullable=False),  # opml, refresh, rules, mail ...
    Column("payload", Text, nullable=False),
    Column("state", Text, nullable=False, server_default="pending"),  # pending, running, done, failed
    Column("report", Text, nullable=False, server_default="{}"),
    Column("progress", Float, nullable=False, server_default="0"),
    _number("attempts"),
    _moment("run_at"),
    _moment("created_at"),
    _moment("finished_at", null=True),
    Column("lease_holder", Text),
    _moment("leased_until", null=True),
    Index("ix_jobs_due", "state", "run_at"),
    Index("ix_jobs_user_id", "user_id", "id"),
    sqlite_autoincrement=True,
)
