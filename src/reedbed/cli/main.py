"""The root command, `reedbed admin`, and `reedbed completion`."""

import gc
import importlib
import sys
from typing import Any

import click
from click.shell_completion import get_completion_class

from reedbed import __version__
from reedbed.cli.ai import ai
from reedbed.cli.database import db
from reedbed.cli.feeds import feed, root_domains
from reedbed.cli.instance import health, secrets, workers
from reedbed.cli.transfer import import_command
from reedbed.cli.users import user
from reedbed.domain.errors import ReedbedError

COMMANDS = {
    "serve": "reedbed.cli.serve:serve",
    "web": "reedbed.cli.serve:web",
    "worker": "reedbed.cli.serve:worker",
    "config": "reedbed.cli.instance:config",
    "parse": "reedbed.cli.parse:parse_command",
    "extract": "reedbed.cli.parse:extract_command",
    "opml": "reedbed.cli.transfer:opml",
    "import": "reedbed.cli.transfer:import_command",
    "admin": "reedbed.cli.main:admin",
    "completion": "reedbed.cli.main:completion",
}


class LazyGroup(click.Group):
    """Imports a command only when it is used."""

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
    """Run the command. An expected error is one sentence on stderr and exit code 1."""
    # Modules stay loaded, and searching them for garbage takes a seventh of the start-up time. The roles
    # enable the collector again.
    gc.disable()
    try:
        _run(root)
    except ReedbedError as error:
        sys.exit(f"reedbed: {error.message}")


def _run(command: Any) -> None:
    command(prog_name="reedbed")


@click.group()
def admin() -> None:
    """Administer an instance."""


admin.add_command(user)
admin.add_command(ai)
admin.add_command(db)
admin.add_command(secrets)
admin.add_command(workers)
admin.add_command(health)
admin.add_command(feed)
admin.add_command(root_domains)
admin.add_command(import_command)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion for a shell: `eval "$(reedbed completion bash)"`, or save it to a file."""

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(root, {}, "reedbed", "_REEDBED_COMPLETE").source())
