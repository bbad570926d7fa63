"""Passwords and tokens: made here, compared here, stored only as hashes."""

import asyncio
import hashlib
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
