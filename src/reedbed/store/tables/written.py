"""What a model wrote, its queue and what it cost."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, Table, Text

from reedbed.store.tables.columns import Id, flag, metadata, moment, number, own_id, owner

summaries = Table(
    "summaries",
    metadata,
    own_id(),
    Column("key", Text, nullable=False, unique=True),  # content hash and variant: see `domain.summaries`
    Column("content_hash", Text, nullable=False),
    Column("variant", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("language", Text, nullable=False),
    Column("one_line", Text, nullable=False),
    Column("text", Text, nullable=False),
    number("tokens_in"),
    number("tokens_out"),
    number("cost"),  # millionths
    moment("created_at"),
    Index("ix_summaries_content_hash", "content_hash"),
)

entry_summaries = Table(
    "entry_summaries",
    metadata,
    Column(
        "entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    ),
    Column("variant", Text, primary_key=True),
    Column("key", Text, nullable=False),
    Column("version", Integer, nullable=False),  # of the entry the key was made from
    flag("of_full"),  # made from the full article
    Index("ix_entry_summaries_key", "key"),
    sqlite_with_rowid=False,
)

summary_queue = Table(
    "summary_queue",
    metadata,
    own_id(),
    Column("key", Text, nullable=False, unique=True),
    Column("content_hash", Text, nullable=False),
    Column("variant", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("language", Text, nullable=False),
    Column("user_id", Id, ForeignKey("users.id", ondelete="SET NULL")),  # who asked first, for the budget
    number("priority"),  # 10 opened by a reader, 0 background
    number("attempts"),
    number("empties"),  # empty answers in a row
    Column("last_error", Text),
    Column("error_type", Text),  # temporary, permanent
    moment("locked_at", null=True),
    Column("lease_holder", Text),
    moment("cooldown_until", null=True),
    moment("created_at"),
    Index("ix_summary_queue_order", "model", "priority", "created_at"),
    Index("ix_summary_queue_content_hash", "content_hash"),
    Index("ix_summary_queue_user_id", "user_id"),
)

summary_failures = Table(
    "summary_failures",
    metadata,
    own_id(),
    Column("key", Text, nullable=False, unique=True),
    Column("content_hash", Text, nullable=False),
    Column("last_error", Text),
    moment("failed_at"),
    Index("ix_summary_failures_content_hash", "content_hash"),
)

ai_models = Table(
    "ai_models",
    metadata,
    Column("name", Text, primary_key=True),
    Column("state", Text, nullable=False, server_default="CLOSED"),  # CLOSED, OPEN, HALF
    number("failures"),  # in a row
    number("half_successes"),
    moment("last_failure_at", null=True),
    moment("last_success_at", null=True),
    moment("last_call_at", null=True),
    moment("rate_limited_until", null=True),
)

ai_usage = Table(
    "ai_usage",
    metadata,
    Column("day", BigInteger, primary_key=True, autoincrement=False),  # its first moment, UTC
    number("calls"),
    number("tokens_in"),
    number("tokens_out"),
    number("cost"),  # millionths
)

ai_user_usage = Table(
    "ai_user_usage",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("day", BigInteger, primary_key=True, autoincrement=False),
    number("calls"),
    number("tokens_in"),
    number("tokens_out"),
    number("cost"),
    sqlite_with_rowid=False,
)

digests = Table(
    "digests",
    metadata,
    own_id(),
    owner(),
    Column("status", Text, nullable=False, server_default="pending"),  # pending, ready, failed
    Column("scope", Text, nullable=False, server_default="{}"),  # JSON: folder_id, tag, q
    Column("content", Text, nullable=False, server_default="{}"),  # JSON: paragraphs and sources
    Column("model", Text, nullable=False, server_default=""),
    Column("language", Text, nullable=False, server_default=""),
    number("entries"),
    Column("error", Text),
    moment("since"),
    moment("until"),
    moment("created_at"),
    moment("finished_at", null=True),
    Index("ix_digests_user_id", "user_id", "id"),
    sqlite_autoincrement=True,
)

questions = Table(
    "questions",
    metadata,
    own_id(),
    owner(),
    Column("question", Text, nullable=False),
    Column("status", Text, nullable=False, server_default="pending"),  # pending, ready, failed
    Column("scope", Text, nullable=False, server_default="{}"),  # JSON: folder_id, tag, q
    Column("answer", Text, nullable=False, server_default="{}"),  # JSON: claims and sources
    Column("model", Text, nullable=False, server_default=""),
    Column("error", Text),
    moment("created_at"),
    moment("finished_at", null=True),
    Index("ix_questions_user_id", "user_id", "id"),
    sqlite_autoincrement=True,
)

digest_schedules = Table(
    "digest_schedules",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("minute", Integer, nullable=False),  # of the user's day
    Column("zone", Text, nullable=False),
    Column("scope", Text, nullable=False, server_default="{}"),
    flag("mail"),
    moment("next_at"),
    Index("ix_digest_schedules_next_at", "next_at"),
)
