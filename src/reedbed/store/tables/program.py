"""What the program keeps for itself."""

from sqlalchemy import Column, Float, ForeignKey, Index, Integer, LargeBinary, Table, Text

from reedbed.store.tables.columns import Id, metadata, moment, number, own_id

leases = Table(
    "leases",
    metadata,
    Column("name", Text, primary_key=True),
    Column("holder", Text, nullable=False),
    moment("taken_at"),
    moment("heartbeat_at"),
    moment("expires_at"),
)

app_settings = Table(
    "app_settings",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
    moment("updated_at"),
)

jobs = Table(
    "jobs",
    metadata,
    own_id(),
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE")),
    Column("kind", Text, nullable=False),  # opml, refresh, rules, mail ...
    Column("payload", Text, nullable=False),
    Column("state", Text, nullable=False, server_default="pending"),  # pending, running, done, failed
    Column("report", Text, nullable=False, server_default="{}"),
    Column("progress", Float, nullable=False, server_default="0"),
    number("attempts"),
    moment("run_at"),
    moment("created_at"),
    moment("finished_at", null=True),
    Column("lease_holder", Text),
    moment("leased_until", null=True),
    Index("ix_jobs_due", "state", "run_at"),
    Index("ix_jobs_user_id", "user_id", "id"),
    sqlite_autoincrement=True,
)

job_pieces = Table(  # what a job works on, where that is too much for its row
    "job_pieces",
    metadata,
    Column("job_id", Id, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),
)
