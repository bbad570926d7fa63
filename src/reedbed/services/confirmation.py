"""A fresh confirmation of a session: the user proves again who they are before a dangerous change."""

from dataclasses import field

from reedbed.domain.errors import Invalid, Unauthorized
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.domain.users import Caller
from reedbed.services.auth import CONFIRMED_FOR
from reedbed.services.codes import CodeAttempt, check_code
from reedbed.services.passkeys import check_passkey, own_party
from reedbed.services.runtime import Runtime
from reedbed.services.security import password_matches, spend
from reedbed.services.users import WRONG_PASSWORD
from reedbed.store import auth, codes, passkeys, users

NO_WAY = "There is nothing to confirm with. Log out and log in again; that counts for ten minutes."
NOTHING_GIVEN = "Enter your password or a one-time code, or use a passkey."


@record
class Proof:
    """What the user gave; the first that is not empty counts."""

    password: str = field(default="", repr=False)
    code: str = field(default="", repr=False)
    passkey: str = field(default="", repr=False)
    """What the browser answered, as JSON."""
    ip: str | None = None
    device: str | None = field(default=None, repr=False)
    """The cookie of a browser that has logged in before; see `security.known_device`."""


async def ways_to_confirm(runtime: Runtime, user_id: int) -> tuple[str, ...]:
    """Of `password`, `code` and `passkey`; empty if the user can only log in again."""
    async with runtime.db.read() as tx:
        has_password = await users.password_hash(tx, user_id) is not None
        has_codes = (await codes.state(tx, user_id)).enabled_at is not None
        has_passkeys = own_party(runtime) is not None and await passkeys.count_passkeys(tx, user_id) > 0
    ways = {"password": has_password, "code": has_codes, "passkey": has_passkeys}
    return tuple(way for way, possible in ways.items() if possible)


async def confirm(runtime: Runtime, caller: Caller, proof: Proof) -> Instant:
    """Check the proof; return until when this session may make dangerous changes."""
    ways = await ways_to_confirm(runtime, caller.user_id)
    if not ways:
        raise Invalid(NO_WAY)
    await _check_proof(runtime, caller, ways, proof)
    now = runtime.now()
    async with runtime.db.write() as tx:
        await auth.set_confirmed(tx, caller.session_id or 0, now)
    return now + CONFIRMED_FOR


async def _check_proof(runtime: Runtime, caller: Caller, ways: tuple[str, ...], proof: Proof) -> None:
    if "passkey" in ways and proof.passkey:
        await check_passkey(runtime, caller, proof.passkey)
    elif "code" in ways and proof.code:
        await _check_code(runtime, caller, proof)
    elif "password" in ways and proof.password:
        await _check_password(runtime, caller, proof.password)
    else:
        raise Invalid(NOTHING_GIVEN, field=ways[0])


async def _check_code(runtime: Runtime, caller: Caller, proof: Proof) -> None:
    try:
        await check_code(runtime, caller.user, CodeAttempt(proof.code, proof.ip, proof.device))
    except Unauthorized as error:  # the session itself stays valid
        raise Invalid(error.failure, field="code") from error


async def _check_password(runtime: Runtime, caller: Caller, password: str) -> None:
    await spend(runtime, f"password:{caller.user_id}", runtime.limits.login)
    async with runtime.db.read() as tx:
        password_hash = await users.password_hash(tx, caller.user_id)
    if password_hash is None or not await password_matches(password, password_hash):
        raise Invalid(WRONG_PASSWORD, field="password")
