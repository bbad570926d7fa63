"""The root command. Subcommands load when they are called, so that `reedbed --version` is instant."""

import gc
import importlib
import sys
from typing import Any

import click

from reedbed import __version__
from reedbed.domain.errors import ReedbedError

COMMANDS = {
    "serve": "reedbed.cli.run:serve",
    "web": "reedbed.cli.run:web",
    "worker": "reedbed.cli.run:worker",
    "config": "reedbed.cli.config:config",
    "parse": "reedbed.cli.parse:parse_command",
    "extract": "reedbed.cli.extract:extract_command",
    "opml": "reedbed.cli.opml:opml",
    "import": "reedbed.cli.imports:import_command",
    "admin": "reedbed.cli.admin:admin",
    "completion": "reedbed.cli.completion:completion",
}


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        return getattr(importlib.import_module(module), name)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="reedbed")
def root() -> None:
    """Reedbed, a calm reader for everything you follow."""


def main() -> None:
    """Run the command; an expected trouble is one sentence on stderr and exit code 1."""
    # What is loaded stays: looking through it for garbage costs a seventh of the start. The roles begin to.
    gc.disable()
    try:
        _run(root)
    except ReedbedError as error:
        sys.exit(f"reedbed: {error.message}")


def _run(command: Any) -> None:
    command(prog_name="reedbed")
