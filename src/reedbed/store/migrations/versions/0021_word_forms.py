"""The vocabulary of all texts, and saved searches that keep finding exactly the words that they name."""

import re

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"

MAX_QUERY = 1_000
TOKEN = re.compile(r'(-)?(?:([A-Za-z]{2,8}):(?=[^\s]))?(?:"([^"]*)"?|([^\s"]+))')
WORD = re.compile(r"[^\W\d_]{3,40}")


def upgrade() -> None:
    connection = op.get_bind()
    is_sqlite = connection.dialect.name == "sqlite"
    op.create_table(
        "word_forms",
        sa.Column("stem", sa.Text(collation=None if is_sqlite else "C"), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("word", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("stem", "language", "word", name=op.f("pk_word_forms")),
        sqlite_with_rowid=False,
    )
    for id_, query in connection.execute(sa.text("SELECT id, query FROM searches")).all():
        exact = exactly(query)
        if exact != query and len(exact) <= MAX_QUERY:
            connection.execute(
                sa.text("UPDATE searches SET query = :query WHERE id = :id"), {"query": exact, "id": id_}
            )


def exactly(query: str) -> str:
    """`heron` becomes `=heron`, because `heron` alone would now find herons too."""
    return TOKEN.sub(_exact_token, query)


def _exact_token(token: re.Match[str]) -> str:
    minus, operator, _, word = token.groups()
    if minus or not word or word == "OR" or not WORD.fullmatch(word):
        return token[0]
    if not operator:
        return f"={word}"
    return f"{operator}:={word}" if operator.lower() == "title" else token[0]
