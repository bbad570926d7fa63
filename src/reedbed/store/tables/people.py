"""Accounts, their sessions, tokens and letters, and what happened."""

from sqlalchemy import Column, ForeignKey, Index, Table, Text

from reedbed.store.tables.columns import Id, metadata, moment, own_id, owner

users = Table(
    "users",
    metadata,
    own_id(),
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
    own_id(),
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
    own_id(),
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
    own_id(),
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
    own_id(),
    Column("user_id", Id, ForeignKey("users.id", ondelete="SET NULL")),
    Column("kind", Text, nullable=False),  # user_registered, user_login, feed_added, ...
    Column("detail", Text, nullable=False, server_default="{}"),
    moment("at"),
    Index("ix_event_log_at", "at"),
    Index("ix_event_log_user_id_at", "user_id", "at"),
)
