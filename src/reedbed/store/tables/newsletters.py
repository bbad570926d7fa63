"""Inbound mail."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, Table, Text, UniqueConstraint

from reedbed.store.tables.columns import Id, id_column, metadata, moment, number, owner

mail_addresses = Table(
    "mail_addresses",
    metadata,
    id_column(),
    owner(),
    Column("name", Text, nullable=False),
    Column("local", Text, nullable=False, unique=True),  # before the @, random
    number("received"),
    moment("created_at"),
    moment("last_used_at", null=True),
    moment("revoked_at", null=True),
    Index("ix_mail_addresses_user_id", "user_id", "id"),
)

mail_senders = Table(
    "mail_senders",
    metadata,
    id_column(),
    owner(),
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE")),  # NULL: blocked before its first email
    Column("address", Text, nullable=False),  # normalised: see `domain.senders`
    Column("name", Text, nullable=False, server_default=""),
    Column("ways_out", Text, nullable=False, server_default="{}"),  # JSON of the newest List-Unsubscribe
    Column("verdicts", Text, nullable=False, server_default="{}"),  # JSON of the newest SPF, DKIM, DMARC
    Column("leaving", Text, nullable=False, server_default=""),  # the result of unsubscribing
    number("received"),
    number("refused"),  # emails rejected since it was blocked or unsubscribed
    moment("last_mail_at", null=True),
    moment("blocked_at", null=True),
    moment("left_at", null=True),
    moment("created_at"),
    UniqueConstraint("user_id", "address"),
    Index("ix_mail_senders_feed_id", "feed_id"),
)

mail_confirmations = Table(
    "mail_confirmations",
    metadata,
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    owner(),
    Column("url", Text, nullable=False),
    Column("label", Text, nullable=False),
    moment("created_at"),
    moment("dismissed_at", null=True),
    Index("ix_mail_confirmations_user_id", "user_id", "entry_id"),
)

mail_images = Table(
    "mail_images",
    metadata,
    Column("entry_id", Id, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("blob_id", Id, ForeignKey("blobs.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Index("ix_mail_images_blob_id", "blob_id"),
    sqlite_with_rowid=False,
)

mail_boxes = Table(
    "mail_boxes",
    metadata,
    id_column(),
    owner(),
    Column("host", Text, nullable=False),
    Column("port", Integer, nullable=False),
    Column("security", Text, nullable=False),  # tls, starttls, none
    Column("username", Text, nullable=False),
    Column("password", Text, nullable=False),
    Column("folder", Text, nullable=False),
    Column("uid_validity", BigInteger),
    number("last_uid"),
    number("received"),
    number("failures"),  # in a row
    Column("last_error", Text),
    moment("next_check_at"),
    moment("last_checked_at", null=True),
    moment("created_at"),
    UniqueConstraint("user_id", "host", "username", "folder"),
    Index("ix_mail_boxes_next_check_at", "next_check_at"),
)

mail_deliveries = Table(
    "mail_deliveries",
    metadata,
    Column("key", Text, primary_key=True),  # of the channel; a second message with the same key is a replay
    moment("at"),
    Index("ix_mail_deliveries_at", "at"),
)
