"""Finding an entry by its address, and giving a saved page its words."""

from collections.abc import Sequence

from sqlalchemy import BigInteger, bindparam, delete, exists, or_, update
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.articles import ArticleSelectors
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Row, Tx
from reedbed.store.engine.statements import Statement, among, func, select
from reedbed.store.entries.columns import visible
from reedbed.store.entries.write import NewEntryText
from reedbed.store.tables import (
    article_selectors,
    entries,
    entry_bodies,
    entry_summaries,
    feeds,
    subscriptions,
)
from reedbed.store.visibility import shows

_NOTE_ATTEMPT = Statement(
    update(entry_bodies)
    .where(entry_bodies.c.entry_id == bindparam("id"))
    .values(full_attempted_at=bindparam("now"))
)
_KEEP = Statement(
    update(entry_bodies)
    .where(entry_bodies.c.entry_id == bindparam("id"))
    .values(full_content=bindparam("content"), full_attempted_at=bindparam("now"))
)
_OUTDATED = Statement(
    delete(entry_summaries).where(
        entry_summaries.c.entry_id == bindparam("id"),
        entry_summaries.c.of_full,
        exists().where(
            entry_bodies.c.entry_id == bindparam("id"), entry_bodies.c.full_content != bindparam("content")
        ),
    )
)
_ALWAYS_WANTED = Statement(
    select(subscriptions.c.feed_id)
    .distinct()
    .join_from(subscriptions, feeds, feeds.c.id == subscriptions.c.feed_id)
    .where(
        among(subscriptions.c.feed_id, "ids"),
        subscriptions.c.unsubscribed_at.is_(None),
        subscriptions.c.full_text == "always",
        feeds.c.kind == "web",
    )
)
_MISSING = Statement(
    select(entries.c.id, entries.c.url)
    .join_from(entries, entry_bodies, entry_bodies.c.entry_id == entries.c.id)
    .outerjoin(article_selectors, article_selectors.c.feed_id == entries.c.feed_id)
    .where(
        among(entries.c.id, "ids"),
        entries.c.url.is_not(None),
        # Never, or with other selectors than the feed has now.
        func.coalesce(entry_bodies.c.full_attempted_at, -1)
        < func.coalesce(article_selectors.c.changed_at, 0),
    )
    .order_by(entries.c.id)
)
_GIVEN = Statement(select(entry_bodies.c.content).where(entry_bodies.c.entry_id == bindparam("id")))
_READ_WHOLE = Statement(
    select(entry_bodies.c.entry_id).where(
        among(entry_bodies.c.entry_id, "ids"), entry_bodies.c.full_content.is_not(None)
    )
)
_USER = bindparam("user_id", type_=BigInteger)
_SEEN_AT = Statement(
    select(entries.c.id)
    .where(
        # Feed by feed, since that is how addresses are indexed.
        or_(
            entries.c.feed_id.in_(select(subscriptions.c.feed_id).where(subscriptions.c.user_id == _USER)),
            entries.c.feed_id.in_(select(feeds.c.id).where(feeds.c.owner_id == _USER)),
        ),
        entries.c.normalized_url == bindparam("address"),
        visible(),
    )
    .order_by(entries.c.id.desc())
    .limit(1)
)


async def record_attempt(tx: Tx, entry_id: int, now: Instant) -> None:
    await tx.run(_NOTE_ATTEMPT, {"id": entry_id, "now": now})


async def save(tx: Tx, entry_id: int, content: str, now: Instant) -> None:
    """Read anew it may be another text, with other selectors; then nobody sees the summary of the old one."""
    await tx.run(_OUTDATED, {"id": entry_id, "content": content})
    await tx.run(_KEEP, {"id": entry_id, "content": content, "now": now})


async def wants_full_text(tx: Tx, feed_ids: Sequence[int]) -> list[int]:
    """Of these feeds, those with a follower who chose to read its articles whole."""
    return [row[0] for row in await tx.all(_ALWAYS_WANTED, {"ids": list(feed_ids)})]


async def seen_at(tx: Tx, user_id: int, address: str) -> int | None:
    """The newest entry with this normalised address that the user sees."""
    return await tx.value(_SEEN_AT, {"user_id": user_id, "address": address})


async def never_tried(tx: Tx, entry_ids: Sequence[int]) -> list[tuple[int, str]]:
    return [(row[0], row[1]) for row in await tx.all(_MISSING, {"ids": list(entry_ids)})]


async def given(tx: Tx, entry_id: int) -> str:
    """The HTML that the feed gives of this entry."""
    return await tx.value(_GIVEN, {"id": entry_id}) or ""


async def read_whole(tx: Tx, entry_ids: Sequence[int]) -> set[int]:
    """Which of these entries hold their whole article."""
    return {row[0] for row in await tx.all(_READ_WHOLE, {"ids": list(entry_ids)})}


_CHOICE = (article_selectors.c.kept, article_selectors.c.dropped)
_OF_FEED = Statement(select(*_CHOICE).where(article_selectors.c.feed_id == bindparam("feed_id")))
_written = insert(article_selectors)
_PUT = Statement(
    _written.on_conflict_do_update(
        index_elements=["feed_id"],
        set_={name: _written.excluded[name] for name in ("kept", "dropped", "changed_at")},
    ),
    columns=["feed_id", "kept", "dropped", "changed_at"],
)
_CARRY_OVER = Statement(
    insert(article_selectors)
    .from_select(
        ["feed_id", "kept", "dropped", "changed_at"],
        select(bindparam("new", type_=BigInteger), *_CHOICE, article_selectors.c.changed_at).where(
            article_selectors.c.feed_id == bindparam("old")
        ),
    )
    .on_conflict_do_nothing()
)
_STANDING = Statement(
    select(*_CHOICE, entry_bodies.c.full_attempted_at, func.coalesce(article_selectors.c.changed_at, 0))
    .join_from(entries, entry_bodies, entry_bodies.c.entry_id == entries.c.id)
    .outerjoin(article_selectors, article_selectors.c.feed_id == entries.c.feed_id)
    .where(entries.c.id == bindparam("id"))
)
_READ_BEFORE = Statement(
    select(entries.c.id)
    .join_from(entries, entry_bodies, entry_bodies.c.entry_id == entries.c.id)
    .where(
        entries.c.feed_id == bindparam("feed_id"),
        entries.c.audience_id.is_(None),
        entry_bodies.c.full_attempted_at.is_not(None),
    )
    .order_by(entries.c.sort_at.desc(), entries.c.id.desc())
    .limit(bindparam("most"))
)
_NEWEST = Statement(
    select(entries.c.id)
    .where(
        entries.c.feed_id == bindparam("feed_id"),
        entries.c.audience_id.is_(None),
        entries.c.url.is_not(None),
    )
    .order_by(entries.c.sort_at.desc(), entries.c.id.desc())
    .limit(1)
)


@record
class SelectorStatus:
    """How far we are with the whole article of an entry."""

    selectors: ArticleSelectors
    tried_at: Instant | None
    """None also when other selectors have been set since: what was had is out of date."""


async def get_selectors(tx: Tx, feed_id: int) -> ArticleSelectors:
    row = await tx.one(_OF_FEED, {"feed_id": feed_id})
    return ArticleSelectors() if row is None else _selectors(row)


async def set_selectors(tx: Tx, feed_id: int, selectors: ArticleSelectors, now: Instant) -> None:
    kept, dropped = "\n".join(selectors.keep), "\n".join(selectors.drop)
    await tx.run(_PUT, {"feed_id": feed_id, "kept": kept, "dropped": dropped, "changed_at": now})


async def copy_selectors(tx: Tx, old: int, new: int) -> None:
    """One feed becomes part of another; what that one has stays."""
    await tx.run(_CARRY_OVER, {"old": old, "new": new})


async def selector_status(tx: Tx, entry_id: int) -> SelectorStatus:
    row = await tx.one(_STANDING, {"id": entry_id})
    if row is None:
        return SelectorStatus(ArticleSelectors(), None)
    tried_at, changed_at = row[2], row[3]
    current = tried_at is not None and tried_at >= changed_at
    return SelectorStatus(_selectors(row), tried_at if current else None)


async def read_before(tx: Tx, feed_id: int, *, most: int) -> Sequence[int]:
    """The newest entries whose whole article was had or tried for."""
    return [row[0] for row in await tx.all(_READ_BEFORE, {"feed_id": feed_id, "most": most})]


async def newest_saved(tx: Tx, feed_id: int) -> int | None:
    """With an address to read an article from."""
    return await tx.value(_NEWEST, {"feed_id": feed_id})


def _selectors(row: Row) -> ArticleSelectors:
    return ArticleSelectors(tuple((row[0] or "").splitlines()), tuple((row[1] or "").splitlines()))


_words = ("title", "author", "summary", "image", "language", "words")
_BY_ADDRESS = Statement(
    select(entries.c.id)
    .join_from(subscriptions, entries, entries.c.feed_id == subscriptions.c.feed_id)
    .where(
        subscriptions.c.user_id == bindparam("user_id"),
        subscriptions.c.unsubscribed_at.is_(None),
        shows(subscriptions, entries),
        entries.c.normalized_url == bindparam("address"),
    )
    .order_by(entries.c.id.desc())
    .limit(1)
)
_FILL = Statement(
    update(entries)
    .where(entries.c.id == bindparam("entry"))
    .values(
        change_hash=bindparam("new_hash"),
        **{name: bindparam(f"new_{name}") for name in _words},
    )
)
_FILL_BODY = Statement(
    update(entry_bodies)
    .where(entry_bodies.c.entry_id == bindparam("entry"))
    .values(content=bindparam("new_content"), extra=bindparam("new_extra"))
)


async def get_saved_by_url(tx: Tx, user_id: int, normalized_url: str) -> int | None:
    """The newest entry at this address in the feeds this user follows."""
    return await tx.value(_BY_ADDRESS, {"user_id": user_id, "address": normalized_url})


async def fill_saved(tx: Tx, entry_id: int, text: NewEntryText, change_hash: str) -> None:
    """The first words of an entry that was saved by its address; there is no older version to keep."""
    shown = {f"new_{name}": getattr(text, name) for name in _words}
    await tx.run(_FILL, {"entry": entry_id, "new_hash": change_hash, **shown})
    await tx.run(_FILL_BODY, {"entry": entry_id, "new_content": text.content, "new_extra": text.extra})
