"""Books and the plans that make them."""

import sqlalchemy as sa
from alembic import op

revision = "0045"
down_revision = "0044"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "book_plans",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("minute", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
        sa.Column("weekday", sa.Integer()),
        sa.Column("zone", sa.Text(), nullable=False),
        sa.Column("mail", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("next_at", sa.BigInteger(), nullable=False),
        sa.Column("last_at", sa.BigInteger()),
        sa.Column("sent", sa.Text(), nullable=False, server_default="[]"),
        sa.Column("error", sa.Text()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_book_plans_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_book_plans")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_book_plans_user_id", "book_plans", ["user_id"])
    op.create_index("ix_book_plans_next_at", "book_plans", ["next_at"])
    op.create_table(
        "books",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False, server_default=""),
        sa.Column("status", sa.Text(), nullable=False, server_default="pending"),
        sa.Column("error", sa.Text()),
        sa.Column("progress", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
        sa.Column("entries", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
        sa.Column("pictures", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
        sa.Column("left_out", sa.Text(), nullable=False, server_default="{}"),
        sa.Column("length", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger()),
        sa.Column("plan_id", Id),
        sa.Column("mail_to", sa.Text(), nullable=False, server_default=""),
        sa.Column("mail_status", sa.Text(), nullable=False, server_default=""),
        sa.Column("mail_error", sa.Text(), nullable=False, server_default=""),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_books_user_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["plan_id"], ["book_plans.id"], name=op.f("fk_books_plan_id"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_books")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_books_user_id", "books", ["user_id", "id"])
    op.create_index("ix_books_created_at", "books", ["created_at"])
    op.create_index("ix_books_plan_id", "books", ["plan_id"])
    op.create_table(
        "book_parts",
        sa.Column("book_id", Id, autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["book_id"], ["books.id"], name=op.f("fk_book_parts_book_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("book_id", "number", name=op.f("pk_book_parts")),
    )
