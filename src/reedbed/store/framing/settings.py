"""Which feeds are deframed: the operator's settings, and the wishes of those who follow."""

from collections.abc import Sequence

from sqlalchemy import BigInteger, ColumnElement, and_, bindparam, delete, exists, or_, true
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.framing import FeedFraming
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Statement, among, func, select
from reedbed.store.tables import feed_framing, feeds, framing_wishes, subscriptions


@record
class FramedFeed:
    """What must be known of a feed before its entries are read."""

    url: str
    language: str | None
    framing: FeedFraming | None


_NAMES = ("deframe", "root_domain", "enforce_domain", "prompt")
_COLUMNS = tuple(feed_framing.c[name] for name in _NAMES)


def is_public() -> ColumnElement[bool]:
    """Nobody's private feed, no mail, nothing behind a password: may stand behind a public door."""
    return and_(
        feeds.c.owner_id.is_(None),
        feeds.c.kind == "web",
        feeds.c.username.is_(None),
        feeds.c.deleted_at.is_(None),
    )


def is_served() -> ColumnElement[bool]:
    """And the operator has opened the door."""
    return and_(is_public(), feeds.c.enabled == true(), feed_framing.c.deframe == true())


_wishing = (
    framing_wishes.c.feed_id == feeds.c.id,
    subscriptions.c.user_id == framing_wishes.c.user_id,
    subscriptions.c.feed_id == framing_wishes.c.feed_id,
    subscriptions.c.unsubscribed_at.is_(None),
)
_GET = Statement(select(*_COLUMNS).where(feed_framing.c.feed_id == bindparam("feed_id")))
_new = insert(feed_framing).values({name: bindparam(name) for name in ("feed_id", *_NAMES)})
_PUT = Statement(
    _new.on_conflict_do_update(
        index_elements=["feed_id"], set_={name: _new.excluded[name] for name in _NAMES}
    )
)
_DROP = Statement(delete(feed_framing).where(feed_framing.c.feed_id == bindparam("feed_id")))
_LOCK = Statement(
    select(feed_framing.c.feed_id)
    .where(among(feed_framing.c.feed_id, "ids"))
    .order_by(feed_framing.c.feed_id)
    .with_for_update()
)
_WANTED = Statement(
    select(feeds.c.id)
    .join_from(feeds, feed_framing, feed_framing.c.feed_id == feeds.c.id, isouter=True)
    .where(
        among(feeds.c.id, "ids"),
        or_(is_served(), exists().where(*_wishing)),
    )
)
_SERVED = Statement(
    select(feeds.c.id)
    .join_from(feeds, feed_framing, feed_framing.c.feed_id == feeds.c.id)
    .where(feeds.c.id == bindparam("feed_id"), is_served())
)
_WISHERS = Statement(
    select(framing_wishes.c.user_id)
    .join_from(
        framing_wishes,
        subscriptions,
        and_(
            subscriptions.c.user_id == framing_wishes.c.user_id,
            subscriptions.c.feed_id == framing_wishes.c.feed_id,
            subscriptions.c.unsubscribed_at.is_(None),
        ),
    )
    .where(framing_wishes.c.feed_id == bindparam("feed_id"))
    .order_by(framing_wishes.c.created_at, framing_wishes.c.user_id)
    .limit(bindparam("most"))
)
_WISH = Statement(
    insert(framing_wishes)
    .values({name: bindparam(name) for name in ("user_id", "feed_id", "created_at")})
    .on_conflict_do_nothing()
)
_one_wish = (
    framing_wishes.c.user_id == bindparam("user_id"),
    framing_wishes.c.feed_id == bindparam("feed_id"),
)
_UNWISH = Statement(delete(framing_wishes).where(*_one_wish))
_WISHED = Statement(select(framing_wishes.c.feed_id).where(*_one_wish))
_ROOTS = Statement(
    select(feed_framing.c.root_domain, func.count())
    .join_from(feed_framing, feeds, feeds.c.id == feed_framing.c.feed_id)
    .where(feed_framing.c.root_domain.is_not(None), feeds.c.deleted_at.is_(None))
    .group_by(feed_framing.c.root_domain)
    .order_by(feed_framing.c.root_domain)
)
_OF_ROOT = Statement(
    select(feeds.c.id)
    .join_from(feed_framing, feeds, feeds.c.id == feed_framing.c.feed_id)
    .where(feed_framing.c.root_domain == bindparam("root"), is_served())
    .order_by(feeds.c.id)
)
_ABOUT = Statement(
    select(feeds.c.url, feeds.c.language, feed_framing.c.feed_id, *_COLUMNS)
    .join_from(feeds, feed_framing, feed_framing.c.feed_id == feeds.c.id, isouter=True)
    .where(feeds.c.id == bindparam("feed_id"))
)
_COPY_WISHES = Statement(
    insert(framing_wishes)
    .from_select(
        ["user_id", "feed_id", "created_at"],
        select(
            framing_wishes.c.user_id, bindparam("new", type_=BigInteger), framing_wishes.c.created_at
        ).where(framing_wishes.c.feed_id == bindparam("old", type_=BigInteger)),
    )
    .on_conflict_do_nothing()
)
_COPY_SETTINGS = Statement(
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
    row = await tx.one(_GET, {"feed_id": feed_id})
    return None if row is None else FeedFraming(bool(row[0]), row[1], bool(row[2]), row[3])


async def about(tx: Tx, feed_id: int) -> FramedFeed | None:
    row = await tx.one(_ABOUT, {"feed_id": feed_id})
    if row is None:
        return None
    set_up = row["feed_id"] is not None
    framing = FeedFraming(bool(row[3]), row[4], bool(row[5]), row[6]) if set_up else None
    return FramedFeed(row["url"], row["language"], framing)


async def put(tx: Tx, feed_id: int, settings: FeedFraming) -> None:
    await tx.run(_PUT, {"feed_id": feed_id, **{name: getattr(settings, name) for name in _NAMES}})


async def drop(tx: Tx, feed_id: int) -> None:
    await tx.run(_DROP, {"feed_id": feed_id})


async def lock(tx: Tx, feed_ids: Sequence[int]) -> list[int]:
    """Those of these feeds that the operator has settings for; nobody else builds their documents now."""
    return [row[0] for row in await tx.all(_LOCK, {"ids": list(feed_ids)})] if feed_ids else []


async def wanted(tx: Tx, feed_ids: Sequence[int]) -> list[int]:
    """Those of these feeds whose new entries are to be read: by the operator's wish or a follower's."""
    return [row[0] for row in await tx.all(_WANTED, {"ids": list(feed_ids)})] if feed_ids else []


async def is_for_all_users(tx: Tx, feed_id: int) -> bool:
    return await tx.value(_SERVED, {"feed_id": feed_id}) is not None


async def wishers(tx: Tx, feed_id: int, *, most: int = 20) -> list[int]:
    """Who follows this feed and wants it read, those who said so first at the head."""
    return [row[0] for row in await tx.all(_WISHERS, {"feed_id": feed_id, "most": most})]


async def set_wish(tx: Tx, user_id: int, feed_id: int, now: Instant, *, wished: bool) -> None:
    params = {"user_id": user_id, "feed_id": feed_id}
    await (tx.run(_WISH, {**params, "created_at": now}) if wished else tx.run(_UNWISH, params))


async def is_wished(tx: Tx, user_id: int, feed_id: int) -> bool:
    return await tx.value(_WISHED, {"user_id": user_id, "feed_id": feed_id}) is not None


async def root_domains(tx: Tx) -> list[tuple[str, int]]:
    """Each with its number of feeds."""
    return [(row[0], row[1]) for row in await tx.all(_ROOTS, {})]


async def served_feeds_of(tx: Tx, root: str) -> list[int]:
    return [row[0] for row in await tx.all(_OF_ROOT, {"root": root})]


async def carry_over(tx: Tx, old: int, new: int) -> None:
    """One feed becomes part of another: what was wished for it is wished for the other."""
    await tx.run(_COPY_WISHES, {"old": old, "new": new})
    await tx.run(_COPY_SETTINGS, {"old": old, "new": new})
