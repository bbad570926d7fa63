"""Where a user's news go: webhooks with what became of each call, and services that keep links."""

from sqlalchemy import Column, ForeignKey, Index, Integer, Table, Text, UniqueConstraint

from reedbed.store.tables.columns import Id, flag, metadata, moment, number, own_id, owner

webhooks = Table(
    "webhooks",
    metadata,
    own_id(),
    owner(),
    Column("name", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("events", Text, nullable=False, server_default=""),  # words with spaces between
    flag("enabled", on=True),
    moment("created_at"),
    # Since the first call of an unbroken row of failed ones.
    moment("failing_since", null=True),
    moment("disabled_at", null=True),
    UniqueConstraint("user_id", "url"),
    sqlite_autoincrement=True,
)

webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    own_id(),
    owner(),
    Column("webhook_id", Id, ForeignKey("webhooks.id", ondelete="CASCADE"), nullable=False),
    Column("event", Text, nullable=False),
    Column("subject", Text, nullable=False),  # JSON: what the event is about, by ids
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
    own_id(),
    owner(),
    Column("kind", Text, nullable=False),  # wallabag, readeck, linkding, karakeep
    Column("name", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("secrets", Text, nullable=False),  # JSON: a token, or what a login needs
    moment("created_at"),
    moment("used_at", null=True),
    Column("problem", Text, nullable=False, server_default=""),
    Index("ix_share_targets_user_id", "user_id"),
    sqlite_autoincrement=True,
)
