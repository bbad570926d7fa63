"""Passwords and tokens: made here, compared here, stored only as hashes."""

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

T = TypeVar("T")

TOKEN_BYTES = 32
API_TOKEN_PREFIX = "rb_"  # noqa: S105  the public beginning of a token, so that leaks can be found
HASHES_AT_ONCE = 2
"""Each takes memory and a whole core: a crowd at the door must not take the machine."""

MOST_ACCOUNTS = 5
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
    latest = [_device_signature(secret, device, account), *signatures][:MOST_ACCOUNTS]
    return ".".join([device, *latest])


def known_device(secret: bytes, cookie: str | None, account: str) -> str | None:
    """The name of this browser, if this account was logged in to in it."""
    device, *signatures = _device_parts(cookie) or [""]
    good = _device_signature(secret, device, account).encode()
    return device if any(hmac.compare_digest(good, one.encode()) for one in signatures) else None


def _device_parts(cookie: str | None) -> list[str]:
    parts = (cookie or "").split(".")
    return parts if 1 < len(parts) <= MOST_ACCOUNTS + 1 and all(len(part) <= 64 for part in parts) else []


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
