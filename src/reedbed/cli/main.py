"""The root command, `reedbed admin`, and `reedbed completion`."""

import gc
import importlib
import sys
from collections.abc import Mapping
from typing import Any, cast

import click
from click.shell_completion import get_completion_class

from reedbed import __version__
from reedbed.domain.errors import ReedbedError

COMMANDS = {
    "serve": "reedbed.cli.serve:serve",
    "web": "reedbed.cli.serve:web",
    "worker": "reedbed.cli.serve:worker",
    "config": "reedbed.cli.instance:config",
    "parse": "reedbed.cli.parse:parse_command",
    "extract": "reedbed.cli.parse:extract_command",
    "recipe": "reedbed.cli.instance:recipe_group",
    "opml": "reedbed.cli.transfer:opml",
    "import": "reedbed.cli.transfer:import_command",
    "admin": "reedbed.cli.main:admin",
    "completion": "reedbed.cli.main:completion",
}


ADMIN_COMMANDS = {
    "user": "reedbed.cli.users:user",
    "ai": "reedbed.cli.ai:ai",
    "db": "reedbed.cli.database:db",
    "secrets": "reedbed.cli.instance:secrets",
    "workers": "reedbed.cli.instance:workers",
    "health": "reedbed.cli.instance:health",
    "feed": "reedbed.cli.feeds:feed",
    "root-domain": "reedbed.cli.feeds:root_domains",
    "import": "reedbed.cli.transfer:import_command",
}


class LazyGroup(click.Group):
    """Imports a command only when it is used."""

    def __init__(self, *, names: Mapping[str, str], **attributes: Any) -> None:
        super().__init__(**attributes)
        self._names = names

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._names:
            return None
        module, _, name = self._names[cmd_name].partition(":")
        return getattr(importlib.import_module(module), name)


@click.group(cls=LazyGroup, names=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="reedbed")
def root() -> None:
    """Reedbed, a calm reader for everything you follow."""


def main() -> None:
    """Run the command. An expected error is one sentence on stderr and exit code 1."""
    # Modules stay loaded, and searching them for garbage takes a seventh of the start-up time. The roles
    # enable the collector again.
    gc.disable()
    # structlog would load rich where it is installed, for tracebacks that we do not print: 66 modules and 5 MB.
    sys.modules.setdefault("rich", cast(Any, None))
    try:
        _run(root)
    except ReedbedError as error:
        # What is shown beside a field of a form has no full stop.
        sys.exit(f"reedbed: {error.message}{'' if error.message.endswith(('.', '?', '!', ':', ')')) else '.'}")


def _run(command: Any) -> None:
    command(prog_name="reedbed")


@click.group(cls=LazyGroup, names=ADMIN_COMMANDS)
def admin() -> None:
    """Administer an instance."""


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion for a shell: `eval "$(reedbed completion bash)"`, or save it to a file."""

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(root, {}, "reedbed", "_REEDBED_COMPLETE").source())
