"""Streams of Google Reader: the ids in them, and the items themselves."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from fastapi import Response

from reedbed.api.feed_writer import as_reader_atom
from reedbed.api.reader_apps.common import Params, ReaderCall, json, text
from reedbed.domain.articles import content_for_programs
from reedbed.domain.entries import Entry, StreamItem, StreamQuery
from reedbed.domain.errors import Invalid
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
from reedbed.domain.subscriptions import Followed, Origin
from reedbed.domain.times import SECOND, Instant
from reedbed.services.images import Pictures
from reedbed.store import folders, subscriptions, tags
from reedbed.store.engine.database import Tx
from reedbed.store.entries import read as entries

MAX_FILTERS = 200


@record
class StreamTarget:
    """What a stream names: a state, or feeds, or tags; a label may be feeds and a tag at once."""

    name: str
    title: str
    state: str | None = None
    feed_ids: tuple[int, ...] | None = None
    tags: tuple[str, ...] = ()


class Directory:
    """What a user's streams are, read when first asked for."""

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
            self._followed = await subscriptions.list_followed(self._tx, self._user_id)
        return self._followed

    async def find(self, text: str) -> StreamTarget | None:
        """None for what this user does not have."""
        for reading in _readings(text):
            stream = parse_stream(reading)
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
        """A folder's own feeds: those below it have a label of their own in an app."""
        labels = await self.labels()
        inside, tag = labels.folder_ids(name), labels.tag(name)
        if not inside and tag is None:
            return None
        feeds = (
            tuple(one.feed_id for one in await self.followed() if one.folder_id in inside) if inside else None
        )
        shown = labels.folders[inside[0]] if inside else name
        return StreamTarget(
            stream_name(LabelStream(shown)), shown, feed_ids=feeds, tags=(tag,) if tag else ()
        )

    async def _feed(self, feed_id: int | None, url: str) -> StreamTarget | None:
        if feed_id is not None:
            known = await subscriptions.get_by_feed(self._tx, self._user_id, feed_id)
            return _feed_target(feed_id) if known and known[1] else None
        found = next((one for one in await self.followed() if one.is_at(url)), None)
        return _feed_target(found.feed_id, found.title) if found else None


def _feed_target(feed_id: int, title: str = "") -> StreamTarget:
    return StreamTarget(stream_name(FeedStream(feed_id, "")), title, feed_ids=(feed_id,))


def _readings(text: str) -> Iterator[str]:
    """Proxies and apps disagree about how often a name is escaped, and add a slash."""
    yield text
    if "%" in text:
        yield unquote(text)
    if "+" in text:
        yield unquote(text.replace("+", " "))
    if text.endswith("/"):
        yield from _readings(text.rstrip("/"))


@record
class StreamRequest:
    target: StreamTarget
    query: StreamQuery | None
    """None: nothing can match."""
    order: Order


async def read_stream(tx: Tx, user_id: int, streams: Sequence[str], params: Params) -> StreamRequest:
    """Raises `Invalid` for a stream nobody knows: it must never mean a wider set."""
    directory = Directory(tx, user_id)
    target = await _find_all(directory, streams)
    order: Order = "oldest" if params.one("r") == "o" else "newest"
    after_id = None
    if token := params.one("c"):
        after_id, said = decode_continuation(token)
        order = said or order
    query: StreamQuery | None = StreamQuery(
        order=order,
        after_id=after_id,
        since=parse_oldest(params.one("ot")),
        until=parse_newest(params.one("nt")),
    )
    query = _with(query, target)
    for name in _few(params.all("it")):
        wanted = await directory.find(name)
        query = _with(query, wanted) if query and wanted else None
    for name in _few(params.all("xt")):
        unwanted = await directory.find(name)
        query = _without(query, unwanted) if query and unwanted else query
    return StreamRequest(target, query, order)


async def _find_all(directory: Directory, texts: Sequence[str]) -> StreamTarget:
    found = [await directory.find(text) for text in _few(texts)]
    known = [target for target in found if target is not None]
    if not known or len(known) < len(found):
        raise Invalid("There is no such stream.", field="s")
    return known[0] if len(known) == 1 else _together(known)


def _together(targets: Sequence[StreamTarget]) -> StreamTarget:
    """What is in any of them. States that are always empty add nothing, and beside everything all else is."""
    full = [target for target in targets if target.state not in EMPTY_STATES] or targets[:1]
    if everything := next((target for target in full if target.state == READING_LIST.name), None):
        return everything
    if len(full) == 1:
        return full[0]
    if any(target.state is not None for target in full):
        raise Invalid("Only feeds and labels can be asked for together.", field="s")
    feeds = dict.fromkeys(feed for target in full for feed in target.feed_ids or ())
    tags = dict.fromkeys(tag for target in full for tag in target.tags)
    return replace(full[0], feed_ids=tuple(feeds), tags=tuple(tags))


def _few(texts: Iterable[str]) -> list[str]:
    each = [text for text in dict.fromkeys(texts) if text.strip()]
    if len(each) > MAX_FILTERS:
        raise Invalid(f"At most {MAX_FILTERS} streams in one call.", field="s")
    return each


def _with(query: StreamQuery, target: StreamTarget) -> StreamQuery | None:
    match target.state:
        case None:
            return _within(query, target)
        case "read" | "unread":
            wanted = target.state == "read"
            return None if query.read is (not wanted) else replace(query, read=wanted)
        case "starred":
            return None if query.starred is False else replace(query, starred=True)
        case state:
            return None if state in EMPTY_STATES else query


def _within(query: StreamQuery, target: StreamTarget) -> StreamQuery | None:
    feeds, tags = target.feed_ids, target.tags
    if feeds is None:
        return replace(query, tags=tuple(dict.fromkeys((*query.tags, *tags))))
    if query.feed_ids is None:
        return replace(query, feed_ids=feeds, or_tags=tags)
    if query.or_tags:
        return replace(query, only_feed_ids=_both(query.only_feed_ids, feeds))
    if tags:
        return replace(query, feed_ids=feeds, or_tags=tags, only_feed_ids=query.feed_ids)
    return replace(query, feed_ids=_both(query.feed_ids, feeds))


def _both(some: tuple[int, ...] | None, others: tuple[int, ...]) -> tuple[int, ...]:
    return others if some is None else tuple(id for id in others if id in some)


def _without(query: StreamQuery, target: StreamTarget) -> StreamQuery | None:
    match target.state:
        case None:
            return replace(
                query,
                without_feed_ids=(*query.without_feed_ids, *(target.feed_ids or ())),
                without_tags=(*query.without_tags, *target.tags),
            )
        case "read" | "unread":
            wanted = target.state == "unread"
            return None if query.read is (not wanted) else replace(query, read=wanted)
        case "starred":
            return None if query.starred else replace(query, starred=False)
        case state:
            return None if state == READING_LIST.name else query


LATEST_SECOND = 2**31 - 1
"""newsboat reads seconds into 32 bits."""

_READING_LIST, _READ, _STARRED = state_name("reading-list"), state_name("read"), state_name("starred")


@record
class Contents:
    entries: Sequence[Entry]
    origins: dict[int, Origin]
    labels: Labels
    pictures: Pictures


async def read_contents(tx: Tx, user_id: int, ids: list[int], pictures: Pictures) -> Contents:
    """Four statements, however many entries."""
    found = await entries.by_ids(tx, user_id, ids) if ids else []
    feed_ids = list({entry.row.feed_id for entry in found})
    origins = await subscriptions.origins(tx, user_id, feed_ids) if feed_ids else {}
    labels = labels_of(await folders.of_user(tx, user_id))
    return Contents(found, origins, labels, pictures)


def items(contents: Contents) -> list[dict[str, Any]]:
    return [_item(entry, contents) for entry in contents.entries]


def shown_content(entry: Entry, contents: Contents) -> str:
    full_text = contents.origins[entry.row.feed_id].full_text
    return contents.pictures.in_html(content_for_programs(entry, full_text))


def seconds(moment: Instant) -> int:
    return min(max(moment // SECOND, 0), LATEST_SECOND)


def microseconds(moment: Instant) -> str:
    return f"{moment}000"


def _item(entry: Entry, contents: Contents) -> dict[str, Any]:
    row = entry.row
    origin, labels = contents.origins[row.feed_id], contents.labels
    published = row.published_at if row.published_at is not None else row.sort_at
    # Apps take the first address without looking, so there always is one.
    address = row.url or entry.external_url or origin.site_url or origin.url
    item: dict[str, Any] = {
        "id": long_id(row.id),
        "crawlTimeMsec": str(row.fetched_at),
        "timestampUsec": microseconds(row.fetched_at),
        "published": seconds(published),
        "updated": seconds(row.changed_at if row.changed_at is not None else published),
        "title": row.title,
        "canonical": [{"href": address}],
        "alternate": [{"href": address, "type": "text/html"}],
        "summary": {"direction": "ltr", "content": shown_content(entry, contents)},
        "categories": _categories(entry, origin, labels),
        "origin": {
            "streamId": feed_name(row.feed_id),
            "title": origin.title,
            "htmlUrl": origin.site_url or origin.url,
        },
    }
    if row.author:
        item["author"] = row.author
    if entry.enclosures:
        item["enclosure"] = [_enclosure(one) for one in entry.enclosures]
    return item


def _categories(entry: Entry, origin: Origin, labels: Labels) -> list[str]:
    states = entry.row.states
    named = [_READING_LIST]
    if origin.folder_id is not None and origin.folder_id in labels.folders:
        named.append(label_name(labels.folders[origin.folder_id]))
    named += [label for tag in states.tags if (label := label_name(tag)) not in named]
    if states.read:
        named.append(_READ)
    if states.starred:
        named.append(_STARRED)
    return named


def _enclosure(one: Enclosure) -> dict[str, Any]:
    return {"href": one.url, "type": one.type or "", "length": one.length or 0}


DEFAULT_COUNT = 20
MAX_IDS = 10_000
MAX_ITEMS = 1_000


async def item_ids(call: ReaderCall) -> Response:
    wanted = _count(call.params, MAX_IDS)
    async with call.runtime.db.read() as tx:
        asked = await read_stream(tx, call.user_id, call.params.all("s"), call.params)
        found, continuation = await _page(tx, call.user_id, asked, wanted)
    refs: list[dict[str, Any]] = [
        {
            "id": str(item.id),
            "directStreamIds": [feed_name(item.feed_id)],
            "timestampUsec": microseconds(item.fetched_at),
        }
        for item in found
    ]
    if not refs and call.params.one("client") == "newsplus":
        # News+ cannot read an empty list.
        refs = [{"id": "0", "directStreamIds": [], "timestampUsec": "0"}]
    return json({"itemRefs": refs, **continuation})


async def item_count(call: ReaderCall) -> Response:
    """A number in plain text; with `a=true` the day of the newest entry after it."""
    async with call.runtime.db.read() as tx:
        asked = await read_stream(tx, call.user_id, call.params.all("s"), call.params)
        count, newest = await entries.length(tx, call.user_id, asked.query) if asked.query else (0, None)
    if call.params.one("a") != "true" or newest is None:
        return text(str(count))
    return text(f"{count}#{datetime.fromtimestamp(newest / SECOND, UTC):%B %d, %Y}")


async def item_contents(call: ReaderCall) -> Response:
    ids = item_ids_of(call.params)
    if len(ids) > MAX_ITEMS:
        raise Invalid(f"At most {MAX_ITEMS} items in one call.", field="i")
    async with call.runtime.db.read() as tx:
        contents = await read_contents(tx, call.user_id, ids, call.pictures)
    return json(_stream(call, stream_name(READING_LIST), "Reading list", items(contents), {}))


async def stream_contents(call: ReaderCall, stream: str) -> Response:
    return json(await _read_stream_contents(call, stream))


async def stream_atom(call: ReaderCall, stream: str) -> Response:
    """newsboat in its feedhq mode reads each feed as Atom."""
    found = await _read_stream_contents(call, stream)
    return Response(as_reader_atom(found, str(call.request.url)), media_type="application/atom+xml")


async def _read_stream_contents(call: ReaderCall, stream: str) -> dict[str, Any]:
    """Without a stream it is the reading list: NewsFlash, Fluent Reader and FeedMe ask so."""
    wanted = _count(call.params, MAX_ITEMS)
    streams = [stream] if stream else call.params.all("s") or [stream_name(READING_LIST)]
    async with call.runtime.db.read() as tx:
        asked = await read_stream(tx, call.user_id, streams, call.params)
        found, continuation = await _page(tx, call.user_id, asked, wanted)
        contents = await read_contents(tx, call.user_id, [item.id for item in found], call.pictures)
    title = asked.target.title or next((origin.title for origin in contents.origins.values()), "")
    return _stream(call, asked.target.name, title, items(contents), continuation)


def item_ids_of(params: Params) -> list[int]:
    """Those that can be ids of ours: one that cannot does not fail the rest."""
    given = params.all("i")
    if not given:
        raise Invalid("No item was named.", field="i")
    return list(dict.fromkeys(id for named in given if (id := parse_item_id(named)) is not None))


async def _page(
    tx: Tx, user_id: int, asked: StreamRequest, wanted: int
) -> tuple[Sequence[StreamItem], dict[str, str]]:
    """One more is asked for than is given, to know whether there is a next page."""
    if asked.query is None:
        return (), {}
    found = await entries.ids_page(tx, user_id, asked.query, wanted + 1)
    if len(found) <= wanted:
        return found, {}
    shown = found[:wanted]
    return shown, {"continuation": encode_continuation(shown[-1].id, asked.order)}


def _count(params: Params, most: int) -> int:
    wish = params.one("n").strip()
    if not wish.isascii() or not wish.isdigit() or len(wish) > 18 or int(wish) == 0:
        return DEFAULT_COUNT
    return min(int(wish), most)


def _stream(
    call: ReaderCall, name: str, title: str, shown: list[dict[str, Any]], continuation: dict[str, str]
) -> dict[str, Any]:
    newest = max((item["updated"] for item in shown), default=seconds(call.runtime.now()))
    return {
        "direction": "ltr",
        "id": name,
        "title": title,
        "author": "",
        "updated": newest,
        "items": shown,
        **continuation,
    }
