"""What a check found, ready to be written, and what became of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

import orjson
from sqlalchemy import (
    CTE,
    BigInteger,
    ColumnElement,
    Select,
    and_,
    bindparam,
    case,
    exists,
    false,
    null,
    or_,
    true,
    union_all,
    update,
)

from reedbed.domain.feeds import CheckSchedule
from reedbed.domain.records import record
from reedbed.domain.refresh.state import DueFeed, FeedMetadata, FetchState
from reedbed.domain.times import Instant, Millis
from reedbed.store.engine.database import Row, Tx
from reedbed.store.engine.encryption import Vault
from reedbed.store.engine.statements import Statement, among, func, larger, select
from reedbed.store.entries.write import EntryUpdate, NewEntryRow
from reedbed.store.feeds.feeds import FetchStats
from reedbed.store.tables import feed_fetch_state as state
from reedbed.store.tables import feeds, subscriptions
from reedbed.store.tables import websub_subscriptions as _push

STATE_NAMES = tuple(field.name for field in fields(FetchState))
ABOUT_NAMES = tuple(field.name for field in fields(FeedMetadata))

_OWN = 15
_ENCRYPTED = ((4, "feeds.proxy"), (7, "feeds.password"))
_STATE_FROM = _OWN + len(ABOUT_NAMES)
_STATE_TO = _STATE_FROM + len(STATE_NAMES)
_RHYTHM = STATE_NAMES.index("rhythm")
_NO_RHYTHM = CheckSchedule()
_values_of = attrgetter(*STATE_NAMES)


def due_feed(row: Row, vault: Vault) -> DueFeed:
    """From a row of fifteen own columns, then those of `About`, then those of `FetchState`."""
    values: list[Any] = list(row)
    lost = False
    for place, purpose in _ENCRYPTED:
        if values[place] is not None:
            values[place] = vault.decrypt(purpose, values[place])
            lost = lost or values[place] is None
    return DueFeed(
        *values[:_OWN],
        secrets_lost=lost,
        about=_about(values[_OWN:_STATE_FROM]),
        state=fetch_state(values[_STATE_FROM:_STATE_TO]),
    )


def fetch_state(columns: Iterable[Any]) -> FetchState:
    values: list[Any] = list(columns)
    values[_RHYTHM] = _rhythm(values[_RHYTHM])
    return FetchState(*values)


def state_params(feed_id: int, holder: str, after: FetchState) -> Mapping[str, Any]:
    params: dict[str, Any] = dict(zip(STATE_NAMES, _values_of(after), strict=True))
    params["rhythm"] = _rhythm_text(after.rhythm)
    params["id"] = feed_id
    params["holder"] = holder
    return params


def _about(values: Sequence[Any]) -> FeedMetadata:
    return FeedMetadata(*values[:-2], guid_unreliable=bool(values[-2]), guid_collisions=values[-1])


def _rhythm(text: str | None) -> CheckSchedule:
    if not text:
        return _NO_RHYTHM
    said = orjson.loads(text)
    return CheckSchedule(
        said.get("interval"), frozenset(said.get("hours", ())), frozenset(said.get("days", ()))
    )


def _rhythm_text(rhythm: CheckSchedule) -> str | None:
    if rhythm == _NO_RHYTHM:
        return None
    said = {
        "interval": rhythm.interval,
        "hours": sorted(rhythm.skip_hours),
        "days": sorted(rhythm.skip_days),
    }
    return orjson.dumps(said).decode()


# A claim looks at this many times its limit, so that one host at the head does not hide the others.
_LOOK_AHEAD = 4


def _turn(pressing: ColumnElement[bool], name: str) -> CTE:
    """The feeds at the head of one index, locked until the claim is through; workers pass each other by."""
    return (
        select(state.c.feed_id, state.c.host, state.c.next_check_at, state.c.urgent)
        .where(
            pressing,
            state.c.next_check_at <= bindparam("now"),
            or_(state.c.leased_until.is_(None), state.c.leased_until <= bindparam("now")),
        )
        .order_by(state.c.next_check_at)
        .limit(bindparam("window"))
        .with_for_update(skip_locked=True)
        .cte(name)
    )


def _taken() -> Select[int]:
    """Urgent ones first, then round by round: one feed of each host before the second of any."""
    urgent = select(_turn(state.c.urgent == true(), "pressing"))
    due = select(_turn(and_(state.c.urgent == false(), state.c.next_check_at.is_not(None)), "waiting"))
    both = union_all(urgent, due).subquery("both")
    rank = func.row_number().over(
        partition_by=(both.c.urgent, both.c.host), order_by=(both.c.next_check_at, both.c.feed_id)
    )
    ranked = select(both.c.feed_id, both.c.urgent, both.c.next_check_at, rank.label("place")).subquery()
    return (
        select(ranked.c.feed_id)
        .where(ranked.c.place <= bindparam("per_host"))
        .order_by(ranked.c.urgent.desc(), ranked.c.place, ranked.c.next_check_at)
        .limit(bindparam("limit"))
    )


def _lease() -> dict[str, ColumnElement[Any]]:
    return {"lease_holder": bindparam("holder"), "leased_until": bindparam("until")}


CLAIM = Statement(
    update(state).where(state.c.feed_id.in_(_taken())).values(_lease()).returning(state.c.feed_id)
)

_following = and_(
    subscriptions.c.feed_id == feeds.c.id,
    subscriptions.c.unsubscribed_at.is_(None),
    subscriptions.c.paused == false(),
)
_is_pushed = and_(
    _push.c.feed_id == feeds.c.id, _push.c.state == "active", _push.c.expires_at > bindparam("now")
)
_DETAILS = Statement(
    select(
        feeds.c.id,
        feeds.c.url,
        state.c.host,
        feeds.c.owner_id,
        feeds.c.proxy,
        feeds.c.user_agent,
        feeds.c.username,
        feeds.c.password,
        feeds.c.interval,
        feeds.c.max_failures,
        feeds.c.allow_duplicate_urls,
        select(func.min(subscriptions.c.interval))
        .where(_following, subscriptions.c.interval.is_not(None))
        .scalar_subquery()
        .label("wish"),
        state.c.urgent,
        _push.c.live_since,
        func.coalesce(_push.c.missed_in_row, 0),
        *(feeds.c[name] for name in ABOUT_NAMES),
        *(state.c[name] for name in STATE_NAMES),
        and_(
            feeds.c.enabled,
            feeds.c.deleted_at.is_(None),
            feeds.c.kind == "web",
            or_(
                state.c.urgent,
                and_(feeds.c.polling, or_(feeds.c.operator_added, exists().where(_following))),
            ),
        ).label("eligible"),
    )
    .join_from(feeds, state, state.c.feed_id == feeds.c.id)
    .outerjoin(_push, _is_pushed)
    .where(among(feeds.c.id, "ids"))
)
_REST = Statement(
    update(state)
    .where(among(state.c.feed_id, "ids"))
    .values(next_check_at=null(), urgent=false(), lease_holder=null(), leased_until=null())
)
# Asked for while a check was under way, whose answer may be older than the wish: the feed stays due.
_asked_since = and_(state.c.urgent == true(), state.c.next_check_at != bindparam("claimed_for"))
_next_check = case(
    (_asked_since, func.coalesce(bindparam("retry_after_until", type_=BigInteger()), state.c.next_check_at)),
    else_=bindparam("next_check_at", type_=BigInteger()),
)
_WRITE = Statement(
    update(state)
    .where(state.c.feed_id == bindparam("id"), state.c.lease_holder == bindparam("holder"))
    .values({name: bindparam(name) for name in STATE_NAMES})
    .values(lease_holder=null(), leased_until=null(), urgent=_asked_since, next_check_at=_next_check)
)
_GIVEN_NEWEST_AT = bindparam("newest_entry_at", type_=BigInteger())
_WRITE_PUSHED = Statement(
    update(state)
    .where(state.c.feed_id == bindparam("id"), state.c.lease_holder == bindparam("holder"))
    .values(
        lease_holder=null(),
        leased_until=null(),
        newest_entry_id=larger(state.c.newest_entry_id, bindparam("newest_entry_id")),
        newest_entry_at=larger(
            func.coalesce(state.c.newest_entry_at, _GIVEN_NEWEST_AT),
            func.coalesce(_GIVEN_NEWEST_AT, state.c.newest_entry_at),
        ),
        last_changed_at=func.coalesce(
            bindparam("last_changed_at", type_=BigInteger()), state.c.last_changed_at
        ),
    )
)
_TAKE = Statement(
    update(state)
    .where(
        state.c.feed_id == bindparam("id"),
        or_(state.c.leased_until.is_(None), state.c.leased_until <= bindparam("now")),
    )
    .values(_lease())
    .returning(state.c.feed_id)
)
_HURRY = Statement(
    update(state)
    .where(
        among(state.c.feed_id, "ids"),
        state.c.next_check_rule == "push",
        state.c.next_check_at > bindparam("now"),
    )
    .values(next_check_at=bindparam("now"))
)
_HELD = Statement(
    select(state.c.feed_id)
    .where(among(state.c.feed_id, "ids"), state.c.lease_holder == bindparam("holder"))
    .order_by(state.c.feed_id)
    .with_for_update()
)
_GIVE_BACK = Statement(
    update(state)
    .where(state.c.feed_id == bindparam("id"), state.c.lease_holder == bindparam("holder"))
    .values(lease_holder=null(), leased_until=null(), next_check_at=bindparam("at"))
)
_RELEASE = Statement(
    update(state)
    .where(among(state.c.feed_id, "ids"), state.c.lease_holder == bindparam("holder"))
    .values(lease_holder=null(), leased_until=null())
)
_ASK = Statement(
    update(state)
    .where(
        among(state.c.feed_id, "ids"),
        exists().where(
            feeds.c.id == state.c.feed_id,
            feeds.c.enabled == true(),
            feeds.c.deleted_at.is_(None),
            feeds.c.kind == "web",
        ),
    )
    .values(
        urgent=true(),
        next_check_at=case(
            (state.c.retry_after_until > bindparam("now"), state.c.retry_after_until),
            else_=bindparam("now", type_=BigInteger()),
        ),
        consecutive_failures=case((state.c.stopped_at.is_not(None), 0), else_=state.c.consecutive_failures),
        stopped_at=null(),
        stop_reason=null(),
    )
    .returning(state.c.feed_id, state.c.next_check_at)
)
_WAKE = Statement(
    update(state)
    .where(
        state.c.feed_id == bindparam("id"),
        state.c.next_check_at.is_(None),
        state.c.stopped_at.is_(None),
    )
    .values(next_check_at=bindparam("now"))
)
_RESCHEDULE = Statement(
    update(state)
    .where(state.c.feed_id == bindparam("id"), state.c.next_check_at.is_not(None), state.c.urgent == false())
    .values({name: bindparam(name) for name in ("next_check_at", "next_check_rule", "next_check_delay")})
)
_IS_LEASED = Statement(
    select(state.c.feed_id).where(state.c.feed_id == bindparam("id"), state.c.leased_until > bindparam("now"))
)
_NEXT_DUE = Statement(
    select(func.min(state.c.next_check_at)).where(
        state.c.next_check_at.is_not(None), state.c.next_check_at > bindparam("now")
    )
)
_WAITING = Statement(
    select(func.count()).where(
        among(state.c.feed_id, "ids"),
        state.c.next_check_at <= bindparam("now"),
        or_(state.c.last_checked_at.is_(None), state.c.last_checked_at < bindparam("since")),
    )
)


async def claim_due(
    tx: Tx, holder: str, now: Instant, *, limit: int, lease: Millis, per_host: int = 1_000_000
) -> list[DueFeed]:
    """Lease the feeds whose turn it is. Those nobody wants any more are put to rest instead."""
    rows = await tx.all(
        CLAIM,
        {
            "holder": holder,
            "until": now + lease,
            "now": now,
            "limit": limit,
            "window": limit * _LOOK_AHEAD,
            "per_host": per_host,
        },
    )
    return await _wanted(tx, [row[0] for row in rows], now)


async def claim(tx: Tx, feed_id: int, holder: str, now: Instant, lease: Millis) -> DueFeed | None:
    """Lease this feed for news that came by themselves; None while another has it in hand."""
    if await tx.one(_TAKE, {"id": feed_id, "holder": holder, "now": now, "until": now + lease}) is None:
        return None
    row = await tx.one(_DETAILS, {"ids": [feed_id], "now": now})
    return None if row is None else due_feed(row, tx.vault)


async def held(tx: Tx, feed_ids: Sequence[int], holder: str) -> set[int]:
    """Those still leased to this holder, locked: from here to the commit nobody else writes their entries."""
    rows = await tx.all(_HELD, {"ids": list(feed_ids), "holder": holder})
    return {row[0] for row in rows}


async def write(tx: Tx, holder: str, states: Sequence[tuple[DueFeed, FetchState]]) -> None:
    """The state after a check; it ends the lease. A lease that was lost in between changes nothing."""
    await tx.run_many(
        _WRITE,
        [
            {**state_params(due.id, holder, after), "claimed_for": due.state.next_check_at}
            for due, after in states
        ],
    )


async def write_pushed(tx: Tx, holder: str, states: Sequence[tuple[int, FetchState]]) -> None:
    """News came by themselves: the lease ends, and the schedule stays as it was."""
    await tx.run_many(_WRITE_PUSHED, [state_params(feed_id, holder, after) for feed_id, after in states])


async def check_soon(tx: Tx, feed_ids: Sequence[int], now: Instant) -> None:
    """The hub of these feeds is gone: what waited for it is due now."""
    await tx.run(_HURRY, {"ids": list(feed_ids), "now": now})


async def give_back(tx: Tx, holder: str, turns: Sequence[tuple[int, Instant]]) -> None:
    """End leases without a check; each feed is due again at its moment."""
    await tx.run_many(_GIVE_BACK, [{"id": id_, "holder": holder, "at": at} for id_, at in turns])


async def release(tx: Tx, holder: str, feed_ids: Sequence[int]) -> None:
    await tx.run(_RELEASE, {"ids": list(feed_ids), "holder": holder})


async def request_check(tx: Tx, feed_ids: Sequence[int], now: Instant) -> list[int]:
    """Put enabled feeds before the schedule; which are due now. Others wait for a running Retry-After."""
    rows = await tx.all(_ASK, {"ids": list(feed_ids), "now": now})
    return [feed_id for feed_id, due in rows if due <= now]


async def wake(tx: Tx, feed_id: int, now: Instant) -> None:
    """A feed that rested because nobody wanted it is due again. One that failures stopped is not."""
    await tx.run(_WAKE, {"id": feed_id, "now": now})


async def scheduled(tx: Tx, feed_id: int, now: Instant) -> DueFeed | None:
    """The feed as a check would find it; None when there is no such feed."""
    row = await tx.one(_DETAILS, {"ids": [feed_id], "now": now})
    return None if row is None else due_feed(row, tx.vault)


async def reschedule(tx: Tx, feed_id: int, after: FetchState) -> None:
    """Move the next check. A feed that rests goes on resting, one that was asked for stays due."""
    await tx.run(
        _RESCHEDULE,
        {
            "id": feed_id,
            "next_check_at": after.next_check_at,
            "next_check_rule": after.next_check_rule,
            "next_check_delay": after.next_check_delay,
        },
    )


async def is_leased(tx: Tx, feed_id: int, now: Instant) -> bool:
    return await tx.value(_IS_LEASED, {"id": feed_id, "now": now}) is not None


async def next_due(tx: Tx, now: Instant) -> Instant | None:
    return await tx.value(_NEXT_DUE, {"now": now})


async def unchecked(tx: Tx, feed_ids: Sequence[int], since: Instant, now: Instant) -> int:
    """How many of these are due and were not checked since then."""
    return await tx.value(_WAITING, {"ids": list(feed_ids), "since": since, "now": now})


async def _wanted(tx: Tx, feed_ids: list[int], now: Instant) -> list[DueFeed]:
    if not feed_ids:
        return []
    rows = {row["id"]: row for row in await tx.all(_DETAILS, {"ids": feed_ids, "now": now})}
    unwanted = [id_ for id_ in feed_ids if id_ not in rows or not rows[id_]["eligible"]]
    if unwanted:
        await tx.run(_REST, {"ids": unwanted})
    return [due_feed(rows[id_], tx.vault) for id_ in feed_ids if id_ in rows and rows[id_]["eligible"]]


@record
class CheckResult:
    due: DueFeed
    state: FetchState
    tally: FetchStats
    about: FeedMetadata | None = None
    """Set: the feed says something else of itself now."""
    news: Sequence[NewEntryRow] = ()
    rewrites: Sequence[EntryUpdate] = ()
    listed: Sequence[int] = ()
    """The known entries that the document still holds."""
    removed: Sequence[int] | None = None
    """The keys of entries that were removed and the document still holds; None: no document was read."""
    moved_to: str | None = None
    """Set: the feed is believed to have moved there for good."""
    pushed: bool = False
    """It came by itself: the schedule and what is known of the document stay as they are."""

    @property
    def quiet(self) -> bool:
        """Nothing but the fetch state has changed."""
        return not (self.news or self.rewrites or self.about or self.moved_to)


@record
class WriteResult:
    new: Sequence[int] = ()
    changed: Sequence[int] = ()
    feed_id: int = 0
    """The feed they belong to now: another one after a merge."""
    moved: Sequence[int] = ()
    """The users whose subscription now names another feed."""
