"""Processes, leases, jobs and the settings of the instance."""

from sqlalchemy import Column, Float, ForeignKey, Index, Integer, LargeBinary, Table, Text

from reedbed.store.tables.columns import Id, id_column, metadata, moment, number

processes = Table(
    "processes",
    metadata,
    Column("name", Text, primary_key=True),  # as in its leases
    Column("role", Text, nullable=False),  # serve, web, worker
    Column("version", Text, nullable=False),
    moment("started_at"),
    moment("heartbeat_at"),  # by the database clock, so that all processes use the same one
)

leases = Table(
    "leases",
    metadata,
    Column("name", Text, primary_key=True),
    Column("holder", Text, nullable=False),
    moment("taken_at"),
    moment("heartbeat_at"),
    moment("expires_at"),
)

host_turns = Table(
    "host_turns",
    metadata,
    Column("host", Text, primary_key=True),
    moment("next_at"),  # by the database clock: when the next request to the host may begin
    Column("in_flight", Text, nullable=False, server_default="{}"),  # JSON: the lease end of each turn, by its token
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
    id_column(),
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

job_pieces = Table(  # the data of a job that is too large for its row
    "job_pieces",
    metadata,
    Column("job_id", Id, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),
)
