"""The Fever API: one endpoint; each request names the lists it wants in the response."""

from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request, Response

from reedbed.api.reader_apps.common import Params, ReaderCall, allow_any_origin, json, ok, read_params, text
from reedbed.api.reader_apps.streams import Contents, read_contents, seconds, shown_content
from reedbed.domain.entries import Entry, Selection, StreamQuery
from reedbed.domain.errors import NotFound, ReedbedError, TooMany
from reedbed.domain.reader_apps import MAX_ID, Labels, TagEdit, labels_of
from reedbed.domain.subscriptions import Followed
from reedbed.domain.times import LATEST, SECOND, Instant
from reedbed.domain.users import TokenScope
from reedbed.http.auth import CurrentRuntime, client_ip
from reedbed.http.errors import headers_of, status_of
from reedbed.services.reader_apps import caller_by_fever_key, edit_entries, mark_read_until, unread_recent
from reedbed.services.runtime import Runtime
from reedbed.store import blobs, folders, reader_apps, subscriptions
from reedbed.store.engine.database import Tx
from reedbed.store.entries import read as entries

# --- Marks

EDITS = {
    "read": TagEdit(read=True),
    "unread": TagEdit(read=False),
    "saved": TagEdit(starred=True),
    "unsaved": TagEdit(starred=False),
}
UNREAD_IDS, SAVED_IDS = frozenset({"unread_item_ids"}), frozenset({"saved_item_ids"})
EVERYTHING = 0


async def apply_mark(call: ReaderCall) -> frozenset[str]:
    """Apply the requested mark and return the id lists it changed. Invalid marks are ignored."""
    if TokenScope.WRITE not in call.caller.scopes:
        return frozenset()
    if call.params.one("unread_recently_read") == "1":
        await unread_recent(call.runtime, call.user_id)
        return UNREAD_IDS
    kind, mark_as = call.params.one("mark"), call.params.one("as")
    id = _parse_signed(call.params.one("id"))
    if kind == "item" and mark_as in EDITS:
        return await _mark_items(call, mark_as)
    if kind in ("feed", "group") and mark_as == "read" and id is not None:
        await mark_read_until(call.runtime, call.user_id, await _selections(call, kind, id), _read_before(call))
        return UNREAD_IDS
    return frozenset()


async def _mark_items(call: ReaderCall, mark_as: str) -> frozenset[str]:
    """Usually one id, but some apps send several, separated by commas."""
    parsed = (_parse_signed(text) for text in call.params.one("id").split(","))
    ids = [id for id in parsed if id is not None and id > 0]
    if ids:
        await edit_entries(call.runtime, call.user_id, ids, EDITS[mark_as])
    return UNREAD_IDS if EDITS[mark_as].read is not None else SAVED_IDS


async def _selections(call: ReaderCall, kind: str, id: int) -> list[Selection]:
    """Group 0 is everything. Group -1 holds sparks, which we do not support."""
    if kind == "group" and id == EVERYTHING:
        return [Selection()]
    async with call.runtime.db.read() as tx:
        subscribed = await reader_apps.list_followed(tx, call.user_id)
    feeds = tuple(feed.feed_id for feed in subscribed if id in ([feed.feed_id] if kind == "feed" else feed.folder_ids))
    return [Selection(feed_ids=feeds)] if feeds else []


def _read_before(call: ReaderCall) -> Instant | None:
    """End of the second in `before`, because apps send our times truncated to seconds. None means now."""
    second = _parse_signed(call.params.one("before").partition(".")[0])
    if not second:
        return None
    end = min(max(second, 0) * SECOND + SECOND - 1, LATEST)
    return None if end >= call.runtime.now() else end


def _parse_signed(text: str) -> int | None:
    stripped = text.strip()
    digits = stripped.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 19:
        return None
    return max(min(int(stripped), MAX_ID), -MAX_ID)


# --- JSON

NO_ICON_ID = 0
_TRANSPARENT_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAAC0lEQVR42mNgAAIAAAUAAen63NgAAAAASUVORK5CYII="
"""Transparent pixel: apps look up an icon for every feed, even if it has none."""


def groups(labels: Labels) -> list[dict[str, Any]]:
    return [{"id": folder_id, "title": label} for folder_id, label in labels.folders.items()]


def feeds_groups(followed: Sequence[Followed]) -> list[dict[str, Any]]:
    feed_ids: dict[int, list[int]] = {}
    for feed in followed:
        for folder_id in feed.folder_ids:
            feed_ids.setdefault(folder_id, []).append(feed.feed_id)
    return [{"group_id": folder_id, "feed_ids": joined(ids)} for folder_id, ids in feed_ids.items()]


def feeds(followed: Sequence[Followed]) -> list[dict[str, Any]]:
    return [
        {
            "id": feed.feed_id,
            "favicon_id": feed.icon_id or NO_ICON_ID,
            "title": feed.title,
            "url": feed.url,
            "site_url": feed.site_url or feed.url,
            "is_spark": 0,
            "last_updated_on_time": seconds(feed.last_changed_at or 0),
        }
        for feed in followed
    ]


def favicons(icons: Sequence[tuple[int, str, bytes]]) -> list[dict[str, Any]]:
    """Fever wants data URLs without the leading `data:`."""
    no_icon = {"id": NO_ICON_ID, "data": f"image/png;base64,{_TRANSPARENT_PIXEL}"}
    return [no_icon] + [
        {"id": icon_id, "data": f"{media_type};base64,{b64encode(data).decode('ascii')}"}
        for icon_id, media_type, data in icons
    ]


def items(contents: Contents) -> list[dict[str, Any]]:
    return [_item_json(entry, contents) for entry in contents.entries]


def joined(ids: Sequence[int]) -> str:
    return ",".join(map(str, ids))


def _item_json(entry: Entry, contents: Contents) -> dict[str, Any]:
    row = entry.row
    origin = contents.origins[row.feed_id]
    return {
        "id": row.id,
        "feed_id": row.feed_id,
        "title": row.title,
        "author": row.author or "",
        "html": shown_content(entry, contents),
        "url": row.url or entry.external_url or origin.site_url or origin.url,
        "is_saved": int(row.states.starred),
        "is_read": int(row.states.read),
        "created_on_time": seconds(row.published_at if row.published_at is not None else row.sort_at),
    }


# --- Endpoint

router = APIRouter(include_in_schema=False)

METHODS = ["GET", "HEAD", "POST", "OPTIONS"]
VERSION = 3
PAGE = 50
UNAUTHENTICATED = {"api_version": VERSION, "auth": 0}


@router.api_route("/fever", methods=METHODS)
@router.api_route("/fever/{rest:path}", methods=METHODS)
@router.api_route("/fever.php", methods=METHODS)
@router.api_route("/fever.php/{rest:path}", methods=METHODS)
@router.api_route("/api/fever.php", methods=METHODS)
@router.api_route("/api/fever.php/{rest:path}", methods=METHODS)
async def fever(request: Request, runtime: CurrentRuntime, rest: str = "") -> Response:
    """Apps append slashes and file names to the URL they are given."""
    if rest.strip("/") not in ("", "index.php", "fever.php"):
        raise NotFound("There is nothing at this address.")
    try:
        response = ok() if request.method == "OPTIONS" else await _respond(request, runtime)
    except TooMany as error:
        response = json(UNAUTHENTICATED, status_of(error), headers_of(error))
    except ReedbedError as error:
        response = text(error.message, status_of(error), headers_of(error))
    return allow_any_origin(response)


async def _respond(request: Request, runtime: Runtime) -> Response:
    params = await read_params(request)
    key = params.one("api_key")
    caller = await caller_by_fever_key(runtime, key, ip=client_ip(request)) if key else None
    if caller is None:
        return json(UNAUTHENTICATED)
    call = ReaderCall(request, runtime, caller, params)
    changed = await apply_mark(call)
    async with runtime.db.read() as tx:
        return json(await _build_response(tx, call, changed))


async def _build_response(tx: Tx, call: ReaderCall, changed: frozenset[str]) -> dict[str, Any]:
    """Id lists in `changed` were changed by a mark and are always included."""
    requested = {name for name in REQUESTABLE if name in call.params} | changed
    response: dict[str, Any] = {"api_version": VERSION, "auth": 1}
    checked = await subscriptions.last_check(tx, call.user_id)
    if checked is not None:
        response["last_refreshed_on_time"] = checked // SECOND
    for read_part, names in PARTS:
        if requested & names:
            response.update(await read_part(tx, call, requested))
    return response


async def _subscriptions(tx: Tx, call: ReaderCall, requested: set[str]) -> dict[str, Any]:
    followed = await reader_apps.list_followed(tx, call.user_id)
    fields: dict[str, Any] = {"feeds_groups": feeds_groups(followed)}
    if "groups" in requested:
        fields["groups"] = groups(labels_of(await folders.of_user(tx, call.user_id)))
    if "feeds" in requested:
        fields["feeds"] = feeds(followed)
    return fields


async def _favicons(tx: Tx, call: ReaderCall, requested: set[str]) -> dict[str, Any]:
    return {"favicons": favicons(await blobs.icons_of(tx, call.user_id))}


async def _items(tx: Tx, call: ReaderCall, requested: set[str]) -> dict[str, Any]:
    ids = await _item_ids(tx, call.user_id, call.params)
    contents = await read_contents(tx, call, ids)
    total = await entries.how_many(tx, call.user_id)
    return {"total_items": total, "items": items(contents)}


async def _item_ids(tx: Tx, user_id: int, params: Params) -> list[int]:
    """Ids in `with_ids`, or after `since_id`, or before `max_id`, or the oldest."""
    if params.one("with_ids").strip():
        return [id for text in params.one("with_ids").split(",") if (id := _parse_unsigned(text))][:PAGE]
    query = StreamQuery(order="oldest", after_id=0)
    since, before = _parse_unsigned(params.one("since_id")), _parse_unsigned(params.one("max_id"))
    if since is not None:
        query = StreamQuery(order="oldest", after_id=since)
    elif before is not None:
        query = StreamQuery(order="newest", after_id=before or None)
    return [item.id for item in await entries.ids_page(tx, user_id, query, PAGE)]


async def _links(tx: Tx, call: ReaderCall, requested: set[str]) -> dict[str, Any]:
    return {"links": []}


async def _unread(tx: Tx, call: ReaderCall, requested: set[str]) -> dict[str, Any]:
    """Unread ids, except those of muted feeds: apps treat missing ids as read."""
    ids = await entries.all_stream_ids(tx, call.user_id, StreamQuery(read=False, without_muted=True, order="oldest"))
    return {"unread_item_ids": joined(ids)}


async def _saved(tx: Tx, call: ReaderCall, requested: set[str]) -> dict[str, Any]:
    ids = await entries.all_stream_ids(tx, call.user_id, StreamQuery(starred=True, order="oldest"))
    return {"saved_item_ids": joined(ids)}


def _parse_unsigned(text: str) -> int | None:
    """None if the text is blank or not a number."""
    stripped = text.strip()
    if not stripped.isascii() or not stripped.isdigit() or len(stripped) > 19:
        return None
    return min(int(stripped), MAX_ID)


PARTS = (
    (_subscriptions, frozenset({"groups", "feeds"})),
    (_favicons, frozenset({"favicons"})),
    (_items, frozenset({"items"})),
    (_links, frozenset({"links"})),
    (_unread, frozenset({"unread_item_ids"})),
    (_saved, frozenset({"saved_item_ids"})),
)
REQUESTABLE = frozenset(name for _, names in PARTS for name in names)
