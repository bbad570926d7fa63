"""Flags that stand for settings."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def data_dir_option(command: F) -> F:
    return click.option(
        "--data-dir", type=click.Path(path_type=Path), help="Where the database and its backups live."
    )(command)


def report_options(command: F) -> F:
    """For a command that tells of something on an instance, to people or to programs."""
    command = click.option("--json", "as_json", is_flag=True, help="For programs.")(command)
    return data_dir_option(command)


def listen_options(command: F) -> F:
    command = click.option("--port", type=int, help="The port to listen on (8080).")(command)
    return click.option("--host", help="The address to listen on (127.0.0.1).")(command)
