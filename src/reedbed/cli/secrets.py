"""`reedbed admin secrets`: the key that encrypts passwords in the database."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reedbed.cli.options import report_options
from reedbed.cli.working import say, with_runtime
from reedbed.domain.errors import CannotStart
from reedbed.services.runtime import Runtime
from reedbed.settings import Settings, load

if TYPE_CHECKING:
    from reedbed.services.stored_secrets import Census


@click.group()
def secrets() -> None:
    """The key that encrypts the passwords of feeds, mailboxes and services."""


@secrets.command()
@report_options
def status(data_dir: Path | None, *, as_json: bool) -> None:
    """Say which key encrypts, and whether any password is in clear or cannot be read."""
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
@click.option("--lost-key", is_flag=True, help="Go on though some passwords cannot be read.")
@report_options
def rotate(data_dir: Path | None, *, lost_key: bool, as_json: bool) -> None:
    """Make a new key and encrypt everything with it, also while Reedbed runs.

    With REEDBED_SECRET_KEY: set a new one, put the former one into REEDBED_SECRET_KEY_PREVIOUS, start all
    processes again, then run this. Former keys stay in the key file, because older backups need them.
    """
    from reedbed.store.vault import add_key

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
    done = with_runtime(_encrypt, data_dir)
    say(
        f"{done} stored passwords and tokens are encrypted with the new key."
        + (f" {unreadable} cannot be read and have to be entered again." if unreadable else ""),
        {"encrypted": done, "unreadable": unreadable},
        as_json=as_json,
    )


async def _encrypt(runtime: Runtime) -> int:
    from reedbed.services.stored_secrets import encrypt_stored

    return await encrypt_stored(runtime.db, runtime.now())


async def _census(settings: Settings) -> "Census":
    from reedbed.roles.build import open_vault
    from reedbed.services.stored_secrets import count_secrets
    from reedbed.store.opening import open_database
    from reedbed.store.startup import prepare

    await prepare(settings.database, may_migrate=False)
    db = await open_database(settings.database, pool_size=1, vault=open_vault(settings))
    try:
        return await count_secrets(db)
    finally:
        await db.close()
