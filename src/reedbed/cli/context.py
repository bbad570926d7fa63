"""What commands share: the runtime, output as text or JSON, and common options."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
import orjson

from reedbed.services.runtime import Runtime
from reedbed.settings import load

T = TypeVar("T")


def with_runtime(work: Callable[[Runtime], Awaitable[T]], data_dir: Path | None = None) -> T:
    """Run `work` on the configured instance, which may be running at the same time."""
    from reedbed.roles.build import running
    from reedbed.roles.observability import command_logging

    async def run() -> T:
        async with running(load({"data_dir": data_dir}), may_migrate=False) as runtime:
            return await work(runtime)

    with command_logging():
        return asyncio.run(run())


def show(rows: Sequence[Mapping[str, Any]], *, as_json: bool) -> None:
    """Print rows as one JSON document or as a table."""
    if as_json:
        click.echo(orjson.dumps(list(rows), option=orjson.OPT_INDENT_2).decode())
    elif rows:
        _print_table([list(rows[0]), *([_cell(value) for value in row.values()] for row in rows)])


def say(sentence: str, facts: Mapping[str, Any], *, as_json: bool) -> None:
    """Print `facts` as JSON, or the sentence."""
    if as_json:
        show([facts], as_json=True)
    else:
        click.echo(sentence)


def _print_table(lines: Sequence[Sequence[str]]) -> None:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else str(value)


F = TypeVar("F", bound=Callable[..., Any])


def data_dir_option(command: F) -> F:
    return click.option("--data-dir", type=click.Path(path_type=Path), help="Where the database and its backups live.")(
        command
    )


def report_options(command: F) -> F:
    """Options of a command that reports on an instance."""
    command = click.option("--json", "as_json", is_flag=True, help="For programs.")(command)
    return data_dir_option(command)


def listen_options(command: F) -> F:
    command = click.option("--port", type=int, help="The port to listen on (8080).")(command)
    return click.option("--host", help="The address to listen on (127.0.0.1).")(command)
