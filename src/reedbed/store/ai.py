"""AI models: circuit breakers, usage and budget, and the queue of summaries (one row per content key)."""

from collections.abc import Sequence

from sqlalchemy import BigInteger, Text, and_, bindparam, case, delete, literal, null, or_, update

from reedbed.domain.ai import Breaker, Spent, Usage, day_start, month_start
from reedbed.domain.failures import Failure
from reedbed.domain.records import record
from reedbed.domain.summaries import BUILT_IN, FailureState, Variant
from reedbed.domain.times import Instant
from reedbed.store import instance
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import (
    Command,
    Params,
    Query,
    among,
    func,
    insert,
    keyed,
    larger,
    optional,
    row_of,
    select,
    select_once,
    total,
    with_failure,
)
from reedbed.store.tables import (
    ai_models,
    ai_usage,
    ai_user_usage,
    entries,
    entry_summaries,
    subscriptions,
    summaries,
    summary_failures,
    summary_queue,
)

# --- Breakers and usage

_PAUSED = "ai_paused"

_BREAKER_COLUMNS = (
    ai_models.c.name,
    ai_models.c.state,
    ai_models.c.failures,
    ai_models.c.half_successes,
    ai_models.c.last_failure_at,
    ai_models.c.last_success_at,
    ai_models.c.last_call_at,
    ai_models.c.rate_limited_until,
)
_ADD_BREAKERS = Command(
    insert(ai_models).values(name=bindparam("name")).on_conflict_do_nothing(index_elements=["name"])
)
_GET_BREAKER = Query(
    select(*_BREAKER_COLUMNS).where(among(ai_models.c.name, "names", Text())), into=keyed(str, Breaker)
)
_LOCK_BREAKERS = Query(
    select(*_BREAKER_COLUMNS)
    .where(among(ai_models.c.name, "names", Text()))
    .order_by(ai_models.c.name)
    .with_for_update(),
    into=keyed(str, Breaker),
)
_SAVE_BREAKER = Command(
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
_COUNTERS = ("calls", "tokens_in", "tokens_out", "cost")
_usage = insert(ai_usage).values({name: bindparam(name) for name in ("day", *_COUNTERS)})
_ADD_USAGE = Command(
    _usage.on_conflict_do_update(
        index_elements=["day"], set_={name: ai_usage.c[name] + _usage.excluded[name] for name in _COUNTERS}
    )
)
_user_usage = insert(ai_user_usage).values({name: bindparam(name) for name in ("user_id", "day", *_COUNTERS)})
_ADD_USER_USAGE = Command(
    _user_usage.on_conflict_do_update(
        index_elements=["user_id", "day"],
        set_={name: ai_user_usage.c[name] + _user_usage.excluded[name] for name in _COUNTERS},
    )
)
_sums = [func.coalesce(total(ai_usage.c[name]), 0) for name in _COUNTERS]
_USAGE_SINCE = Query(
    select(*_sums).where(ai_usage.c.day >= bindparam("since", type_=BigInteger)), into=row_of(int, int, int, int)
)
_USAGE_OF_USER = Query(
    select(*(ai_user_usage.c[name] for name in _COUNTERS)).where(
        ai_user_usage.c.user_id == bindparam("user_id"), ai_user_usage.c.day == bindparam("today")
    ),
    into=row_of(int, int, int, int),
)
_USAGE_BY_DAY = Query(
    select(ai_usage.c.day, *(ai_usage.c[name] for name in _COUNTERS))
    .where(ai_usage.c.day >= bindparam("since"))
    .order_by(ai_usage.c.day),
    into=row_of(int, int, int, int, int),
)


async def lock_breakers(tx: Tx, names: Sequence[str]) -> dict[str, Breaker]:
    """Return the breakers of these models, locked until the transaction ends."""
    if not names:
        return {}
    await tx.run_many(_ADD_BREAKERS, [{"name": name} for name in sorted(names)])
    return dict(await tx.all(_LOCK_BREAKERS, {"names": list(names)}))


async def get_breaker(tx: Tx, name: str) -> Breaker:
    row = await tx.one(_GET_BREAKER, {"names": [name]})
    return Breaker() if row is None else row[1]


async def save_breaker(tx: Tx, name: str, breaker: Breaker) -> None:
    await tx.run(
        _SAVE_BREAKER,
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


async def add_usage(tx: Tx, usage: Usage, user_id: int | None, now: Instant) -> None:
    """Add to the usage counters; a correction may be negative."""
    params = {
        "day": day_start(now),
        "calls": usage.calls,
        "tokens_in": usage.tokens_in,
        "tokens_out": usage.tokens_out,
        "cost": usage.cost,
    }
    await tx.run(_ADD_USAGE, params)
    if user_id is not None:
        await tx.run(_ADD_USER_USAGE, {**params, "user_id": user_id})


async def spent_today(tx: Tx, user_id: int | None, now: Instant) -> Spent:
    return Spent(
        day=await usage_since(tx, day_start(now)),
        month=await usage_since(tx, month_start(now)),
        user_day=Usage() if user_id is None else await _usage_of_user(tx, user_id, now),
    )


async def usage_since(tx: Tx, since: Instant) -> Usage:
    row = await tx.one(_USAGE_SINCE, {"since": since})
    return Usage() if row is None else Usage(*map(int, row))


async def usage_by_day(tx: Tx, since: Instant) -> list[tuple[Instant, Usage]]:
    return [(row[0], Usage(*tuple(row)[1:])) for row in await tx.all(_USAGE_BY_DAY, {"since": since})]


async def is_paused(tx: Tx) -> bool:
    return await instance.get_setting(tx, _PAUSED) == "true"


async def set_paused(tx: Tx, now: Instant, *, paused: bool) -> None:
    await instance.set_setting(tx, _PAUSED, "true" if paused else "false", now)


async def _usage_of_user(tx: Tx, user_id: int, now: Instant) -> Usage:
    row = await tx.one(_USAGE_OF_USER, {"user_id": user_id, "today": day_start(now)})
    return Usage() if row is None else Usage(*row)


# --- Queue


@record
class Queued:
    id: int
    key: str
    content_hash: str
    variant: str
    model: str
    language: str
    user_id: int | None
    priority: int
    attempts: int
    empties: int
    created_at: Instant
    locked_at: Instant


@record
class QueuedRow:
    """A queue row as admins see it."""

    id: int
    content_hash: str
    model: str
    priority: int
    attempts: int
    last_error: Failure | None
    error_type: str | None
    locked_at: Instant | None
    cooldown_until: Instant | None
    created_at: Instant


@record
class Sizes:
    waiting: int
    running: int
    cooling: int

    @property
    def all(self) -> int:
        return self.waiting + self.running + self.cooling


_QUEUE_NAMES = ("key", "content_hash", "variant", "model", "language", "user_id", "priority", "created_at")
_new = insert(summary_queue).values({name: bindparam(name) for name in _QUEUE_NAMES})
_ADD = Command(
    _new.on_conflict_do_update(
        index_elements=["key"],
        set_={"priority": larger(summary_queue.c.priority, _new.excluded.priority), "user_id": _new.excluded.user_id},
    )
)
_is_unlocked = or_(summary_queue.c.locked_at.is_(None), summary_queue.c.locked_at <= bindparam("stale"))
_is_ready = or_(summary_queue.c.cooldown_until.is_(None), summary_queue.c.cooldown_until <= bindparam("now"))
_next = (
    select(summary_queue.c.id)
    .where(among(summary_queue.c.model, "models", Text()), _is_unlocked, _is_ready)
    .order_by(summary_queue.c.priority.desc(), summary_queue.c.created_at, summary_queue.c.id)
    .limit(1)
    .with_for_update(skip_locked=True)
)
# An expired lease counts as an attempt: its worker died.
_lost_attempt = case((summary_queue.c.locked_at.is_(None), literal(0)), else_=literal(1))
_CLAIMED = (
    summary_queue.c.id,
    summary_queue.c.key,
    summary_queue.c.content_hash,
    summary_queue.c.variant,
    summary_queue.c.model,
    summary_queue.c.language,
    summary_queue.c.user_id,
    summary_queue.c.priority,
    summary_queue.c.attempts,
    summary_queue.c.empties,
    summary_queue.c.created_at,
    summary_queue.c.locked_at,
)
_CLAIM = Query(
    update(summary_queue)
    .where(summary_queue.c.id.in_(select_once(_next)))
    .values(
        locked_at=bindparam("now"),
        lease_holder=bindparam("holder"),
        attempts=summary_queue.c.attempts + _lost_attempt,
        cooldown_until=null(),
    )
    .returning(*_CLAIMED),
    into=Queued,
)
_is_leased_to_us = (
    summary_queue.c.id == bindparam("row_id"),
    summary_queue.c.lease_holder == bindparam("holder"),
    summary_queue.c.locked_at == bindparam("taken"),
)
_COMPLETE = Command(delete(summary_queue).where(*_is_leased_to_us))
_RECORD_FAILURE = Command(
    update(summary_queue)
    .where(*_is_leased_to_us)
    .values(
        attempts=bindparam("tries"),
        empties=bindparam("empty"),
        last_error=bindparam("error"),
        error_type=bindparam("kind"),
        cooldown_until=bindparam("until"),
        locked_at=null(),
        lease_holder=null(),
    )
)
_RELEASE = Command(
    update(summary_queue)
    .where(*_is_leased_to_us)
    .values(locked_at=null(), lease_holder=null(), cooldown_until=bindparam("until"), last_error=bindparam("why"))
)
_extract = BUILT_IN
_other_row = summary_queue.alias("target")
_extract_key = summary_queue.c.content_hash + literal(f":{_extract.name}")
_WITHOUT_EXTRACT = Query(
    select(*_CLAIMED)
    .where(
        summary_queue.c.model == bindparam("model"),
        summary_queue.c.variant.startswith(f"{_extract.kind}:"),
        *(
            ~select(table.c.key).where(table.c.key == _extract_key).correlate(summary_queue).exists()
            for table in (summaries, summary_failures, _other_row)
        ),
    )
    .order_by(summary_queue.c.priority.desc(), summary_queue.c.created_at, summary_queue.c.id)
    .limit(bindparam("limit")),
    into=Queued,
)
_REMOVE = Command(delete(summary_queue).where(summary_queue.c.key == bindparam("wanted")))
_REMOVE_OTHER_MODELS = Command(delete(summary_queue).where(~among(summary_queue.c.model, "models", Text())))
_RETRY = Command(update(summary_queue).values(cooldown_until=null(), attempts=0, empties=0, last_error=null()))
_RETRY_KEY = Command(
    update(summary_queue)
    .where(summary_queue.c.key == bindparam("wanted"))
    .values(cooldown_until=null(), attempts=0, empties=0, last_error=null())
)
_NEXT_AT = Query(
    select(
        func.min(
            case(
                (
                    summary_queue.c.locked_at.is_not(None),
                    summary_queue.c.locked_at + bindparam("lease", type_=summary_queue.c.locked_at.type),
                ),
                else_=func.coalesce(summary_queue.c.cooldown_until, 0),
            )
        )
    ),
    into=optional(int),
)
_SIZES = Query(
    select(
        func.count(),
        func.count(summary_queue.c.id).filter(summary_queue.c.locked_at > bindparam("stale")),
        func.count(summary_queue.c.id).filter(
            and_(summary_queue.c.locked_at.is_(None), summary_queue.c.cooldown_until > bindparam("now"))
        ),
    ),
    into=row_of(int, int, int),
)
_LIST = Query(
    select(
        summary_queue.c.id,
        summary_queue.c.content_hash,
        summary_queue.c.model,
        summary_queue.c.priority,
        summary_queue.c.attempts,
        summary_queue.c.last_error,
        summary_queue.c.error_type,
        summary_queue.c.locked_at,
        summary_queue.c.cooldown_until,
        summary_queue.c.created_at,
    )
    .order_by(summary_queue.c.priority.desc(), summary_queue.c.created_at, summary_queue.c.id)
    .limit(bindparam("limit")),
    into=with_failure(QueuedRow, 5),
)


async def enqueue(
    tx: Tx, content_hash: str, variant: Variant, *, user_id: int | None, priority: int, now: Instant
) -> None:
    """An existing row gets the higher priority and the user of the newest request."""
    await tx.run(
        _ADD,
        {
            "key": variant.key(content_hash),
            "content_hash": content_hash,
            "variant": variant.name,
            "model": variant.model,
            "language": variant.language,
            "user_id": user_id,
            "priority": priority,
            "created_at": now,
        },
    )


async def without_extract(tx: Tx, model: str, *, limit: int) -> list[Queued]:
    """Return queued summaries for this model whose text has no extract: none stored, queued or failed."""
    return await tx.all(_WITHOUT_EXTRACT, {"model": model, "limit": limit})


async def claim(tx: Tx, models: Sequence[str], holder: str, now: Instant, stale: Instant) -> Queued | None:
    """Lease the next row for these models. The lease expires when `locked_at` is before `stale`."""
    return await tx.one(_CLAIM, {"models": list(models), "holder": holder, "now": now, "stale": stale})


async def complete(tx: Tx, row: Queued, holder: str) -> bool:
    """Return False if the lease was lost to another worker."""
    return await tx.run(_COMPLETE, _lease_params(row, holder)) == 1


async def record_failure(tx: Tx, row: Queued, holder: str, failure: FailureState, error: Failure) -> bool:
    return (
        await tx.run(
            _RECORD_FAILURE,
            {
                **_lease_params(row, holder),
                "tries": failure.attempts,
                "empty": failure.empties,
                "error": error.dump(),
                "kind": failure.error_type,
                "until": failure.cooldown_until,
            },
        )
        == 1
    )


async def release(tx: Tx, row: Queued, holder: str) -> None:
    """End the lease without changing anything else."""
    await tx.run(_RELEASE, {**_lease_params(row, holder), "until": None, "why": None})


async def postpone(tx: Tx, row: Queued, holder: str, until: Instant, why: Failure) -> None:
    """End the lease until `until` without counting an attempt."""
    await tx.run(_RELEASE, {**_lease_params(row, holder), "until": until, "why": why.dump()})


async def remove_queued(tx: Tx, key: str) -> None:
    await tx.run(_REMOVE, {"wanted": key})


async def remove_other_models(tx: Tx, models: Sequence[str]) -> int:
    """Remove rows queued for models that are not in use any more."""
    return await tx.run(_REMOVE_OTHER_MODELS, {"models": list(models)})


async def retry_all(tx: Tx) -> int:
    return await tx.run(_RETRY)


async def retry(tx: Tx, key: str) -> None:
    await tx.run(_RETRY_KEY, {"wanted": key})


async def next_at(tx: Tx, lease: int) -> Instant | None:
    """Return when the next row can be claimed: 0 for now, None for an empty queue."""
    return await tx.one(_NEXT_AT, {"lease": lease})


async def queue_sizes(tx: Tx, now: Instant, stale: Instant) -> Sizes:
    row = await tx.get(_SIZES, {"now": now, "stale": stale})
    return Sizes(row[0] - row[1] - row[2], row[1], row[2])


async def list_queued(tx: Tx, *, limit: int) -> list[QueuedRow]:
    return await tx.all(_LIST, {"limit": limit})


def _lease_params(row: Queued, holder: str) -> Params:
    return {"row_id": row.id, "holder": holder, "taken": row.locked_at}


# --- Local-only feeds (their text is never sent to an external model)

_LOCAL_ONLY_FEEDS = Query(
    select(subscriptions.c.feed_id).where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.local_only),
    into=int,
)
_is_local_only = (
    select(subscriptions.c.id)
    .where(
        subscriptions.c.user_id == bindparam("user_id"),
        subscriptions.c.feed_id == entries.c.feed_id,
        subscriptions.c.local_only,
    )
    .exists()
)
_NOT_LOCAL_ONLY = Query(
    select(entries.c.id)
    .join_from(entry_summaries, entries, entries.c.id == entry_summaries.c.entry_id)
    .where(entry_summaries.c.key == bindparam("key"), ~_is_local_only)
    .limit(1),
    into=int,
)


async def local_only_feeds(tx: Tx, user_id: int) -> frozenset[int]:
    return frozenset(await tx.all(_LOCAL_ONLY_FEEDS, {"user_id": user_id}))


async def may_be_sent(tx: Tx, user_id: int, key: str) -> bool:
    """Return whether some entry with this text belongs to a feed that this user did not mark local-only."""
    return await tx.one(_NOT_LOCAL_ONLY, {"user_id": user_id, "key": key}) is not None
