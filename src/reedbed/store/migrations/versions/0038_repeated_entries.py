"""Entries that repeat the address of an earlier one in another feed."""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_HAS_ADDRESS = sa.text("normalized_url IS NOT NULL")


def upgrade() -> None:
    op.create_table(
        "repeated_entries",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("entry_id", Id, autoincrement=False, nullable=False),
        sa.Column("first_id", Id, autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_repeated_entries_user_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["entry_id"], ["entries.id"], name=op.f("fk_repeated_entries_entry_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["first_id"], ["entries.id"], name=op.f("fk_repeated_entries_first_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "entry_id", name=op.f("pk_repeated_entries")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_repeated_entries_entry_id", "repeated_entries", ["entry_id"])
    op.create_index("ix_repeated_entries_first_id", "repeated_entries", ["first_id", "user_id"])
    # Finds an address in all feeds as well as in one.
    op.create_index(
        "ix_entries_address",
        "entries",
        ["normalized_url", "feed_id"],
        sqlite_where=_HAS_ADDRESS,
        postgresql_where=_HAS_ADDRESS,
    )
    op.drop_index("ix_entries_url", table_name="entries")
