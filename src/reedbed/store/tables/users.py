"""Users, how they sign in, and the audit log."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Table, Text, UniqueConstraint

from reedbed.store.tables.columns import Id, flag, id_column, metadata, moment, owner

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
    moment("confirmed_at", null=True),  # when this user last proved who they are
    flag("new_place"),  # neither the browser nor the network had logged in to this account before
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

one_time_codes = Table(
    "one_time_codes",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("secret", Text, nullable=False),  # encrypted
    Column("last_step", BigInteger, nullable=False, server_default="0"),  # of the last accepted code
    moment("created_at"),
    moment("enabled_at", null=True),  # when the app has shown a right code
)

recovery_codes = Table(
    "recovery_codes",
    metadata,
    id_column(),
    owner(),
    Column("code_hash", Text, nullable=False),
    moment("used_at", null=True),
    UniqueConstraint("user_id", "code_hash"),
)

passkeys = Table(
    "passkeys",
    metadata,
    id_column(),
    owner(),
    Column("name", Text, nullable=False),
    Column("credential_id", Text, nullable=False, unique=True),  # base64url, like the next two
    Column("public_key", Text, nullable=False),  # COSE
    Column("user_handle", Text, nullable=False),  # random, the same for all passkeys of a user
    Column("sign_count", BigInteger, nullable=False),
    flag("backup_eligible"),
    flag("backed_up"),
    Column("rp_id", Text, nullable=False),  # the host it was made for
    moment("created_at"),
    moment("last_used_at", null=True),
    Index("ix_passkeys_user_id", "user_id"),
)

# Steps of a login or a confirmation that a browser has started; each can be completed once.
challenges = Table(
    "challenges",
    metadata,
    id_column(),
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE")),
    Column("purpose", Text, nullable=False),  # code, passkey_login, passkey_add, passkey_confirm
    Column("challenge_hash", Text, nullable=False, unique=True),
    Column("browser_hash", Text, nullable=False),
    Column("user_handle", Text),  # of the passkey to be added
    moment("created_at"),
    moment("expires_at"),
    Index("ix_challenges_expires_at", "expires_at"),
    Index("ix_challenges_user_id", "user_id"),
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
