"""One-time codes as the second step of a login with a password, and recovery codes for when the phone is lost."""

import secrets
from dataclasses import field

from reedbed.domain.codes import (
    RECOVERY_BYTES,
    RECOVERY_CODES,
    SECRET_BYTES,
    CodesState,
    Enrolment,
    clean_code,
    enrolment,
    is_app_code,
    matching_step,
    recovery_code,
    secret_bytes,
)
from reedbed.domain.errors import Conflict, Invalid, Unauthorized
from reedbed.domain.records import record
from reedbed.domain.times import MINUTE
from reedbed.domain.users import Caller, User
from reedbed.services.auth import check_confirmed
from reedbed.services.runtime import Runtime
from reedbed.services.security import charge_code, charge_login, known_device, new_token, refund_login, token_hash
from reedbed.store import codes, users
from reedbed.store.engine.database import Tx

CODE_NEEDED = "Enter the code of your authenticator app, or a recovery code."
WRONG_CODE = "This code is not right, or was used before. Wait for the next one."
WRONG_RECOVERY = "This recovery code is not right, or was used before."
STALE = "This log-in took too long, or was started in another browser. Start again."
ON_ALREADY = "One-time codes are on already."
OFF = "One-time codes are off."
NOT_STARTED = "Start again: there is no code to check."
HELD_FOR = 10 * MINUTE


@record
class CodeAttempt:
    typed: str = field(repr=False)
    ip: str | None = None
    device: str | None = field(default=None, repr=False)
    """The cookie of a browser that has logged in before; see `security.known_device`."""


async def codes_state(runtime: Runtime, user_id: int) -> CodesState:
    async with runtime.db.read() as tx:
        return await codes.state(tx, user_id)


async def are_codes_on(runtime: Runtime, user_id: int) -> bool:
    return (await codes_state(runtime, user_id)).enabled_at is not None


# --- Turning codes on and off


async def begin_codes(runtime: Runtime, caller: Caller) -> Enrolment:
    """A new secret, which counts only after `enable_codes`."""
    await check_confirmed(runtime, caller)
    made = enrolment(secrets.token_bytes(SECRET_BYTES), caller.user.email)
    async with runtime.db.write() as tx:
        if (await codes.state(tx, caller.user_id)).enabled_at is not None:
            raise Conflict(ON_ALREADY)
        await codes.delete_codes(tx, caller.user_id)
        await codes.add_pending(tx, caller.user_id, made.secret, runtime.now())
    return made


async def pending_enrolment(runtime: Runtime, caller: Caller) -> Enrolment | None:
    async with runtime.db.read() as tx:
        secret = await codes.pending_secret(tx, caller.user_id)
    return None if secret is None else enrolment(secret_bytes(secret), caller.user.email)


async def enable_codes(runtime: Runtime, caller: Caller, typed: str) -> list[str]:
    """Turn codes on after a right one; return the recovery codes, which are shown once."""
    await check_confirmed(runtime, caller)
    await charge_code(runtime, caller.user_id, None, f"session {caller.session_id}")
    now = runtime.now()
    async with runtime.db.write() as tx:
        secret = await codes.pending_secret(tx, caller.user_id)
        if secret is None:
            raise Conflict(NOT_STARTED)
        step = matching_step(secret_bytes(secret), clean_code(typed), now)
        if step is None or not await codes.enable(tx, caller.user_id, step, now):
            raise Invalid(WRONG_CODE, field="code")
        made = await _new_recovery_codes(tx, caller.user_id)
        await users.record_event(tx, now, "codes_enabled", caller.user_id)
    return made


async def disable_codes(runtime: Runtime, caller: Caller) -> None:
    await check_confirmed(runtime, caller)
    await reset_codes(runtime, caller.user)


async def reset_codes(runtime: Runtime, user: User) -> bool:
    """Turn codes off, also for an operator; return whether they were on."""
    async with runtime.db.write() as tx:
        was_on = (await codes.state(tx, user.id)).enabled_at is not None
        await codes.delete_codes(tx, user.id)
        if was_on:
            await users.record_event(tx, runtime.now(), "codes_disabled", user.id)
    return was_on


async def renew_recovery_codes(runtime: Runtime, caller: Caller) -> list[str]:
    """New codes replace all earlier ones."""
    await check_confirmed(runtime, caller)
    async with runtime.db.write() as tx:
        if (await codes.state(tx, caller.user_id)).enabled_at is None:
            raise Conflict(OFF)
        made = await _new_recovery_codes(tx, caller.user_id)
        await users.record_event(tx, runtime.now(), "recovery_codes_made", caller.user_id)
    return made


async def _new_recovery_codes(tx: Tx, user_id: int) -> list[str]:
    made = [recovery_code(secrets.token_bytes(RECOVERY_BYTES)) for _ in range(RECOVERY_CODES)]
    await codes.replace_recovery_codes(tx, user_id, [token_hash(clean_code(code)) for code in made])
    return made


# --- Checking a code


async def check_code(runtime: Runtime, user: User, attempt: CodeAttempt) -> None:
    """Accept a code of the app or a recovery code, each once; `Unauthorized` if it is wrong."""
    typed = clean_code(attempt.typed)
    if is_app_code(typed):
        await _check_app_code(runtime, user, typed, attempt)
    else:
        await _check_recovery_code(runtime, user, typed, attempt)


async def _check_app_code(runtime: Runtime, user: User, typed: str, attempt: CodeAttempt) -> None:
    device = known_device(runtime.secret, attempt.device, user.email)
    spent = await charge_code(runtime, user.id, attempt.ip, device)
    async with runtime.db.read() as tx:
        secret = await codes.enabled_secret(tx, user.id)
    step = matching_step(secret_bytes(secret), typed, runtime.now()) if secret else None
    if step is not None:
        async with runtime.db.write() as tx:
            is_new = await codes.use_step(tx, user.id, step)
        if is_new:
            await refund_login(runtime, f"code:{user.id}", spent)
            return
    await _record_failure(runtime, user, attempt)
    raise Unauthorized(WRONG_CODE)


async def _check_recovery_code(runtime: Runtime, user: User, typed: str, attempt: CodeAttempt) -> None:
    """They have 80 bits, so the limit only bounds the load. A known browser has its own limit."""
    device = known_device(runtime.secret, attempt.device, user.email)
    spent = await charge_login(runtime, f"recovery:{user.id}", attempt.ip, device)
    async with runtime.db.write() as tx:
        is_right = await codes.use_recovery_code(tx, user.id, token_hash(typed), runtime.now())
        if is_right:
            await users.record_event(tx, runtime.now(), "recovery_code_used", user.id, {"ip": attempt.ip})
    if not is_right:
        await _record_failure(runtime, user, attempt)
        raise Unauthorized(WRONG_RECOVERY)
    await refund_login(runtime, f"recovery:{user.id}", spent)


async def _record_failure(runtime: Runtime, user: User, attempt: CodeAttempt) -> None:
    async with runtime.db.write() as tx:
        await users.record_event(tx, runtime.now(), "code_failed", user.id, {"ip": attempt.ip})


# --- Between the password and the code


async def hold_login(runtime: Runtime, user: User, browser: str) -> str:
    """A ticket for the second step. It is not a session: it only names the user whose code is checked."""
    ticket, now = new_token(), runtime.now()
    async with runtime.db.write() as tx:
        await codes.add_challenge(
            tx, "code", token_hash(ticket), token_hash(browser), now, now + HELD_FOR, user_id=user.id
        )
    return ticket


async def held_user(runtime: Runtime, ticket: str, browser: str) -> User:
    """The user whose code is checked in this browser."""
    async with runtime.db.read() as tx:
        held = await codes.get_challenge(tx, "code", token_hash(ticket), token_hash(browser), runtime.now())
        user = await users.get(tx, held.user_id or 0) if held else None
    if user is None:
        raise Invalid(STALE)
    return user


async def release_login(runtime: Runtime, tx: Tx, ticket: str, browser: str) -> None:
    """Use up the ticket. `Invalid` if it was used elsewhere at the same time."""
    if await codes.pop_challenge(tx, "code", token_hash(ticket), token_hash(browser), runtime.now()) is None:
        raise Invalid(STALE)
