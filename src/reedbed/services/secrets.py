"""Passwords and tokens: made here, compared here, stored only as hashes."""

import asyncio
import hashlib
import secrets
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

TOKEN_BYTES = 32


@cache
def _hasher() -> PasswordHasher:
    return PasswordHasher()


@cache
def _decoy() -> str:
    return _hasher().hash(secrets.token_urlsafe())


async def hash_password(password: str) -> str:
    return await asyncio.to_thread(_hasher().hash, password)


async def password_matches(password: str, password_hash: str | None) -> bool:
    """Takes as long when there is no account, so that time tells nobody who has one."""
    return await asyncio.to_thread(_verify, password, password_hash)


def new_token() -> str:
    return secrets.token_urlsafe(TOKEN_BYTES)


def token_hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _verify(password: str, password_hash: str | None) -> bool:
    try:
        return _hasher().verify(password_hash or _decoy(), password) and password_hash is not None
    except (VerificationError, InvalidHashError):
        return False
