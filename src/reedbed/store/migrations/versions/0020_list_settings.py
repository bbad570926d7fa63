"""How each user wants to see each list: unread or all, order and layout."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "list_settings",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("list", sa.Text(), nullable=False),
        sa.Column("show", sa.Text(), server_default="", nullable=False),
        sa.Column("order", sa.Text(), server_default="", nullable=False),
        sa.Column("layout", sa.Text(), server_default="", nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_list_settings_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "list", name=op.f("pk_list_settings")),
        sqlite_with_rowid=False,
    )
