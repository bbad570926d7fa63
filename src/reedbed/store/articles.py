"""Full articles: their text, the selectors used to extract them, and pages saved by URL."""

from collections.abc import Sequence

from sqlalchemy import BigInteger, bindparam, delete, exists, or_, update

from reedbed.domain.articles import ArticleSelectors
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, among, func, insert, row_of, select
from reedbed.store.entries.columns import visible
from reedbed.store.entries.write import NewEntryText
from reedbed.store.tables import article_selectors, entries, entry_bodies, entry_summaries, feeds, subscriptions
from reedbed.store.visibility import shows

# --- Full text

_RECORD_ATTEMPT = Command(
    update(entry_bodies).where(entry_bodies.c.entry_id == bindparam("id")).values(full_attempted_at=bindparam("now"))
)
_SAVE = Command(
    update(entry_bodies)
    .where(entry_bodies.c.entry_id == bindparam("id"))
    .values(full_content=bindparam("content"), full_attempted_at=bindparam("now"))
)
_DELETE_OUTDATED_SUMMARIES = Command(
    delete(entry_summaries).where(
        entry_summaries.c.entry_id == bindparam("id"),
        entry_summaries.c.of_full,
        exists().where(entry_bodies.c.entry_id == bindparam("id"), entry_bodies.c.full_content != bindparam("content")),
    )
)
_FEEDS_WITH_FULL_TEXT = Query(
    select(subscriptions.c.feed_id)
    .distinct()
    .join_from(subscriptions, feeds, feeds.c.id == subscriptions.c.feed_id)
    .where(
        among(subscriptions.c.feed_id, "ids"),
        subscriptions.c.unsubscribed_at.is_(None),
        subscriptions.c.full_text == "always",
        feeds.c.kind == "web",
    ),
    into=int,
)
_NEVER_TRIED = Query(
    select(entries.c.id, entries.c.url)
    .join_from(entries, entry_bodies, entry_bodies.c.entry_id == entries.c.id)
    .outerjoin(article_selectors, article_selectors.c.feed_id == entries.c.feed_id)
    .where(
        among(entries.c.id, "ids"),
        entries.c.url.is_not(None),
        # Never tried, or tried with other selectors than the feed has now.
        func.coalesce(entry_bodies.c.full_attempted_at, -1) < func.coalesce(article_selectors.c.changed_at, 0),
    )
    .order_by(entries.c.id),
    into=row_of(int, str),
)
_FEED_CONTENT = Query(select(entry_bodies.c.content).where(entry_bodies.c.entry_id == bindparam("id")), into=str)
_WITH_MORE_TEXT = Query(
    select(entry_bodies.c.entry_id).where(
        among(entry_bodies.c.entry_id, "ids"),
        or_(entry_bodies.c.full_content.is_not(None), entry_bodies.c.transcript.is_not(None)),
    ),
    into=int,
)
_USER = bindparam("user_id", type_=BigInteger)
_VISIBLE_BY_URL = Query(
    select(entries.c.id)
    .where(
        # By feed, because the index on URLs starts with the feed.
        or_(
            entries.c.feed_id.in_(select(subscriptions.c.feed_id).where(subscriptions.c.user_id == _USER)),
            entries.c.feed_id.in_(select(feeds.c.id).where(feeds.c.owner_id == _USER)),
        ),
        entries.c.normalized_url == bindparam("address"),
        visible(),
    )
    .order_by(entries.c.id.desc())
    .limit(1),
    into=int,
)


async def record_attempt(tx: Tx, entry_id: int, now: Instant) -> None:
    await tx.run(_RECORD_ATTEMPT, {"id": entry_id, "now": now})


async def save(tx: Tx, entry_id: int, content: str, now: Instant) -> None:
    """Also delete the summary of the old article if the new text differs, for example with new selectors."""
    await tx.run(_DELETE_OUTDATED_SUMMARIES, {"id": entry_id, "content": content})
    await tx.run(_SAVE, {"id": entry_id, "content": content, "now": now})


async def wants_full_text(tx: Tx, feed_ids: Sequence[int]) -> list[int]:
    """Return those of these feeds with a subscriber who always wants the full text."""
    return await tx.all(_FEEDS_WITH_FULL_TEXT, {"ids": list(feed_ids)})


async def seen_at(tx: Tx, user_id: int, url: str) -> int | None:
    """Return the newest entry with this normalized URL that the user can see."""
    return await tx.one(_VISIBLE_BY_URL, {"user_id": user_id, "address": url})


async def never_tried(tx: Tx, entry_ids: Sequence[int]) -> list[tuple[int, str]]:
    return await tx.all(_NEVER_TRIED, {"ids": list(entry_ids)})


async def given(tx: Tx, entry_id: int) -> str:
    """Return the entry's HTML as the feed sent it."""
    return await tx.one(_FEED_CONTENT, {"id": entry_id}) or ""


async def having_more_text(tx: Tx, entry_ids: Sequence[int]) -> set[int]:
    """Return which of these entries have their full article or a transcript."""
    return set(await tx.all(_WITH_MORE_TEXT, {"ids": list(entry_ids)}))


# --- Selectors

_SELECTOR_COLUMNS = (article_selectors.c.kept, article_selectors.c.dropped)


def _selectors(kept: str | None, dropped: str | None) -> ArticleSelectors:
    return ArticleSelectors(tuple((kept or "").splitlines()), tuple((dropped or "").splitlines()))


_GET_SELECTORS = Query(
    select(*_SELECTOR_COLUMNS).where(article_selectors.c.feed_id == bindparam("feed_id")), into=_selectors
)
_new = insert(article_selectors)
_SET_SELECTORS = Command(
    _new.on_conflict_do_update(
        index_elements=["feed_id"], set_={name: _new.excluded[name] for name in ("kept", "dropped", "changed_at")}
    ),
    columns=["feed_id", "kept", "dropped", "changed_at"],
)
_COPY_SELECTORS = Command(
    insert(article_selectors)
    .from_select(
        ["feed_id", "kept", "dropped", "changed_at"],
        select(bindparam("new", type_=BigInteger), *_SELECTOR_COLUMNS, article_selectors.c.changed_at).where(
            article_selectors.c.feed_id == bindparam("old")
        ),
    )
    .on_conflict_do_nothing()
)


@record
class SelectorStatus:
    """The feed's selectors, and whether the entry's full article was tried with them."""

    selectors: ArticleSelectors
    tried_at: Instant | None
    """None also if the selectors changed since, because the article is then out of date."""


def _selector_status(
    kept: str | None, dropped: str | None, tried_at: Instant | None, changed_at: Instant
) -> SelectorStatus:
    current = tried_at is not None and tried_at >= changed_at
    return SelectorStatus(_selectors(kept, dropped), tried_at if current else None)


_SELECTOR_STATUS = Query(
    select(*_SELECTOR_COLUMNS, entry_bodies.c.full_attempted_at, func.coalesce(article_selectors.c.changed_at, 0))
    .join_from(entries, entry_bodies, entry_bodies.c.entry_id == entries.c.id)
    .outerjoin(article_selectors, article_selectors.c.feed_id == entries.c.feed_id)
    .where(entries.c.id == bindparam("id")),
    into=_selector_status,
)
_TRIED_BEFORE = Query(
    select(entries.c.id)
    .join_from(entries, entry_bodies, entry_bodies.c.entry_id == entries.c.id)
    .where(
        entries.c.feed_id == bindparam("feed_id"),
        entries.c.audience_id.is_(None),
        entry_bodies.c.full_attempted_at.is_not(None),
    )
    .order_by(entries.c.sort_at.desc(), entries.c.id.desc())
    .limit(bindparam("limit")),
    into=int,
)
_NEWEST_WITH_URL = Query(
    select(entries.c.id)
    .where(entries.c.feed_id == bindparam("feed_id"), entries.c.audience_id.is_(None), entries.c.url.is_not(None))
    .order_by(entries.c.sort_at.desc(), entries.c.id.desc())
    .limit(1),
    into=int,
)


async def get_selectors(tx: Tx, feed_id: int) -> ArticleSelectors:
    return await tx.one(_GET_SELECTORS, {"feed_id": feed_id}) or ArticleSelectors()


async def set_selectors(tx: Tx, feed_id: int, selectors: ArticleSelectors, now: Instant) -> None:
    keep, drop = "\n".join(selectors.keep), "\n".join(selectors.drop)
    await tx.run(_SET_SELECTORS, {"feed_id": feed_id, "kept": keep, "dropped": drop, "changed_at": now})


async def copy_selectors(tx: Tx, old: int, new: int) -> None:
    """Copy selectors when one feed is merged into another, unless that one has its own."""
    await tx.run(_COPY_SELECTORS, {"old": old, "new": new})


async def selector_status(tx: Tx, entry_id: int) -> SelectorStatus:
    return await tx.one(_SELECTOR_STATUS, {"id": entry_id}) or SelectorStatus(ArticleSelectors(), None)


async def read_before(tx: Tx, feed_id: int, *, limit: int) -> Sequence[int]:
    """Return the newest entries whose full article was fetched or tried."""
    return await tx.all(_TRIED_BEFORE, {"feed_id": feed_id, "limit": limit})


async def newest_with_url(tx: Tx, feed_id: int) -> int | None:
    """Return the newest entry that has a URL."""
    return await tx.one(_NEWEST_WITH_URL, {"feed_id": feed_id})


# --- Saved pages

_TEXT_NAMES = ("title", "author", "summary", "image", "language", "words")
_FOLLOWED_BY_URL = Query(
    select(entries.c.id)
    .join_from(subscriptions, entries, entries.c.feed_id == subscriptions.c.feed_id)
    .where(
        subscriptions.c.user_id == bindparam("user_id"),
        subscriptions.c.unsubscribed_at.is_(None),
        shows(subscriptions, entries),
        entries.c.normalized_url == bindparam("address"),
    )
    .order_by(entries.c.id.desc())
    .limit(1),
    into=int,
)
_FILL = Command(
    update(entries)
    .where(entries.c.id == bindparam("entry"))
    .values(change_hash=bindparam("new_hash"), **{name: bindparam(f"new_{name}") for name in _TEXT_NAMES})
)
_FILL_BODY = Command(
    update(entry_bodies)
    .where(entry_bodies.c.entry_id == bindparam("entry"))
    .values(content=bindparam("new_content"), extra=bindparam("new_extra"))
)


async def get_saved_by_url(tx: Tx, user_id: int, normalized_url: str) -> int | None:
    """Return the newest entry with this URL in the feeds this user is subscribed to."""
    return await tx.one(_FOLLOWED_BY_URL, {"user_id": user_id, "address": normalized_url})


async def fill_saved(tx: Tx, entry_id: int, text: NewEntryText, change_hash: str) -> None:
    """Set the text of an entry that was saved by its URL; there is no older version to keep."""
    values = {f"new_{name}": getattr(text, name) for name in _TEXT_NAMES}
    await tx.run(_FILL, {"entry": entry_id, "new_hash": change_hash, **values})
    await tx.run(_FILL_BODY, {"entry": entry_id, "new_content": text.content, "new_extra": text.extra})
