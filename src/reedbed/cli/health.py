"""`reedbed admin health`: whether all is well, for people and for cron."""

import sys
from pathlib import Path
from typing import Any

import click

from reedbed.cli.options import report_options
from reedbed.cli.working import show, with_runtime
from reedbed.services.runtime import Runtime


@click.command()
@report_options
def health(data_dir: Path | None, *, as_json: bool) -> None:
    """Check now what is checked every five minutes. Exit code 1 when something is wrong."""
    rows = with_runtime(_rows, data_dir)
    if not rows and not as_json:
        click.echo("All is well.")
    show(rows, as_json=as_json)
    sys.exit(1 if rows else 0)


async def _rows(runtime: Runtime) -> list[dict[str, Any]]:
    from reedbed.services.health import look_now

    return [{"check": one.check, "alarm": one.alarm, "problem": one.text} for one in await look_now(runtime)]
