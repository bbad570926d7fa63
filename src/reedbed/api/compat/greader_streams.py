"""From what an app asks for (`s`, `it`, `xt`, `ot`, `nt`, `c`, `r`) to one query of the store."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from urllib.parse import unquote

from reedbed.api.compat.params import Params
from reedbed.domain.entries import StreamQuery
from reedbed.domain.errors import Invalid
from reedbed.domain.following import Followed
from reedbed.domain.paging import Order
from reedbed.domain.reader_ids import (
    EMPTY_STATES,
    READING_LIST,
    FeedStream,
    LabelStream,
    StateStream,
    Stream,
    decode_continuation,
    parse_newest,
    parse_oldest,
    parse_stream,
    stream_name,
)
from reedbed.domain.reader_labels import Labels, labels_of
from reedbed.domain.records import record
from reedbed.store import folders, following, subscriptions, tags
from reedbed.store.database import Tx

MOST_FILTERS = 200


@record
class Target:
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
            self._followed = await following.followed(self._tx, self._user_id)
        return self._followed

    async def find(self, text: str) -> Target | None:
        """None for what this user does not have."""
        for reading in _readings(text):
            stream = parse_stream(reading)
            target = await self._target(stream) if stream else None
            if target is not None:
                return target
        return None

    async def _target(self, stream: Stream) -> Target | None:
        match stream:
            case StateStream(state):
                return Target(stream_name(stream), state.replace("-", " ").capitalize(), state=state)
            case LabelStream(name):
                return await self._label(name)
            case FeedStream(feed_id, url):
                return await self._feed(feed_id, url)

    async def _label(self, name: str) -> Target | None:
        """A folder's own feeds: those below it have a label of their own in an app."""
        labels = await self.labels()
        inside, tag = labels.folder_ids(name), labels.tag(name)
        if not inside and tag is None:
            return None
        feeds = (
            tuple(one.feed_id for one in await self.followed() if one.folder_id in inside) if inside else None
        )
        shown = labels.folders[inside[0]] if inside else name
        return Target(stream_name(LabelStream(shown)), shown, feed_ids=feeds, tags=(tag,) if tag else ())

    async def _feed(self, feed_id: int | None, url: str) -> Target | None:
        if feed_id is not None:
            known = await subscriptions.by_feed(self._tx, self._user_id, feed_id)
            return _feed_target(feed_id) if known and known[1] else None
        found = next((one for one in await self.followed() if one.is_at(url)), None)
        return _feed_target(found.feed_id, found.title) if found else None


def _feed_target(feed_id: int, title: str = "") -> Target:
    return Target(stream_name(FeedStream(feed_id, "")), title, feed_ids=(feed_id,))


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
class Asked:
    target: Target
    query: StreamQuery | None
    """None: nothing can match."""
    order: Order


async def read_stream(tx: Tx, user_id: int, streams: Sequence[str], params: Params) -> Asked:
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
    for text in _few(params.all("it")):
        wanted = await directory.find(text)
        query = _with(query, wanted) if query and wanted else None
    for text in _few(params.all("xt")):
        unwanted = await directory.find(text)
        query = _without(query, unwanted) if query and unwanted else query
    return Asked(target, query, order)


async def _find_all(directory: Directory, texts: Sequence[str]) -> Target:
    found = [await directory.find(text) for text in _few(texts)]
    known = [target for target in found if target is not None]
    if not known or len(known) < len(found):
        raise Invalid("There is no such stream.", field="s")
    return known[0] if len(known) == 1 else _together(known)


def _together(targets: Sequence[Target]) -> Target:
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
    if len(each) > MOST_FILTERS:
        raise Invalid(f"At most {MOST_FILTERS} streams in one call.", field="s")
    return each


def _with(query: StreamQuery, target: Target) -> StreamQuery | None:
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


def _within(query: StreamQuery, target: Target) -> StreamQuery | None:
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


def _without(query: StreamQuery, target: Target) -> StreamQuery | None:
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
