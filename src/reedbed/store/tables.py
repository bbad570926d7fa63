"""All tables of the database. Migrations are written by hand; a test compares them with this.

`feeds` and `entries` are shared by all users; a row with a `user_id` belongs to that user.
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


def id_column() -> Column[int]:
    return Column("id", Id, primary_key=True, autoincrement=True)


def owner() -> Column[int]:
    return Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), nullable=False)


def moment(name: str, *, null: bool = False) -> Column[int]:
    return Column(name, BigInteger, nullable=null)


def flag(name: str, *, on: bool = False) -> Column[bool]:
    return Column(name, Boolean, nullable=False, server_default=true() if on else false())


def number(name: str, start: int = 0) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default=text(str(start)))


def partial_index(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    """An index of the rows that meet a condition, in SQL that both engines understand."""
    return Index(name, *columns, unique=unique, sqlite_where=text(where), postgresql_where=text(where))


# --- Entries

article_selectors = Table(
    "article_selectors",
    metadata,
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("kept", Text, nullable=False, server_default=""),  # CSS selectors, one per line
    Column("dropped", Text, nullable=False, server_default=""),
    moment("changed_at"),  # articles extracted before this time are extracted again
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
    partial_index("ix_entries_url", "feed_id", "normalized_url", where="normalized_url IS NOT NULL"),
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


# --- Feeds

feeds = Table(
    "feeds",
    metadata,
    id_column(),
    Column("url", Text, nullable=False),
    Column("owner_id", Id, ForeignKey("users.id", ondelete="CASCADE")),  # if set, a private feed of this user
    Column("kind", Text, nullable=False, server_default="web"),  # web, mail, saved
    Column("title", Text, nullable=False, server_default=""),
    Column("description", Text),
    Column("site_url", Text),
    Column("self_url", Text),
    Column("hub_url", Text),
    Column("language", Text),
    Column("icon_url", Text),
    Column("icon_id", Id, ForeignKey("blobs.id", ondelete="SET NULL")),
    moment("icon_checked_at", null=True),
    moment("created_at"),
    moment("deleted_at", null=True),
    # the operator's settings
    flag("enabled", on=True),
    flag("polling", on=True),
    flag("operator_added"),  # polled even without a subscriber
    Column("proxy", Text),
    Column("user_agent", Text),
    Column("username", Text),
    Column("password", Text),
    Column("interval", BigInteger),
    Column("max_failures", Integer),
    flag("allow_duplicate_urls"),
    # learnt from the feed
    flag("guid_unreliable"),
    number("guid_collisions"),
    partial_index("uq_feeds_shared_url", "url", where="owner_id IS NULL", unique=True),
    partial_index("uq_feeds_private_url", "owner_id", "url", where="owner_id IS NOT NULL", unique=True),
    partial_index("ix_feeds_without_icon", "id", where="icon_checked_at IS NULL"),
    partial_index("ix_feeds_with_hub", "id", where="hub_url IS NOT NULL"),
    sqlite_autoincrement=True,
)

page_feeds = Table(  # private feeds whose entries are read from the list on a page
    "page_feeds",
    metadata,
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("recipe", Text, nullable=False),  # JSON: how the list is found
    Column("former_recipe", Text),  # JSON: how it was found before the page was rebuilt
    moment("rebuilt_at", null=True),
    Column("watched", Text),  # JSON: the text of a watched page and its last change
    sqlite_with_rowid=False,
)

former_addresses = Table(
    "former_addresses",
    metadata,
    Column("url", Text, primary_key=True),
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), nullable=False),
    Index("ix_former_addresses_feed_id", "feed_id"),
    sqlite_with_rowid=False,
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
    moment("expires_at", null=True),
    moment("retry_after_until", null=True),
    moment("last_checked_at", null=True),
    moment("next_check_at", null=True),  # NULL: stopped, paused by all subscribers, or not polled
    Column("next_check_rule", Text),
    Column("next_check_delay", BigInteger),  # the computed interval, before jitter
    Column("last_http_status", Integer),
    moment("last_success_at", null=True),
    moment("last_error_at", null=True),
    Column("last_error", Text),
    number("consecutive_failures"),
    moment("stopped_at", null=True),
    Column("stop_reason", Text),
    Column("body_hash", Text),
    moment("last_changed_at", null=True),
    Column("average_gap", BigInteger),  # milliseconds between entries, from the feed's history
    Column("rhythm", Text),  # JSON: update hints in the feed itself (ttl, skipHours, ...)
    Column("redirect_url", Text),
    number("redirect_count"),
    number("oldest_listed_id"),  # smallest entry id in the newest document; new subscribers see no older ones
    number("newest_entry_id"),
    moment("newest_entry_at", null=True),  # the latest publication time seen
    Column("lease_holder", Text),
    moment("leased_until", null=True),
    flag("urgent"),  # requested by a user or never fetched: goes before the schedule
    partial_index("ix_feed_fetch_state_due", "next_check_at", where="next_check_at IS NOT NULL"),
    Index(
        "ix_feed_fetch_state_urgent", "next_check_at", sqlite_where=text("urgent = 1"), postgresql_where=text("urgent")
    ),
)

feed_history = Table(
    "feed_history",
    metadata,
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("hour", BigInteger, primary_key=True, autoincrement=False),  # start of the hour
    number("checks"),
    number("unchanged"),
    number("failures"),
    number("new_entries"),
    number("bytes"),
    number("took_ms"),
    sqlite_with_rowid=False,
)

blobs = Table(
    "blobs",
    metadata,
    id_column(),
    Column("hash", Text, nullable=False, unique=True),
    Column("media_type", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),
    moment("created_at"),
)


# --- Framing analyses

feed_framing = Table(  # the operator's settings; a feed without a row is not served publicly
    "feed_framing",
    metadata,
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    flag("deframe"),
    Column("root_domain", Text),
    flag("enforce_domain", on=True),
    Column("prompt", Text),
    Index("ix_feed_framing_root_domain", "root_domain"),
)

framing_requests = Table(  # a subscriber of this feed requested analyses of its entries
    "framing_wishes",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    moment("created_at"),
    Index("ix_framing_wishes_feed_id", "feed_id", "created_at"),
    sqlite_with_rowid=False,
)

analyses = Table(
    "analyses",
    metadata,
    id_column(),
    Column("key", Text, nullable=False, unique=True),  # content and variant: see `domain.framing`
    Column("content_hash", Text, nullable=False),
    Column("variant", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("language", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("category", Text, nullable=False),
    # scores in thousandths
    Column("framing", Integer, nullable=False),
    Column("clickbait", Integer, nullable=False),
    Column("persuasive", Integer, nullable=False),
    Column("hyper_stimulus", Integer, nullable=False),
    Column("speculative", Integer, nullable=False),
    Column("overall", Integer, nullable=False),
    Column("reasons", Text, nullable=False),  # JSON: reasons, with quotes as evidence
    number("tokens_in"),
    number("tokens_out"),
    number("cost"),  # millionths
    moment("created_at"),
    Index("ix_analyses_content_hash", "content_hash"),
)

entry_analyses = Table(
    "entry_analyses",
    metadata,
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("key", Text),  # the analysis that is shown; NULL if there is none yet
    Column("asked_key", Text),  # the requested analysis; NULL if none is pending
    Column("version", Integer, nullable=False),  # version of the entry that the requested analysis is for
    flag("of_full"),  # the requested analysis uses the full article
    Column("url_hash", Text),  # SHA-256 of the entry's normalized URL
    Index("ix_entry_analyses_key", "key"),
    Index("ix_entry_analyses_asked_key", "asked_key"),
    Index("ix_entry_analyses_url_hash", "url_hash"),
)

framed_documents = Table(
    "framed_documents",
    metadata,
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("content", LargeBinary, nullable=False),  # RSS 2.0, ready to send
    Column("content_hash", Text, nullable=False),  # of everything except the build time
    number("items"),
    moment("built_at"),  # whole seconds, as in HTTP headers
)


# --- Search

_exact_text = Text().with_variant(Text(collation="C"), "postgresql")  # ordered by letters, not by a locale

word_forms = Table(
    "word_forms",
    metadata,
    Column("stem", _exact_text, primary_key=True),
    Column("language", Text, primary_key=True),
    Column("word", Text, primary_key=True),
    sqlite_with_rowid=False,
)

# --- External sign-in

identities = Table(
    "identities",
    metadata,
    id_column(),
    owner(),
    Column("provider", Text, nullable=False),  # oidc, google, apple, facebook
    Column("issuer", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("email", Text, nullable=False, server_default=""),  # as last reported by the provider
    moment("created_at"),
    moment("last_used_at", null=True),
    UniqueConstraint("issuer", "subject"),
    Index("ix_identities_user_id", "user_id"),
    sqlite_autoincrement=True,
)

identity_sessions = Table(
    "identity_sessions",
    metadata,
    Column("session_id", Id, ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("identity_id", Id, ForeignKey("identities.id", ondelete="CASCADE"), nullable=False),
    Index("ix_identity_sessions_identity_id", "identity_id"),
)

sign_ins = Table(
    "sign_ins",
    metadata,
    id_column(),
    Column("state_hash", Text, nullable=False, unique=True),
    Column("browser_hash", Text, nullable=False),  # of the cookie of the browser that started the sign-in
    Column("provider", Text, nullable=False),
    Column("nonce", Text, nullable=False),
    Column("verifier", Text, nullable=False),  # the PKCE code verifier
    Column("next_path", Text, nullable=False, server_default="/"),
    Column("invite", Text),
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE")),  # if set, this user links an account
    Column("identity", Text),  # JSON, once the provider has returned it and a password is required
    moment("created_at"),
    moment("expires_at"),
    Index("ix_sign_ins_expires_at", "expires_at"),
    Index("ix_sign_ins_user_id", "user_id"),
)


# --- Retention

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


# --- Bookmarks, highlights, searches and rules

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

searches = Table(
    "searches",
    metadata,
    id_column(),
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
    id_column(),
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
    id_column(),
    owner(),
    Column("name", Text, nullable=False),
    Column("token_hash", Text, nullable=False, unique=True),
    Column("view", Text, nullable=False),  # JSON of the view it shows
    moment("created_at"),
    moment("last_used_at", null=True),
    Index("ix_published_feeds_user_id", "user_id"),
)


# --- Newsletters

mail_addresses = Table(
    "mail_addresses",
    metadata,
    id_column(),
    owner(),
    Column("name", Text, nullable=False),
    Column("local", Text, nullable=False, unique=True),  # before the @, random
    number("received"),
    moment("created_at"),
    moment("last_used_at", null=True),
    moment("revoked_at", null=True),
    Index("ix_mail_addresses_user_id", "user_id", "id"),
)

mail_senders = Table(
    "mail_senders",
    metadata,
    id_column(),
    owner(),
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE")),  # NULL: blocked before its first email
    Column("address", Text, nullable=False),  # normalised: see `domain.senders`
    Column("name", Text, nullable=False, server_default=""),
    Column("ways_out", Text, nullable=False, server_default="{}"),  # JSON of the newest List-Unsubscribe
    Column("verdicts", Text, nullable=False, server_default="{}"),  # JSON of the newest SPF, DKIM, DMARC
    Column("leaving", Text, nullable=False, server_default=""),  # the result of unsubscribing
    number("received"),
    number("refused"),  # emails rejected since it was blocked or unsubscribed
    moment("last_mail_at", null=True),
    moment("blocked_at", null=True),
    moment("left_at", null=True),
    moment("created_at"),
    UniqueConstraint("user_id", "address"),
    Index("ix_mail_senders_feed_id", "feed_id"),
)

mail_confirmations = Table(
    "mail_confirmations",
    metadata,
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    owner(),
    Column("url", Text, nullable=False),
    Column("label", Text, nullable=False),
    moment("created_at"),
    moment("dismissed_at", null=True),
    Index("ix_mail_confirmations_user_id", "user_id", "entry_id"),
)

mail_images = Table(
    "mail_images",
    metadata,
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("blob_id", Id, ForeignKey("blobs.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Index("ix_mail_images_blob_id", "blob_id"),
    sqlite_with_rowid=False,
)

mail_boxes = Table(
    "mail_boxes",
    metadata,
    id_column(),
    owner(),
    Column("host", Text, nullable=False),
    Column("port", Integer, nullable=False),
    Column("security", Text, nullable=False),  # tls, starttls, none
    Column("username", Text, nullable=False),
    Column("password", Text, nullable=False),
    Column("folder", Text, nullable=False),
    Column("uid_validity", BigInteger),
    number("last_uid"),
    number("received"),
    number("failures"),  # in a row
    Column("last_error", Text),
    moment("next_check_at"),
    moment("last_checked_at", null=True),
    moment("created_at"),
    UniqueConstraint("user_id", "host", "username", "folder"),
    Index("ix_mail_boxes_next_check_at", "next_check_at"),
)

mail_deliveries = Table(
    "mail_deliveries",
    metadata,
    Column("key", Text, primary_key=True),  # of the channel; a second message with the same key is a replay
    moment("at"),
    Index("ix_mail_deliveries_at", "at"),
)


# --- Webhooks and share targets

webhooks = Table(
    "webhooks",
    metadata,
    id_column(),
    owner(),
    Column("name", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("events", Text, nullable=False, server_default=""),  # separated by spaces
    flag("enabled", on=True),
    moment("created_at"),
    # Time of the first of the current run of failed calls.
    moment("failing_since", null=True),
    moment("disabled_at", null=True),
    UniqueConstraint("user_id", "url"),
    sqlite_autoincrement=True,
)

webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    id_column(),
    owner(),
    Column("webhook_id", Id, ForeignKey("webhooks.id", ondelete="CASCADE"), nullable=False),
    Column("event", Text, nullable=False),
    Column("subject", Text, nullable=False),  # JSON: ids of what the event is about
    Column("state", Text, nullable=False, server_default="waiting"),  # waiting, delivered, failed
    number("tries"),
    Column("status", Integer),
    Column("answer", Text, nullable=False, server_default=""),
    moment("created_at"),
    moment("tried_at", null=True),
    moment("next_at", null=True),
    Index("ix_webhook_deliveries_webhook_id_id", "webhook_id", "id"),
    Index("ix_webhook_deliveries_user_id", "user_id"),
    Index("ix_webhook_deliveries_created_at", "created_at"),
    sqlite_autoincrement=True,
)

share_targets = Table(
    "share_targets",
    metadata,
    id_column(),
    owner(),
    Column("kind", Text, nullable=False),  # wallabag, readeck, linkding, karakeep
    Column("name", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("secrets", Text, nullable=False),  # JSON: a token, or login credentials
    moment("created_at"),
    moment("used_at", null=True),
    Column("problem", Text, nullable=False, server_default=""),
    Index("ix_share_targets_user_id", "user_id"),
    sqlite_autoincrement=True,
)


# --- Users, sessions and tokens

users = Table(
    "users",
    metadata,
    id_column(),
    Column("email", Text, nullable=False, unique=True),
    Column("password_hash", Text),
    Column("role", Text, nullable=False, server_default="user"),  # owner, admin, user
    Column("preferences", Text, nullable=False, server_default="{}"),
    moment("email_verified_at", null=True),
    moment("privacy_accepted_at", null=True),
    moment("created_at"),
    moment("disabled_at", null=True),
    sqlite_autoincrement=True,
)

sessions = Table(
    "sessions",
    metadata,
    id_column(),
    owner(),
    Column("token_hash", Text, nullable=False, unique=True),
    Column("user_agent", Text),
    Column("ip", Text),
    moment("created_at"),
    moment("last_active_at"),
    moment("expires_at"),
    Index("ix_sessions_user_id", "user_id"),
    Index("ix_sessions_expires_at", "expires_at"),
)

tokens = Table(
    "tokens",
    metadata,
    id_column(),
    owner(),
    Column("kind", Text, nullable=False),  # api, app_password
    Column("name", Text, nullable=False),
    Column("scopes", Text, nullable=False),  # "read write admin"
    Column("secret_hash", Text, nullable=False, unique=True),
    Column("fever_digest", Text, unique=True),  # SHA-256 of the Fever key, app passwords only
    moment("created_at"),
    moment("last_used_at", null=True),
    moment("expires_at", null=True),
    Index("ix_tokens_user_id", "user_id"),
)

mail_links = Table(
    "mail_links",
    metadata,
    id_column(),
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE")),
    Column("purpose", Text, nullable=False),  # reset, verify, invite
    Column("email", Text, nullable=False),
    Column("token_hash", Text, nullable=False, unique=True),
    moment("created_at"),
    moment("expires_at"),
    moment("used_at", null=True),
)

event_log = Table(
    "event_log",
    metadata,
    id_column(),
    Column("user_id", Id, ForeignKey("users.id", ondelete="SET NULL")),
    Column("kind", Text, nullable=False),  # user_registered, user_login, feed_added, ...
    Column("detail", Text, nullable=False, server_default="{}"),
    moment("at"),
    Index("ix_event_log_at", "at"),
    Index("ix_event_log_user_id_at", "user_id", "at"),
)


# --- Processes, leases and jobs

processes = Table(
    "processes",
    metadata,
    Column("name", Text, primary_key=True),  # as in its leases
    Column("role", Text, nullable=False),  # serve, web, worker
    Column("version", Text, nullable=False),
    moment("started_at"),
    moment("heartbeat_at"),  # by the database clock, so that all processes use the same one
)


leases = Table(
    "leases",
    metadata,
    Column("name", Text, primary_key=True),
    Column("holder", Text, nullable=False),
    moment("taken_at"),
    moment("heartbeat_at"),
    moment("expires_at"),
)

host_turns = Table(
    "host_turns",
    metadata,
    Column("host", Text, primary_key=True),
    moment("next_at"),  # by the database clock: when the next request to the host may begin
    Column("in_flight", Text, nullable=False, server_default="{}"),  # JSON: the lease end of each turn, by its token
)

app_settings = Table(
    "app_settings",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
    moment("updated_at"),
)

jobs = Table(
    "jobs",
    metadata,
    id_column(),
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE")),
    Column("kind", Text, nullable=False),  # opml, refresh, rules, mail ...
    Column("payload", Text, nullable=False),
    Column("state", Text, nullable=False, server_default="pending"),  # pending, running, done, failed
    Column("report", Text, nullable=False, server_default="{}"),
    Column("progress", Float, nullable=False, server_default="0"),
    number("attempts"),
    moment("run_at"),
    moment("created_at"),
    moment("finished_at", null=True),
    Column("lease_holder", Text),
    moment("leased_until", null=True),
    Index("ix_jobs_due", "state", "run_at"),
    Index("ix_jobs_user_id", "user_id", "id"),
    sqlite_autoincrement=True,
)

job_pieces = Table(  # the data of a job that is too large for its row
    "job_pieces",
    metadata,
    Column("job_id", Id, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),
)


# --- Push notifications

push_devices = Table(
    "push_devices",
    metadata,
    id_column(),
    owner(),
    # Logging out a device ends its notifications.
    Column("session_id", Id, ForeignKey("sessions.id", ondelete="CASCADE")),
    Column("endpoint", Text, nullable=False, unique=True),
    Column("p256dh", Text, nullable=False),
    Column("auth", Text, nullable=False),
    Column("name", Text, nullable=False, server_default=""),
    moment("created_at"),
    moment("reached_at", null=True),
    Index("ix_push_devices_user_id", "user_id"),
    Index("ix_push_devices_session_id", "session_id"),
    sqlite_autoincrement=True,
)


# --- Subscriptions and read state

folders = Table(
    "folders",
    metadata,
    id_column(),
    owner(),
    Column("parent_id", Id, ForeignKey("folders.id", ondelete="SET NULL")),
    Column("name", Text, nullable=False),
    number("position"),
    Column("summary_words", Integer),  # as in `subscriptions`; NULL: as the parent folder
    moment("created_at"),
    Index("ix_folders_user_id", "user_id"),
    sqlite_autoincrement=True,
)

subscriptions = Table(
    "subscriptions",
    metadata,
    id_column(),
    owner(),
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), nullable=False),
    Column("folder_id", Id, ForeignKey("folders.id", ondelete="SET NULL")),
    Column("title", Text),  # the user's own title; NULL: the feed's
    Column("asked_url", Text, nullable=False, server_default=""),  # the URL as the user entered it
    number("position"),
    flag("paused"),
    Column("interval", BigInteger),
    Column("full_text", Text, nullable=False, server_default="auto"),  # auto, always, never
    flag("notify"),
    # retention set by the user; NULL: the server's limit, 0: no limit
    Column("keep_entries", Integer),
    Column("keep_days", Integer),
    Column("keep_unread_days", Integer),
    # summarise new entries with at least this many words; -1: never; NULL: as the folder
    Column("summary_words", Integer),
    flag("local_only"),  # do not send its texts to external models
    moment("muted_until", null=True),  # hidden from the lists of several feeds and their counts; NULL: not muted
    Column("unread_display", Text, nullable=False, server_default="number"),  # number, dot, none
    Column("opml", Text),  # JSON: unknown OPML attributes, written back on export
    number("since_id"),  # entries up to this id are not visible
    number("read_to"),  # the read marker: unread rows up to this id count as read, unless `kept`
    number("newest_id"),  # newest entry delivered to this user
    number("unread"),
    moment("subscribed_at"),
    moment("unsubscribed_at", null=True),
    UniqueConstraint("user_id", "feed_id"),
    Index("ix_subscriptions_feed_id", "feed_id"),
    partial_index("ix_subscriptions_wish", "feed_id", "interval", where="interval IS NOT NULL"),
    partial_index("ix_subscriptions_muted", "user_id", where="muted_until IS NOT NULL"),
    sqlite_autoincrement=True,
)

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
    Index("ix_unread_kept", "user_id", "entry_id", sqlite_where=text("kept = 1"), postgresql_where=text("kept")),
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

list_settings = Table(  # how a user wants to see a list; empty: as every other list
    "list_settings",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("list", Text, primary_key=True),  # everything, later, feed:3, folder:3, tag:walk; * for every list
    Column("show", Text, nullable=False, server_default=""),
    Column("order", Text, nullable=False, server_default=""),
    Column("layout", Text, nullable=False, server_default=""),
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


# --- Stories

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
    Index("ix_story_splits_entry_id", "entry_id"),
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


# --- WebSub

websub_subscriptions = Table(
    "websub_subscriptions",
    metadata,
    id_column(),
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), nullable=False),
    Column("hub_url", Text, nullable=False),
    Column("topic_url", Text, nullable=False),
    Column("place", Text, nullable=False),  # hash of both: URLs are too long for an index
    Column("token", Text, nullable=False, unique=True),  # part of the callback URL
    Column("secret", Text, nullable=False),  # the hub signs with it
    Column("state", Text, nullable=False, server_default="new"),  # new, asked, active, denied, failed, leaving
    Column("asked", Text),  # subscribe or unsubscribe: the request that the hub must verify
    moment("asked_at", null=True),
    moment("due_at", null=True),  # when to contact the hub again
    moment("live_since", null=True),
    moment("expires_at", null=True),
    number("attempts"),
    Column("last_error", Text),
    moment("last_push_at", null=True),
    number("pushes"),
    number("entries"),  # entries that arrived by push first
    number("missed"),  # entries that polling found although the hub should have pushed them
    number("missed_in_row"),
    number("forged"),
    Column("body_hash", Text),  # of the newest push
    moment("created_at"),
    UniqueConstraint("feed_id", "place"),
    partial_index("ix_websub_subscriptions_due", "due_at", where="due_at IS NOT NULL"),
    sqlite_autoincrement=True,
)

websub_deliveries = Table(
    "websub_deliveries",
    metadata,
    id_column(),
    Column("subscription_id", Id, ForeignKey("websub_subscriptions.id", ondelete="CASCADE"), nullable=False),
    Column("content_type", Text),
    Column("body", LargeBinary, nullable=False),
    Column("body_hash", Text, nullable=False),
    number("attempts"),
    moment("received_at"),
    UniqueConstraint("subscription_id", "body_hash"),
)


# --- Summaries, digests and questions

summaries = Table(
    "summaries",
    metadata,
    id_column(),
    Column("key", Text, nullable=False, unique=True),  # content hash and variant: see `domain.summaries`
    Column("content_hash", Text, nullable=False),
    Column("variant", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("language", Text, nullable=False),
    Column("one_line", Text, nullable=False),
    Column("text", Text, nullable=False),
    number("tokens_in"),
    number("tokens_out"),
    number("cost"),  # millionths
    moment("created_at"),
    Index("ix_summaries_content_hash", "content_hash"),
)

entry_summaries = Table(
    "entry_summaries",
    metadata,
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("variant", Text, primary_key=True),
    Column("key", Text, nullable=False),
    Column("version", Integer, nullable=False),  # version of the entry that the key is for
    flag("of_full"),  # uses the full article
    Index("ix_entry_summaries_key", "key"),
    sqlite_with_rowid=False,
)

summary_queue = Table(
    "summary_queue",
    metadata,
    id_column(),
    Column("key", Text, nullable=False, unique=True),
    Column("content_hash", Text, nullable=False),
    Column("variant", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("language", Text, nullable=False),
    Column("user_id", Id, ForeignKey("users.id", ondelete="SET NULL")),  # first requester, for the budget
    number("priority"),  # 10 opened by a reader, 0 background
    number("attempts"),
    number("empties"),  # consecutive empty responses
    Column("last_error", Text),
    Column("error_type", Text),  # temporary, permanent
    moment("locked_at", null=True),
    Column("lease_holder", Text),
    moment("cooldown_until", null=True),
    moment("created_at"),
    Index("ix_summary_queue_order", "model", "priority", "created_at"),
    Index("ix_summary_queue_content_hash", "content_hash"),
    Index("ix_summary_queue_user_id", "user_id"),
)

summary_failures = Table(
    "summary_failures",
    metadata,
    id_column(),
    Column("key", Text, nullable=False, unique=True),
    Column("content_hash", Text, nullable=False),
    Column("last_error", Text),
    moment("failed_at"),
    Index("ix_summary_failures_content_hash", "content_hash"),
)

ai_models = Table(
    "ai_models",
    metadata,
    Column("name", Text, primary_key=True),
    Column("state", Text, nullable=False, server_default="CLOSED"),  # CLOSED, OPEN, HALF
    number("failures"),  # in a row
    number("half_successes"),
    moment("last_failure_at", null=True),
    moment("last_success_at", null=True),
    moment("last_call_at", null=True),
    moment("rate_limited_until", null=True),
)

ai_usage = Table(
    "ai_usage",
    metadata,
    Column("day", BigInteger, primary_key=True, autoincrement=False),  # start of the day, UTC
    number("calls"),
    number("tokens_in"),
    number("tokens_out"),
    number("cost"),  # millionths
)

ai_user_usage = Table(
    "ai_user_usage",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("day", BigInteger, primary_key=True, autoincrement=False),
    number("calls"),
    number("tokens_in"),
    number("tokens_out"),
    number("cost"),
    sqlite_with_rowid=False,
)

digests = Table(
    "digests",
    metadata,
    id_column(),
    owner(),
    Column("status", Text, nullable=False, server_default="pending"),  # pending, ready, failed
    Column("scope", Text, nullable=False, server_default="{}"),  # JSON: folder_id, tag, q
    Column("content", Text, nullable=False, server_default="{}"),  # JSON: paragraphs and sources
    Column("model", Text, nullable=False, server_default=""),
    Column("language", Text, nullable=False, server_default=""),
    number("entries"),
    Column("error", Text),
    moment("since"),
    moment("until"),
    moment("created_at"),
    moment("finished_at", null=True),
    Index("ix_digests_user_id", "user_id", "id"),
    sqlite_autoincrement=True,
)

questions = Table(
    "questions",
    metadata,
    id_column(),
    owner(),
    Column("question", Text, nullable=False),
    Column("status", Text, nullable=False, server_default="pending"),  # pending, ready, failed
    Column("scope", Text, nullable=False, server_default="{}"),  # JSON: folder_id, tag, q
    Column("answer", Text, nullable=False, server_default="{}"),  # JSON: claims and sources
    Column("model", Text, nullable=False, server_default=""),
    Column("error", Text),
    moment("created_at"),
    moment("finished_at", null=True),
    Index("ix_questions_user_id", "user_id", "id"),
    sqlite_autoincrement=True,
)

digest_schedules = Table(
    "digest_schedules",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("minute", Integer, nullable=False),  # of the user's day
    Column("zone", Text, nullable=False),
    Column("scope", Text, nullable=False, server_default="{}"),
    flag("mail"),
    moment("next_at"),
    Index("ix_digest_schedules_next_at", "next_at"),
)


__all__ = [
    "Id",
    "ai_models",
    "ai_usage",
    "ai_user_usage",
    "analyses",
    "app_settings",
    "article_selectors",
    "audience_members",
    "audiences",
    "blobs",
    "bookmarks",
    "cleanup_notices",
    "cleanups",
    "digest_schedules",
    "digests",
    "entries",
    "entry_analyses",
    "entry_bodies",
    "entry_summaries",
    "entry_tags",
    "entry_versions",
    "event_log",
    "feed_fetch_state",
    "feed_framing",
    "feed_history",
    "feeds",
    "folders",
    "former_addresses",
    "framed_documents",
    "framing_requests",
    "highlights",
    "host_turns",
    "identities",
    "identity_sessions",
    "imported_reads",
    "job_pieces",
    "jobs",
    "later",
    "leases",
    "list_settings",
    "mail_addresses",
    "mail_boxes",
    "mail_confirmations",
    "mail_deliveries",
    "mail_images",
    "mail_links",
    "mail_senders",
    "metadata",
    "muted",
    "page_feeds",
    "parked_unread",
    "processes",
    "published_feeds",
    "push_devices",
    "questions",
    "read_history",
    "removed_keys",
    "rules",
    "searches",
    "sessions",
    "share_targets",
    "sign_ins",
    "starred",
    "stories",
    "story_entries",
    "story_joins",
    "story_splits",
    "subscriptions",
    "summaries",
    "summary_failures",
    "summary_queue",
    "tags",
    "tokens",
    "undo_rows",
    "undo_steps",
    "unread",
    "users",
    "webhook_deliveries",
    "webhooks",
    "websub_deliveries",
    "websub_subscriptions",
]
