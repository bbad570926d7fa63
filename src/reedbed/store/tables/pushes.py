"""Where a user's browsers are reached while no page is open."""

from sqlalchemy import Column, ForeignKey, Index, Table, Text

from reedbed.store.tables.columns import Id, metadata, moment, own_id, owner

push_devices = Table(
    "push_devices",
    metadata,
    own_id(),
    owner(),
    # A device that is logged out is told nothing more.
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
