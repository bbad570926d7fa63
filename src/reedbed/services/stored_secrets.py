"""Stored passwords and tokens are brought under the current key: after an upgrade, and after a new key."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

import structlog

from reedbed.domain.errors import ReedbedError
from reedbed.domain.times import Instant
from reedbed.services.secrets import new_token
from reedbed.store import encrypted_columns
from reedbed.store.database import Database, Tx
from reedbed.store.encrypted_columns import COLUMNS, HUB_SECRET, INSTANCE_SECRET, EncryptedColumn, Stored
from reedbed.store.vault import PREFIX

log = structlog.get_logger()

IN_CLEAR = (
    "Passwords of feeds and mailboxes are stored in clear. Set REEDBED_SECRET_KEY to the same value, of 32 "
    "characters or more, for every process. Where all processes share one data directory, "
    "'reedbed admin secrets rotate' makes a key file there instead."
)
UNREADABLE = (
    "Some stored passwords are encrypted with a key that is not here. Put the secret.key of this database "
    "back, or name the former key in REEDBED_SECRET_KEY_PREVIOUS, or enter these passwords again."
)
REMAINS = (
    "Passwords of earlier versions may be left in unused parts of the database file and in its backups. Make "
    "room on the disk and run 'reedbed admin db vacuum'."
)


@dataclass(slots=True)
class Census:
    """How many stored secrets the current key does not encrypt."""

    clear: int = 0
    former: int = 0
    """Under another key that is here."""
    unreadable: int = 0


async def count_secrets(db: Database) -> Census:
    census = Census()
    for one in COLUMNS:
        async for some in _not_current(db, one):
            async with db.read() as tx:
                for stored in some:
                    _count(census, tx, one, stored)
    return census


async def encrypt_stored(db: Database, now: Instant) -> int:
    """Encrypt what is in clear or under a former key; how many rows.

    Runs at each start and most often finds nothing. A call that breaks off is completed by the next.
    """
    if db.engine == "sqlite":
        await _drop_remains(db)
    done = 0
    census = Census()
    for one in COLUMNS:
        async for some in _not_current(db, one):
            async with db.write() as tx:
                done += await _encrypt(tx, one, some, census, now)
    if done:
        log.info("stored passwords encrypted", rows=done)
    if census.unreadable:
        log.warning(UNREADABLE, rows=census.unreadable)
    if census.clear:
        log.warning(IN_CLEAR)
    return done


async def _drop_remains(db: Database) -> None:
    """A row that was changed or deleted in clear may be left in unused parts of the file: not every SQLite
    wipes them. Before anything is encrypted, so that a start that breaks off here is repeated by the next."""
    async with db.read() as tx:
        if tx.vault.current is None or not await _any_in_clear(tx):
            return
    async with db.write() as tx:
        await encrypted_columns.wipe_what_is_replaced(tx)
    log.info("rewriting the database file, so that no password in clear is left in it")
    try:
        await db.vacuum()
    except ReedbedError as error:
        log.warning(REMAINS, error=error.message)


async def _any_in_clear(tx: Tx) -> bool:
    for one in COLUMNS:
        # With REEDBED_SECRET_KEY, one row stays in clear: see `_encrypt`.
        if one is not INSTANCE_SECRET and await encrypted_columns.any_in_clear(tx, one):
            return True
    return False


async def _encrypt(tx: Tx, one: EncryptedColumn, some: list[Stored], census: Census, now: Instant) -> int:
    changed: list[tuple[Stored, str]] = []
    key = tx.vault.current
    # With REEDBED_SECRET_KEY the instance's secret is not taken from the database; a process that still does
    # so must be able to read it.
    leave = key is None or (one is INSTANCE_SECRET and not key.from_file)
    for stored in some:
        plain = tx.vault.decrypt(one.purpose, stored.value)
        if plain is None and one is HUB_SECRET and key is not None:
            await encrypted_columns.renew_hub_secret(tx, stored.id, new_token(), now)
        elif leave or plain is None:
            _count(census, tx, one, stored)
        else:
            changed.append((stored, tx.vault.encrypt(one.purpose, plain)))
    await encrypted_columns.replace(tx, one, changed)
    return len(changed)


async def _not_current(db: Database, one: EncryptedColumn) -> AsyncGenerator[list[Stored]]:
    async with db.read() as tx:
        some = await encrypted_columns.not_current(tx, one)
    while some:
        yield some
        async with db.read() as tx:
            some = await encrypted_columns.not_current(tx, one, some[-1].id)


def _count(census: Census, tx: Tx, one: EncryptedColumn, stored: Stored) -> None:
    key = tx.vault.current
    if one is INSTANCE_SECRET and key is not None and not key.from_file:
        return
    if tx.vault.decrypt(one.purpose, stored.value) is None:
        census.unreadable += 1
    elif stored.value.startswith(PREFIX):
        census.former += 1
    else:
        census.clear += 1
