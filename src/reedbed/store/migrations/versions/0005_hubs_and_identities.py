"""Hubs that send news by themselves, and accounts elsewhere that open this one."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "identities",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("issuer", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), server_default="", nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_used_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_identities_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_identities")),
        sa.UniqueConstraint("issuer", "subject", name=op.f("uq_identities_issuer_subject")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_identities_user_id", "identities", ["user_id"], unique=False)
    op.create_table(
        "sign_ins",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("state_hash", sa.Text(), nullable=False),
        sa.Column("browser_hash", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("nonce", sa.Text(), nullable=False),
        sa.Column("verifier", sa.Text(), nullable=False),
        sa.Column("next_path", sa.Text(), server_default="/", nullable=False),
        sa.Column("invite", sa.Text(), nullable=True),
        sa.Column("user_id", Id, nullable=True),
        sa.Column("identity", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_sign_ins_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_ins")),
        sa.UniqueConstraint("state_hash", name=op.f("uq_sign_ins_state_hash")),
    )
    op.create_index("ix_sign_ins_expires_at", "sign_ins", ["expires_at"], unique=False)
    op.create_index("ix_sign_ins_user_id", "sign_ins", ["user_id"], unique=False)
    op.create_table(
        "identity_sessions",
        sa.Column("session_id", Id, autoincrement=False, nullable=False),
        sa.Column("identity_id", Id, nullable=False),
        sa.ForeignKeyConstraint(
            ["identity_id"], ["identities.id"], name=op.f("fk_identity_sessions_identity_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["session_id"], ["sessions.id"], name=op.f("fk_identity_sessions_session_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("session_id", name=op.f("pk_identity_sessions")),
    )
    op.create_index("ix_identity_sessions_identity_id", "identity_sessions", ["identity_id"], unique=False)
    op.create_table(
        "websub_subscriptions",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("feed_id", Id, nullable=False),
        sa.Column("hub_url", sa.Text(), nullable=False),
        sa.Column("topic_url", sa.Text(), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default="new", nullable=False),
        sa.Column("asked", sa.Text(), nullable=True),
        sa.Column("asked_at", sa.BigInteger(), nullable=True),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("live_since", sa.BigInteger(), nullable=True),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("attempts", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("last_push_at", sa.BigInteger(), nullable=True),
        sa.Column("pushes", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("entries", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("missed", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("missed_in_row", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("forged", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("body_hash", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["feed_id"], ["feeds.id"], name=op.f("fk_websub_subscriptions_feed_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_websub_subscriptions")),
        sa.UniqueConstraint("feed_id", "place", name=op.f("uq_websub_subscriptions_feed_id_place")),
        sa.UniqueConstraint("token", name=op.f("uq_websub_subscriptions_token")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_websub_subscriptions_due",
        "websub_subscriptions",
        ["due_at"],
        unique=False,
        sqlite_where=sa.text("due_at IS NOT NULL"),
        postgresql_where=sa.text("due_at IS NOT NULL"),
    )
    op.create_table(
        "websub_deliveries",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("subscription_id", Id, nullable=False),
        sa.Column("content_type", sa.Text(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("body_hash", sa.Text(), nullable=False),
        sa.Column("attempts", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("received_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["subscription_id"],
            ["websub_subscriptions.id"],
            name=op.f("fk_websub_deliveries_subscription_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_websub_deliveries")),
        sa.UniqueConstraint(
            "subscription_id", "body_hash", name=op.f("uq_websub_deliveries_subscription_id_body_hash")
        ),
    )
    op.create_index(
        "ix_feeds_with_hub",
        "feeds",
        ["id"],
        unique=False,
        sqlite_where=sa.text("hub_url IS NOT NULL"),
        postgresql_where=sa.text("hub_url IS NOT NULL"),
    )
