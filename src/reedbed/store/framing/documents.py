"""The public deframed feeds: ready-made documents, and the analysed items they consist of."""

from typing import Any

from sqlalchemy import BigInteger, ClauseElement, and_, bindparam, delete, or_

from reedbed.domain.framing import FeedFraming, FramedFeed, FramedItem
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, QueryFamily, insert, select
from reedbed.store.framing.analyses import ANALYSIS_COLUMNS, read_analysis
from reedbed.store.framing.settings import is_public, is_served
from reedbed.store.tables import (
    analyses,
    entries,
    entry_analyses,
    feed_framing,
    feeds,
    former_addresses,
    framed_documents,
)


@record
class Document:
    content: bytes
    content_hash: str
    items: int
    built_at: Instant


@record
class PublicDocument:
    """The public part of the feed at a URL."""

    feed_id: int
    enabled: bool
    document: Document | None


_public_documents = (
    select(
        feeds.c.id,
        feeds.c.enabled,
        framed_documents.c.content,
        framed_documents.c.content_hash,
        framed_documents.c["items"],
        framed_documents.c.built_at,
    )
    .join_from(feeds, feed_framing, feed_framing.c.feed_id == feeds.c.id)
    .outerjoin(framed_documents, framed_documents.c.feed_id == feeds.c.id)
    .where(is_public(), feed_framing.c.deframe)
)


def _public_document(
    feed_id: int, served: bool, content: bytes, content_hash: str, items: int, built_at: Instant | None
) -> PublicDocument:
    document = None if built_at is None else Document(bytes(content), content_hash, items, built_at)
    return PublicDocument(feed_id, bool(served), document)


_BY_URL = Query(_public_documents.where(feeds.c.url == bindparam("url")), into=_public_document)
_BY_FORMER_URL = Query(
    _public_documents.join(former_addresses, former_addresses.c.feed_id == feeds.c.id).where(
        former_addresses.c.url == bindparam("url")
    ),
    into=_public_document,
)
_DOCUMENT_COLUMNS = ("feed_id", "content", "content_hash", "items", "built_at")
_new_document = insert(framed_documents).values({name: bindparam(name) for name in _DOCUMENT_COLUMNS})
_PUT = Command(
    _new_document.on_conflict_do_update(
        index_elements=["feed_id"], set_={name: _new_document.excluded[name] for name in _DOCUMENT_COLUMNS[1:]}
    )
)
_HASH = Query(
    select(framed_documents.c.content_hash).where(framed_documents.c.feed_id == bindparam("feed_id")), into=str
)
_DELETE = Command(delete(framed_documents).where(framed_documents.c.feed_id == bindparam("feed_id")))


def _framed_feed(*columns: Any) -> FramedFeed:
    *feed, root_domain, enforce_domain = columns
    framing = FeedFraming(deframe=True, root_domain=root_domain, enforce_domain=bool(enforce_domain))
    return FramedFeed(*feed, framing=framing)


_FEED = Query(
    select(
        feeds.c.id,
        feeds.c.url,
        feeds.c.title,
        feeds.c.description,
        feeds.c.site_url,
        feeds.c.language,
        feed_framing.c.root_domain,
        feed_framing.c.enforce_domain,
    )
    .join_from(feeds, feed_framing, feed_framing.c.feed_id == feeds.c.id)
    .where(feeds.c.id == bindparam("feed_id"), is_served()),
    into=_framed_feed,
)
_ITEM = (
    entries.c.id,
    entries.c.feed_id,
    entries.c.guid,
    entries.c.url,
    entries.c.normalized_url,
    entries.c.title.label("title_original"),
    entries.c.summary,
    entries.c.author,
    entries.c.image,
    entries.c.published_at,
    entries.c.sort_at,
    analyses.c.created_at,
)
_items = (
    select(*_ITEM, *ANALYSIS_COLUMNS)
    .join_from(entries, entry_analyses, entry_analyses.c.entry_id == entries.c.id)
    .join(analyses, analyses.c.key == entry_analyses.c.key)
    .where(entries.c.audience_id.is_(None))
)


def _select_newest(limited: bool, continued: bool) -> ClauseElement:
    query = _items.where(entries.c.feed_id == bindparam("feed_id"))
    if limited:
        query = query.where(analyses.c.overall <= bindparam("max_score"))
    if continued:
        query = query.where(
            or_(
                entries.c.sort_at < bindparam("sort_at", type_=BigInteger),
                and_(entries.c.sort_at == bindparam("sort_at"), entries.c.id < bindparam("id")),
            )
        )
    return query.order_by(entries.c.sort_at.desc(), entries.c.id.desc()).limit(bindparam("limit"))


def _item(*columns: Any) -> FramedItem:
    return FramedItem(*columns[: len(_ITEM)], analysis=read_analysis(*columns[len(_ITEM) :]))


_NEWEST = QueryFamily(_select_newest, into=_item)


_BY_URL_HASH = Query(
    _items.join(feeds, feeds.c.id == entries.c.feed_id)
    .join(feed_framing, feed_framing.c.feed_id == feeds.c.id)
    .where(entry_analyses.c.url_hash == bindparam("url_hash"), is_served())
    .order_by(analyses.c.created_at.desc(), entries.c.id.desc())
    .limit(bindparam("limit")),
    into=_item,
)


async def get_public(tx: Tx, url: str) -> PublicDocument | None:
    """The public feed that is or was at this URL; None if there is no such feed."""
    return await tx.one(_BY_URL, {"url": url}) or await tx.one(_BY_FORMER_URL, {"url": url})


async def hash_of(tx: Tx, feed_id: int) -> str | None:
    return await tx.one(_HASH, {"feed_id": feed_id})


async def put(tx: Tx, feed_id: int, document: Document) -> None:
    await tx.run(
        _PUT,
        {
            "feed_id": feed_id,
            "content": document.content,
            "content_hash": document.content_hash,
            "items": document.items,
            "built_at": document.built_at,
        },
    )


async def drop(tx: Tx, feed_id: int) -> None:
    await tx.run(_DELETE, {"feed_id": feed_id})


async def served_feed(tx: Tx, feed_id: int) -> FramedFeed | None:
    """None if the feed is not served."""
    return await tx.one(_FEED, {"feed_id": feed_id})


async def newest(
    tx: Tx, feed_id: int, *, limit: int, max_score: int | None = None, after: FramedItem | None = None
) -> list[FramedItem]:
    """The newest analysed items, with at most `max_score` (in thousandths), older than `after`."""
    params = {"feed_id": feed_id, "limit": limit, "max_score": max_score}
    if after is not None:
        params |= {"sort_at": after.sort_at, "id": after.id}
    return await tx.all(_NEWEST(max_score is not None, after is not None), params)


async def items_by_url_hash(tx: Tx, url_hash: str, *, limit: int = 20) -> list[FramedItem]:
    """The items with this URL in all served feeds, latest analysis first."""
    return await tx.all(_BY_URL_HASH, {"url_hash": url_hash, "limit": limit})
