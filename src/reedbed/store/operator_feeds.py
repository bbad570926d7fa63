"""Feeds as their operator sees them. Nobody's private feeds and no mail are among them."""

from dataclasses import dataclass

from sqlalchemy import (
    BigInteger,
    ClauseElement,
    and_,
    bindparam,
    case,
    exists,
    false,
    func,
    null,
    or_,
    select,
    true,
    update,
)

from reedbed.domain.times import Instant
from reedbed.store.database import Row, Tx
from reedbed.store.statements import Shapes, Statement
from reedbed.store.tables import feed_fetch_state as state
from reedbed.store.tables import feed_framing, feeds, framed_documents, subscriptions


@dataclass(frozen=True, slots=True)
class OperatorFeed:
    id: int
    url: str
    title: str
    enabled: bool
    polling: bool
    deframe: bool
    root_domain: str | None
    enforce_domain: bool
    max_failures: int | None
    next_run_at: Instant | None
    locked_until: Instant | None
    last_error: str | None
    stop_reason: str | None
    followers: int
    built_at: Instant | None
    operator_added: bool
    deleted: bool


_followed = (subscriptions.c.feed_id == feeds.c.id, subscriptions.c.unsubscribed_at.is_(None))
_followers = select(func.count()).where(*_followed).scalar_subquery()
# A feed that is not polled still has a time in its row until a worker comes by and puts it to rest.
_next = case(
    (
        or_(state.c.urgent, and_(feeds.c.polling, or_(feeds.c.operator_added, _followers > 0))),
        state.c.next_check_at,
    ),
    else_=null(),
)
_lines = (
    select(
        feeds.c.id,
        feeds.c.url,
        feeds.c.title,
        feeds.c.enabled,
        feeds.c.polling,
        func.coalesce(feed_framing.c.deframe, false()),
        feed_framing.c.root_domain,
        func.coalesce(feed_framing.c.enforce_domain, true()),
        feeds.c.max_failures,
        _next.label("next_run_at"),
        case((state.c.leased_until > bindparam("now", type_=BigInteger), state.c.leased_until), else_=null()),
        state.c.last_error,
        state.c.stop_reason,
        _followers,
        framed_documents.c.built_at,
        feeds.c.operator_added,
        feeds.c.deleted_at,
    )
    .join_from(feeds, state, state.c.feed_id == feeds.c.id)
    .outerjoin(feed_framing, feed_framing.c.feed_id == feeds.c.id)
    .outerjoin(framed_documents, framed_documents.c.feed_id == feeds.c.id)
    .where(feeds.c.owner_id.is_(None), feeds.c.kind == "web")
)
_EVERY = Statement(_lines.where(feeds.c.deleted_at.is_(None)).order_by(feeds.c.id))
_BY_ID = Statement(_lines.where(feeds.c.id == bindparam("id")))
_BY_URL = Statement(_lines.where(feeds.c.url == bindparam("url")))


def _set(name: str) -> ClauseElement:
    return update(feeds).where(feeds.c.id == bindparam("feed_id")).values({name: bindparam("value")})


_SET = Shapes(_set)
_RESUME = Statement(
    update(state)
    .where(
        state.c.feed_id == bindparam("feed_id"),
        state.c.next_check_at.is_(None),
        state.c.last_checked_at.is_not(None),
        state.c.stopped_at.is_(None),
        exists().where(feeds.c.id == state.c.feed_id, feeds.c.polling == true()),
    )
    .values(next_check_at=bindparam("now"))
)
_RUN_NOW = Statement(
    update(state)
    .where(state.c.feed_id == bindparam("feed_id"))
    .values(
        next_check_at=bindparam("now"),
        urgent=true(),
        last_error=null(),
        lease_holder=null(),
        leased_until=null(),
        retry_after_until=null(),
        consecutive_failures=0,
        stopped_at=null(),
        stop_reason=null(),
    )
)
_REVIVE = Statement(
    update(feeds)
    .where(feeds.c.id == bindparam("feed_id"))
    .values(deleted_at=null(), enabled=bindparam("on"), polling=bindparam("on"))
)
_WELCOME = Statement(
    update(feeds)
    .where(
        feeds.c.id == bindparam("feed_id"),
        or_(feeds.c.deleted_at.is_not(None), and_(feeds.c.operator_added, ~feeds.c.polling)),
        ~exists().where(*_followed),
    )
    .values(
        deleted_at=null(),
        polling=true(),
        enabled=or_(feeds.c.enabled, feeds.c.deleted_at.is_not(None)),
    )
)


async def every(tx: Tx, now: Instant) -> list[OperatorFeed]:
    return [_feed(row) for row in await tx.all(_EVERY, {"now": now})]


async def by_id(tx: Tx, feed_id: int, now: Instant) -> OperatorFeed | None:
    """Also one that is deleted."""
    row = await tx.one(_BY_ID, {"id": feed_id, "now": now})
    return None if row is None else _feed(row)


async def by_url(tx: Tx, url: str, now: Instant) -> OperatorFeed | None:
    row = await tx.one(_BY_URL, {"url": url, "now": now})
    return None if row is None else _feed(row)


async def set_enabled(tx: Tx, feed_id: int, *, enabled: bool) -> None:
    await tx.run(_SET("enabled"), {"feed_id": feed_id, "value": enabled})


async def set_polling(tx: Tx, feed_id: int, *, polling: bool) -> None:
    await tx.run(_SET("polling"), {"feed_id": feed_id, "value": polling})


async def set_operator_added(tx: Tx, feed_id: int, *, added: bool) -> None:
    await tx.run(_SET("operator_added"), {"feed_id": feed_id, "value": added})


async def set_max_failures(tx: Tx, feed_id: int, max_failures: int | None) -> None:
    await tx.run(_SET("max_failures"), {"feed_id": feed_id, "value": max_failures})


async def delete(tx: Tx, feed_id: int, now: Instant) -> None:
    await tx.run(_SET("deleted_at"), {"feed_id": feed_id, "value": now})


async def revive(tx: Tx, feed_id: int, *, on: bool) -> None:
    """A deleted feed is there again, enabled and polled or neither."""
    await tx.run(_REVIVE, {"feed_id": feed_id, "on": on})


async def welcome_reader(tx: Tx, feed_id: int) -> None:
    """The first who follows a feed that was deleted, or that only the operator had: it is polled from now."""
    await tx.run(_WELCOME, {"feed_id": feed_id})


async def resume(tx: Tx, feed_id: int, now: Instant) -> None:
    """A schedule that ran out while the feed was disabled goes on; one that never began does not begin."""
    await tx.run(_RESUME, {"feed_id": feed_id, "now": now})


async def run_now(tx: Tx, feed_id: int, now: Instant) -> None:
    """Due at once, whatever stood in the way: error, lease, wish of the server."""
    await tx.run(_RUN_NOW, {"feed_id": feed_id, "now": now})


def _feed(row: Row) -> OperatorFeed:
    values = list(row)
    for place in (3, 4, 5, 7, 15):
        values[place] = bool(values[place])
    values[16] = values[16] is not None
    return OperatorFeed(*values)
