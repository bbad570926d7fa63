"""Summaries, their queue, what the model costs, and digests."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "ai_models",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default="CLOSED", nullable=False),
        sa.Column("failures", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("half_successes", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("last_failure_at", sa.BigInteger(), nullable=True),
        sa.Column("last_success_at", sa.BigInteger(), nullable=True),
        sa.Column("last_call_at", sa.BigInteger(), nullable=True),
        sa.Column("rate_limited_until", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_ai_models")),
    )
    op.create_table(
        "ai_usage",
        sa.Column("day", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("calls", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("tokens_in", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("tokens_out", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("cost", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("day", name=op.f("pk_ai_usage")),
    )
    op.create_table(
        "summaries",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("variant", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("one_line", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("tokens_in", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("tokens_out", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("cost", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_summaries")),
        sa.UniqueConstraint("key", name=op.f("uq_summaries_key")),
    )
    op.create_index("ix_summaries_content_hash", "summaries", ["content_hash"], unique=False)
    op.create_table(
        "summary_failures",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("failed_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_summary_failures")),
        sa.UniqueConstraint("key", name=op.f("uq_summary_failures_key")),
    )
    op.create_index("ix_summary_failures_content_hash", "summary_failures", ["content_hash"], unique=False)
    op.create_table(
        "ai_user_usage",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("day", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("calls", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("tokens_in", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("tokens_out", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("cost", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_ai_user_usage_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "day", name=op.f("pk_ai_user_usage")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "digest_schedules",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("minute", sa.Integer(), nullable=False),
        sa.Column("zone", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), server_default="{}", nullable=False),
        sa.Column("mail", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("next_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_digest_schedules_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_digest_schedules")),
    )
    op.create_index("ix_digest_schedules_next_at", "digest_schedules", ["next_at"], unique=False)
    op.create_table(
        "digests",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("status", sa.Text(), server_default="pending", nullable=False),
        sa.Column("scope", sa.Text(), server_default="{}", nullable=False),
        sa.Column("content", sa.Text(), server_default="{}", nullable=False),
        sa.Column("model", sa.Text(), server_default="", nullable=False),
        sa.Column("language", sa.Text(), server_default="", nullable=False),
        sa.Column("entries", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_digests_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_digests")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_digests_user_id", "digests", ["user_id", "id"], unique=False)
    op.create_table(
        "summary_queue",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("variant", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("user_id", Id, nullable=True),
        sa.Column("priority", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("attempts", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("empties", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("error_type", sa.Text(), nullable=True),
        sa.Column("locked_at", sa.BigInteger(), nullable=True),
        sa.Column("lease_holder", sa.Text(), nullable=True),
        sa.Column("cooldown_until", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_summary_queue_user_id"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_summary_queue")),
        sa.UniqueConstraint("key", name=op.f("uq_summary_queue_key")),
    )
    op.create_index("ix_summary_queue_content_hash", "summary_queue", ["content_hash"], unique=False)
    op.create_index("ix_summary_queue_order", "summary_queue", ["model", "priority", "created_at"], unique=False)
    op.create_index("ix_summary_queue_user_id", "summary_queue", ["user_id"], unique=False)
    op.create_table(
        "entry_summaries",
        sa.Column("entry_id", Id, autoincrement=False, nullable=False),
        sa.Column("variant", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("of_full", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.ForeignKeyConstraint(
            ["entry_id"], ["entries.id"], name=op.f("fk_entry_summaries_entry_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("entry_id", "variant", name=op.f("pk_entry_summaries")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_entry_summaries_key", "entry_summaries", ["key"], unique=False)
    # ### end Alembic commands ###
