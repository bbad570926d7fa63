"""What a model writes: summaries, digests, answers, framing analyses, translations; and what that costs."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, LargeBinary, Table, Text, UniqueConstraint

from reedbed.store.tables.columns import Id, flag, id_column, metadata, moment, number, owner, partial_index

summaries = Table(
    "summaries",
    metadata,
    id_column(),
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
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("variant", Text, primary_key=True),
    Column("key", Text, nullable=False),
    Column("version", Integer, nullable=False),  # version of the entry that the key is for
    flag("of_full"),  # uses the full article
    Index("ix_entry_summaries_key", "key"),
    sqlite_with_rowid=False,
)

summary_queue = Table(
    "summary_queue",
    metadata,
    id_column(),
    Column("key", Text, nullable=False, unique=True),
    Column("content_hash", Text, nullable=False),
    Column("variant", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("language", Text, nullable=False),
    Column("user_id", Id, ForeignKey("users.id", ondelete="SET NULL")),  # first requester, for the budget
    number("priority"),  # 10 opened by a reader, 0 background
    number("attempts"),
    number("empties"),  # consecutive empty responses
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
    id_column(),
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
    Column("day", BigInteger, primary_key=True, autoincrement=False),  # start of the day, UTC
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
    id_column(),
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
    id_column(),
    owner(),
    Column("question", Text, nullable=False),
    Column("status", Text, nullable=False, server_default="pending"),  # pending, ready, failed
    Column("scope", Text, nullable=False, server_default="{}"),  # JSON: folder_id, tag, q
    Column("answer", Text, nullable=False, server_default="{}"),  # JSON: claims and sources
    Column("model", Text, nullable=False, server_default=""),
    Column("error", Text),
    moment("created_at"),
    moment("finished_at", null=True),
    moment("watched_at", null=True),  # when it was asked again last, until an entry answers it
    Index("ix_questions_user_id", "user_id", "id"),
    partial_index("ix_questions_watched", "watched_at", where="watched_at IS NOT NULL"),
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

feed_framing = Table(  # the operator's settings; a feed without a row is not served publicly
    "feed_framing",
    metadata,
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    flag("deframe"),
    Column("root_domain", Text),
    flag("enforce_domain", on=True),
    Column("prompt", Text),
    Index("ix_feed_framing_root_domain", "root_domain"),
)

framing_requests = Table(  # a subscriber of this feed requested analyses of its entries
    "framing_wishes",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    moment("created_at"),
    Index("ix_framing_wishes_feed_id", "feed_id", "created_at"),
    sqlite_with_rowid=False,
)

analyses = Table(
    "analyses",
    metadata,
    id_column(),
    Column("key", Text, nullable=False, unique=True),  # content and variant: see `domain.framing`
    Column("content_hash", Text, nullable=False),
    Column("variant", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("language", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("category", Text, nullable=False),
    # scores in thousandths
    Column("framing", Integer, nullable=False),
    Column("clickbait", Integer, nullable=False),
    Column("persuasive", Integer, nullable=False),
    Column("hyper_stimulus", Integer, nullable=False),
    Column("speculative", Integer, nullable=False),
    Column("overall", Integer, nullable=False),
    Column("reasons", Text, nullable=False),  # JSON: reasons, with quotes as evidence
    number("tokens_in"),
    number("tokens_out"),
    number("cost"),  # millionths
    moment("created_at"),
    Index("ix_analyses_content_hash", "content_hash"),
)

entry_analyses = Table(
    "entry_analyses",
    metadata,
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("key", Text),  # the analysis that is shown; NULL if there is none yet
    Column("asked_key", Text),  # the requested analysis; NULL if none is pending
    Column("version", Integer, nullable=False),  # version of the entry that the requested analysis is for
    flag("of_full"),  # the requested analysis uses the full article
    Column("url_hash", Text),  # SHA-256 of the entry's normalized URL
    Index("ix_entry_analyses_key", "key"),
    Index("ix_entry_analyses_asked_key", "asked_key"),
    Index("ix_entry_analyses_url_hash", "url_hash"),
)

framed_documents = Table(
    "framed_documents",
    metadata,
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("content", LargeBinary, nullable=False),  # RSS 2.0, ready to send
    Column("content_hash", Text, nullable=False),  # of everything except the build time
    number("items"),
    moment("built_at"),  # whole seconds, as in HTTP headers
)


# --- Translations


translations = Table(
    "translations",
    metadata,
    id_column(),
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), nullable=False),
    Column("language", Text, nullable=False),  # that it is translated into
    Column("source", Text, nullable=False, server_default=""),  # the language of the original
    Column("text_hash", Text, nullable=False),  # of what is or was to be translated
    Column("version", Integer, nullable=False),  # of the entry
    flag("of_full"),  # uses the full article
    Column("queue_key", Text, nullable=False),  # of the last request in `summary_queue`
    Column("title", Text, nullable=False, server_default=""),
    Column("summary", Text, nullable=False, server_default=""),
    Column("content", Text, nullable=False, server_default=""),  # sanitised HTML
    Column("pairs", Text, nullable=False, server_default=""),  # the same beside the original
    Column("provider", Text, nullable=False, server_default=""),
    number("blocks"),
    number("kept"),  # blocks that stay in the original
    moment("made_at", null=True),  # NULL: never finished
    Column("made_hash", Text, nullable=False, server_default=""),  # the `text_hash` that it was made of
    moment("created_at"),
    UniqueConstraint("entry_id", "language"),
    Index("ix_translations_text_hash", "text_hash"),
)

translated_blocks = Table(
    "translated_blocks",
    metadata,
    Column("key", Text, primary_key=True),  # feed, hash of the original, language, provider
    Column("text", Text),  # with markers; NULL: every try failed
    number("tries"),
    moment("created_at"),
    Index("ix_translated_blocks_created_at", "created_at"),
)

translation_views = Table(  # what a user chose to see of an entry
    "translation_views",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("view", Text, nullable=False),  # original, translation, both
    Index("ix_translation_views_entry_id", "entry_id"),
    sqlite_with_rowid=False,
)

feed_translations = Table(  # a feed without a row is translated as the preferences say
    "feed_translations",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("mode", Text, nullable=False),  # always, never
    Index("ix_feed_translations_feed_id", "feed_id"),
    sqlite_with_rowid=False,
)
