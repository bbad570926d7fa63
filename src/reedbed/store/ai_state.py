"""What all workers share about the models: breaker, pace, what was spent, and whether all is paused."""

from collections.abc import Sequence

from sqlalchemy import BigInteger, Text, bindparam, update
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.breaker import Breaker
from reedbed.domain.budget import Spent, Usage, day_start, month_start
from reedbed.domain.times import Instant
from reedbed.store import app_settings
from reedbed.store.database import Tx
from reedbed.store.dialect import among
from reedbed.store.sql import func, select
from reedbed.store.statements import Statement
from reedbed.store.tables import ai_models, ai_usage, ai_user_usage

_PAUSED = "ai_paused"

_COLUMNS = (
    ai_models.c.name,
    ai_models.c.state,
    ai_models.c.failures,
    ai_models.c.half_successes,
    ai_models.c.last_failure_at,
    ai_models.c.last_success_at,
    ai_models.c.last_call_at,
    ai_models.c.rate_limited_until,
)
_MAKE = Statement(
    insert(ai_models).values(name=bindparam("name")).on_conflict_do_nothing(index_elements=["name"])
)
_READ = Statement(select(*_COLUMNS).where(among(ai_models.c.name, "names", Text())))
_LOCK = Statement(
    select(*_COLUMNS)
    .where(among(ai_models.c.name, "names", Text()))
    .order_by(ai_models.c.name)
    .with_for_update()
)
_WRITE = Statement(
    update(ai_models)
    .where(ai_models.c.name == bindparam("model"))
    .values(
        state=bindparam("now_state"),
        failures=bindparam("now_failures"),
        half_successes=bindparam("now_half"),
        last_failure_at=bindparam("failure_at"),
        last_success_at=bindparam("success_at"),
        last_call_at=bindparam("call_at"),
        rate_limited_until=bindparam("limited_until"),
    )
)
_COUNTED = ("calls", "tokens_in", "tokens_out", "cost")
_used = insert(ai_usage).values({name: bindparam(name) for name in ("day", *_COUNTED)})
_USE = Statement(
    _used.on_conflict_do_update(
        index_elements=["day"], set_={name: ai_usage.c[name] + _used.excluded[name] for name in _COUNTED}
    )
)
_user_used = insert(ai_user_usage).values({name: bindparam(name) for name in ("user_id", "day", *_COUNTED)})
_USER_USE = Statement(
    _user_used.on_conflict_do_update(
        index_elements=["user_id", "day"],
        set_={name: ai_user_usage.c[name] + _user_used.excluded[name] for name in _COUNTED},
    )
)
_sums = [func.coalesce(func.sum(ai_usage.c[name]), 0) for name in _COUNTED]
_SINCE = Statement(select(*_sums).where(ai_usage.c.day >= bindparam("since", type_=BigInteger)))
_USER_DAY = Statement(
    select(*(ai_user_usage.c[name] for name in _COUNTED)).where(
        ai_user_usage.c.user_id == bindparam("user_id"), ai_user_usage.c.day == bindparam("today")
    )
)
_DAYS = Statement(
    select(ai_usage.c.day, *(ai_usage.c[name] for name in _COUNTED))
    .where(ai_usage.c.day >= bindparam("since"))
    .order_by(ai_usage.c.day)
)


async def lock(tx: Tx, names: Sequence[str]) -> dict[str, Breaker]:
    """The breakers of these models, nobody else's to change until the transaction ends."""
    if not names:
        return {}
    await tx.run_each(_MAKE, [{"name": name} for name in sorted(names)])
    rows = await tx.all(_LOCK, {"names": list(names)})
    return {row[0]: Breaker(*tuple(row)[1:]) for row in rows}


async def breaker_of(tx: Tx, name: str) -> Breaker:
    row = await tx.one(_READ, {"names": [name]})
    return Breaker() if row is None else Breaker(*tuple(row)[1:])


async def write(tx: Tx, name: str, breaker: Breaker) -> None:
    await tx.run(
        _WRITE,
        {
            "model": name,
            "now_state": breaker.state,
            "now_failures": breaker.failures,
            "now_half": breaker.half_successes,
            "failure_at": breaker.last_failure_at,
            "success_at": breaker.last_success_at,
            "call_at": breaker.last_call_at,
            "limited_until": breaker.rate_limited_until,
        },
    )


async def use(tx: Tx, usage: Usage, user_id: int | None, now: Instant) -> None:
    """Add to what was spent; a correction may be negative."""
    params = {
        "day": day_start(now),
        "calls": usage.calls,
        "tokens_in": usage.tokens_in,
        "tokens_out": usage.tokens_out,
        "cost": usage.cost,
    }
    await tx.run(_USE, params)
    if user_id is not None:
        await tx.run(_USER_USE, {**params, "user_id": user_id})


async def spent(tx: Tx, user_id: int | None, now: Instant) -> Spent:
    return Spent(
        day=await since(tx, day_start(now)),
        month=await since(tx, month_start(now)),
        user_day=Usage() if user_id is None else await _user_day(tx, user_id, now),
    )


async def since(tx: Tx, moment: Instant) -> Usage:
    row = await tx.one(_SINCE, {"since": moment})
    return Usage() if row is None else Usage(*map(int, row))


async def days(tx: Tx, moment: Instant) -> list[tuple[Instant, Usage]]:
    return [(row[0], Usage(*tuple(row)[1:])) for row in await tx.all(_DAYS, {"since": moment})]


async def is_paused(tx: Tx) -> bool:
    return await app_settings.get(tx, _PAUSED) == "true"


async def set_paused(tx: Tx, now: Instant, *, paused: bool) -> None:
    await app_settings.put(tx, _PAUSED, "true" if paused else "false", now)


async def _user_day(tx: Tx, user_id: int, now: Instant) -> Usage:
    row = await tx.one(_USER_DAY, {"user_id": user_id, "today": day_start(now)})
    return Usage() if row is None else Usage(*row)
