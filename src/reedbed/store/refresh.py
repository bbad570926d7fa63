"""The refresh schedule: due feeds, leases on them, their fetch state, and the records a check writes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, fields, replace
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

from reedbed.domain.failures import dump_failure, load_failure
from reedbed.domain.feeds import CheckSchedule
from reedbed.domain.records import record
from reedbed.domain.refresh.state import DueFeed, FeedMetadata, FetchState
from reedbed.domain.times import Instant, Millis
from reedbed.store.engine.database import Tx
from reedbed.store.engine.encryption import Vault
from reedbed.store.engine.statements import Command, Param, Params, Query, among, func, larger, optional, row_of, select
from reedbed.store.entries.write import EntryUpdate, NewEntryRow
from reedbed.store.feeds.feeds import FetchStats
from reedbed.store.tables import feed_fetch_state as state
from reedbed.store.tables import feeds, subscriptions
from reedbed.store.tables import websub_subscriptions as _hub

STATE_NAMES = tuple(field.name for field in fields(FetchState))
ABOUT_NAMES = tuple(field.name for field in fields(FeedMetadata))

_OWN_COUNT = 15
_STATE_START = _OWN_COUNT + len(ABOUT_NAMES)
_STATE_END = _STATE_START + len(STATE_NAMES)
_SCHEDULE_INDEX = STATE_NAMES.index("rhythm")
_FAILURE_INDEXES = tuple(STATE_NAMES.index(name) for name in ("last_error", "stop_reason"))
_NO_SCHEDULE = CheckSchedule()
_values_of = attrgetter(*STATE_NAMES)


def _eligible_feed(*values: Any) -> tuple[DueFeed, bool]:
    """A feed with its secrets as they are stored, and whether it may be checked.

    The columns are 15 of the feed, then those of `FeedMetadata`, those of `FetchState`, and `eligible`.
    """
    feed = DueFeed(
        *values[:_OWN_COUNT],
        about=_metadata(values[_OWN_COUNT:_STATE_START]),
        state=fetch_state(values[_STATE_START:_STATE_END]),
    )
    return feed, bool(values[_STATE_END])


def _with_secrets(feed: DueFeed, vault: Vault) -> DueFeed:
    if feed.proxy is None and feed.password is None:
        return feed
    proxy = None if feed.proxy is None else vault.decrypt("feeds.proxy", feed.proxy)
    password = None if feed.password is None else vault.decrypt("feeds.password", feed.password)
    lost = (feed.proxy is not None and proxy is None) or (feed.password is not None and password is None)
    return replace(feed, proxy=proxy, password=password, secrets_lost=lost)


def fetch_state(columns: Iterable[Any]) -> FetchState:
    values: list[Any] = list(columns)
    values[_SCHEDULE_INDEX] = _load_schedule(values[_SCHEDULE_INDEX])
    for index in _FAILURE_INDEXES:
        values[index] = load_failure(values[index])
    return FetchState(*values)


def state_params(feed_id: int, holder: str, after: FetchState) -> Params:
    params: dict[str, Param] = dict(zip(STATE_NAMES, _values_of(after), strict=True))
    params["rhythm"] = _dump_schedule(after.rhythm)
    params["last_error"] = dump_failure(after.last_error)
    params["stop_reason"] = dump_failure(after.stop_reason)
    params["id"] = feed_id
    params["holder"] = holder
    return params


def _metadata(values: Sequence[Any]) -> FeedMetadata:
    return FeedMetadata(*values[:-2], guid_unreliable=bool(values[-2]), guid_collisions=values[-1])


def _load_schedule(text: str | None) -> CheckSchedule:
    if not text:
        return _NO_SCHEDULE
    schedule = orjson.loads(text)
    return CheckSchedule(
        schedule.get("interval"), frozenset(schedule.get("hours", ())), frozenset(schedule.get("days", ()))
    )


def _dump_schedule(schedule: CheckSchedule) -> str | None:
    if schedule == _NO_SCHEDULE:
        return None
    document = {"interval": schedule.interval, "hours": sorted(schedule.skip_hours), "days": sorted(schedule.skip_days)}
    return orjson.dumps(document).decode()


# A claim reads this many times its limit, so that many feeds of one host do not hide other hosts.
_WINDOW_FACTOR = 4


def _select_due(urgency: ColumnElement[bool], name: str) -> CTE:
    """Return the first due feeds of one index, locked until the claim ends; other workers skip them."""
    return (
        select(state.c.feed_id, state.c.host, state.c.next_check_at, state.c.urgent)
        .where(
            urgency,
            state.c.next_check_at <= bindparam("now"),
            or_(state.c.leased_until.is_(None), state.c.leased_until <= bindparam("now")),
        )
        .order_by(state.c.next_check_at)
        .limit(bindparam("window"))
        .with_for_update(skip_locked=True)
        .cte(name)
    )


def _select_claimable() -> Select[int]:
    """Urgent feeds first, then round-robin by host: one feed of each host before the second of any host."""
    urgent = select(_select_due(state.c.urgent == true(), "pressing"))
    due = select(_select_due(and_(state.c.urgent == false(), state.c.next_check_at.is_not(None)), "waiting"))
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


CLAIM = Query(
    update(state).where(state.c.feed_id.in_(_select_claimable())).values(_lease()).returning(state.c.feed_id), into=int
)

_is_subscription = and_(
    subscriptions.c.feed_id == feeds.c.id, subscriptions.c.unsubscribed_at.is_(None), subscriptions.c.paused == false()
)
_is_pushed = and_(_hub.c.feed_id == feeds.c.id, _hub.c.state == "active", _hub.c.expires_at > bindparam("now"))
_DETAILS = Query(
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
        .where(_is_subscription, subscriptions.c.interval.is_not(None))
        .scalar_subquery()
        .label("subscriber_interval"),
        state.c.urgent,
        _hub.c.live_since,
        func.coalesce(_hub.c.missed_in_row, 0),
        *(feeds.c[name] for name in ABOUT_NAMES),
        *(state.c[name] for name in STATE_NAMES),
        and_(
            feeds.c.enabled,
            feeds.c.deleted_at.is_(None),
            feeds.c.kind == "web",
            or_(state.c.urgent, and_(feeds.c.polling, or_(feeds.c.operator_added, exists().where(_is_subscription)))),
        ).label("eligible"),
    )
    .join_from(feeds, state, state.c.feed_id == feeds.c.id)
    .outerjoin(_hub, _is_pushed)
    .where(among(feeds.c.id, "ids")),
    into=_eligible_feed,
)
_UNSCHEDULE = Command(
    update(state)
    .where(among(state.c.feed_id, "ids"))
    .values(next_check_at=null(), urgent=false(), lease_holder=null(), leased_until=null())
)
# Requested while a check was running: its response may be older than the request, so the feed stays due.
_requested_meanwhile = and_(state.c.urgent == true(), state.c.next_check_at != bindparam("claimed_for"))
_next_check = case(
    (_requested_meanwhile, func.coalesce(bindparam("retry_after_until", type_=BigInteger()), state.c.next_check_at)),
    else_=bindparam("next_check_at", type_=BigInteger()),
)
_WRITE = Command(
    update(state)
    .where(state.c.feed_id == bindparam("id"), state.c.lease_holder == bindparam("holder"))
    .values({name: bindparam(name) for name in STATE_NAMES})
    .values(lease_holder=null(), leased_until=null(), urgent=_requested_meanwhile, next_check_at=_next_check)
)
_NEWEST_AT = bindparam("newest_entry_at", type_=BigInteger())
_WRITE_PUSHED = Command(
    update(state)
    .where(state.c.feed_id == bindparam("id"), state.c.lease_holder == bindparam("holder"))
    .values(
        lease_holder=null(),
        leased_until=null(),
        newest_entry_id=larger(state.c.newest_entry_id, bindparam("newest_entry_id")),
        newest_entry_at=larger(
            func.coalesce(state.c.newest_entry_at, _NEWEST_AT), func.coalesce(_NEWEST_AT, state.c.newest_entry_at)
        ),
        last_changed_at=func.coalesce(bindparam("last_changed_at", type_=BigInteger()), state.c.last_changed_at),
    )
)
_CLAIM_ONE = Query(
    update(state)
    .where(
        state.c.feed_id == bindparam("id"),
        or_(state.c.leased_until.is_(None), state.c.leased_until <= bindparam("now")),
    )
    .values(_lease())
    .returning(state.c.feed_id),
    into=int,
)
_CHECK_SOON = Command(
    update(state)
    .where(among(state.c.feed_id, "ids"), state.c.next_check_rule == "push", state.c.next_check_at > bindparam("now"))
    .values(next_check_at=bindparam("now"))
)
_LOCK_HELD = Query(
    select(state.c.feed_id)
    .where(among(state.c.feed_id, "ids"), state.c.lease_holder == bindparam("holder"))
    .order_by(state.c.feed_id)
    .with_for_update(),
    into=int,
)
_POSTPONE = Command(
    update(state)
    .where(state.c.feed_id == bindparam("id"), state.c.lease_holder == bindparam("holder"))
    .values(lease_holder=null(), leased_until=null(), next_check_at=bindparam("at"))
)
_RELEASE = Command(
    update(state)
    .where(among(state.c.feed_id, "ids"), state.c.lease_holder == bindparam("holder"))
    .values(lease_holder=null(), leased_until=null())
)
_REQUEST_CHECK = Query(
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
    .returning(state.c.feed_id, state.c.next_check_at),
    into=row_of(int, int),
)
_RESUME = Command(
    update(state)
    .where(state.c.feed_id == bindparam("id"), state.c.next_check_at.is_(None), state.c.stopped_at.is_(None))
    .values(next_check_at=bindparam("now"))
)
_RESCHEDULE = Command(
    update(state)
    .where(state.c.feed_id == bindparam("id"), state.c.next_check_at.is_not(None), state.c.urgent == false())
    .values({name: bindparam(name) for name in ("next_check_at", "next_check_rule", "next_check_delay")})
)
_IS_LEASED = Query(
    select(state.c.feed_id).where(state.c.feed_id == bindparam("id"), state.c.leased_until > bindparam("now")), into=int
)
_NEXT_DUE = Query(
    select(func.min(state.c.next_check_at)).where(
        state.c.next_check_at.is_not(None), state.c.next_check_at > bindparam("now")
    ),
    into=optional(int),
)
_COUNT_UNCHECKED = Query(
    select(func.count()).where(
        among(state.c.feed_id, "ids"),
        state.c.next_check_at <= bindparam("now"),
        or_(state.c.last_checked_at.is_(None), state.c.last_checked_at < bindparam("since")),
    ),
    into=int,
)


async def claim_due(
    tx: Tx, holder: str, now: Instant, *, limit: int, lease: Millis, per_host: int = 1_000_000
) -> list[DueFeed]:
    """Lease the due feeds. Disabled and deleted feeds and those without subscribers are unscheduled."""
    rows = await tx.all(
        CLAIM,
        {
            "holder": holder,
            "until": now + lease,
            "now": now,
            "limit": limit,
            "window": limit * _WINDOW_FACTOR,
            "per_host": per_host,
        },
    )
    return await _load_eligible(tx, rows, now)


async def claim(tx: Tx, feed_id: int, holder: str, now: Instant, lease: Millis) -> DueFeed | None:
    """Lease this feed to store pushed content; return None while another worker holds the lease."""
    if await tx.one(_CLAIM_ONE, {"id": feed_id, "holder": holder, "now": now, "until": now + lease}) is None:
        return None
    row = await tx.one(_DETAILS, {"ids": [feed_id], "now": now})
    return None if row is None else _with_secrets(row[0], tx.vault)


async def held(tx: Tx, feed_ids: Sequence[int], holder: str) -> set[int]:
    """Lock and return the feeds still leased to this holder; until the commit no one else writes to them."""
    rows = await tx.all(_LOCK_HELD, {"ids": list(feed_ids), "holder": holder})
    return set(rows)


async def write(tx: Tx, holder: str, states: Sequence[tuple[DueFeed, FetchState]]) -> None:
    """Store the state after a check and end the lease. If the lease was lost meanwhile, nothing changes."""
    await tx.run_many(
        _WRITE,
        [{**state_params(due.id, holder, after), "claimed_for": due.state.next_check_at} for due, after in states],
    )


async def write_pushed(tx: Tx, holder: str, states: Sequence[tuple[int, FetchState]]) -> None:
    """Store the state after a push and end the lease; the schedule does not change."""
    await tx.run_many(_WRITE_PUSHED, [state_params(feed_id, holder, after) for feed_id, after in states])


async def check_soon(tx: Tx, feed_ids: Sequence[int], now: Instant) -> None:
    """Make feeds due that relied on a hub, because the hub is gone."""
    await tx.run(_CHECK_SOON, {"ids": list(feed_ids), "now": now})


async def give_back(tx: Tx, holder: str, turns: Sequence[tuple[int, Instant]]) -> None:
    """End leases without a check; each feed is due again at its given time."""
    await tx.run_many(_POSTPONE, [{"id": id_, "holder": holder, "at": at} for id_, at in turns])


async def release(tx: Tx, holder: str, feed_ids: Sequence[int]) -> None:
    await tx.run(_RELEASE, {"ids": list(feed_ids), "holder": holder})


async def request_check(tx: Tx, feed_ids: Sequence[int], now: Instant) -> list[int]:
    """Make enabled feeds urgent; return those due now. The others wait for a running Retry-After."""
    rows = await tx.all(_REQUEST_CHECK, {"ids": list(feed_ids), "now": now})
    return [feed_id for feed_id, due in rows if due <= now]


async def wake(tx: Tx, feed_id: int, now: Instant) -> None:
    """Schedule a feed that was unscheduled by `claim_due`. Feeds stopped by failures stay stopped."""
    await tx.run(_RESUME, {"id": feed_id, "now": now})


async def scheduled(tx: Tx, feed_id: int, now: Instant) -> DueFeed | None:
    """Return the feed as a check would load it; None if there is no such feed."""
    row = await tx.one(_DETAILS, {"ids": [feed_id], "now": now})
    return None if row is None else _with_secrets(row[0], tx.vault)


async def reschedule(tx: Tx, feed_id: int, after: FetchState) -> None:
    """Move the next check. Unscheduled feeds stay unscheduled, and urgent ones stay due."""
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
    return await tx.one(_IS_LEASED, {"id": feed_id, "now": now}) is not None


async def next_due(tx: Tx, now: Instant) -> Instant | None:
    return await tx.one(_NEXT_DUE, {"now": now})


async def unchecked(tx: Tx, feed_ids: Sequence[int], since: Instant, now: Instant) -> int:
    """Count the feeds that are due and were not checked since `since`."""
    return await tx.get(_COUNT_UNCHECKED, {"ids": list(feed_ids), "since": since, "now": now})


async def _load_eligible(tx: Tx, feed_ids: list[int], now: Instant) -> list[DueFeed]:
    if not feed_ids:
        return []
    rows = await tx.all(_DETAILS, {"ids": feed_ids, "now": now})
    eligible = {feed.id: feed for feed, is_eligible in rows if is_eligible}
    ineligible = [id_ for id_ in feed_ids if id_ not in eligible]
    if ineligible:
        await tx.run(_UNSCHEDULE, {"ids": ineligible})
    return [_with_secrets(eligible[id_], tx.vault) for id_ in feed_ids if id_ in eligible]


@record
class CheckResult:
    due: DueFeed
    state: FetchState
    stats: FetchStats
    about: FeedMetadata | None = None
    """Set if the feed's own metadata changed."""
    news: Sequence[NewEntryRow] = ()
    rewrites: Sequence[EntryUpdate] = ()
    listed: Sequence[int] = ()
    """Stored entries that the document still contains."""
    removed: Sequence[int] | None = None
    """Keys of deleted entries that the document still contains; None if no document was read."""
    moved_to: str | None = None
    """Set if the feed permanently moved to this URL."""
    pushed: bool = False
    """Pushed by a hub: the schedule and the validators of the document do not change."""

    @property
    def quiet(self) -> bool:
        """Only the fetch state changed."""
        return not (self.news or self.rewrites or self.about or self.moved_to)


@record
class WriteResult:
    new: Sequence[int] = ()
    changed: Sequence[int] = ()
    feed_id: int = 0
    """The feed they belong to now; a different one after a merge."""
    moved: Sequence[int] = ()
    """Users whose subscription was moved to another feed."""
    muted: Mapping[int, Sequence[int]] = field(default_factory=dict[int, Sequence[int]])
    """By user, the new entries that a rule muted."""
