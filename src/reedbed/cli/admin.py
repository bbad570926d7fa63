"""`reedbed admin`: for operators."""

import asyncio

import click

from reedbed.cli.users import user
from reedbed.settings import load


@click.group()
def admin() -> None:
    """Look after an instance."""


admin.add_command(user)


@admin.group()
def db() -> None:
    """The database."""


@db.command()
def migrate() -> None:
    """Bring the database to this program's schema (SQLite: after a backup)."""
    from reedbed.store import migrations
    from reedbed.store.startup import prepare

    asyncio.run(prepare(load().database, may_migrate=True))
    click.echo(f"The database has schema {migrations.newest()}.")
