"""What apps change through the Google Reader API: states of entries, subscriptions, labels, OPML."""

from itertools import zip_longest

from fastapi import Response

from reedbed.api.reader_apps.common import ReaderCall, json, ok, text
from reedbed.api.reader_apps.streams import Directory, StreamTarget, read_item_ids
from reedbed.domain.entries import Selection
from reedbed.domain.errors import Invalid, ReedbedError
from reedbed.domain.reader_apps import (
    EMPTY_STATES,
    FeedStream,
    LabelStream,
    feed_name,
    parse_mark_until,
    parse_stream,
    tag_edit,
)
from reedbed.services.reader_apps import (
    SubscriptionEdit,
    arrange,
    edit_entries,
    follow,
    leave,
    mark_read_until,
    remove_labels,
    rename_label,
    unsubscribed_feed_url,
)
from reedbed.services.transfer.opml import import_opml

MAX_FEEDS = 500


async def edit_tag(call: ReaderCall) -> Response:
    ids = read_item_ids(call.params)
    edit = tag_edit(call.params.all("a"), call.params.all("r"))
    if ids:
        await edit_entries(call.runtime, call.user_id, ids, edit)
    return ok()


async def mark_all_as_read(call: ReaderCall) -> Response:
    now = call.runtime.now()
    until = parse_mark_until(call.params.one("ts"), now)
    selections = [selection for target in await _targets_to_mark(call) for selection in _selections(target)]
    await mark_read_until(call.runtime, call.user_id, selections, None if until >= now else until)
    return ok()


async def _targets_to_mark(call: ReaderCall) -> list[StreamTarget]:
    """All streams to mark. An unknown stream fails the call before anything is marked."""
    names = dict.fromkeys(call.params.all("s")[:MAX_FEEDS]) or [""]
    async with call.runtime.db.read() as tx:
        directory = Directory(tx, call.user_id)
        results = [await directory.find(text) for text in names]
    targets = [target for target in results if target is not None and target.state != "read"]
    if len(targets) < len(results):
        raise Invalid("There is no such stream to mark.", field="s")
    return targets


def _selections(target: StreamTarget) -> list[Selection]:
    if target.state is not None:
        if target.state in EMPTY_STATES:
            return []
        return [Selection(view="starred" if target.state == "starred" else "all")]
    feeds = [] if target.feed_ids is None else [Selection(feed_ids=target.feed_ids)]
    return [*feeds, *(Selection(tag=tag) for tag in target.tags)]


async def subscription_edit(call: ReaderCall) -> Response:
    """Edit each feed separately. The call fails only if every edit failed."""
    params = call.params
    streams = params.all("s")[:MAX_FEEDS]
    titles = params.all("t") or params.all("title")
    failures: list[ReedbedError] = []
    for stream, title in zip_longest(streams, titles[: len(streams)], fillvalue=""):
        placing = SubscriptionEdit(title, _label_names(params.all("a")), _label_names(params.all("r")))
        try:
            await _edit_subscription(call, stream, placing)
        except ReedbedError as error:
            failures.append(error)
    if not streams:
        raise Invalid("No feed was named.", field="s")
    if len(failures) == len(streams):
        raise failures[0]
    return ok()


async def _edit_subscription(call: ReaderCall, text: str, placing: SubscriptionEdit) -> None:
    stream = parse_stream(text)
    if not isinstance(stream, FeedStream):
        raise Invalid("A feed is named feed/ and its address.", field="s")
    match call.params.one("ac"):
        case "subscribe":
            await _subscribe(call, stream, text, placing)
        case "unsubscribe":
            await leave(call.runtime, call.user_id, stream)
        case "edit":
            await _arrange_feed(call, text, placing)
        case _:
            raise Invalid("ac must be subscribe, unsubscribe or edit.", field="ac")


async def _subscribe(call: ReaderCall, stream: FeedStream, text: str, placing: SubscriptionEdit) -> None:
    """A feed id only works for current or former subscriptions, so apps can undo an unsubscribe."""
    url = stream.url or await unsubscribed_feed_url(call.runtime, call.user_id, stream.feed_id)
    if url:
        await follow(call.runtime, call.user_id, url, placing)
    else:
        await _arrange_feed(call, text, placing)


async def _arrange_feed(call: ReaderCall, text: str, placing: SubscriptionEdit) -> None:
    async with call.runtime.db.read() as tx:
        directory = Directory(tx, call.user_id)
        target = await directory.find(text)
        subscribed = await directory.followed()
    match = next((feed for feed in subscribed if target and feed.feed_id in (target.feed_ids or ())), None)
    if match is None:
        raise Invalid("This feed is not followed.", field="s")
    await arrange(call.runtime, call.user_id, match, placing)


async def quickadd(call: ReaderCall) -> Response:
    """Report failures in the body: apps read `numResults`."""
    query = call.params.one("quickadd").strip()
    try:
        feed = await follow(call.runtime, call.user_id, _feed_url(query), SubscriptionEdit())
    except ReedbedError as error:
        return json({"query": query, "numResults": 0, "error": error.message})
    return json({"query": query, "numResults": 1, "streamId": feed_name(feed.feed_id), "streamName": feed.title})


async def import_subscriptions(call: ReaderCall) -> Response:
    """Return the number of feeds in the file: NewsFlash parses the body as a number."""
    report = await import_opml(call.runtime, call.user_id, await _read_opml(call))
    return text(str(report.imported + report.skipped))


async def _read_opml(call: ReaderCall) -> bytes:
    if call.request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        async with call.request.form(max_files=1) as form:
            for _, value in form.multi_items():
                return value.encode() if isinstance(value, str) else await value.read()
            raise Invalid("Choose a file.", field="file")
    return await call.request.body()


async def rename_tag(call: ReaderCall) -> Response:
    old = _label_names(call.params.all("s")) or tuple(call.params.all("t"))
    new = _label_names(call.params.all("dest"))
    if not old or not new:
        raise Invalid("s and dest must be labels.", field="s")
    if old[0] != new[0]:
        await rename_label(call.runtime, call.user_id, old[0], new[0])
    return ok()


async def disable_tag(call: ReaderCall) -> Response:
    names = (*_label_names(call.params.all("s")), *(name for name in call.params.all("t") if name.strip()))
    if not names:
        raise Invalid("s must be a label.", field="s")
    await remove_labels(call.runtime, call.user_id, names)
    return ok()


def _label_names(texts: list[str]) -> tuple[str, ...]:
    streams = (parse_stream(text) for text in texts)
    return tuple(dict.fromkeys(stream.name for stream in streams if isinstance(stream, LabelStream)))


def _feed_url(query: str) -> str:
    stream = parse_stream(query)
    return stream.url if isinstance(stream, FeedStream) and stream.url else query
