"""Calls to others: webhooks, link services and push notifications."""

from sqlalchemy import Column, ForeignKey, Index, Integer, Table, Text, UniqueConstraint

from reedbed.store.tables.columns import Id, flag, id_column, metadata, moment, number, owner

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
    Column("kind", Text, nullable=False),  # one of `domain/sharing/services.py`
    Column("name", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("secrets", Text, nullable=False),  # JSON: what the fields of the service hold
    moment("created_at"),
    moment("used_at", null=True),
    Column("problem", Text, nullable=False, server_default=""),
    flag("digests"),
    flag("stopped_feeds"),
    Index("ix_share_targets_user_id", "user_id"),
    sqlite_autoincrement=True,
)

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
