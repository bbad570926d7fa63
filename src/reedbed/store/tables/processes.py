"""Which processes run."""

from sqlalchemy import Column, Table, Text

from reedbed.store.tables.columns import metadata, moment

processes = Table(
    "processes",
    metadata,
    Column("name", Text, primary_key=True),  # as its leases say it
    Column("role", Text, nullable=False),  # serve, web, worker
    Column("version", Text, nullable=False),
    moment("started_at"),
    moment("heartbeat_at"),  # by the clock of the database, so that all are measured by one
)
