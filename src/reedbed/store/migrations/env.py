"""Alembic's entry: run the migrations on the connection that the caller opened."""

from alembic import context

from reedbed.store.tables import metadata
from reedbed.store.tables.columns import add_postgresql_conditions

connection = context.config.attributes["connection"]
if connection.dialect.name == "postgresql":
    add_postgresql_conditions()
context.configure(connection=connection, target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
