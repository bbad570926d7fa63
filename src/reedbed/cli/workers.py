"""`reedbed admin workers`: who runs, and what each has in hand."""

from pathlib import Path
from typing import Any

import click

from reedbed.cli.options import report_options
from reedbed.cli.working import show, with_runtime
from reedbed.domain.times import SECOND, rfc3339
from reedbed.services.runtime import Runtime

HEADINGS = {"feed_fetch_state": "feeds", "summary_queue": "summaries"}


@click.command()
@report_options
def workers(data_dir: Path | None, *, as_json: bool) -> None:
    """Every process of this instance: its role, when it was last heard of, what it has in hand."""
    rows = with_runtime(_rows, data_dir)
    if not rows and not as_json:
        click.echo("No process is running.")
    show(rows, as_json=as_json)


async def _rows(runtime: Runtime) -> list[dict[str, Any]]:
    from reedbed.services.processes import everyone

    found = await everyone(runtime)
    kinds = sorted({kind for process in found for kind in process.in_hand} | {"feed_fetch_state", "jobs"})
    return [
        {
            "process": process.name,
            "role": process.role,
            "version": process.version,
            "since": rfc3339(process.started_at),
            "heard_seconds_ago": round(process.silent_for / SECOND),
            # The name of a table is a kind of string that JSON does not take as a key.
            **{str(HEADINGS.get(kind, kind)): process.in_hand.get(kind, 0) for kind in kinds},
            "chores": ", ".join(process.chores) or None,
        }
        for process in found
    ]
