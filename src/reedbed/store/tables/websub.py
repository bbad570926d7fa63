"""What hubs send without being asked each time: a feed's subscription at its hub, and what has just come."""

from sqlalchemy import Column, ForeignKey, LargeBinary, Table, Text, UniqueConstraint

from reedbed.store.tables.columns import Id, metadata, moment, number, own_id, partial_index

websub_subscriptions = Table(
    "websub_subscriptions",
    metadata,
    own_id(),
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), nullable=False),
    Column("hub_url", Text, nullable=False),
    Column("topic_url", Text, nullable=False),
    Column("place", Text, nullable=False),  # hash of both: addresses are too long for an index
    Column("token", Text, nullable=False, unique=True),  # of the callback address
    Column("secret", Text, nullable=False),  # the hub signs with it
    Column(
        "state", Text, nullable=False, server_default="new"
    ),  # new, asked, active, denied, failed, leaving
    Column("asked", Text),  # subscribe or unsubscribe: what the hub has to verify
    moment("asked_at", null=True),
    moment("due_at", null=True),  # when the hub is to be asked again
    moment("live_since", null=True),
    moment("expires_at", null=True),
    number("attempts"),
    Column("last_error", Text),
    moment("last_push_at", null=True),
    number("pushes"),
    number("entries"),  # that a push brought first
    number("missed"),  # that a check found although the hub should have sent them
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
    own_id(),
    Column("subscription_id", Id, ForeignKey("websub_subscriptions.id", ondelete="CASCADE"), nullable=False),
    Column("content_type", Text),
    Column("body", LargeBinary, nullable=False),
    Column("body_hash", Text, nullable=False),
    number("attempts"),
    moment("received_at"),
    UniqueConstraint("subscription_id", "body_hash"),
)
