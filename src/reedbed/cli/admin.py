"""`reedbed admin`: for operators."""

import click

from reedbed.cli.ai import ai
from reedbed.cli.database import db
from reedbed.cli.feeds import feed, root_domains
from reedbed.cli.health import health
from reedbed.cli.imports import import_command
from reedbed.cli.secrets import secrets
from reedbed.cli.users import user
from reedbed.cli.workers import workers


@click.group()
def admin() -> None:
    """Look after an instance."""


admin.add_command(user)
admin.add_command(ai)
admin.add_command(db)
admin.add_command(secrets)
admin.add_command(workers)
admin.add_command(health)
admin.add_command(feed)
admin.add_command(root_domains)
admin.add_command(import_command)
