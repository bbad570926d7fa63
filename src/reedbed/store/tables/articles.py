"""What a feed's whole articles are made of, where its operator has said so."""

from sqlalchemy import Column, ForeignKey, Table, Text

from reedbed.store.tables.columns import Id, metadata, moment

article_selectors = Table(
    "article_selectors",
    metadata,
    Column("feed_id", Id, ForeignKey("feeds.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("kept", Text, nullable=False, server_default=""),  # CSS selectors, one a line
    Column("dropped", Text, nullable=False, server_default=""),
    moment("changed_at"),  # articles read before are read anew
)
