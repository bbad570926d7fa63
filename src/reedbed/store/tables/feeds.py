"""Feeds, how they are fetched, and the hubs that announce changes."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, LargeBinary, Table, Text, UniqueConstraint

from reedbed.store.tables.columns import Id, flag, id_column, metadata, moment, number, partial_index

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
    flag("has_recordings"),  # some entry had audio or video
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
    partial_index("ix_feed_fetch_state_urgent", "next_check_at", where="urgent = 1", on_postgresql="urgent"),
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
