"""The options of `reedbed admin feed add` and `set`, and the settings they mean."""

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from reedbed.domain.errors import Invalid
from reedbed.domain.times import MINUTE

if TYPE_CHECKING:
    from reedbed.services.feed_settings import FeedSettings

F = TypeVar("F", bound=Callable[..., Any])

CLEARABLE = ("proxy", "user-agent", "username", "password", "interval", "max-failures", "prompt")

_OPTIONS = (
    click.option("--proxy", help="Fetch it through this proxy: http://proxy.example:3128."),
    click.option("--user-agent", help="What the site is told who asks."),
    click.option("--username", help="Log in at the site with this name."),
    click.option(
        "--password-stdin",
        is_flag=True,
        help="Read the password for it from standard input; on a terminal, ask for it.",
    ),
    click.option("--interval", type=int, help="Minutes between checks, instead of its own rhythm."),
    click.option(
        "--max-failures", type=int, help="Failures in a row after which the feed stops; 1: at the first."
    ),
    click.option(
        "--allow-duplicate-urls/--no-allow-duplicate-urls",
        default=None,
        help="Entries with the same address are different ones.",
    ),
    click.option(
        "--enforce-domain/--no-enforce-domain",
        default=None,
        help="Leave out items of other sites (on for a new feed).",
    ),
    click.option("--prompt", help="What the model is asked beside; empty takes it back."),
    click.option(
        "--clear", multiple=True, type=click.Choice(CLEARABLE), help="Take a setting back; may be repeated."
    ),
)


def setting_options(command: F) -> F:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def settings_of(given: Mapping[str, Any]) -> "FeedSettings":
    """What was not typed stays."""
    from reedbed.services.feed_settings import FeedSettings

    cleared = {name.replace("-", "_"): None for name in given["clear"]}
    typed = {
        name: value
        for name, value in given.items()
        if value is not None and name not in ("clear", "password_stdin")
    }
    if twice := sorted(typed.keys() & cleared.keys()):
        raise Invalid(f"{twice[0]} is both set and cleared.", field=twice[0])
    if "interval" in typed:
        typed["interval"] *= MINUTE
    if given["password_stdin"]:
        typed["password"] = _read_password()
    return FeedSettings(**cleared, **typed)


def _read_password() -> str:
    if sys.stdin.isatty():
        return click.prompt("Password", hide_input=True)
    return sys.stdin.readline().rstrip("\r\n")
