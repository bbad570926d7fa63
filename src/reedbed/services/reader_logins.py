"""Logins of Google Reader apps: an app password opens the door once, a token made from it from then on.

Neither kind of token is stored. The login token is signed over the app password it came from and dies with
it; the edit token lives half an hour, as Google's did.
"""

import hmac
import re
from hashlib import sha256

from reedbed.domain.accounts import Caller
from reedbed.domain.errors import TooMany
from reedbed.domain.limits import Allowance
from reedbed.domain.times import MINUTE, SECOND, Instant
from reedbed.services.limits import network_of, spend
from reedbed.services.runtime import Runtime
from reedbed.services.secrets import token_hash
from reedbed.services.sessions import identify, touch
from reedbed.services.tokens import app_password_login, fever_login
from reedbed.store import tokens

FAILURES = Allowance(60, 1)
"""App passwords cannot be guessed, so this only bounds noise; a phone with an old password asks often."""

EDIT_TOKEN_LIFE = 30 * MINUTE
_LOGIN_TOKEN = re.compile(r"[1-9][0-9]{0,17}-[0-9a-f]{40}")
_TIME_DIGITS, _SIGNATURE_DIGITS = 9, 48
_LEEWAY = MINUTE
_LONGEST_EMAIL = 320


async def log_in(runtime: Runtime, email: str, password: str, *, ip: str | None) -> str | None:
    """A login token for this account, or None."""
    try:
        caller = await app_password_login(runtime, email, password, ip=ip)
    except TooMany:
        caller = None
    if caller is None or caller.token_id is None:
        account = token_hash(email[:_LONGEST_EMAIL].strip().lower())[:16]
        await spend(runtime, f"reader-login:{network_of(ip)}", FAILURES)
        await spend(runtime, f"reader-account:{account}", FAILURES)
        return None
    async with runtime.db.read() as tx:
        found = await tokens.by_id(tx, "app_password", caller.token_id)
    return _login_token(runtime, caller.token_id, found[2]) if found else None


async def by_fever_key(runtime: Runtime, api_key: str, *, ip: str | None) -> Caller | None:
    """Fever's word for a wrong key is a good answer, so that a phone with an old one may ask for a while."""
    hashed = token_hash(f"fever {api_key.strip().lower()}")
    caller = runtime.callers.get(hashed)
    if caller is not None:
        return caller
    look = runtime.callers.look()
    try:
        caller = await fever_login(runtime, api_key, ip=ip)
    except TooMany:
        caller = None
    if caller is None:
        await spend(runtime, f"reader-login:{network_of(ip)}", FAILURES)
        return None
    runtime.callers.remember(hashed, caller, look)
    return caller


async def by_login_token(runtime: Runtime, token: str) -> Caller | None:
    """Who holds this token: of an app, or an API token or session of ours."""
    if not _LOGIN_TOKEN.fullmatch(token):
        return await identify(runtime, token)
    hashed = token_hash(f"reader {token}")
    caller = runtime.callers.get(hashed)
    if caller is None:
        look = runtime.callers.look()
        caller = await _look_up(runtime, int(token.partition("-")[0]), token)
        if caller is not None:
            runtime.callers.remember(hashed, caller, look)
    return caller


def new_edit_token(runtime: Runtime, caller: Caller) -> str:
    return _edit_token(runtime, caller, runtime.now() // SECOND)


def edit_token_is_good(runtime: Runtime, caller: Caller, token: str) -> bool:
    """Blank and `x` pass: the header has told who asks, and there is no cookie a foreign page could use."""
    given = token.strip()
    if given in ("", "x"):
        return True
    made_at = _made_at(given)
    if made_at is None:
        return False
    age = runtime.now() - made_at
    good = _edit_token(runtime, caller, made_at // SECOND)
    return hmac.compare_digest(given.encode(), good.encode()) and -_LEEWAY <= age <= EDIT_TOKEN_LIFE


async def _look_up(runtime: Runtime, token_id: int, token: str) -> Caller | None:
    async with runtime.db.read() as tx:
        found = await tokens.by_id(tx, "app_password", token_id)
    if found is None:
        return None
    caller, last_used, secret_hash = found
    good = _login_token(runtime, token_id, secret_hash)
    if not hmac.compare_digest(token.encode(), good.encode()):
        return None
    await touch(runtime, caller, last_used)
    return caller


def _login_token(runtime: Runtime, token_id: int, secret_hash: str) -> str:
    """Digits, a hyphen and letters: no sign in it that an app could cut at or would have to escape."""
    return f"{token_id}-{_sign(runtime, f'login {token_id} {secret_hash}')[:40]}"


def _edit_token(runtime: Runtime, caller: Caller, second: int) -> str:
    """57 signs, as Google's."""
    signature = _sign(runtime, f"edit {caller.user_id} {second}")[:_SIGNATURE_DIGITS]
    return f"{second:0{_TIME_DIGITS}x}{signature}"


def _made_at(token: str) -> Instant | None:
    if len(token) != _TIME_DIGITS + _SIGNATURE_DIGITS:
        return None
    try:
        return int(token[:_TIME_DIGITS], 16) * SECOND
    except ValueError:
        return None


def _sign(runtime: Runtime, words: str) -> str:
    return hmac.new(runtime.secret, b"reader\0" + words.encode(), sha256).hexdigest()
