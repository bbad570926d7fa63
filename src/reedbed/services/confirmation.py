"""A fresh confirmation of a session: the user proves again who they are before a dangerous change."""

from dataclasses import field

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.domain.users import Caller
from reedbed.services.auth import CONFIRMED_FOR
from reedbed.services.runtime import Runtime
from reedbed.services.security import password_matches, spend
from reedbed.services.users import WRONG_PASSWORD
from reedbed.store import auth, users

NO_WAY = "There is nothing to confirm with. Log out and log in again; that counts for ten minutes."
NOTHING_GIVEN = "Enter your password."


@record
class Proof:
    """What the user gave; the first that is not empty counts."""

    password: str = field(default="", repr=False)


async def ways_to_confirm(runtime: Runtime, user_id: int) -> tuple[str, ...]:
    """Of `password`; empty if the user can only log in again."""
    async with runtime.db.read() as tx:
        has_password = await users.password_hash(tx, user_id) is not None
    return ("password",) if has_password else ()


async def confirm(runtime: Runtime, caller: Caller, proof: Proof) -> Instant:
    """Check the proof; return until when this session may make dangerous changes."""
    if not await ways_to_confirm(runtime, caller.user_id):
        raise Invalid(NO_WAY)
    if not proof.password:
        raise Invalid(NOTHING_GIVEN, field="password")
    await _check_password(runtime, caller, proof.password)
    now = runtime.now()
    async with runtime.db.write() as tx:
        await auth.set_confirmed(tx, caller.session_id or 0, now)
    return now + CONFIRMED_FOR


async def _check_password(runtime: Runtime, caller: Caller, password: str) -> None:
    await spend(runtime, f"password:{caller.user_id}", runtime.limits.login)
    async with runtime.db.read() as tx:
        password_hash = await users.password_hash(tx, caller.user_id)
    if password_hash is None or not await password_matches(password, password_hash):
        raise Invalid(WRONG_PASSWORD, field="password")
