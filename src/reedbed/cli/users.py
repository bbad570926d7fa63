"""`reedbed admin user`: the users of an instance."""

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import click

from reedbed.cli.context import report_options, say, show, with_runtime
from reedbed.domain.times import rfc3339
from reedbed.domain.users import ROLES, User
from reedbed.services.runtime import Runtime

ALL_USERS = 2**31


@click.group()
def user() -> None:
    """The users of this instance."""


@user.command("list")
@report_options
def list_users(data_dir: Path | None, *, as_json: bool) -> None:
    """List users with their role and their number of subscriptions."""

    async def work(runtime: Runtime) -> list[dict[str, Any]]:
        from reedbed.store import users

        async with runtime.db.read() as tx:
            members = await users.list_members(tx, after=0, limit=ALL_USERS)
        return [
            {
                **_fields(member.user),
                "feeds": member.feeds,
                "last_active": rfc3339(member.last_active_at) if member.last_active_at else None,
            }
            for member in members
        ]

    show(with_runtime(work, data_dir), as_json=as_json)


@user.command()
@click.argument("email")
@click.option("--role", type=click.Choice(ROLES), default="user", show_default=True)
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input.")
@report_options
def add(email: str, role: str, data_dir: Path | None, *, password_stdin: bool, as_json: bool) -> None:
    """Make an account; without a password, print a link to choose one."""
    password = sys.stdin.readline().rstrip("\r\n") if password_stdin else None

    async def work(runtime: Runtime) -> dict[str, Any]:
        from reedbed.services.users import add_member, reset_link

        user_added = await add_member(runtime, email, password, role)
        link = {} if password is not None else {"link": await reset_link(runtime, user_added)}
        return {**_fields(user_added), **link}

    show([with_runtime(work, data_dir)], as_json=as_json)


@user.command("reset-link")
@click.argument("email")
@report_options
def reset_link_command(email: str, data_dir: Path | None, *, as_json: bool) -> None:
    """Print a link to choose a new password; it works once, for an hour."""

    async def work(runtime: Runtime) -> str:
        from reedbed.services.users import find_member, reset_link

        return await reset_link(runtime, await find_member(runtime, email))

    link = with_runtime(work, data_dir)
    say(link, {"email": email, "link": link}, as_json=as_json)


@user.command("invite")
@click.argument("email")
@report_options
def invite_command(email: str, data_dir: Path | None, *, as_json: bool) -> None:
    """Invite a user: print the link, and mail it if mail is set up."""

    async def work(runtime: Runtime) -> str:
        from reedbed.services.users import invite

        return (await invite(runtime, email)).url

    link = with_runtime(work, data_dir)
    say(link, {"email": email, "link": link}, as_json=as_json)


@user.command()
@click.argument("email")
@report_options
def disable(email: str, data_dir: Path | None, *, as_json: bool) -> None:
    """Disable a user: sessions end and tokens stop working; nothing is deleted."""
    from reedbed.services.users import disable_member

    _change(email, disable_member, data_dir, as_json=as_json)


@user.command()
@click.argument("email")
@report_options
def enable(email: str, data_dir: Path | None, *, as_json: bool) -> None:
    """Enable a disabled user again."""
    from reedbed.services.users import enable_member

    _change(email, enable_member, data_dir, as_json=as_json)


@user.command("reset-passkeys")
@click.argument("email")
@report_options
def reset_passkeys_command(email: str, data_dir: Path | None, *, as_json: bool) -> None:
    """Remove all passkeys of a user, such as those of a lost device."""

    async def work(runtime: Runtime) -> int:
        from reedbed.services.passkeys import reset_passkeys
        from reedbed.services.users import find_member

        return await reset_passkeys(runtime, await find_member(runtime, email))

    count = with_runtime(work, data_dir)
    say(f"{count} passkeys of {email} are removed.", {"email": email, "passkeys_removed": count}, as_json=as_json)


@user.command("reset-codes")
@click.argument("email")
@report_options
def reset_codes_command(email: str, data_dir: Path | None, *, as_json: bool) -> None:
    """Turn off the one-time codes of a user who has lost phone and recovery codes."""

    async def work(runtime: Runtime) -> bool:
        from reedbed.services.codes import reset_codes
        from reedbed.services.users import find_member

        return await reset_codes(runtime, await find_member(runtime, email))

    were_on = with_runtime(work, data_dir)
    words = f"One-time codes of {email} are off." if were_on else f"One-time codes of {email} were off already."
    say(words, {"email": email, "codes_turned_off": were_on}, as_json=as_json)


@user.command("log-out")
@click.argument("email")
@report_options
def log_out_command(email: str, data_dir: Path | None, *, as_json: bool) -> None:
    """End all sessions of a user; API tokens and app passwords go on working."""

    async def work(runtime: Runtime) -> int:
        from reedbed.services.auth import end_sessions
        from reedbed.services.users import find_member

        return await end_sessions(runtime, (await find_member(runtime, email)).id)

    count = with_runtime(work, data_dir)
    say(f"{count} sessions of {email} are ended.", {"email": email, "sessions_ended": count}, as_json=as_json)


@user.command("set-role")
@click.argument("email")
@click.argument("role", type=click.Choice(ROLES))
@report_options
def set_role_command(email: str, role: str, data_dir: Path | None, *, as_json: bool) -> None:
    """Make a user an owner, an admin or a plain user."""
    from reedbed.services.users import set_role

    _change(email, lambda runtime, user: set_role(runtime, user, role), data_dir, as_json=as_json)


@user.command()
@click.argument("email")
@click.option("--yes", is_flag=True, help="Do not ask.")
@report_options
def delete(email: str, data_dir: Path | None, *, yes: bool, as_json: bool) -> None:
    """Delete an account with everything in it, for good."""

    async def work(runtime: Runtime) -> None:
        from reedbed.services.users import find_member, remove_user

        member = await find_member(runtime, email)
        if not yes:
            click.confirm(f"Delete {email} with all feeds, marks, tags, bookmarks and notes?", abort=True)
        await remove_user(runtime, member)

    with_runtime(work, data_dir)
    say(f"{email} is gone.", {"email": email, "deleted": True}, as_json=as_json)


def _change(
    email: str, change: Callable[[Runtime, User], Awaitable[User]], data_dir: Path | None, *, as_json: bool
) -> None:
    async def work(runtime: Runtime) -> dict[str, Any]:
        from reedbed.services.users import find_member

        return _fields(await change(runtime, await find_member(runtime, email)))

    show([with_runtime(work, data_dir)], as_json=as_json)


def _fields(user: User) -> dict[str, Any]:
    return {
        "id": user.id,
        "email": user.email,
        "role": user.role,
        "disabled": user.disabled_at is not None,
        "verified": user.email_verified_at is not None,
        "since": rfc3339(user.created_at),
    }
