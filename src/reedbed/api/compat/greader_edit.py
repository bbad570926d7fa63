"""Changes of Google Reader: states and labels of items, marks, subscriptions, labels themselves."""

from itertools import zip_longest

from fastapi import Response

from reedbed.api.compat.answers import json, ok, text
from reedbed.api.compat.calls import Call
from reedbed.api.compat.greader_contents import item_ids_of
from reedbed.api.compat.greader_streams import Directory, Target
from reedbed.domain.entries import Selection
from reedbed.domain.errors import Invalid, ReedbedError
from reedbed.domain.reader_edits import tag_edit
from reedbed.domain.reader_ids import (
    EMPTY_STATES,
    FeedStream,
    LabelStream,
    feed_name,
    parse_mark_until,
    parse_stream,
)
from reedbed.services.opml import export_opml, import_opml
from reedbed.services.reader_apps import (
    Placing,
    arrange,
    edit_entries,
    follow,
    leave,
    left_feed,
    mark_arrived,
    remove_labels,
    rename_label,
)

MOST_FEEDS = 500


async def edit_tag(call: Call) -> Response:
    ids = item_ids_of(call.params)
    edit = tag_edit(call.params.all("a"), call.params.all("r"))
    if ids:
        await edit_entries(call.runtime, call.user_id, ids, edit)
    return ok()


async def mark_all_as_read(call: Call) -> Response:
    now = call.runtime.now()
    until = parse_mark_until(call.params.one("ts"), now)
    chosen = [selection for target in await _to_mark(call) for selection in _selections(target)]
    await mark_arrived(call.runtime, call.user_id, chosen, None if until >= now else until)
    return ok()


async def _to_mark(call: Call) -> list[Target]:
    """Every stream named; one that nobody knows refuses the call before anything is marked."""
    named = dict.fromkeys(call.params.all("s")[:MOST_FEEDS]) or [""]
    async with call.runtime.db.read() as tx:
        directory = Directory(tx, call.user_id)
        found = [await directory.find(text) for text in named]
    known = [target for target in found if target is not None and target.state != "read"]
    if len(known) < len(found):
        raise Invalid("There is no such stream to mark.", field="s")
    return known


def _selections(target: Target) -> list[Selection]:
    if target.state is not None:
        if target.state in EMPTY_STATES:
            return []
        return [Selection(view="starred" if target.state == "starred" else "all")]
    chosen = [] if target.feed_ids is None else [Selection(feed_ids=target.feed_ids)]
    return [*chosen, *(Selection(tag=tag) for tag in target.tags)]


async def subscription_edit(call: Call) -> Response:
    """Each feed for itself; only when none could be served is the call refused."""
    params = call.params
    streams = params.all("s")[:MOST_FEEDS]
    titles = params.all("t") or params.all("title")
    failures: list[ReedbedError] = []
    for stream, title in zip_longest(streams, titles[: len(streams)], fillvalue=""):
        placing = Placing(title, _labels(params.all("a")), _labels(params.all("r")))
        try:
            await _edit_one(call, stream, placing)
        except ReedbedError as error:
            failures.append(error)
    if not streams:
        raise Invalid("No feed was named.", field="s")
    if len(failures) == len(streams):
        raise failures[0]
    return ok()


async def _edit_one(call: Call, text: str, placing: Placing) -> None:
    stream = parse_stream(text)
    if not isinstance(stream, FeedStream):
        raise Invalid("A feed is named feed/ and its address.", field="s")
    match call.params.one("ac"):
        case "subscribe":
            await _subscribe(call, stream, text, placing)
        case "unsubscribe":
            await leave(call.runtime, call.user_id, stream)
        case "edit":
            await _arrange(call, text, placing)
        case _:
            raise Invalid("ac must be subscribe, unsubscribe or edit.", field="ac")


async def _subscribe(call: Call, stream: FeedStream, text: str, placing: Placing) -> None:
    """By number only what is followed, or was: an app that takes an unsubscription back."""
    url = stream.url or await left_feed(call.runtime, call.user_id, stream.feed_id)
    if url:
        await follow(call.runtime, call.user_id, url, placing)
    else:
        await _arrange(call, text, placing)


async def _arrange(call: Call, text: str, placing: Placing) -> None:
    async with call.runtime.db.read() as tx:
        directory = Directory(tx, call.user_id)
        target = await directory.find(text)
        followed = await directory.followed()
    known = next((one for one in followed if target and one.feed_id in (target.feed_ids or ())), None)
    if known is None:
        raise Invalid("This feed is not followed.", field="s")
    await arrange(call.runtime, call.user_id, known, placing)


async def quickadd(call: Call) -> Response:
    """A failure is an answer, too: apps read `numResults`."""
    query = call.params.one("quickadd").strip()
    try:
        made = await follow(call.runtime, call.user_id, _address(query), Placing())
    except ReedbedError as error:
        return json({"query": query, "numResults": 0, "error": error.message})
    return json(
        {"query": query, "numResults": 1, "streamId": feed_name(made.feed_id), "streamName": made.title}
    )


async def export_subscriptions(call: Call) -> Response:
    headers = {"Content-Disposition": 'attachment; filename="reedbed.opml"'}
    return Response(await export_opml(call.runtime, call.user_id), 200, headers, "text/x-opml; charset=utf-8")


async def import_subscriptions(call: Call) -> Response:
    """How many feeds were in it: NewsFlash reads the answer as a number."""
    report = await import_opml(call.runtime, call.user_id, await _opml(call))
    return text(str(report.imported + report.skipped))


async def _opml(call: Call) -> bytes:
    if call.request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        async with call.request.form(max_files=1) as form:
            for _, value in form.multi_items():
                return value.encode() if isinstance(value, str) else await value.read()
            raise Invalid("Choose a file.", field="file")
    return await call.request.body()


async def rename_tag(call: Call) -> Response:
    old = _labels(call.params.all("s")) or tuple(call.params.all("t"))
    new = _labels(call.params.all("dest"))
    if not old or not new:
        raise Invalid("s and dest must be labels.", field="s")
    if old[0] != new[0]:
        await rename_label(call.runtime, call.user_id, old[0], new[0])
    return ok()


async def disable_tag(call: Call) -> Response:
    names = (*_labels(call.params.all("s")), *(name for name in call.params.all("t") if name.strip()))
    if not names:
        raise Invalid("s must be a label.", field="s")
    await remove_labels(call.runtime, call.user_id, names)
    return ok()


def _labels(texts: list[str]) -> tuple[str, ...]:
    streams = (parse_stream(text) for text in texts)
    return tuple(dict.fromkeys(stream.name for stream in streams if isinstance(stream, LabelStream)))


def _address(query: str) -> str:
    stream = parse_stream(query)
    return stream.url if isinstance(stream, FeedStream) and stream.url else query
