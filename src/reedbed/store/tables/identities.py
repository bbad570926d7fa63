"""Who a user is elsewhere, and sign-ins that are under way."""

from sqlalchemy import Column, ForeignKey, Index, Table, Text, UniqueConstraint

from reedbed.store.tables.columns import Id, metadata, moment, own_id, owner

identities = Table(
    "identities",
    metadata,
    own_id(),
    owner(),
    Column("provider", Text, nullable=False),  # oidc, google, apple, facebook
    Column("issuer", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("email", Text, nullable=False, server_default=""),  # as the provider last said it
    moment("created_at"),
    moment("last_used_at", null=True),
    UniqueConstraint("issuer", "subject"),
    Index("ix_identities_user_id", "user_id"),
    sqlite_autoincrement=True,
)

identity_sessions = Table(
    "identity_sessions",
    metadata,
    Column(
        "session_id",
        Id,
        ForeignKey("sessions.id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("identity_id", Id, ForeignKey("identities.id", ondelete="CASCADE"), nullable=False),
    Index("ix_identity_sessions_identity_id", "identity_id"),
)

sign_ins = Table(
    "sign_ins",
    metadata,
    own_id(),
    Column("state_hash", Text, nullable=False, unique=True),
    Column("browser_hash", Text, nullable=False),  # of the cookie of the browser that began it
    Column("provider", Text, nullable=False),
    Column("nonce", Text, nullable=False),
    Column("verifier", Text, nullable=False),  # of PKCE
    Column("next_path", Text, nullable=False, server_default="/"),
    Column("invite", Text),
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE")),  # set: who links an account
    Column("identity", Text),  # JSON, once the provider has told it and a password is awaited
    moment("created_at"),
    moment("expires_at"),
    Index("ix_sign_ins_expires_at", "expires_at"),
    Index("ix_sign_ins_user_id", "user_id"),
)
