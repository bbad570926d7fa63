"""One-time codes and recovery codes, and the steps of a login that a browser has started."""

from collections.abc import Sequence

from sqlalchemy import bindparam, delete, insert, update

from reedbed.domain.codes import CodesState
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, func, select
from reedbed.store.tables import challenges, one_time_codes, recovery_codes

_SECRET = "one_time_codes.secret"  # noqa: S105  what the vault calls it
_own = one_time_codes.c.user_id == bindparam("user_id")
_own_recovery = recovery_codes.c.user_id == bindparam("user_id")
_is_unused = recovery_codes.c.used_at.is_(None)

_recovery_left = select(func.count()).where(_own_recovery, _is_unused).scalar_subquery()
_STATE = Query(
    select(one_time_codes.c.enabled_at, _recovery_left.label("left")).where(
        _own, one_time_codes.c.enabled_at.is_not(None)
    ),
    into=CodesState,
)
_PENDING = Query(select(one_time_codes.c.secret).where(_own, one_time_codes.c.enabled_at.is_(None)), into=str)
_ENABLED = Query(select(one_time_codes.c.secret).where(_own, one_time_codes.c.enabled_at.is_not(None)), into=str)
_ADD = Command(insert(one_time_codes), columns=["user_id", "secret", "created_at"])
_ENABLE = Command(
    update(one_time_codes)
    .where(_own, one_time_codes.c.enabled_at.is_(None))
    .values(enabled_at=bindparam("now"), last_step=bindparam("step"))
)
_USE_STEP = Command(
    update(one_time_codes)
    .where(_own, one_time_codes.c.enabled_at.is_not(None), one_time_codes.c.last_step < bindparam("step"))
    .values(last_step=bindparam("step"))
)
_DELETE = Command(delete(one_time_codes).where(_own))
_ADD_RECOVERY = Command(insert(recovery_codes), columns=["user_id", "code_hash"])
_USE_RECOVERY = Command(
    update(recovery_codes)
    .where(_own_recovery, _is_unused, recovery_codes.c.code_hash == bindparam("hashed"))
    .values(used_at=bindparam("now"))
)
_DELETE_RECOVERY = Command(delete(recovery_codes).where(_own_recovery))


async def state(tx: Tx, user_id: int) -> CodesState:
    return await tx.one(_STATE, {"user_id": user_id}) or CodesState()


async def pending_secret(tx: Tx, user_id: int) -> str | None:
    """Of an enrolment that no right code has completed yet."""
    return tx.vault.decrypt(_SECRET, await tx.one(_PENDING, {"user_id": user_id}) or "") or None


async def enabled_secret(tx: Tx, user_id: int) -> str | None:
    """None if codes are off, or if the key of the stored secrets is missing."""
    return tx.vault.decrypt(_SECRET, await tx.one(_ENABLED, {"user_id": user_id}) or "") or None


async def add_pending(tx: Tx, user_id: int, secret: str, now: Instant) -> None:
    await tx.run(_ADD, {"user_id": user_id, "secret": tx.vault.encrypt(_SECRET, secret), "created_at": now})


async def enable(tx: Tx, user_id: int, step: int, now: Instant) -> bool:
    return await tx.run(_ENABLE, {"user_id": user_id, "step": step, "now": now}) == 1


async def use_step(tx: Tx, user_id: int, step: int) -> bool:
    """Accept the code of this time step; False if it, or a later one, was accepted before."""
    return await tx.run(_USE_STEP, {"user_id": user_id, "step": step}) == 1


async def use_recovery_code(tx: Tx, user_id: int, hashed: str, now: Instant) -> bool:
    return await tx.run(_USE_RECOVERY, {"user_id": user_id, "hashed": hashed, "now": now}) == 1


async def replace_recovery_codes(tx: Tx, user_id: int, hashes: Sequence[str]) -> None:
    await tx.run(_DELETE_RECOVERY, {"user_id": user_id})
    await tx.run_many(_ADD_RECOVERY, [{"user_id": user_id, "code_hash": hashed} for hashed in hashes])


async def delete_codes(tx: Tx, user_id: int) -> bool:
    """Delete the secret and the recovery codes; return whether there was a secret."""
    await tx.run(_DELETE_RECOVERY, {"user_id": user_id})
    return await tx.run(_DELETE, {"user_id": user_id}) == 1


# --- Steps of a login


@record
class Challenge:
    user_id: int | None
    user_handle: str | None


_is_valid = (
    challenges.c.challenge_hash == bindparam("challenge_hash"),
    challenges.c.browser_hash == bindparam("browser_hash"),
    challenges.c.purpose == bindparam("purpose"),
    challenges.c.expires_at > bindparam("now"),
)
_COLUMNS = (challenges.c.user_id, challenges.c.user_handle)
_ADD_CHALLENGE = Command(
    insert(challenges),
    columns=["user_id", "purpose", "challenge_hash", "browser_hash", "user_handle", "created_at", "expires_at"],
)
_GET_CHALLENGE = Query(select(*_COLUMNS).where(*_is_valid), into=Challenge)
_POP_CHALLENGE = Query(delete(challenges).where(*_is_valid).returning(*_COLUMNS), into=Challenge)
_DELETE_EXPIRED = Command(delete(challenges).where(challenges.c.expires_at <= bindparam("now")))


async def add_challenge(
    tx: Tx,
    purpose: str,
    challenge_hash: str,
    browser_hash: str,
    now: Instant,
    expires_at: Instant,
    *,
    user_id: int | None = None,
    user_handle: str | None = None,
) -> None:
    await tx.run(
        _ADD_CHALLENGE,
        {
            "user_id": user_id,
            "purpose": purpose,
            "challenge_hash": challenge_hash,
            "browser_hash": browser_hash,
            "user_handle": user_handle,
            "created_at": now,
            "expires_at": expires_at,
        },
    )


async def get_challenge(tx: Tx, purpose: str, challenge_hash: str, browser_hash: str, now: Instant) -> Challenge | None:
    params = {"purpose": purpose, "challenge_hash": challenge_hash, "browser_hash": browser_hash, "now": now}
    return await tx.one(_GET_CHALLENGE, params)


async def pop_challenge(tx: Tx, purpose: str, challenge_hash: str, browser_hash: str, now: Instant) -> Challenge | None:
    """Delete and return it, so that each can be completed only once."""
    params = {"purpose": purpose, "challenge_hash": challenge_hash, "browser_hash": browser_hash, "now": now}
    return await tx.one(_POP_CHALLENGE, params)


async def delete_expired_challenges(tx: Tx, now: Instant) -> int:
    return await tx.run(_DELETE_EXPIRED, {"now": now})
