"""Password hashes, tokens, known devices, login rate limits, and re-encryption of stored secrets."""

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
MAX_CONCURRENT_HASHES = 2
"""Each hash takes memory and a whole core: many logins at once must not overload the machine."""

MAX_ACCOUNTS = 5
"""Accounts that one browser is remembered for."""

# Without l, o and i, which are easily confused with other characters.
_ALPHABET = "abcdefghjkmnpqrstuvwxyz"
_GROUPS, _GROUP_LENGTH = 4, 6


async def hash_password(password: str) -> str:
    return await _in_thread(lambda: _hasher().hash(password))


async def password_matches(password: str, password_hash: str | None) -> bool:
    """Takes the same time when there is no account, so that timing does not reveal who has one."""
    return await _in_thread(lambda: _verify(password, password_hash))


def is_outdated(password_hash: str) -> bool:
    """Whether it was made with weaker parameters than the current ones."""
    return _hasher().check_needs_rehash(password_hash)


def remember_device(secret: bytes, cookie: str | None, account: str) -> str:
    """The cookie for a browser that has logged in to this account; `cookie` is its current value.

    It grants no access: a known device only has its own rate limit, so that guesses made elsewhere do not
    lock it out.
    """
    if known_device(secret, cookie, account):
        return cookie or ""
    device, *signatures = _device_parts(cookie) or [secrets.token_urlsafe(16)]
    latest = [_device_signature(secret, device, account), *signatures][:MAX_ACCOUNTS]
    return ".".join([device, *latest])


def known_device(secret: bytes, cookie: str | None, account: str) -> str | None:
    """The id of this browser, if it has logged in to this account."""
    device, *signatures = _device_parts(cookie) or [""]
    expected = _device_signature(secret, device, account).encode()
    return device if any(hmac.compare_digest(expected, signature.encode()) for signature in signatures) else None


def _device_parts(cookie: str | None) -> list[str]:
    parts = (cookie or "").split(".")
    return parts if 1 < len(parts) <= MAX_ACCOUNTS + 1 and all(len(part) <= 64 for part in parts) else []


def _device_signature(secret: bytes, device: str, account: str) -> str:
    return hmac.digest(secret, f"device\0{device}\0{account}".encode(), "sha256").hex()[:32]


def new_token() -> str:
    """Never one that begins like an API token: it would be looked for among those."""
    while (token := secrets.token_urlsafe(TOKEN_BYTES)).startswith(API_TOKEN_PREFIX):
        pass
    return token


def new_api_token() -> str:
    return API_TOKEN_PREFIX + new_token()


def new_app_password() -> str:
    """`kqvbtz-whfnra-ypdcms-xgejuk`: 108 bits that can still be typed."""
    groups = ("".join(secrets.choice(_ALPHABET) for _ in range(_GROUP_LENGTH)) for _ in range(_GROUPS))
    return "-".join(groups)


def token_hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def app_password_hash(typed: str) -> str:
    """Only letters count: people leave out the hyphens, and phones capitalize the first letter."""
    return token_hash("".join(char for char in typed.lower() if char.isalpha()))


def fever_key(email: str, app_password: str) -> str:
    """What Fever clients send. The protocol requires MD5, which is only safe for random passwords."""
    return hashlib.md5(f"{email}:{app_password}".encode(), usedforsecurity=False).hexdigest()


def fever_digest(api_key: str) -> str:
    return token_hash(api_key.strip().lower())


async def _in_thread(work: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(_threads(), work)


def _verify(password: str, password_hash: str | None) -> bool:
    try:
        return _hasher().verify(password_hash or _decoy_hash(), password) and password_hash is not None
    except (VerificationError, InvalidHashError):
        return False


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MAX_CONCURRENT_HASHES, "passwords")


@cache
def _hasher() -> PasswordHasher:
    # OWASP's argon2id for small machines: 19 MiB and two passes, about 40 ms.
    return PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)


@cache
def _decoy_hash() -> str:
    return _hasher().hash(secrets.token_urlsafe())


# --- Rate limits for logins

SLOW_DOWN = "Too many attempts. Wait a little and try again."

PER_ACCOUNT = Allowance(30, 0.1)
FRESH_ADDRESS = Allowance(5, 6 / 3600)
FRESH_ADDRESSES = Allowance(100, 120 / 3600)
PER_DEVICE = Allowance(10, 30 / 3600)
RIGHT_LOGINS = Allowance(30, 0.1)

Spent = tuple[tuple[str, Allowance], ...]
"""The allowances that were charged, by key."""


async def spend(runtime: Runtime, key: str, allowance: Allowance, message: str = SLOW_DOWN) -> None:
    wait = await runtime.limiter.wait_for(key, allowance)
    if wait > 0:
        raise TooMany(message, math.ceil(wait))


async def spend_attempt(runtime: Runtime, endpoint: str, ip: str | None) -> None:
    """Charge one attempt at an endpoint that checks a secret."""
    await spend(runtime, f"{endpoint}:{network_of(ip)}", runtime.limits.login)


async def charge_login(runtime: Runtime, account: str, ip: str | None, device: str | None) -> Spent:
    """Charge one password attempt at an account, or raise `TooMany`.

    An attacker uses up the account's own allowance, so its owner must not depend on it. A known device has
    its own allowance, and so has each IP address that has not failed often at this account yet. The total of
    such addresses is limited per account as well: thousands of them with a few attempts each share
    `FRESH_ADDRESSES` and `PER_ACCOUNT`, which is 480 attempts an hour after the first 130.
    """
    if device is not None:
        by_device = (f"login-device:{account}:{device}", PER_DEVICE)
        if not await runtime.limiter.wait_for(*by_device):
            return (by_device,)
    by_ip = (f"login:{network_of(ip)}", runtime.limits.login)
    await spend(runtime, *by_ip)
    # Providers give out an IPv6 /48 as easily as a single address.
    share = (f"login-share:{account}:{network_of(ip, 48)}", FRESH_ADDRESS)
    if not await runtime.limiter.wait_for(*share):
        fresh = (f"login-fresh:{account}", FRESH_ADDRESSES)
        if not await runtime.limiter.wait_for(*fresh):
            return by_ip, share, fresh
        await runtime.limiter.give_back(*share)
    by_account = (f"login-account:{account}", PER_ACCOUNT)
    await spend(runtime, *by_account)
    return by_ip, by_account


# A code has a million values: an attacker who knows the password gets 240 tries a day, one chance in a thousand.
CODES_PER_ACCOUNT = Allowance(10, 10 / 3600)
CODES_PER_DEVICE = Allowance(10, 30 / 3600)


async def charge_code(runtime: Runtime, user_id: int, ip: str | None, device: str | None) -> Spent:
    """Charge one attempt at a one-time code. A known device has its own allowance, as for passwords, and
    recovery codes are not charged here: guesses made elsewhere do not lock the owner out."""
    if device is not None:
        by_device = (f"code-device:{user_id}:{device}", CODES_PER_DEVICE)
        await spend(runtime, *by_device)
        return (by_device,)
    by_ip = (f"code:{network_of(ip)}", runtime.limits.login)
    await spend(runtime, *by_ip)
    by_account = (f"code-account:{user_id}", CODES_PER_ACCOUNT)
    await spend(runtime, *by_account)
    return by_ip, by_account


async def refund_login(runtime: Runtime, account: str, spent: Spent) -> None:
    """Refund the attempt after a correct password. Limited too, since each login costs a hash and a row."""
    if not await runtime.limiter.wait_for(f"login-right:{account}", RIGHT_LOGINS):
        for key, allowance in spent:
            await runtime.limiter.give_back(key, allowance)


def network_of(ip: str | None, prefix: int = 64) -> str:
    """The network to rate-limit: an IPv4 address or an IPv6 /64, which usually has one owner."""
    plain = plain_address(ip)
    if isinstance(plain, IPv6Address):
        return str(ip_network((plain, prefix), strict=False))
    return str(plain or ip or "unknown")


def plain_address(ip: str | None) -> IPv4Address | IPv6Address | None:
    """The address without a zone. An IPv4-mapped IPv6 address (`::ffff:192.0.2.1`) becomes IPv4, because all
    mapped addresses are in one /64."""
    try:
        address = ip_address((ip or "").partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


# --- Encryption of stored secrets

log = structlog.get_logger()

IN_CLEAR = (
    "Passwords of feeds and mailboxes are stored in clear. Set REEDBED_SECRET_KEY to the same value, of 32 "
    "characters or more, for every process. Where all processes share one data directory, "
    "'reedbed admin secrets rotate' makes a key file there instead. 'reedbed serve', where nothing else runs, "
    "does so by itself at its second start."
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
class SecretCounts:
    """The number of stored secrets that are not encrypted with the current key."""

    clear: int = 0
    former: int = 0
    """Encrypted with an older key that is still available."""
    unreadable: int = 0


async def count_secrets(db: Database) -> SecretCounts:
    census = SecretCounts()
    for column in COLUMNS:
        async for rows in _not_current(db, column):
            async with db.read() as tx:
                for stored in rows:
                    _count(census, tx, column, stored)
    return census


async def encrypt_stored(db: Database, now: Instant) -> int:
    """Encrypt secrets that are in clear or use a former key; return the number of rows.

    Runs at every start and usually finds nothing. The next call completes an interrupted one.
    """
    if db.engine == "sqlite":
        await _wipe_clear_text(db)
    done = 0
    census = SecretCounts()
    for column in COLUMNS:
        async for rows in _not_current(db, column):
            async with db.write() as tx:
                done += await _encrypt(tx, column, rows, census, now)
    if done:
        log.info("stored passwords encrypted", rows=done)
    if census.unreadable:
        log.warning(UNREADABLE, rows=census.unreadable)
    if census.clear:
        log.warning(IN_CLEAR)
    return done


async def _wipe_clear_text(db: Database) -> None:
    """Rewrite the file, because rows changed or deleted in clear may remain in its unused pages: not every
    SQLite wipes them. This runs before the encryption, so that the next start repeats an interrupted one."""
    async with db.read() as tx:
        if tx.vault.current is None or not await _any_in_clear(tx):
            return
    async with db.write() as tx:
        await encrypted_columns.enable_secure_delete(tx)
    log.info("rewriting the database file, so that no password in clear is left in it")
    try:
        await db.vacuum()
    except ReedbedError as error:
        log.warning(REMAINS, error=error.message)


async def _any_in_clear(tx: Tx) -> bool:
    for column in COLUMNS:
        # With REEDBED_SECRET_KEY, one row stays in clear: see `_encrypt`.
        if column is not INSTANCE_SECRET and await encrypted_columns.has_plain_text(tx, column):
            return True
    return False


async def _encrypt(
    tx: Tx, column: EncryptedColumn, rows: list[StoredSecret], census: SecretCounts, now: Instant
) -> int:
    changed: list[tuple[StoredSecret, str]] = []
    key = tx.vault.current
    # With REEDBED_SECRET_KEY the instance secret is not read from the database. A process without the setting
    # still reads it there, so it stays in clear.
    skip = key is None or (column is INSTANCE_SECRET and not key.from_file)
    for stored in rows:
        plain = tx.vault.decrypt(column.purpose, stored.value)
        if plain is None and column is HUB_SECRET and key is not None:
            await encrypted_columns.renew_hub_secret(tx, stored.id, new_token(), now)
        elif skip or plain is None:
            _count(census, tx, column, stored)
        else:
            changed.append((stored, tx.vault.encrypt(column.purpose, plain)))
    await encrypted_columns.replace(tx, column, changed)
    return len(changed)


async def _not_current(db: Database, column: EncryptedColumn) -> AsyncGenerator[list[StoredSecret]]:
    async with db.read() as tx:
        rows = await encrypted_columns.outdated_secrets(tx, column)
    while rows:
        yield rows
        async with db.read() as tx:
            rows = await encrypted_columns.outdated_secrets(tx, column, rows[-1].id)


def _count(census: SecretCounts, tx: Tx, column: EncryptedColumn, stored: StoredSecret) -> None:
    key = tx.vault.current
    if column is INSTANCE_SECRET and key is not None and not key.from_file:
        return
    if tx.vault.decrypt(column.purpose, stored.value) is None:
        census.unreadable += 1
    elif stored.value.startswith(PREFIX):
        census.former += 1
    else:
        census.clear += 1
