"""Feeds in several folders."""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "subscription_folders",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("subscription_id", Id, autoincrement=False, nullable=False),
        sa.Column("folder_id", Id, autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_subscription_folders_user_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["subscription_id"],
            ["subscriptions.id"],
            name=op.f("fk_subscription_folders_subscription_id"),
            ondelete="CASCADE",
            onupdate="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["folder_id"], ["folders.id"], name=op.f("fk_subscription_folders_folder_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "subscription_id", "folder_id", name=op.f("pk_subscription_folders")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_subscription_folders_subscription_id", "subscription_folders", ["subscription_id"])
    op.create_index("ix_subscription_folders_folder_id", "subscription_folders", ["folder_id"])
