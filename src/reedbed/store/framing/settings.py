"""Which feeds are deframed: by the operator's settings, or because a subscriber requested it."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, and_, bindparam, delete, exists, or_, true

from reedbed.domain.framing import FeedFraming
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, among, func, insert, row_of, select
from reedbed.store.tables import feed_framing, feeds, framing_requests, subscriptions


@record
class FeedFramingRecord:
    """The feed properties that its analyses need."""

    url: str
    language: str | None
    framing: FeedFraming | None


_NAMES = ("deframe", "root_domain", "enforce_domain", "prompt")
_COLUMNS = tuple(feed_framing.c[name] for name in _NAMES)


def is_public() -> ColumnElement[bool]:
    """Neither a private feed, nor a newsletter, nor password-protected: may be served publicly."""
    return and_(
        feeds.c.owner_id.is_(None), feeds.c.kind == "web", feeds.c.username.is_(None), feeds.c.deleted_at.is_(None)
    )


def is_served() -> ColumnElement[bool]:
    """Public, and the operator has enabled it."""
    return and_(is_public(), feeds.c.enabled == true(), feed_framing.c.deframe == true())


_request_conditions = (
    framing_requests.c.feed_id == feeds.c.id,
    subscriptions.c.user_id == framing_requests.c.user_id,
    subscriptions.c.feed_id == framing_requests.c.feed_id,
    subscriptions.c.unsubscribed_at.is_(None),
)


def _framing(deframe: bool, root_domain: str | None, enforce_domain: bool, prompt: str | None) -> FeedFraming:
    return FeedFraming(bool(deframe), root_domain, bool(enforce_domain), prompt)


_GET = Query(select(*_COLUMNS).where(feed_framing.c.feed_id == bindparam("feed_id")), into=_framing)
_new_settings = insert(feed_framing).values({name: bindparam(name) for name in ("feed_id", *_NAMES)})
_SAVE = Command(
    _new_settings.on_conflict_do_update(
        index_elements=["feed_id"], set_={name: _new_settings.excluded[name] for name in _NAMES}
    )
)
_DELETE = Command(delete(feed_framing).where(feed_framing.c.feed_id == bindparam("feed_id")))
_LOCK = Query(
    select(feed_framing.c.feed_id)
    .where(among(feed_framing.c.feed_id, "ids"))
    .order_by(feed_framing.c.feed_id)
    .with_for_update(),
    into=int,
)
_TO_ANALYSE = Query(
    select(feeds.c.id)
    .join_from(feeds, feed_framing, feed_framing.c.feed_id == feeds.c.id, isouter=True)
    .where(among(feeds.c.id, "ids"), or_(is_served(), exists().where(*_request_conditions))),
    into=int,
)
_SERVED = Query(
    select(feeds.c.id)
    .join_from(feeds, feed_framing, feed_framing.c.feed_id == feeds.c.id)
    .where(feeds.c.id == bindparam("feed_id"), is_served()),
    into=int,
)
_WISHERS = Query(
    select(framing_requests.c.user_id)
    .join_from(
        framing_requests,
        subscriptions,
        and_(
            subscriptions.c.user_id == framing_requests.c.user_id,
            subscriptions.c.feed_id == framing_requests.c.feed_id,
            subscriptions.c.unsubscribed_at.is_(None),
        ),
    )
    .where(framing_requests.c.feed_id == bindparam("feed_id"))
    .order_by(framing_requests.c.created_at, framing_requests.c.user_id)
    .limit(bindparam("limit")),
    into=int,
)
_ADD_REQUEST = Command(
    insert(framing_requests)
    .values({name: bindparam(name) for name in ("user_id", "feed_id", "created_at")})
    .on_conflict_do_nothing()
)
_one_request = (framing_requests.c.user_id == bindparam("user_id"), framing_requests.c.feed_id == bindparam("feed_id"))
_DELETE_REQUEST = Command(delete(framing_requests).where(*_one_request))
_HAS_REQUEST = Query(select(framing_requests.c.feed_id).where(*_one_request), into=int)
_ROOTS = Query(
    select(feed_framing.c.root_domain, func.count())
    .join_from(feed_framing, feeds, feeds.c.id == feed_framing.c.feed_id)
    .where(feed_framing.c.root_domain.is_not(None), feeds.c.deleted_at.is_(None))
    .group_by(feed_framing.c.root_domain)
    .order_by(feed_framing.c.root_domain),
    into=row_of(str, int),
)
_OF_ROOT = Query(
    select(feeds.c.id)
    .join_from(feed_framing, feeds, feeds.c.id == feed_framing.c.feed_id)
    .where(feed_framing.c.root_domain == bindparam("root"), is_served())
    .order_by(feeds.c.id),
    into=int,
)


def _framing_record(url: str, language: str | None, feed_id: int | None, *columns: Any) -> FeedFramingRecord:
    return FeedFramingRecord(url, language, None if feed_id is None else _framing(*columns))


_ABOUT = Query(
    select(feeds.c.url, feeds.c.language, feed_framing.c.feed_id, *_COLUMNS)
    .join_from(feeds, feed_framing, feed_framing.c.feed_id == feeds.c.id, isouter=True)
    .where(feeds.c.id == bindparam("feed_id")),
    into=_framing_record,
)
_COPY_REQUESTS = Command(
    insert(framing_requests)
    .from_select(
        ["user_id", "feed_id", "created_at"],
        select(framing_requests.c.user_id, bindparam("new", type_=BigInteger), framing_requests.c.created_at).where(
            framing_requests.c.feed_id == bindparam("old", type_=BigInteger)
        ),
    )
    .on_conflict_do_nothing()
)
_COPY_SETTINGS = Command(
    insert(feed_framing)
    .from_select(
        ["feed_id", *_NAMES],
        select(bindparam("new", type_=BigInteger), *_COLUMNS).where(
            feed_framing.c.feed_id == bindparam("old", type_=BigInteger)
        ),
    )
    .on_conflict_do_nothing()
)


async def settings_of(tx: Tx, feed_id: int) -> FeedFraming | None:
    return await tx.one(_GET, {"feed_id": feed_id})


async def about(tx: Tx, feed_id: int) -> FeedFramingRecord | None:
    return await tx.one(_ABOUT, {"feed_id": feed_id})


async def put(tx: Tx, feed_id: int, settings: FeedFraming) -> None:
    await tx.run(_SAVE, {"feed_id": feed_id, **{name: getattr(settings, name) for name in _NAMES}})


async def drop(tx: Tx, feed_id: int) -> None:
    await tx.run(_DELETE, {"feed_id": feed_id})


async def lock(tx: Tx, feed_ids: Sequence[int]) -> list[int]:
    """Lock the settings of these feeds, so that only this transaction builds their documents.

    Returns the feeds that have settings.
    """
    return await tx.all(_LOCK, {"ids": list(feed_ids)}) if feed_ids else []


async def wanted(tx: Tx, feed_ids: Sequence[int]) -> list[int]:
    """The feeds whose new entries must be analysed, for the operator or for a subscriber."""
    return await tx.all(_TO_ANALYSE, {"ids": list(feed_ids)}) if feed_ids else []


async def is_for_all_users(tx: Tx, feed_id: int) -> bool:
    return await tx.one(_SERVED, {"feed_id": feed_id}) is not None


async def requesting_users(tx: Tx, feed_id: int, *, limit: int = 20) -> list[int]:
    """The subscribers of this feed who requested analyses, earliest request first."""
    return await tx.all(_WISHERS, {"feed_id": feed_id, "limit": limit})


async def set_analysis_request(tx: Tx, user_id: int, feed_id: int, now: Instant, *, requested: bool) -> None:
    params = {"user_id": user_id, "feed_id": feed_id}
    await (tx.run(_ADD_REQUEST, {**params, "created_at": now}) if requested else tx.run(_DELETE_REQUEST, params))


async def is_analysis_requested(tx: Tx, user_id: int, feed_id: int) -> bool:
    return await tx.one(_HAS_REQUEST, {"user_id": user_id, "feed_id": feed_id}) is not None


async def root_domains(tx: Tx) -> list[tuple[str, int]]:
    """Each root domain with its number of feeds."""
    return await tx.all(_ROOTS, {})


async def served_feeds_of(tx: Tx, root: str) -> list[int]:
    return await tx.all(_OF_ROOT, {"root": root})


async def copy_framing(tx: Tx, old: int, new: int) -> None:
    """When a feed is merged into another, copy its requests and settings to the other."""
    await tx.run(_COPY_REQUESTS, {"old": old, "new": new})
    await tx.run(_COPY_SETTINGS, {"old": old, "new": new})
