"""Stored passwords and tokens are brought under the current key: after an upgrade, and after a new key."""

import asyncio
import hashlib
import hmac
import math
import secrets
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TypeVar

import structlog
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from reedbed.domain.errors import ReedbedError, TooMany
from reedbed.domain.times import Instant
from reedbed.domain.users import Allowance
from reedbed.services.runtime import Runtime
from reedbed.store import secrets as encrypted_columns
from reedbed.store.engine.database import Database, Tx
from reedbed.store.engine.encryption import PREFIX
from reedbed.store.secrets import COLUMNS, HUB_SECRET, INSTANCE_SECRET, EncryptedColumn, StoredSecret

T = TypeVar("T")

TOKEN_BYTES = 32
API_TOKEN_PREFIX = "rb_"  # noqa: S105  the public beginning of a token, so that leaks can be found
HASHES_AT_ONCE = 2
"""Each takes memory and a whole core: a crowd at the door must not take the machine."""

MAX_ACCOUNTS = 5
"""That one browser is remembered for."""

# Without l, o and i, which are mistaken for others when typed on a phone.
_LETTERS = "abcdefghjkmnpqrstuvwxyz"
_GROUPS, _GROUP = 4, 6


async def hash_password(password: str) -> str:
    return await _apart(lambda: _hasher().hash(password))


async def password_matches(password: str, password_hash: str | None) -> bool:
    """Takes as long when there is no account, so that time tells nobody who has one."""
    return await _apart(lambda: _verify(password, password_hash))


def is_outdated(password_hash: str) -> bool:
    """Made with weaker settings than today's."""
    return _hasher().check_needs_rehash(password_hash)


def remember_device(secret: bytes, cookie: str | None, account: str) -> str:
    """A cookie for a browser in which somebody has logged in to this account; `cookie` is what it has now.
    It opens nothing: `known_device` only tells that guesses made elsewhere need not keep this browser out."""
    if known_device(secret, cookie, account):
        return cookie or ""
    device, *signatures = _device_parts(cookie) or [secrets.token_urlsafe(16)]
    latest = [_device_signature(secret, device, account), *signatures][:MAX_ACCOUNTS]
    return ".".join([device, *latest])


def known_device(secret: bytes, cookie: str | None, account: str) -> str | None:
    """The name of this browser, if this account was logged in to in it."""
    device, *signatures = _device_parts(cookie) or [""]
    good = _device_signature(secret, device, account).encode()
    return device if any(hmac.compare_digest(good, one.encode()) for one in signatures) else None


def _device_parts(cookie: str | None) -> list[str]:
    parts = (cookie or "").split(".")
    return parts if 1 < len(parts) <= MAX_ACCOUNTS + 1 and all(len(part) <= 64 for part in parts) else []


def _device_signature(secret: bytes, device: str, account: str) -> str:
    return hmac.digest(secret, f"device\0{device}\0{account}".encode(), "sha256").hex()[:32]


def new_token() -> str:
    return secrets.token_urlsafe(TOKEN_BYTES)


def new_api_token() -> str:
    return API_TOKEN_PREFIX + new_token()


def new_app_password() -> str:
    """`kqvbtz-whfnra-ypdcms-xgejuk`: 108 bits, and still possible to type."""
    groups = ("".join(secrets.choice(_LETTERS) for _ in range(_GROUP)) for _ in range(_GROUPS))
    return "-".join(groups)


def token_hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def app_password_hash(typed: str) -> str:
    """Of the letters alone: people leave out the hyphens, and phones write the first one large."""
    return token_hash("".join(letter for letter in typed.lower() if letter.isalpha()))


def fever_key(email: str, app_password: str) -> str:
    """What Fever clients send: the protocol is old, and its MD5 is safe for random passwords only."""
    return hashlib.md5(f"{email}:{app_password}".encode(), usedforsecurity=False).hexdigest()


def fever_digest(api_key: str) -> str:
    return token_hash(api_key.strip().lower())


async def _apart(work: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(_threads(), work)


def _verify(password: str, password_hash: str | None) -> bool:
    try:
        return _hasher().verify(password_hash or _decoy(), password) and password_hash is not None
    except (VerificationError, InvalidHashError):
        return False


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(HASHES_AT_ONCE, "passwords")


@cache
def _hasher() -> PasswordHasher:
    # OWASP's argon2id for small machines: 19 MiB and two passes, about 40 ms.
    return PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)


@cache
def _decoy() -> str:
    return _hasher().hash(secrets.token_urlsafe())


SLOW_DOWN = "Too many attempts. Wait a little and try again."

PER_ACCOUNT = Allowance(30, 0.1)
FRESH_ADDRESS = Allowance(5, 6 / 3600)
FRESH_ADDRESSES = Allowance(100, 120 / 3600)
PER_DEVICE = Allowance(10, 30 / 3600)
RIGHT_LOGINS = Allowance(30, 0.1)

Spent = tuple[tuple[str, Allowance], ...]
"""Keys of what was taken from."""


async def spend(runtime: Runtime, key: str, allowance: Allowance, message: str = SLOW_DOWN) -> None:
    wait = await runtime.limiter.wait_for(key, allowance)
    if wait > 0:
        raise TooMany(message, math.ceil(wait))


async def spend_attempt(runtime: Runtime, door: str, ip: str | None) -> None:
    """One knock at a door that opens by a secret."""
    await spend(runtime, f"{door}:{network_of(ip)}", runtime.limits.login)


async def spend_login(runtime: Runtime, account: str, ip: str | None, device: str | None) -> Spent:
    """One password tried at an account, or `TooMany`.

    Whoever guesses uses up the account's own allowance, so its owner must not depend on it. A known device
    has an allowance of its own, and so has each address that has not yet failed often at this account. What
    addresses can spend in this way is limited for the account as well: thousands of them, with a few tries
    each, get `FRESH_ADDRESSES` and `PER_ACCOUNT` together, which are 480 tries an hour after the first 130.
    """
    if device is not None:
        by_device = (f"login-device:{account}:{device}", PER_DEVICE)
        if not await runtime.limiter.wait_for(*by_device):
            return (by_device,)
    by_address = (f"login:{network_of(ip)}", runtime.limits.login)
    await spend(runtime, *by_address)
    # Providers hand out a /48 of IPv6 as easily as one address.
    share = (f"login-share:{account}:{network_of(ip, 48)}", FRESH_ADDRESS)
    if not await runtime.limiter.wait_for(*share):
        fresh = (f"login-fresh:{account}", FRESH_ADDRESSES)
        if not await runtime.limiter.wait_for(*fresh):
            return by_address, share, fresh
        await runtime.limiter.give_back(*share)
    by_account = (f"login-account:{account}", PER_ACCOUNT)
    await spend(runtime, *by_account)
    return by_address, by_account


async def give_back_login(runtime: Runtime, account: str, spent: Spent) -> None:
    """The password was right. Not without end: each log-in costs a hash and a row."""
    if not await runtime.limiter.wait_for(f"login-right:{account}", RIGHT_LOGINS):
        for key, allowance in spent:
            await runtime.limiter.give_back(key, allowance)


def network_of(ip: str | None, prefix: int = 64) -> str:
    """Whoever has one IPv6 address has its whole /64."""
    address = plain_address(ip)
    if isinstance(address, IPv6Address):
        return str(ip_network((address, prefix), strict=False))
    return str(address or ip or "unknown")


def plain_address(ip: str | None) -> IPv4Address | IPv6Address | None:
    """Without a zone. An IPv4 address that reached an IPv6 socket (`::ffff:192.0.2.1`) is an IPv4 address:
    else all of them would be in one /64."""
    try:
        address = ip_address((ip or "").partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


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


async def _encrypt(
    tx: Tx, one: EncryptedColumn, some: list[StoredSecret], census: Census, now: Instant
) -> int:
    changed: list[tuple[StoredSecret, str]] = []
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


async def _not_current(db: Database, one: EncryptedColumn) -> AsyncGenerator[list[StoredSecret]]:
    async with db.read() as tx:
        some = await encrypted_columns.not_current(tx, one)
    while some:
        yield some
        async with db.read() as tx:
            some = await encrypted_columns.not_current(tx, one, some[-1].id)


def _count(census: Census, tx: Tx, one: EncryptedColumn, stored: StoredSecret) -> None:
    key = tx.vault.current
    if one is INSTANCE_SECRET and key is not None and not key.from_file:
        return
    if tx.vault.decrypt(one.purpose, stored.value) is None:
        census.unreadable += 1
    elif stored.value.startswith(PREFIX):
        census.former += 1
    else:
        census.clear += 1
