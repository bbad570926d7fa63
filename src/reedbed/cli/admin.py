"""`reedbed admin`: for operators."""

import click

from reedbed.cli.database import db
from reedbed.cli.users import user


@click.group()
def admin() -> None:
    """Look after an instance."""


admin.add_command(user)
admin.add_command(db)
