"""`reedbed import`, also `reedbed admin import`: move in from another reader."""

import sys
from dataclasses import asdict
from pathlib import Path

import click

from reedbed.cli.opml import name_lines, user_id_of
from reedbed.cli.options import report_options
from reedbed.cli.working import say, with_runtime
from reedbed.domain.errors import Invalid
from reedbed.services.runtime import Runtime


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False), required=False)
@click.option("--miniflux", "address", help="The address of a Miniflux to take everything from.")
@click.option("--token", envvar="MINIFLUX_TOKEN", default="", help="Its API key; or set MINIFLUX_TOKEN.")
@click.option("--user", "email", help="Whose; not needed while there is only one.")
@report_options
def import_command(
    file: Path | None,
    address: str | None,
    token: str,
    email: str | None,
    data_dir: Path | None,
    *,
    as_json: bool,
) -> None:
    """Bring in FILE: OPML, starred JSON, a database of FreshRSS, Fusion or ReedMe, or a zip of these."""
    from reedbed.services.libraries import import_file, import_miniflux

    async def work(runtime: Runtime) -> int:
        user_id = await user_id_of(runtime, email)
        if address:
            report = await import_miniflux(runtime, user_id, address, token, _tell)
        elif file is not None:
            report = await import_file(runtime, user_id, file, _tell)
        else:
            raise Invalid("Name a file, or a Miniflux with --miniflux.")
        say(
            f"From {report.source}: {report.imported} feeds followed, {report.skipped} were already, "
            f"{report.starred} stars, {report.tagged} tagged, {report.bookmarked} bookmarks, "
            f"{report.read} read marks.",
            {**asdict(report), "errors": [asdict(line) for line in report.errors]},
            as_json=as_json,
        )
        name_lines(report.lines)
        return len(report.errors)

    sys.exit(1 if with_runtime(work, data_dir) else 0)


def _tell(done: int, total: int) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r{done} of {total}", err=True, nl=done == total)
