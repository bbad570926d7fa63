"""`reedbed admin feed` and `reedbed admin root-domain`: how feeds are fetched and deframed for all users."""

import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from reedbed.cli.context import report_options, say, show, with_runtime
from reedbed.domain.errors import Invalid
from reedbed.domain.failures import failure_message
from reedbed.domain.feeds import FeedFetching
from reedbed.domain.times import MINUTE, rfc3339
from reedbed.services.runtime import Runtime

if TYPE_CHECKING:
    from reedbed.services.feeds import FeedSettings
    from reedbed.store.feeds.admin import AdminFeed

F = TypeVar("F", bound=Callable[..., Any])

CLEARABLE = ("proxy", "user-agent", "username", "password", "interval", "max-failures", "prompt")

_OPTIONS = (
    click.option("--proxy", help="Fetch it through this proxy: http://proxy.example:3128."),
    click.option("--user-agent", help="The User-Agent header of requests to the site."),
    click.option("--username", help="Log in at the site with this name."),
    click.option(
        "--password-stdin",
        is_flag=True,
        help="Read the password for it from standard input; on a terminal, ask for it.",
    ),
    click.option("--interval", type=int, help="Minutes between checks, instead of an interval that follows the feed."),
    click.option("--max-failures", type=int, help="Failures in a row after which the feed stops; 1: at the first."),
    click.option(
        "--allow-duplicate-urls/--no-allow-duplicate-urls",
        default=None,
        help="Entries with the same address are separate entries.",
    ),
    click.option(
        "--enforce-domain/--no-enforce-domain",
        default=None,
        help="Skip entries that link to other sites (on for a new feed).",
    ),
    click.option("--prompt", help="Additional instructions for the model; empty removes them."),
    click.option(
        "--clear", multiple=True, type=click.Choice(CLEARABLE), help="Reset a setting to its default; may be repeated."
    ),
)


def setting_options(command: F) -> F:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def settings_of(options: Mapping[str, Any]) -> "FeedSettings":
    """Options that were not given do not change."""
    from reedbed.services.feeds import FeedSettings

    cleared = {name.replace("-", "_"): None for name in options["clear"]}
    typed = {
        name: value for name, value in options.items() if value is not None and name not in ("clear", "password_stdin")
    }
    if twice := sorted(typed.keys() & cleared.keys()):
        raise Invalid(f"{twice[0]} is both set and cleared.", field=twice[0])
    if "interval" in typed:
        typed["interval"] *= MINUTE
    if options["password_stdin"]:
        typed["password"] = _read_password()
    return FeedSettings(**cleared, **typed)


def _read_password() -> str:
    if sys.stdin.isatty():
        return click.prompt("Password", hide_input=True)
    return sys.stdin.readline().rstrip("\r\n")


@click.group()
def feed() -> None:
    """Fetch and deframe settings of feeds, for all users; FEED is a number from the list or an address."""


@feed.command()
@click.argument("url")
@click.option("--no-root-domain", is_flag=True, help="Do not assign it to a site.")
@setting_options
@report_options
def add(url: str, data_dir: Path | None, *, no_root_domain: bool, as_json: bool, **options: Any) -> None:
    """Add a feed, disabled and not polled: `enable` and `sync` come next."""
    settings = settings_of(options)

    async def work(runtime: Runtime) -> "AdminFeed":
        from reedbed.services.feeds import add_feed

        return await add_feed(runtime, url, settings, with_root_domain=not no_root_domain)

    _show_feed(work, data_dir, as_json=as_json)


@feed.command("set")
@click.argument("feed")
@setting_options
@click.option("--deframe/--no-deframe", default=None, help="Analyse its entries and publish the result.")
@report_options
def set_command(feed: str, data_dir: Path | None, *, as_json: bool, **options: Any) -> None:
    """Change how a feed is fetched and deframed; after a change of fetching it is checked at once."""
    _change(feed, settings_of(options), data_dir, as_json=as_json)


@feed.command()
@click.argument("feed")
@report_options
def delete(feed: str, data_dir: Path | None, *, as_json: bool) -> None:
    """Delete a feed softly; its subscribers keep it."""

    async def work(runtime: Runtime) -> "AdminFeed":
        from reedbed.services.feeds import delete_feed

        return await delete_feed(runtime, feed)

    deleted = with_runtime(work, data_dir)
    message = (
        f"{deleted.url} is deleted."
        if deleted.deleted
        else f"{deleted.url} is not deframed any more. {deleted.followers} who follow it go on reading it."
    )
    say(message, _feed_row(deleted, as_json=True), as_json=as_json)


@feed.command()
@click.argument("feed")
@report_options
def enable(feed: str, data_dir: Path | None, *, as_json: bool) -> None:
    """Publish it and let workers analyse it; does not schedule a run."""

    async def work(runtime: Runtime) -> "AdminFeed":
        from reedbed.services.feeds import enable_feed

        return await enable_feed(runtime, feed)

    _show_feed(work, data_dir, as_json=as_json)


@feed.command()
@click.argument("feed")
@report_options
def disable(feed: str, data_dir: Path | None, *, as_json: bool) -> None:
    """Stop publishing it at once; no worker analyses it, whatever is scheduled."""

    async def work(runtime: Runtime) -> "AdminFeed":
        from reedbed.services.feeds import disable_feed

        return await disable_feed(runtime, feed)

    _show_feed(work, data_dir, as_json=as_json)


@feed.command()
@click.argument("feed")
@click.argument("state", type=click.Choice(["on", "off"]))
@report_options
def polling(feed: str, state: str, data_dir: Path | None, *, as_json: bool) -> None:
    """Schedule the next run after each good one, or not."""
    from reedbed.services.feeds import FeedSettings

    _change(feed, FeedSettings(polling=state == "on"), data_dir, as_json=as_json)


@feed.command("list")
@report_options
def list_command(data_dir: Path | None, *, as_json: bool) -> None:
    """Every feed but private ones, with its status: working, damaged, pending, error, stopped or off; and
    why."""

    async def work(runtime: Runtime) -> list[dict[str, Any]]:
        from reedbed.services.feeds import list_feeds

        return [_feed_row(feed_line, as_json=as_json) for feed_line in await list_feeds(runtime)]

    show(with_runtime(work, data_dir), as_json=as_json)


@feed.command()
@click.argument("feed")
@report_options
def sync(feed: str, data_dir: Path | None, *, as_json: bool) -> None:
    """Run a feed now, also one that stopped; fails for a disabled or deleted one."""

    async def work(runtime: Runtime) -> "AdminFeed":
        from reedbed.services.feeds import sync_feed

        return await sync_feed(runtime, feed)

    _show_feed(work, data_dir, as_json=as_json)


@click.group("root-domain")
def root_domains() -> None:
    """Which site a feed belongs to at /api/site."""


@root_domains.command("list")
@report_options
def list_root_domains_command(data_dir: Path | None, *, as_json: bool) -> None:
    """Every root domain, with its number of feeds."""

    async def work(runtime: Runtime) -> list[dict[str, Any]]:
        from reedbed.services.feeds import list_root_domains

        return [{"root_domain": name, "feeds": count} for name, count in await list_root_domains(runtime)]

    show(with_runtime(work, data_dir), as_json=as_json)


@root_domains.command("set")
@click.argument("feed")
@click.argument("domain")
@report_options
def set_root_domain_command(feed: str, domain: str, data_dir: Path | None, *, as_json: bool) -> None:
    """Put a feed under a site."""
    _set_root_domain(feed, domain, data_dir, as_json=as_json)


@root_domains.command("clear")
@click.argument("feed")
@report_options
def clear_root_domain_command(feed: str, data_dir: Path | None, *, as_json: bool) -> None:
    """Take a feed from its site."""
    _set_root_domain(feed, None, data_dir, as_json=as_json)


def _set_root_domain(feed: str, domain: str | None, data_dir: Path | None, *, as_json: bool) -> None:
    from reedbed.services.feeds import FeedSettings

    _change(feed, FeedSettings(root_domain=domain), data_dir, as_json=as_json)


def _change(feed: str, settings: "FeedSettings", data_dir: Path | None, *, as_json: bool) -> None:
    async def work(runtime: Runtime) -> "AdminFeed":
        from reedbed.services.feeds import change_feed

        return await change_feed(runtime, feed, settings)

    _show_feed(work, data_dir, as_json=as_json)


def _show_feed(work: Callable[[Runtime], Awaitable["AdminFeed"]], data_dir: Path | None, *, as_json: bool) -> None:
    show([_feed_row(with_runtime(work, data_dir), as_json=as_json)], as_json=as_json)


def _feed_row(feed: "AdminFeed", *, as_json: bool) -> dict[str, Any]:
    """A few columns for the table, all of them for JSON."""
    fields = {
        "id": feed.id,
        "url": feed.url,
        "status": feed.standing,
        "enabled": feed.enabled,
        "polling": feed.polling,
        "deframed": feed.deframe,
        "root_domain": feed.root_domain,
        "next_run_at": _timestamp(feed.next_run_at),
    }
    if not as_json:
        return {**fields, "why": failure_message(feed.stop_reason or feed.last_error)}
    return {
        **fields,
        "last_error": failure_message(feed.last_error),
        "title": feed.title,
        "enforce_domain": feed.enforce_domain,
        "prompt": feed.prompt,
        **_fetch_fields(feed.fetching),
        "locked_until": _timestamp(feed.locked_until),
        "stop_reason": failure_message(feed.stop_reason),
        "followers": feed.followers,
        "built_at": _timestamp(feed.built_at),
        "deleted": feed.deleted,
    }


def _fetch_fields(fetching: FeedFetching) -> dict[str, Any]:
    """Without secrets."""
    return {
        "proxy": fetching.shown_proxy,
        "user_agent": fetching.user_agent,
        "username": fetching.username,
        "has_password": fetching.has_password,
        "interval_minutes": None if fetching.interval is None else fetching.interval // MINUTE,
        "max_failures": fetching.max_failures,
        "allow_duplicate_urls": fetching.allow_duplicate_urls,
    }


def _timestamp(at: int | None) -> str | None:
    return rfc3339(at) if at is not None else None
