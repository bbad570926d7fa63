"""One-time codes, recovery codes, steps of a login that a browser has begun, and logins from new places."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _user_key(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f(f"fk_{table}_user_id"), ondelete="CASCADE")


def upgrade() -> None:
    op.add_column("sessions", sa.Column("new_place", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.create_table(
        "one_time_codes",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("last_step", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("enabled_at", sa.BigInteger(), nullable=True),
        _user_key("one_time_codes"),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_one_time_codes")),
    )
    op.create_table(
        "recovery_codes",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("code_hash", sa.Text(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=True),
        _user_key("recovery_codes"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_recovery_codes")),
        sa.UniqueConstraint("user_id", "code_hash", name=op.f("uq_recovery_codes_user_id_code_hash")),
    )
    op.create_table(
        "challenges",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("user_id", Id, nullable=True),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("challenge_hash", sa.Text(), nullable=False),
        sa.Column("browser_hash", sa.Text(), nullable=False),
        sa.Column("user_handle", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        _user_key("challenges"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_challenges")),
        sa.UniqueConstraint("challenge_hash", name=op.f("uq_challenges_challenge_hash")),
    )
    op.create_index("ix_challenges_expires_at", "challenges", ["expires_at"])
    op.create_index("ix_challenges_user_id", "challenges", ["user_id"])
