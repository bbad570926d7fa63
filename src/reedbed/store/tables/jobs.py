"""Processes, leases, jobs, the settings of the instance, and calls to others."""

from sqlalchemy import Column, Float, ForeignKey, Index, Integer, LargeBinary, Table, Text, UniqueConstraint

from reedbed.store.tables.columns import Id, flag, id_column, metadata, moment, number, owner

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


# --- Webhooks


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
