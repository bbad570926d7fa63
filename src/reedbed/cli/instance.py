"""`reedbed config`, `reedbed recipe`, `reedbed admin health`, `workers` and `secrets`."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
from pydantic import SecretStr

from reedbed.cli.context import report_options, say, show, with_runtime
from reedbed.domain.errors import CannotStart
from reedbed.domain.recipes.values import RecipeFile
from reedbed.domain.times import SECOND, rfc3339
from reedbed.services.runtime import Runtime
from reedbed.settings import Settings, load, unknown_settings

if TYPE_CHECKING:
    from reedbed.services.security import SecretCounts


@click.command()
@report_options
def health(data_dir: Path | None, *, as_json: bool) -> None:
    """Run the health checks of every five minutes now. Exit code 1 if there is a problem."""
    rows = with_runtime(_problem_rows, data_dir)
    if not rows and not as_json:
        click.echo("All is well.")
    show(rows, as_json=as_json)
    sys.exit(1 if rows else 0)


async def _problem_rows(runtime: Runtime) -> list[dict[str, Any]]:
    from reedbed.services.instance import check_health

    return [
        {"check": problem.check, "alarm": problem.alarm, "problem": problem.text}
        for problem in await check_health(runtime)
    ]


HEADINGS = {"feed_fetch_state": "feeds", "summary_queue": "summaries"}


@click.command()
@report_options
def workers(data_dir: Path | None, *, as_json: bool) -> None:
    """List the processes of this instance: role, last heartbeat, leases."""
    rows = with_runtime(_worker_rows, data_dir)
    if not rows and not as_json:
        click.echo("No process is running.")
    show(rows, as_json=as_json)


async def _worker_rows(runtime: Runtime) -> list[dict[str, Any]]:
    from reedbed.services.instance import everyone

    processes = await everyone(runtime)
    kinds = sorted({kind for process in processes for kind in process.in_hand} | {"feed_fetch_state", "jobs"})
    return [
        {
            "process": process.name,
            "role": process.role,
            "version": process.version,
            "since": rfc3339(process.started_at),
            "heard_seconds_ago": round(process.silent_for / SECOND),
            # A table name is a subclass of str, which orjson rejects as a key.
            **{str(HEADINGS.get(kind, kind)): process.in_hand.get(kind, 0) for kind in kinds},
            "chores": ", ".join(process.chores) or None,
        }
        for process in processes
    ]


@click.command()
def config() -> None:
    """Print every setting in force, secrets masked; unknown ones are named on stderr."""
    settings = load()
    for name in type(settings).model_fields:
        click.echo(f"REEDBED_{name.upper()}={_masked(name, getattr(settings, name))}")
    for sentence in unknown_settings():
        click.echo(sentence, err=True)


def _masked(name: str, value: object) -> str:
    if isinstance(value, SecretStr):
        return "********" if value.get_secret_value() else ""
    if isinstance(value, tuple):
        return ",".join(map(str, cast(tuple[object, ...], value)))
    return _mask_password(str(value)) if name.endswith("_url") else str(value)


def _mask_password(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    credentials, at, host = rest.rpartition("@")
    user, colon, _ = credentials.partition(":")
    return f"{scheme}{separator}{user}{':********' if colon else ''}{at}{host}"


@click.group()
def secrets() -> None:
    """The key that encrypts the passwords of feeds, mailboxes and services."""


@secrets.command()
@report_options
def status(data_dir: Path | None, *, as_json: bool) -> None:
    """Show which key encrypts, and whether any password is in clear or cannot be read."""
    from reedbed.roles.build import open_vault

    settings = load({"data_dir": data_dir})
    census = asyncio.run(_census(settings))
    key = open_vault(settings).current
    source = None if key is None else str(settings.key_file) if key.from_file else "REEDBED_SECRET_KEY"
    say(
        (f"Key {key.id} from {source} encrypts. " if key else "There is no key: passwords are in clear. ")
        + f"In clear: {census.clear}. Under a former key: {census.former}. Unreadable: {census.unreadable}.",
        {
            "key": key.id if key else None,
            "source": source,
            "clear": census.clear,
            "former_key": census.former,
            "unreadable": census.unreadable,
        },
        as_json=as_json,
    )


@secrets.command()
@click.option("--lost-key", is_flag=True, help="Continue even if some passwords cannot be read.")
@report_options
def rotate(data_dir: Path | None, *, lost_key: bool, as_json: bool) -> None:
    """Make a new key and encrypt everything with it, also while Reedbed runs.

    With REEDBED_SECRET_KEY: set a new one, put the former one into REEDBED_SECRET_KEY_PREVIOUS, start all
    processes again, then run this. Former keys stay in the key file, because older backups need them.
    """
    from reedbed.store.engine.encryption import add_key

    settings = load({"data_dir": data_dir})
    unreadable = asyncio.run(_census(settings)).unreadable
    if unreadable and not lost_key:
        raise CannotStart(
            f"{unreadable} passwords are encrypted with a key that is not here. Put the former secret.key "
            "back, or name the former key in REEDBED_SECRET_KEY_PREVIOUS. If it is lost, run this again with "
            "--lost-key."
        )
    if not settings.secret_key.get_secret_value():
        try:
            settings.key_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            add_key(settings.key_file)
        except OSError as error:
            raise CannotStart(
                f"The key file {settings.key_file} cannot be written: {error.strerror}. Nothing was changed."
            ) from error
    done = with_runtime(_encrypt_stored, data_dir)
    say(
        f"{done} stored passwords and tokens are encrypted with the new key."
        + (f" {unreadable} cannot be read and have to be entered again." if unreadable else ""),
        {"encrypted": done, "unreadable": unreadable},
        as_json=as_json,
    )


async def _encrypt_stored(runtime: Runtime) -> int:
    from reedbed.services.security import encrypt_stored

    return await encrypt_stored(runtime.db, runtime.now())


async def _census(settings: Settings) -> "SecretCounts":
    from reedbed.roles.build import open_vault
    from reedbed.services.security import count_secrets
    from reedbed.store.engine.connect import open_database
    from reedbed.store.startup import prepare

    await prepare(settings.database, may_migrate=False)
    db = await open_database(settings.database, pool_size=1, vault=open_vault(settings))
    try:
        return await count_secrets(db)
    finally:
        await db.close()


# --- Recipes


@click.group("recipe")
def recipe_group() -> None:
    """Files that add sites, services to send entries to, and themes (docs/plugins.md)."""


@recipe_group.command("check")
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--data-dir", type=click.Path(path_type=Path), help="Where the database and its backups live.")
def check_recipes(files: tuple[Path, ...], data_dir: Path | None) -> None:
    """Check these files, or all in the folder of recipes. Exit code 1 if one is wrong."""
    from reedbed.ingest.recipes import read_recipe_file

    folder = load({"data_dir": data_dir}).data_dir / "recipes"
    chosen = files or tuple(sorted(folder.glob("*.toml")))
    if not chosen:
        click.echo(f"There are no files in {folder}.")
    read = [read_recipe_file(file) for file in chosen]
    for file in read:
        _show(file)
    sys.exit(1 if any(file.problems for file in read) else 0)


def _show(file: RecipeFile) -> None:
    for problem in file.problems:
        key = f"{problem.field}: " if problem.field else ""
        click.echo(f"{file.file}: {key}{problem.message}", err=True)
    if file.recipe is not None:
        kind = type(file.recipe).__name__.removesuffix("Recipe").lower()
        click.echo(f"{file.file}: the {kind} {file.recipe.name} is right.")
