"""Books, their files in parts of fixed size, and the plans that make them."""

from sqlalchemy import Column, ForeignKey, Index, Integer, LargeBinary, Table, Text

from reedbed.store.tables.columns import Id, flag, id_column, metadata, moment, number, owner

book_plans = Table(
    "book_plans",
    metadata,
    id_column(),
    owner(),
    Column("source", Text, nullable=False),  # JSON
    number("minute"),  # of the day
    Column("weekday", Integer),  # 0 is Monday
    Column("zone", Text, nullable=False),
    flag("mail"),
    moment("next_at"),
    moment("last_at", null=True),
    Column("sent", Text, nullable=False, server_default="[]"),  # JSON: ids of entries or digests
    Column("error", Text),
    moment("created_at"),
    Index("ix_book_plans_user_id", "user_id"),
    Index("ix_book_plans_next_at", "next_at"),
    sqlite_autoincrement=True,
)

books = Table(
    "books",
    metadata,
    id_column(),
    owner(),
    Column("source", Text, nullable=False),  # JSON
    Column("title", Text, nullable=False),
    Column("language", Text, nullable=False, server_default=""),
    Column("status", Text, nullable=False, server_default="pending"),  # pending, ready, failed
    Column("error", Text),
    number("progress"),  # percent
    number("entries"),
    number("pictures"),
    Column("left_out", Text, nullable=False, server_default="{}"),  # JSON
    number("length"),  # bytes
    moment("created_at"),
    moment("finished_at", null=True),
    Column("plan_id", Id, ForeignKey("book_plans.id", ondelete="SET NULL")),
    Column("mail_to", Text, nullable=False, server_default=""),
    Column("mail_status", Text, nullable=False, server_default=""),  # pending, sent, failed
    Column("mail_error", Text, nullable=False, server_default=""),
    Index("ix_books_user_id", "user_id", "id"),
    Index("ix_books_created_at", "created_at"),
    Index("ix_books_plan_id", "plan_id"),
    sqlite_autoincrement=True,
)

book_parts = Table(
    "book_parts",
    metadata,
    Column("book_id", Id, ForeignKey("books.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("data", LargeBinary, nullable=False),
)
