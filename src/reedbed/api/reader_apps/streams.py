"""Google Reader streams: resolve stream ids to queries and return item ids, items or Atom."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from fastapi import Response

from reedbed.api.reader_apps.common import Params, ReaderCall, json, text
from reedbed.domain.articles import content_for_programs
from reedbed.domain.entries import Entry, StreamItem, StreamQuery
from reedbed.domain.errors import Invalid
from reedbed.domain.feed_writer import READER, Category, FeedDocument, FeedItem, FeedSource, write_atom
from reedbed.domain.feeds import Enclosure
from reedbed.domain.pagination import Order
from reedbed.domain.reader_apps import (
    EMPTY_STATES,
    READING_LIST,
    FeedStream,
    Labels,
    LabelStream,
    StateStream,
    Stream,
    decode_continuation,
    encode_continuation,
    feed_name,
    label_name,
    labels_of,
    long_id,
    parse_item_id,
    parse_newest,
    parse_oldest,
    parse_stream,
    state_name,
    stream_name,
)
from reedbed.domain.records import record
from reedbed.domain.subscriptions import Followed, Origin, all_folders
from reedbed.domain.times import SECOND, Instant
from reedbed.services.images import Pictures
from reedbed.services.translations.manage import in_own_language
from reedbed.store import folders, reader_apps, sidebar, subscriptions, tags
from reedbed.store.engine.database import Tx
from reedbed.store.entries import read as entries

# --- Stream ids

_ATOM_ID = "tag:google.com,2005:reader/"
_READER_STATES = "http://www.google.com/reader/"
_FRESH = state_name("fresh")
MAX_FILTERS = 200


@record
class StreamTarget:
    """What a stream id refers to: a state, feeds or tags. A label can mean both a folder and a tag."""

    name: str
    title: str
    state: str | None = None
    feed_ids: tuple[int, ...] | None = None
    tags: tuple[str, ...] = ()


class Directory:
    """Resolves the stream ids of a user; loads labels and subscriptions on first use."""

    def __init__(self, tx: Tx, user_id: int) -> None:
        self._tx, self._user_id = tx, user_id
        self._labels: Labels | None = None
        self._followed: list[Followed] | None = None

    async def labels(self) -> Labels:
        if self._labels is None:
            rows = await folders.of_user(self._tx, self._user_id)
            self._labels = labels_of(rows, await tags.names(self._tx, self._user_id))
        return self._labels

    async def followed(self) -> list[Followed]:
        if self._followed is None:
            self._followed = await reader_apps.list_followed(self._tx, self._user_id)
        return self._followed

    async def find(self, text: str) -> StreamTarget | None:
        """None if the user has no such stream."""
        for spelling in _spellings(text):
            stream = parse_stream(spelling)
            target = await self._target(stream) if stream else None
            if target is not None:
                return target
        return None

    async def _target(self, stream: Stream) -> StreamTarget | None:
        match stream:
            case StateStream(state):
                return StreamTarget(stream_name(stream), state.replace("-", " ").capitalize(), state=state)
            case LabelStream(name):
                return await self._label(name)
            case FeedStream(feed_id, url):
                return await self._feed(feed_id, url)

    async def _label(self, name: str) -> StreamTarget | None:
        """Only the folder's own feeds, because apps show subfolders as separate labels. Muted feeds are left out."""
        labels = await self.labels()
        folder_ids, tag = labels.folder_ids(name), labels.tag(name)
        if not folder_ids and tag is None:
            return None
        feeds = None
        if folder_ids:
            unmuted = (feed for feed in await self.followed() if not feed.is_muted)
            feeds = tuple(feed.feed_id for feed in unmuted if not set(folder_ids).isdisjoint(feed.folder_ids))
        title = labels.folders[folder_ids[0]] if folder_ids else name
        return StreamTarget(stream_name(LabelStream(title)), title, feed_ids=feeds, tags=(tag,) if tag else ())

    async def _feed(self, feed_id: int | None, url: str) -> StreamTarget | None:
        if feed_id is not None:
            row = await subscriptions.get_by_feed(self._tx, self._user_id, feed_id)
            return _feed_target(feed_id) if row and row[1] else None
        match = next((feed for feed in await self.followed() if feed.is_at(url)), None)
        return _feed_target(match.feed_id, match.title) if match else None


def _feed_target(feed_id: int, title: str = "") -> StreamTarget:
    return StreamTarget(stream_name(FeedStream(feed_id, "")), title, feed_ids=(feed_id,))


def _spellings(text: str) -> Iterator[str]:
    """Possible spellings of a stream id: proxies and apps escape it differently and add slashes."""
    yield text
    if "%" in text:
        yield unquote(text)
    if "+" in text:
        yield unquote(text.replace("+", " "))
    if text.endswith("/"):
        yield from _spellings(text.rstrip("/"))


# --- Stream requests to queries


@record
class StreamRequest:
    target: StreamTarget
    query: StreamQuery | None
    """None if nothing can match."""
    order: Order


async def read_stream(tx: Tx, user_id: int, streams: Sequence[str], params: Params) -> StreamRequest:
    """Raises `Invalid` for an unknown stream: ignoring it would widen the selection."""
    directory = Directory(tx, user_id)
    target = await _resolve_all(directory, streams)
    order: Order = "oldest" if params.one("r") == "o" else "newest"
    after_id = None
    if token := params.one("c"):
        after_id, token_order = decode_continuation(token)
        order = token_order or order
    since, until = parse_oldest(params.one("ot")), parse_newest(params.one("nt"))
    everything = StreamQuery(without_muted=True, order=order, after_id=after_id, since=since, until=until)
    query = _include(everything, target)
    for name in _unique_streams(params.all("it")):
        included = await directory.find(name)
        query = _include(query, included) if query and included else None
    for name in _unique_streams(params.all("xt")):
        excluded = await directory.find(name)
        query = _exclude(query, excluded) if query and excluded else query
    return StreamRequest(target, query, order)


async def _resolve_all(directory: Directory, texts: Sequence[str]) -> StreamTarget:
    results = [await directory.find(text) for text in _unique_streams(texts)]
    targets = [target for target in results if target is not None]
    if not targets or len(targets) < len(results):
        raise Invalid("There is no such stream.", field="s")
    return targets[0] if len(targets) == 1 else _union(targets)


def _union(targets: Sequence[StreamTarget]) -> StreamTarget:
    """Union of the targets. Always-empty states add nothing; the reading list includes everything."""
    relevant = [target for target in targets if target.state not in EMPTY_STATES] or targets[:1]
    if everything := next((target for target in relevant if target.state == READING_LIST.name), None):
        return everything
    if len(relevant) == 1:
        return relevant[0]
    if any(target.state is not None for target in relevant):
        raise Invalid("Only feeds and labels can be asked for together.", field="s")
    feeds = dict.fromkeys(feed for target in relevant for feed in target.feed_ids or ())
    tags = dict.fromkeys(tag for target in relevant for tag in target.tags)
    return replace(relevant[0], feed_ids=tuple(feeds), tags=tuple(tags))


def _unique_streams(texts: Iterable[str]) -> list[str]:
    unique = [text for text in dict.fromkeys(texts) if text.strip()]
    if len(unique) > MAX_FILTERS:
        raise Invalid("At most %(limit)s streams in one call.", field="s", limit=MAX_FILTERS)
    return unique


def _include(query: StreamQuery, target: StreamTarget) -> StreamQuery | None:
    match target.state:
        case None:
            return _include_feeds_and_tags(query, target)
        case "read" | "unread":
            read = target.state == "read"
            return None if query.read is (not read) else replace(query, read=read)
        case "starred":
            return None if query.starred is False else replace(query, starred=True)
        case state:
            return None if state in EMPTY_STATES else query


def _include_feeds_and_tags(query: StreamQuery, target: StreamTarget) -> StreamQuery | None:
    feeds, tags = target.feed_ids, target.tags
    if feeds is None:
        return replace(query, tags=tuple(dict.fromkeys((*query.tags, *tags))))
    if query.feed_ids is None:
        return replace(query, feed_ids=feeds, or_tags=tags)
    if query.or_tags:
        return replace(query, only_feed_ids=_intersection(query.only_feed_ids, feeds))
    if tags:
        return replace(query, feed_ids=feeds, or_tags=tags, only_feed_ids=query.feed_ids)
    return replace(query, feed_ids=_intersection(query.feed_ids, feeds))


def _intersection(ids: tuple[int, ...] | None, others: tuple[int, ...]) -> tuple[int, ...]:
    return others if ids is None else tuple(id for id in others if id in ids)


def _exclude(query: StreamQuery, target: StreamTarget) -> StreamQuery | None:
    match target.state:
        case None:
            return replace(
                query,
                without_feed_ids=(*query.without_feed_ids, *(target.feed_ids or ())),
                without_tags=(*query.without_tags, *target.tags),
            )
        case "read" | "unread":
            read = target.state == "unread"
            return None if query.read is (not read) else replace(query, read=read)
        case "starred":
            return None if query.starred else replace(query, starred=False)
        case state:
            return None if state == READING_LIST.name else query


# --- Items as JSON

LATEST_SECOND = 2**31 - 1
"""newsboat stores seconds in 32 bits."""

_READING_LIST, _READ, _STARRED = state_name("reading-list"), state_name("read"), state_name("starred")


@record
class Contents:
    entries: Sequence[Entry]
    origins: dict[int, Origin]
    labels: Labels
    pictures: Pictures


async def read_contents(tx: Tx, call: ReaderCall, ids: list[int]) -> Contents:
    """Runs at most four statements, for any number of entries, and two more for translations."""
    user_id = call.user_id
    rows = await entries.by_ids(tx, user_id, ids) if ids else []
    if rows and call.runtime.ai.translator is not None:
        rows = await in_own_language(tx, call.runtime, call.caller.user, rows)
    feed_ids = list({entry.row.feed_id for entry in rows})
    origins = await sidebar.origins(tx, user_id, feed_ids) if feed_ids else {}
    labels = labels_of(await folders.of_user(tx, user_id))
    return Contents(rows, origins, labels, call.pictures)


def items(contents: Contents) -> list[dict[str, Any]]:
    return [_item_json(entry, contents) for entry in contents.entries]


def shown_content(entry: Entry, contents: Contents) -> str:
    full_text = contents.origins[entry.row.feed_id].full_text
    return contents.pictures.in_html(content_for_programs(entry, full_text))


def seconds(time: Instant) -> int:
    return min(max(time // SECOND, 0), LATEST_SECOND)


def microseconds(time: Instant) -> str:
    return f"{time}000"


def _item_json(entry: Entry, contents: Contents) -> dict[str, Any]:
    row = entry.row
    origin, labels = contents.origins[row.feed_id], contents.labels
    published = row.published_at if row.published_at is not None else row.sort_at
    # Apps use the first URL without checking, so there must always be one.
    url = row.url or entry.external_url or origin.site_url or origin.url
    item: dict[str, Any] = {
        "id": long_id(row.id),
        "crawlTimeMsec": str(row.fetched_at),
        "timestampUsec": microseconds(row.fetched_at),
        "published": seconds(published),
        "updated": seconds(row.changed_at if row.changed_at is not None else published),
        "title": row.title,
        "canonical": [{"href": url}],
        "alternate": [{"href": url, "type": "text/html"}],
        "summary": {"direction": "ltr", "content": shown_content(entry, contents)},
        "categories": _categories(entry, origin, labels),
        "origin": {"streamId": feed_name(row.feed_id), "title": origin.title, "htmlUrl": origin.site_url or origin.url},
    }
    if row.author:
        item["author"] = row.author
    if entry.enclosures:
        item["enclosure"] = [_enclosure_json(enclosure) for enclosure in entry.enclosures]
    return item


def _categories(entry: Entry, origin: Origin, labels: Labels) -> list[str]:
    states = entry.row.states
    names = [_READING_LIST]
    inside = all_folders(origin.folder_id, origin.other_folders)
    names += [label_name(labels.folders[id_]) for id_ in inside if id_ in labels.folders]
    names += [label for tag in states.tags if (label := label_name(tag)) not in names]
    if states.read:
        names.append(_READ)
    if states.starred:
        names.append(_STARRED)
    return names


def _enclosure_json(enclosure: Enclosure) -> dict[str, Any]:
    return {"href": enclosure.url, "type": enclosure.type or "", "length": enclosure.length or 0}


# --- Endpoints

DEFAULT_COUNT = 20
MAX_IDS = 10_000
MAX_ITEMS = 1_000


async def item_ids(call: ReaderCall) -> Response:
    limit = _read_limit(call.params, MAX_IDS)
    async with call.runtime.db.read() as tx:
        stream = await read_stream(tx, call.user_id, call.params.all("s"), call.params)
        page, continuation = await _read_page(tx, call.user_id, stream, limit)
    refs: list[dict[str, Any]] = [
        {
            "id": str(item.id),
            "directStreamIds": [feed_name(item.feed_id)],
            "timestampUsec": microseconds(item.fetched_at),
        }
        for item in page
    ]
    if not refs and call.params.one("client") == "newsplus":
        # News+ cannot read an empty list.
        refs = [{"id": "0", "directStreamIds": [], "timestampUsec": "0"}]
    return json({"itemRefs": refs, **continuation})


async def item_count(call: ReaderCall) -> Response:
    """Return the count as plain text, followed by the day of the newest entry if `a=true`."""
    async with call.runtime.db.read() as tx:
        stream = await read_stream(tx, call.user_id, call.params.all("s"), call.params)
        count, newest = await entries.length(tx, call.user_id, stream.query) if stream.query else (0, None)
    if call.params.one("a") != "true" or newest is None:
        return text(str(count))
    return text(f"{count}#{datetime.fromtimestamp(newest / SECOND, UTC):%B %d, %Y}")


async def item_contents(call: ReaderCall) -> Response:
    ids = read_item_ids(call.params)
    if len(ids) > MAX_ITEMS:
        raise Invalid("At most %(limit)s items in one call.", field="i", limit=MAX_ITEMS)
    async with call.runtime.db.read() as tx:
        contents = await read_contents(tx, call, ids)
    return json(_stream_json(call, stream_name(READING_LIST), "Reading list", items(contents), {}))


async def stream_contents(call: ReaderCall, stream: str) -> Response:
    return json(await _read_stream_contents(call, stream))


async def stream_atom(call: ReaderCall, stream: str) -> Response:
    """newsboat in feedhq mode reads each feed as Atom."""
    contents = await _read_stream_contents(call, stream)
    feed = FeedDocument(
        id=f"{_ATOM_ID}{contents['id']}",
        title=contents["title"],
        self_url=str(call.request.url),
        updated=contents["updated"] * SECOND,
        continuation=contents.get("continuation", ""),
        namespaces={"gr": READER},
    )
    return Response(write_atom(feed, map(_atom_item, contents["items"])), media_type="application/atom+xml")


def _atom_item(item: dict[str, Any]) -> FeedItem:
    """newsboat reads the read state from the labels of categories."""
    terms = [*item["categories"], *(() if _READ in item["categories"] else (_FRESH,))]
    origin = item["origin"]
    return FeedItem(
        id=item["id"],
        title=item["title"],
        content_html=item["summary"]["content"],
        published=item["published"] * SECOND,
        updated=item["updated"] * SECOND,
        url=item["alternate"][0]["href"],
        author=item.get("author"),
        categories=tuple(map(_category, terms)),
        enclosures=[(enclosure["href"], enclosure["type"]) for enclosure in item.get("enclosure", ())],
        source=FeedSource(origin["title"], f"{_ATOM_ID}{origin['streamId']}", home_url=origin["htmlUrl"]),
    )


def _category(term: str) -> Category:
    """Only states get the scheme, so a tag called "read" does not change the read state."""
    kind, _, label = term.partition("/-/")[2].partition("/")
    return Category(term, label) if kind == "label" else Category(term, term.rpartition("/")[2], _READER_STATES)


async def _read_stream_contents(call: ReaderCall, stream: str) -> dict[str, Any]:
    """The default stream is the reading list: NewsFlash, Fluent Reader and FeedMe send none."""
    limit = _read_limit(call.params, MAX_ITEMS)
    streams = [stream] if stream else call.params.all("s") or [stream_name(READING_LIST)]
    async with call.runtime.db.read() as tx:
        requested = await read_stream(tx, call.user_id, streams, call.params)
        page, continuation = await _read_page(tx, call.user_id, requested, limit)
        contents = await read_contents(tx, call, [item.id for item in page])
    title = requested.target.title or next((origin.title for origin in contents.origins.values()), "")
    return _stream_json(call, requested.target.name, title, items(contents), continuation)


def read_item_ids(params: Params) -> list[int]:
    """The valid item ids. Invalid ones are skipped, so they do not fail the whole call."""
    texts = params.all("i")
    if not texts:
        raise Invalid("No item was named.", field="i")
    return list(dict.fromkeys(id for text in texts if (id := parse_item_id(text)) is not None))


async def _read_page(
    tx: Tx, user_id: int, stream: StreamRequest, limit: int
) -> tuple[Sequence[StreamItem], dict[str, str]]:
    """Read one more than `limit` to know whether there is a next page."""
    if stream.query is None:
        return (), {}
    rows = await entries.ids_page(tx, user_id, stream.query, limit + 1)
    if len(rows) <= limit:
        return rows, {}
    page = rows[:limit]
    return page, {"continuation": encode_continuation(page[-1].id, stream.order)}


def _read_limit(params: Params, maximum: int) -> int:
    text = params.one("n").strip()
    if not text.isascii() or not text.isdigit() or len(text) > 18 or int(text) == 0:
        return DEFAULT_COUNT
    return min(int(text), maximum)


def _stream_json(
    call: ReaderCall, name: str, title: str, items: list[dict[str, Any]], continuation: dict[str, str]
) -> dict[str, Any]:
    newest = max((item["updated"] for item in items), default=seconds(call.runtime.now()))
    return {
        "direction": "ltr",
        "id": name,
        "title": title,
        "author": "",
        "updated": newest,
        "items": items,
        **continuation,
    }
