"""One-time codes of authenticator apps (TOTP, RFC 6238), and recovery codes."""

import hmac
from base64 import b32decode, b32encode
from dataclasses import field
from hashlib import sha1
from urllib.parse import quote, urlencode

from reedbed.domain.records import record
from reedbed.domain.times import SECOND, Instant

STEP = 30 * SECOND
DIGITS = 6
DRIFT = 1
"""Steps by which the clock of a phone may be wrong."""
SECRET_BYTES = 20
RECOVERY_CODES = 10
RECOVERY_BYTES = 10
_ISSUER = "Reedbed"


@record
class CodesState:
    enabled_at: Instant | None = None
    recovery_left: int = 0


@record
class Enrolment:
    """What an authenticator app needs. Codes are asked for only after it has shown a right one."""

    secret: str = field(repr=False)
    url: str = field(repr=False)


def enrolment(secret: bytes, account: str) -> Enrolment:
    text = b32encode(secret).decode()
    label = quote(f"{_ISSUER}:{account}")
    return Enrolment(text, f"otpauth://totp/{label}?{urlencode({'secret': text, 'issuer': _ISSUER})}")


def secret_bytes(text: str) -> bytes:
    return b32decode(text)


def code_of(secret: bytes, step: int) -> str:
    digest = hmac.new(secret, step.to_bytes(8, "big"), sha1).digest()
    offset = digest[-1] & 15
    number = int.from_bytes(digest[offset : offset + 4], "big") & 0x7FFFFFFF
    return f"{number % 10**DIGITS:0{DIGITS}}"


def matching_step(secret: bytes, code: str, now: Instant) -> int | None:
    """The time step whose code this is."""
    current = now // STEP
    steps = [current + drift for drift in range(-DRIFT, DRIFT + 1)]
    matching = [step for step in steps if hmac.compare_digest(code_of(secret, step).encode(), code.encode())]
    return max(matching, default=None)


def is_app_code(typed: str) -> bool:
    """Whether it looks like a code of an app; anything else may be a recovery code."""
    return len(typed) == DIGITS and typed.isascii() and typed.isdigit()


def clean_code(typed: str) -> str:
    """Without the spaces and hyphens that apps show, and people type."""
    return "".join(char for char in typed.casefold() if char.isalnum())[:100]


def recovery_code(random: bytes) -> str:
    """`abcd-efgh-ijkl-mnop`: 80 bits."""
    text = b32encode(random).decode().lower()
    return "-".join(text[start : start + 4] for start in range(0, len(text), 4))
