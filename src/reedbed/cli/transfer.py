"""`reedbed opml`, and `reedbed import` (also `reedbed admin import`) for data of other readers."""

import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO

import click

from reedbed.cli.context import data_dir_option, report_options, say, with_runtime
from reedbed.domain.email import email_address
from reedbed.domain.errors import Invalid, NotFound
from reedbed.domain.failures import failure_sentence
from reedbed.domain.transfer import ImportLine, ImportReport, LibraryReport
from reedbed.services.runtime import Runtime


@click.group()
def opml() -> None:
    """Import and export subscriptions."""


@opml.command("import")
@click.argument("file", type=click.File("rb"))
@click.option("--user", "email", help="The user; not needed if there is only one.")
@report_options
def import_file(file: BinaryIO, email: str | None, data_dir: Path | None, *, as_json: bool) -> None:
    """Subscribe to every feed of FILE (- is standard input) and report each line that was not added."""
    from reedbed.services.transfer.opml import import_opml

    body = file.read()

    async def work(runtime: Runtime) -> int:
        report = await import_opml(runtime, await user_id_of(runtime, email), body)
        say(
            f"{report.imported} followed, {report.skipped} were followed already.",
            _report_json(report),
            as_json=as_json,
        )
        print_skipped_lines(report.lines)
        return len(report.errors)

    sys.exit(1 if with_runtime(work, data_dir) else 0)


@opml.command("export")
@click.argument("file", type=click.File("wb"), default="-")
@click.option("--user", "email", help="The user; not needed if there is only one.")
@click.option("--with-credentials", is_flag=True, help="Write names and passwords of feeds into their addresses.")
@data_dir_option
def export_file(file: BinaryIO, email: str | None, data_dir: Path | None, *, with_credentials: bool) -> None:
    """Write the subscriptions to FILE (standard output)."""
    from reedbed.services.transfer.opml import export_opml

    async def work(runtime: Runtime) -> bytes:
        user_id = await user_id_of(runtime, email)
        return await export_opml(runtime, user_id, with_credentials=with_credentials)

    file.write(with_runtime(work, data_dir))


def print_skipped_lines(lines: Iterable[ImportLine]) -> None:
    """Print to stderr, so that stdout stays one line or one JSON document."""
    for line in lines:
        if line.status != "added":
            click.echo(f"{line.title or line.url}: {failure_sentence(line.failure)}", err=True)


def _report_json(report: ImportReport | LibraryReport) -> dict[str, object]:
    lines = [
        {"title": line.title, "url": line.url, "message": failure_sentence(line.failure), "status": line.status}
        for line in report.lines
    ]
    return {**asdict(report), "lines": lines, "errors": [line for line in lines if line["status"] == "error"]}


async def user_id_of(runtime: Runtime, email: str | None) -> int:
    from reedbed.store import users

    async with runtime.db.read() as tx:
        if email is not None:
            account = await users.get_by_email(tx, email_address(email))
            user = account[0] if account else None
        else:
            user = await users.get_only_one(tx)
    if user is None and email is None:
        raise NotFound("Say whose with --user: there is not just one. 'reedbed admin user list' shows all.")
    if user is None:
        raise NotFound(f"There is no user {email}. 'reedbed admin user list' shows all.")
    return user.id


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False), required=False)
@click.option("--miniflux", "address", help="The address of a Miniflux server to import from.")
@click.option("--token", envvar="MINIFLUX_TOKEN", default="", help="Its API key; or set MINIFLUX_TOKEN.")
@click.option("--user", "email", help="The user; not needed if there is only one.")
@report_options
def import_command(
    file: Path | None, address: str | None, token: str, email: str | None, data_dir: Path | None, *, as_json: bool
) -> None:
    """Import FILE: OPML, starred JSON, a database of FreshRSS, Fusion or ReedMe, or a zip of these."""
    from reedbed.services.transfer.library import import_file, import_miniflux

    async def work(runtime: Runtime) -> int:
        user_id = await user_id_of(runtime, email)
        if address:
            report = await import_miniflux(runtime, user_id, address, token, _print_progress)
        elif file is not None:
            report = await import_file(runtime, user_id, file, _print_progress)
        else:
            raise Invalid("Name a file, or a Miniflux with --miniflux.")
        say(
            f"From {report.source}: {report.imported} feeds followed, {report.skipped} were already, "
            f"{report.starred} stars, {report.tagged} tagged, {report.bookmarked} bookmarks, "
            f"{report.read} read marks.",
            _report_json(report),
            as_json=as_json,
        )
        print_skipped_lines(report.lines)
        return len(report.errors)

    sys.exit(1 if with_runtime(work, data_dir) else 0)


def _print_progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r{done} of {total}", err=True, nl=done == total)
