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


def listen_options(command: F) -> F:
    command = click.option("--port", type=int, help="The port to listen on (8080).")(command)
    return click.option("--host", help="The address to listen on (127.0.0.1).")(command)
