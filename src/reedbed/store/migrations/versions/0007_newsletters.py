"""Newsletters: addresses, senders, mailboxes, and what is kept of a mail beside its entry."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "mail_deliveries",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_mail_deliveries")),
    )
    op.create_index("ix_mail_deliveries_at", "mail_deliveries", ["at"], unique=False)
    op.create_table(
        "mail_addresses",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("local", sa.Text(), nullable=False),
        sa.Column("received", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_used_at", sa.BigInteger(), nullable=True),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_mail_addresses_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mail_addresses")),
        sa.UniqueConstraint("local", name=op.f("uq_mail_addresses_local")),
    )
    op.create_index("ix_mail_addresses_user_id", "mail_addresses", ["user_id", "id"], unique=False)
    op.create_table(
        "mail_boxes",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("port", sa.Integer(), nullable=False),
        sa.Column("security", sa.Text(), nullable=False),
        sa.Column("username", sa.Text(), nullable=False),
        sa.Column("password", sa.Text(), nullable=False),
        sa.Column("folder", sa.Text(), nullable=False),
        sa.Column("uid_validity", sa.BigInteger(), nullable=True),
        sa.Column("last_uid", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("received", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("failures", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("next_check_at", sa.BigInteger(), nullable=False),
        sa.Column("last_checked_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_mail_boxes_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mail_boxes")),
        sa.UniqueConstraint(
            "user_id", "host", "username", "folder", name=op.f("uq_mail_boxes_user_id_host_username_folder")
        ),
    )
    op.create_index("ix_mail_boxes_next_check_at", "mail_boxes", ["next_check_at"], unique=False)
    op.create_table(
        "mail_senders",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("feed_id", Id, nullable=True),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), server_default="", nullable=False),
        sa.Column("ways_out", sa.Text(), server_default="{}", nullable=False),
        sa.Column("verdicts", sa.Text(), server_default="{}", nullable=False),
        sa.Column("leaving", sa.Text(), server_default="", nullable=False),
        sa.Column("received", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("refused", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("last_mail_at", sa.BigInteger(), nullable=True),
        sa.Column("blocked_at", sa.BigInteger(), nullable=True),
        sa.Column("left_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["feed_id"], ["feeds.id"], name=op.f("fk_mail_senders_feed_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_mail_senders_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mail_senders")),
        sa.UniqueConstraint("user_id", "address", name=op.f("uq_mail_senders_user_id_address")),
    )
    op.create_index("ix_mail_senders_feed_id", "mail_senders", ["feed_id"], unique=False)
    op.create_table(
        "mail_confirmations",
        sa.Column("entry_id", Id, autoincrement=False, nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("dismissed_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["entry_id"], ["entries.id"], name=op.f("fk_mail_confirmations_entry_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_mail_confirmations_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("entry_id", name=op.f("pk_mail_confirmations")),
    )
    op.create_index("ix_mail_confirmations_user_id", "mail_confirmations", ["user_id", "entry_id"], unique=False)
    op.create_table(
        "mail_images",
        sa.Column("entry_id", Id, autoincrement=False, nullable=False),
        sa.Column("blob_id", Id, autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(["blob_id"], ["blobs.id"], name=op.f("fk_mail_images_blob_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["entry_id"], ["entries.id"], name=op.f("fk_mail_images_entry_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("entry_id", "blob_id", name=op.f("pk_mail_images")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_mail_images_blob_id", "mail_images", ["blob_id"], unique=False)
