"""Streams of Google Reader: the ids in them, and the items themselves."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from fastapi import Response

from reedbed.api.compat.answers import json, text
from reedbed.api.compat.calls import Call
from reedbed.api.compat.greader_items import items, microseconds, read_contents, seconds
from reedbed.api.compat.greader_streams import Asked, read_stream
from reedbed.api.compat.params import Params
from reedbed.api.feeds_written import as_reader_atom
from reedbed.domain.entries import StreamItem
from reedbed.domain.errors import Invalid
from reedbed.domain.reader_ids import (
    READING_LIST,
    encode_continuation,
    feed_name,
    parse_item_id,
    stream_name,
)
from reedbed.domain.times import SECOND
from reedbed.store import entries
from reedbed.store.database import Tx

DEFAULT_COUNT = 20
MOST_IDS = 10_000
MOST_ITEMS = 1_000


async def item_ids(call: Call) -> Response:
    wanted = _count(call.params, MOST_IDS)
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


async def item_count(call: Call) -> Response:
    """A number in plain text; with `a=true` the day of the newest entry after it."""
    async with call.runtime.db.read() as tx:
        asked = await read_stream(tx, call.user_id, call.params.all("s"), call.params)
        count, newest = await entries.length(tx, call.user_id, asked.query) if asked.query else (0, None)
    if call.params.one("a") != "true" or newest is None:
        return text(str(count))
    return text(f"{count}#{datetime.fromtimestamp(newest / SECOND, UTC):%B %d, %Y}")


async def item_contents(call: Call) -> Response:
    ids = item_ids_of(call.params)
    if len(ids) > MOST_ITEMS:
        raise Invalid(f"At most {MOST_ITEMS} items in one call.", field="i")
    async with call.runtime.db.read() as tx:
        contents = await read_contents(tx, call.user_id, ids, call.pictures)
    return json(_stream(call, stream_name(READING_LIST), "Reading list", items(contents), {}))


async def stream_contents(call: Call, stream: str) -> Response:
    return json(await _read_stream_contents(call, stream))


async def stream_atom(call: Call, stream: str) -> Response:
    """newsboat in its feedhq mode reads each feed as Atom."""
    found = await _read_stream_contents(call, stream)
    return Response(as_reader_atom(found, str(call.request.url)), media_type="application/atom+xml")


async def _read_stream_contents(call: Call, stream: str) -> dict[str, Any]:
    """Without a stream it is the reading list: NewsFlash, Fluent Reader and FeedMe ask so."""
    wanted = _count(call.params, MOST_ITEMS)
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
    tx: Tx, user_id: int, asked: Asked, wanted: int
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
    call: Call, name: str, title: str, shown: list[dict[str, Any]], continuation: dict[str, str]
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
