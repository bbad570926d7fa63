"""`reedbed serve`, `web` and `worker`."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click
import structlog

from reedbed.cli.context import data_dir_option, listen_options
from reedbed.settings import Settings, load, unknown_settings

if TYPE_CHECKING:
    from reedbed.roles.run import Role


@click.command()
@listen_options
@data_dir_option
def serve(host: str | None, port: int | None, data_dir: Path | None) -> None:
    """Run everything in one process: page, API and worker."""
    _run("serve", load({"host": host, "port": port, "data_dir": data_dir}))


@click.command()
@listen_options
@data_dir_option
def web(host: str | None, port: int | None, data_dir: Path | None) -> None:
    """Run the page and the API only; workers run elsewhere."""
    _run("web", load({"host": host, "port": port, "data_dir": data_dir}))


@click.command()
@listen_options
@data_dir_option
def worker(host: str | None, port: int | None, data_dir: Path | None) -> None:
    """Run the background work only. Host and port are those of the page, for links in mail."""
    _run("worker", load({"host": host, "port": port, "data_dir": data_dir}))


def _run(role: "Role", settings: Settings) -> None:
    from reedbed.roles.observability import reporting, set_up_logs
    from reedbed.roles.run import run_role

    with reporting(settings) as reports:
        set_up_logs(settings.log_level, settings.log_format, settings.log_file, also=reports)
        for sentence in unknown_settings():
            structlog.get_logger().warning(sentence)
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(run_role(role, settings, publish_events=click.echo))


def _loop_factory() -> "type[asyncio.AbstractEventLoop] | None":
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.Loop
