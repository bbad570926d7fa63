"""Framing: what a model read in entries, who wants that read, and the documents made of it."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
SCORES = ("framing", "clickbait", "persuasive", "hyper_stimulus", "speculative", "overall")


def upgrade() -> None:
    op.create_table(
        "feed_framing",
        sa.Column("feed_id", Id, autoincrement=False, nullable=False),
        sa.Column("deframe", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("root_domain", sa.Text(), nullable=True),
        sa.Column("enforce_domain", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("prompt", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["feed_id"], ["feeds.id"], name=op.f("fk_feed_framing_feed_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("feed_id", name=op.f("pk_feed_framing")),
    )
    op.create_index("ix_feed_framing_root_domain", "feed_framing", ["root_domain"], unique=False)
    op.create_table(
        "framing_wishes",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("feed_id", Id, autoincrement=False, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_framing_wishes_user_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["feed_id"], ["feeds.id"], name=op.f("fk_framing_wishes_feed_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "feed_id", name=op.f("pk_framing_wishes")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_framing_wishes_feed_id", "framing_wishes", ["feed_id", "created_at"], unique=False)
    op.create_table(
        "analyses",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("variant", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("category", sa.Text(), nullable=False),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in SCORES),
        sa.Column("reasons", sa.Text(), nullable=False),
        sa.Column("tokens_in", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("tokens_out", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("cost", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_analyses")),
        sa.UniqueConstraint("key", name=op.f("uq_analyses_key")),
    )
    op.create_index("ix_analyses_content_hash", "analyses", ["content_hash"], unique=False)
    op.create_table(
        "entry_analyses",
        sa.Column("entry_id", Id, autoincrement=False, nullable=False),
        sa.Column("key", sa.Text(), nullable=True),
        sa.Column("asked_key", sa.Text(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("of_full", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("url_hash", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["entry_id"], ["entries.id"], name=op.f("fk_entry_analyses_entry_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("entry_id", name=op.f("pk_entry_analyses")),
    )
    for name in ("key", "asked_key", "url_hash"):
        op.create_index(f"ix_entry_analyses_{name}", "entry_analyses", [name], unique=False)
    op.create_table(
        "framed_documents",
        sa.Column("feed_id", Id, autoincrement=False, nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("items", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("built_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["feed_id"], ["feeds.id"], name=op.f("fk_framed_documents_feed_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("feed_id", name=op.f("pk_framed_documents")),
    )
