"""The search index, in the words of each engine. See `store/search`."""

from alembic import op

revision = "0002"
down_revision = "0001"

SQLITE = (
    """
    CREATE TABLE search_keys (
        key INTEGER NOT NULL PRIMARY KEY,
        entry_id INTEGER UNIQUE REFERENCES entries (id) ON DELETE SET NULL
    )
    """,
    """
    CREATE VIRTUAL TABLE search_words USING fts5 (
        title, text, author, content='', columnsize=0, tokenize='ascii'
    )
    """,
    "INSERT INTO search_words (search_words, rank) VALUES ('automerge', 0)",
    "INSERT INTO search_words (search_words, rank) VALUES ('usermerge', 16)",
    "INSERT INTO search_words (search_words, rank) VALUES ('crisismerge', 256)",
    "INSERT INTO search_words (search_words, rank) VALUES ('hashsize', 8388608)",
)
POSTGRESQL = (
    """
    CREATE TABLE search_entries (
        entry_id BIGINT NOT NULL PRIMARY KEY REFERENCES entries (id) ON DELETE CASCADE,
        sort_at BIGINT NOT NULL,
        words TSVECTOR NOT NULL
    )
    """,
    "ALTER TABLE search_entries ALTER words SET STATISTICS 300",
    # Without a pending list indexing costs twice as much; a long one is read by every search.
    "CREATE INDEX ix_search_entries_words ON search_entries USING gin (words) WITH (gin_pending_list_limit = 256)",
)


def upgrade() -> None:
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)
