"""Feeds, shared by all who follow them, with their fetch state in a table of its own."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, LargeBinary, Table, Text, text

from reedbed.store.tables.columns import Id, flag, metadata, moment, number, own_id, partial_index

feeds = Table(
    "feeds",
    metadata,
    own_id(),
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
    moment("icon_checked_at", null=True),
    moment("created_at"),
    moment("deleted_at", null=True),
    # the operator's settings
    flag("enabled", on=True),
    flag("polling", on=True),
    flag("operator_added"),  # polled without a subscriber, too
    Column("proxy", Text),
    Column("user_agent", Text),
    Column("username", Text),
    Column("password", Text),
    Column("interval", BigInteger),
    Column("max_failures", Integer),
    flag("allow_duplicate_urls"),
    # what was learnt
    flag("guid_unreliable"),
    number("guid_collisions"),
    partial_index("uq_feeds_shared_url", "url", where="owner_id IS NULL", unique=True),
    partial_index("uq_feeds_private_url", "owner_id", "url", where="owner_id IS NOT NULL", unique=True),
    partial_index("ix_feeds_without_icon", "id", where="icon_checked_at IS NULL"),
    partial_index("ix_feeds_with_hub", "id", where="hub_url IS NOT NULL"),
    sqlite_autoincrement=True,
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
    moment("next_check_at", null=True),  # NULL rests: stopped, paused by all, or not polled
    Column("next_check_rule", Text),
    Column("next_check_delay", BigInteger),  # what the rule gave, before jitter
    Column("last_http_status", Integer),
    moment("last_success_at", null=True),
    moment("last_error_at", null=True),
    Column("last_error", Text),
    number("consecutive_failures"),
    moment("stopped_at", null=True),
    Column("stop_reason", Text),
    Column("body_hash", Text),
    moment("last_changed_at", null=True),
    Column("average_gap", BigInteger),  # milliseconds between entries, from the feed's own history
    Column("rhythm", Text),  # JSON of the feed's own hints
    Column("redirect_url", Text),
    number("redirect_count"),
    number("oldest_listed_id"),  # smallest entry id in the newest document: the floor for later subscribers
    number("newest_entry_id"),
    moment("newest_entry_at", null=True),  # the youngest publication seen
    Column("lease_holder", Text),
    moment("leased_until", null=True),
    flag("urgent"),  # asked for by a person or never fetched: before the schedule
    partial_index("ix_feed_fetch_state_due", "next_check_at", where="next_check_at IS NOT NULL"),
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
    own_id(),
    Column("hash", Text, nullable=False, unique=True),
    Column("media_type", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),
    moment("created_at"),
)
