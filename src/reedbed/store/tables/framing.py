"""How entries are framed: what a model read in them, who wants that read, and the documents made of it."""

from sqlalchemy import Column, ForeignKey, Index, Integer, LargeBinary, Table, Text

from reedbed.store.tables.columns import Id, flag, metadata, moment, number, own_id

feed_framing = Table(  # the operator's settings; without a row, nothing of a feed is behind a public door
    "feed_framing",
    metadata,
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    flag("deframe"),
    Column("root_domain", Text),
    flag("enforce_domain", on=True),
    Column("prompt", Text),
    Index("ix_feed_framing_root_domain", "root_domain"),
)

framing_wishes = Table(  # a user who follows this feed wants its entries read
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
    own_id(),
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
    Column("reasons", Text, nullable=False),  # JSON: why, and the quotes that show it
    number("tokens_in"),
    number("tokens_out"),
    number("cost"),  # millionths
    moment("created_at"),
    Index("ix_analyses_content_hash", "content_hash"),
)

entry_analyses = Table(
    "entry_analyses",
    metadata,
    Column(
        "entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    ),
    Column("key", Text),  # the analysis that is shown; NULL before the first
    Column("asked_key", Text),  # the one asked for; NULL when nothing is under way
    Column("version", Integer, nullable=False),  # of the entry the asked one reads
    flag("of_full"),  # it reads the full article
    Column("url_hash", Text),  # SHA-256 of the entry's normalised address
    Index("ix_entry_analyses_key", "key"),
    Index("ix_entry_analyses_asked_key", "asked_key"),
    Index("ix_entry_analyses_url_hash", "url_hash"),
)

framed_documents = Table(
    "framed_documents",
    metadata,
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("content", LargeBinary, nullable=False),  # RSS 2.0, ready to be sent
    Column("content_hash", Text, nullable=False),  # of all but the moment it was built
    number("items"),
    moment("built_at"),  # whole seconds, as headers say it
)
