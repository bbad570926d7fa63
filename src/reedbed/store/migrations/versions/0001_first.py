"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "app_settings",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_app_settings")),
    )
    op.create_table(
        "blobs",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_blobs")),
        sa.UniqueConstraint("hash", name=op.f("uq_blobs_hash")),
    )
    op.create_table(
        "leases",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("taken_at", sa.BigInteger(), nullable=False),
        sa.Column("heartbeat_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_leases")),
    )
    op.create_table(
        "parked_unread",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("feed_id", Id, autoincrement=False, nullable=False),
        sa.Column("entry_id", Id, autoincrement=False, nullable=False),
        sa.Column("sort_at", sa.BigInteger(), nullable=False),
        sa.Column("kept", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "feed_id", "entry_id", name=op.f("pk_parked_unread")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "unread",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("sort_at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("entry_id", Id, autoincrement=False, nullable=False),
        sa.Column("feed_id", Id, nullable=False),
        sa.Column("kept", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "sort_at", "entry_id", name=op.f("pk_unread")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_unread_feed", "unread", ["user_id", "feed_id", "sort_at", "entry_id", "kept"], unique=False)
    op.create_index(
        "ix_unread_kept",
        "unread",
        ["user_id", "entry_id"],
        unique=False,
        sqlite_where=sa.text("kept = 1"),
        postgresql_where=sa.text("kept"),
    )
    op.create_index("uq_unread_entry", "unread", ["user_id", "entry_id"], unique=True)
    op.create_table(
        "users",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=True),
        sa.Column("role", sa.Text(), server_default="user", nullable=False),
        sa.Column("preferences", sa.Text(), server_default="{}", nullable=False),
        sa.Column("email_verified_at", sa.BigInteger(), nullable=True),
        sa.Column("privacy_accepted_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("disabled_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("email", name=op.f("uq_users_email")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "event_log",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("user_id", Id, nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), server_default="{}", nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_event_log_user_id"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event_log")),
    )
    op.create_index("ix_event_log_at", "event_log", ["at"], unique=False)
    op.create_index("ix_event_log_user_id_at", "event_log", ["user_id", "at"], unique=False)
    op.create_table(
        "feeds",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("owner_id", Id, nullable=True),
        sa.Column("kind", sa.Text(), server_default="web", nullable=False),
        sa.Column("title", sa.Text(), server_default="", nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("site_url", sa.Text(), nullable=True),
        sa.Column("self_url", sa.Text(), nullable=True),
        sa.Column("hub_url", sa.Text(), nullable=True),
        sa.Column("language", sa.Text(), nullable=True),
        sa.Column("icon_url", sa.Text(), nullable=True),
        sa.Column("icon_id", Id, nullable=True),
        sa.Column("icon_checked_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("deleted_at", sa.BigInteger(), nullable=True),
        sa.Column("enabled", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("polling", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("operator_added", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("proxy", sa.Text(), nullable=True),
        sa.Column("user_agent", sa.Text(), nullable=True),
        sa.Column("username", sa.Text(), nullable=True),
        sa.Column("password", sa.Text(), nullable=True),
        sa.Column("interval", sa.BigInteger(), nullable=True),
        sa.Column("max_failures", sa.Integer(), nullable=True),
        sa.Column("allow_duplicate_urls", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("guid_unreliable", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("guid_collisions", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(["icon_id"], ["blobs.id"], name=op.f("fk_feeds_icon_id"), ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name=op.f("fk_feeds_owner_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_feeds")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_feeds_without_icon",
        "feeds",
        ["id"],
        unique=False,
        sqlite_where=sa.text("icon_checked_at IS NULL"),
        postgresql_where=sa.text("icon_checked_at IS NULL"),
    )
    op.create_index(
        "uq_feeds_private_url",
        "feeds",
        ["owner_id", "url"],
        unique=True,
        sqlite_where=sa.text("owner_id IS NOT NULL"),
        postgresql_where=sa.text("owner_id IS NOT NULL"),
    )
    op.create_index(
        "uq_feeds_shared_url",
        "feeds",
        ["url"],
        unique=True,
        sqlite_where=sa.text("owner_id IS NULL"),
        postgresql_where=sa.text("owner_id IS NULL"),
    )
    op.create_table(
        "folders",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("parent_id", Id, nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["parent_id"], ["folders.id"], name=op.f("fk_folders_parent_id"), ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_folders_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_folders")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_folders_user_id", "folders", ["user_id"], unique=False)
    op.create_table(
        "jobs",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("user_id", Id, nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default="pending", nullable=False),
        sa.Column("report", sa.Text(), server_default="{}", nullable=False),
        sa.Column("progress", sa.Float(), server_default="0", nullable=False),
        sa.Column("attempts", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("run_at", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.Column("lease_holder", sa.Text(), nullable=True),
        sa.Column("leased_until", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_jobs_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_jobs_due", "jobs", ["state", "run_at"], unique=False)
    op.create_index("ix_jobs_user_id", "jobs", ["user_id", "id"], unique=False)
    op.create_table(
        "mail_links",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("user_id", Id, nullable=True),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_mail_links_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mail_links")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_mail_links_token_hash")),
    )
    op.create_table(
        "published_feeds",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("view", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_used_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_published_feeds_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_published_feeds")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_published_feeds_token_hash")),
    )
    op.create_index("ix_published_feeds_user_id", "published_feeds", ["user_id"], unique=False)
    op.create_table(
        "rules",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("conditions", sa.Text(), nullable=False),
        sa.Column("actions", sa.Text(), nullable=False),
        sa.Column("enabled", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("position", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("matched", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_rules_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rules")),
    )
    op.create_index("ix_rules_user_id", "rules", ["user_id", "position"], unique=False)
    op.create_table(
        "searches",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_searches_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_searches")),
        sa.UniqueConstraint("user_id", "name", name=op.f("uq_searches_user_id_name")),
    )
    op.create_table(
        "sessions",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("user_agent", sa.Text(), nullable=True),
        sa.Column("ip", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_active_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_sessions_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_sessions_token_hash")),
    )
    op.create_index("ix_sessions_expires_at", "sessions", ["expires_at"], unique=False)
    op.create_index("ix_sessions_user_id", "sessions", ["user_id"], unique=False)
    op.create_table(
        "tags",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_tags_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tags")),
        sa.UniqueConstraint("user_id", "name", name=op.f("uq_tags_user_id_name")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "tokens",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("secret_hash", sa.Text(), nullable=False),
        sa.Column("fever_digest", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_used_at", sa.BigInteger(), nullable=True),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_tokens_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("fever_digest", name=op.f("uq_tokens_fever_digest")),
        sa.UniqueConstraint("secret_hash", name=op.f("uq_tokens_secret_hash")),
    )
    op.create_index("ix_tokens_user_id", "tokens", ["user_id"], unique=False)
    op.create_table(
        "undo_steps",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("marks", sa.Text(), nullable=False),
        sa.Column("marked", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_undo_steps_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_undo_steps")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_undo_steps_token_hash")),
    )
    op.create_index("ix_undo_steps_expires_at", "undo_steps", ["expires_at"], unique=False)
    op.create_index("ix_undo_steps_user_id", "undo_steps", ["user_id"], unique=False)
    op.create_table(
        "entries",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("feed_id", Id, nullable=False),
        sa.Column("guid", sa.Text(), nullable=True),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column("normalized_url", sa.Text(), nullable=True),
        sa.Column("change_hash", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("author", sa.Text(), nullable=True),
        sa.Column("summary", sa.Text(), server_default="", nullable=False),
        sa.Column("image", sa.Text(), nullable=True),
        sa.Column("language", sa.Text(), nullable=True),
        sa.Column("words", sa.Integer(), server_default="0", nullable=False),
        sa.Column("version", sa.Integer(), server_default="1", nullable=False),
        sa.Column("published_at", sa.BigInteger(), nullable=True),
        sa.Column("fetched_at", sa.BigInteger(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=True),
        sa.Column("sort_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["feed_id"], ["feeds.id"], name=op.f("fk_entries_feed_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_entries")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_entries_changed_at",
        "entries",
        ["changed_at"],
        unique=False,
        sqlite_where=sa.text("changed_at IS NOT NULL"),
        postgresql_where=sa.text("changed_at IS NOT NULL"),
    )
    op.create_index("ix_entries_feed_sort", "entries", ["feed_id", "sort_at", "id"], unique=False)
    op.create_index("ix_entries_fetched_at", "entries", ["fetched_at"], unique=False)
    op.create_index("ix_entries_sort", "entries", ["sort_at", "id"], unique=False)
    op.create_index(
        "ix_entries_url",
        "entries",
        ["feed_id", "normalized_url"],
        unique=False,
        sqlite_where=sa.text("normalized_url IS NOT NULL"),
        postgresql_where=sa.text("normalized_url IS NOT NULL"),
    )
    op.create_index(
        "uq_entries_guid",
        "entries",
        ["feed_id", "guid"],
        unique=True,
        sqlite_where=sa.text("guid IS NOT NULL"),
        postgresql_where=sa.text("guid IS NOT NULL"),
    )
    op.create_table(
        "feed_fetch_state",
        sa.Column("feed_id", Id, autoincrement=False, nullable=False),
        sa.Column("host", sa.Text(), server_default="", nullable=False),
        sa.Column("status", sa.Text(), server_default="pending", nullable=False),
        sa.Column("etag", sa.Text(), nullable=True),
        sa.Column("last_modified", sa.Text(), nullable=True),
        sa.Column("cache_control", sa.Text(), nullable=True),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("retry_after_until", sa.BigInteger(), nullable=True),
        sa.Column("last_checked_at", sa.BigInteger(), nullable=True),
        sa.Column("next_check_at", sa.BigInteger(), nullable=True),
        sa.Column("next_check_rule", sa.Text(), nullable=True),
        sa.Column("next_check_delay", sa.BigInteger(), nullable=True),
        sa.Column("last_http_status", sa.Integer(), nullable=True),
        sa.Column("last_success_at", sa.BigInteger(), nullable=True),
        sa.Column("last_error_at", sa.BigInteger(), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("consecutive_failures", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("stopped_at", sa.BigInteger(), nullable=True),
        sa.Column("stop_reason", sa.Text(), nullable=True),
        sa.Column("body_hash", sa.Text(), nullable=True),
        sa.Column("last_changed_at", sa.BigInteger(), nullable=True),
        sa.Column("average_gap", sa.BigInteger(), nullable=True),
        sa.Column("rhythm", sa.Text(), nullable=True),
        sa.Column("redirect_url", sa.Text(), nullable=True),
        sa.Column("redirect_count", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("oldest_listed_id", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("newest_entry_id", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("newest_entry_at", sa.BigInteger(), nullable=True),
        sa.Column("lease_holder", sa.Text(), nullable=True),
        sa.Column("leased_until", sa.BigInteger(), nullable=True),
        sa.Column("urgent", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.ForeignKeyConstraint(
            ["feed_id"], ["feeds.id"], name=op.f("fk_feed_fetch_state_feed_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("feed_id", name=op.f("pk_feed_fetch_state")),
    )
    op.create_index(
        "ix_feed_fetch_state_due",
        "feed_fetch_state",
        ["next_check_at"],
        unique=False,
        sqlite_where=sa.text("next_check_at IS NOT NULL"),
        postgresql_where=sa.text("next_check_at IS NOT NULL"),
    )
    op.create_index(
        "ix_feed_fetch_state_urgent",
        "feed_fetch_state",
        ["next_check_at"],
        unique=False,
        sqlite_where=sa.text("urgent = 1"),
        postgresql_where=sa.text("urgent"),
    )
    op.create_table(
        "feed_history",
        sa.Column("feed_id", Id, autoincrement=False, nullable=False),
        sa.Column("hour", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("checks", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("unchanged", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("failures", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("new_entries", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("bytes", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("took_ms", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(["feed_id"], ["feeds.id"], name=op.f("fk_feed_history_feed_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("feed_id", "hour", name=op.f("pk_feed_history")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "subscriptions",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("feed_id", Id, nullable=False),
        sa.Column("folder_id", Id, nullable=True),
        sa.Column("title", sa.Text(), nullable=True),
        sa.Column("asked_url", sa.Text(), server_default="", nullable=False),
        sa.Column("position", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("paused", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("interval", sa.BigInteger(), nullable=True),
        sa.Column("full_text", sa.Text(), server_default="auto", nullable=False),
        sa.Column("notify", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("opml", sa.Text(), nullable=True),
        sa.Column("since_id", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("read_to", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("newest_id", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("unread", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("subscribed_at", sa.BigInteger(), nullable=False),
        sa.Column("unsubscribed_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["feed_id"], ["feeds.id"], name=op.f("fk_subscriptions_feed_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["folder_id"], ["folders.id"], name=op.f("fk_subscriptions_folder_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_subscriptions_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_subscriptions")),
        sa.UniqueConstraint("user_id", "feed_id", name=op.f("uq_subscriptions_user_id_feed_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_subscriptions_feed_id", "subscriptions", ["feed_id"], unique=False)
    op.create_index(
        "ix_subscriptions_wish",
        "subscriptions",
        ["feed_id", "interval"],
        unique=False,
        sqlite_where=sa.text("interval IS NOT NULL"),
        postgresql_where=sa.text("interval IS NOT NULL"),
    )
    op.create_table(
        "undo_rows",
        sa.Column("undo_id", Id, autoincrement=False, nullable=False),
        sa.Column("entry_id", Id, autoincrement=False, nullable=False),
        sa.Column("feed_id", Id, nullable=False),
        sa.Column("sort_at", sa.BigInteger(), nullable=False),
        sa.Column("kept", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.ForeignKeyConstraint(["undo_id"], ["undo_steps.id"], name=op.f("fk_undo_rows_undo_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("undo_id", "entry_id", name=op.f("pk_undo_rows")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "bookmarks",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("entry_id", Id, nullable=True),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("feed_title", sa.Text(), nullable=False),
        sa.Column("published_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["entry_id"], ["entries.id"], name=op.f("fk_bookmarks_entry_id"), ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_bookmarks_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bookmarks")),
        sa.UniqueConstraint("user_id", "url", name=op.f("uq_bookmarks_user_id_url")),
    )
    op.create_index("ix_bookmarks_entry_id", "bookmarks", ["entry_id"], unique=False)
    op.create_index("ix_bookmarks_user_id", "bookmarks", ["user_id", "id"], unique=False)
    op.create_table(
        "entry_bodies",
        sa.Column("entry_id", Id, autoincrement=False, nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("extra", sa.Text(), server_default="{}", nullable=False),
        sa.Column("full_content", sa.Text(), nullable=True),
        sa.Column("full_attempted_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["entry_id"], ["entries.id"], name=op.f("fk_entry_bodies_entry_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("entry_id", name=op.f("pk_entry_bodies")),
    )
    op.create_table(
        "entry_tags",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("tag_id", Id, autoincrement=False, nullable=False),
        sa.Column("sort_at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("entry_id", Id, autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(["entry_id"], ["entries.id"], name=op.f("fk_entry_tags_entry_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["tag_id"], ["tags.id"], name=op.f("fk_entry_tags_tag_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_entry_tags_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "tag_id", "sort_at", "entry_id", name=op.f("pk_entry_tags")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_entry_tags_entry", "entry_tags", ["user_id", "entry_id"], unique=False)
    op.create_index("ix_entry_tags_entry_id", "entry_tags", ["entry_id"], unique=False)
    op.create_table(
        "entry_versions",
        sa.Column("entry_id", Id, autoincrement=False, nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("change_hash", sa.Text(), nullable=False),
        sa.Column("replaced_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["entry_id"], ["entries.id"], name=op.f("fk_entry_versions_entry_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("entry_id", "version", name=op.f("pk_entry_versions")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "highlights",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("entry_id", Id, nullable=True),
        sa.Column("entry_title", sa.Text(), nullable=False),
        sa.Column("entry_url", sa.Text(), nullable=True),
        sa.Column("quote", sa.Text(), nullable=False),
        sa.Column("prefix", sa.Text(), server_default="", nullable=False),
        sa.Column("suffix", sa.Text(), server_default="", nullable=False),
        sa.Column("note", sa.Text(), server_default="", nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["entry_id"], ["entries.id"], name=op.f("fk_highlights_entry_id"), ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_highlights_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_highlights")),
    )
    op.create_index("ix_highlights_entry_id", "highlights", ["entry_id"], unique=False)
    op.create_index("ix_highlights_user_id", "highlights", ["user_id", "id"], unique=False)
    op.create_table(
        "later",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("sort_at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("entry_id", Id, autoincrement=False, nullable=False),
        sa.Column("marked_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["entry_id"], ["entries.id"], name=op.f("fk_later_entry_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_later_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "sort_at", "entry_id", name=op.f("pk_later")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_later_entry_id", "later", ["entry_id"], unique=False)
    op.create_index("uq_later_entry", "later", ["user_id", "entry_id"], unique=True)
    op.create_table(
        "read_history",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("entry_id", Id, autoincrement=False, nullable=False),
        sa.Column("read_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["entry_id"], ["entries.id"], name=op.f("fk_read_history_entry_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_read_history_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "entry_id", name=op.f("pk_read_history")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_read_history_entry_id", "read_history", ["entry_id"], unique=False)
    op.create_index("ix_read_history_user_id_read_at", "read_history", ["user_id", "read_at", "entry_id"], unique=False)
    op.create_table(
        "starred",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("sort_at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("entry_id", Id, autoincrement=False, nullable=False),
        sa.Column("marked_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["entry_id"], ["entries.id"], name=op.f("fk_starred_entry_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_starred_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "sort_at", "entry_id", name=op.f("pk_starred")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_starred_entry_id", "starred", ["entry_id"], unique=False)
    op.create_index("uq_starred_entry", "starred", ["user_id", "entry_id"], unique=True)
    # ### end Alembic commands ###
