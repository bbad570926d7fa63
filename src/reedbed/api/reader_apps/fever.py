"""The Fever API: one door, and whatever is asked for in one call is answered in one call."""

from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request, Response

from reedbed.api.reader_apps.common import Params, ReaderCall, json, ok, open_to_all, read_params, text
from reedbed.api.reader_apps.streams import Contents, read_contents, seconds, shown_content
from reedbed.domain.entries import Entry, Selection, StreamQuery
from reedbed.domain.errors import NotFound, ReedbedError, TooMany
from reedbed.domain.reader_apps import MAX_ID, Labels, TagEdit, labels_of
from reedbed.domain.subscriptions import Followed
from reedbed.domain.times import LATEST, SECOND, Instant
from reedbed.domain.users import TokenScope
from reedbed.http.auth import CurrentRuntime, client_ip
from reedbed.http.errors import headers_of, status_of
from reedbed.services.reader_apps import by_fever_key, edit_entries, mark_arrived, unread_recent
from reedbed.services.runtime import Runtime
from reedbed.store import blobs, folders, subscriptions
from reedbed.store.engine.database import Tx
from reedbed.store.entries import read as entries

EDITS = {
    "read": TagEdit(read=True),
    "unread": TagEdit(read=False),
    "saved": TagEdit(starred=True),
    "unsaved": TagEdit(starred=False),
}
UNREAD_IDS, SAVED_IDS = frozenset({"unread_item_ids"}), frozenset({"saved_item_ids"})
EVERYTHING = 0


async def apply_marks(call: ReaderCall) -> frozenset[str]:
    """Which lists of ids are different now; a mark that makes no sense changes nothing."""
    if TokenScope.WRITE not in call.caller.scopes:
        return frozenset()
    if call.params.one("unread_recently_read") == "1":
        await unread_recent(call.runtime, call.user_id)
        return UNREAD_IDS
    kind, wish = call.params.one("mark"), call.params.one("as")
    id = _signed(call.params.one("id"))
    if kind == "item" and wish in EDITS:
        return await _mark_items(call, wish)
    if kind in ("feed", "group") and wish == "read" and id is not None:
        await mark_arrived(call.runtime, call.user_id, await _chosen(call, kind, id), _before(call))
        return UNREAD_IDS
    return frozenset()


async def _mark_items(call: ReaderCall, wish: str) -> frozenset[str]:
    """One id, though some apps send several with commas."""
    given = (_signed(text) for text in call.params.one("id").split(","))
    ids = [id for id in given if id is not None and id > 0]
    if ids:
        await edit_entries(call.runtime, call.user_id, ids, EDITS[wish])
    return UNREAD_IDS if EDITS[wish].read is not None else SAVED_IDS


async def _chosen(call: ReaderCall, kind: str, id: int) -> list[Selection]:
    """Group 0 is everything. Group -1 are sparks, which nobody has here."""
    if kind == "group" and id == EVERYTHING:
        return [Selection()]
    async with call.runtime.db.read() as tx:
        followed = await subscriptions.list_followed(tx, call.user_id)
    feeds = tuple(one.feed_id for one in followed if id == (one.feed_id if kind == "feed" else one.folder_id))
    return [Selection(feed_ids=feeds)] if feeds else []


def _before(call: ReaderCall) -> Instant | None:
    """To the end of that second: apps send moments of ours, cut to seconds. None is now."""
    moment = _signed(call.params.one("before").partition(".")[0])
    if not moment:
        return None
    end = min(max(moment, 0) * SECOND + SECOND - 1, LATEST)
    return None if end >= call.runtime.now() else end


def _signed(text: str) -> int | None:
    plain = text.strip()
    digits = plain.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 19:
        return None
    return max(min(int(plain), MAX_ID), -MAX_ID)


NO_ICON_ID = 0
_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAAC0lEQVR42mNgAAIAAAUAAen63NgAAAAASUVORK5CYII="
"""Nothing to see: an app looks up the icon of every feed, also of those that have none."""


def groups(labels: Labels) -> list[dict[str, Any]]:
    return [{"id": folder_id, "title": label} for folder_id, label in labels.folders.items()]


def feeds_groups(followed: Sequence[Followed]) -> list[dict[str, Any]]:
    inside: dict[int, list[int]] = {}
    for one in followed:
        if one.folder_id is not None:
            inside.setdefault(one.folder_id, []).append(one.feed_id)
    return [{"group_id": folder_id, "feed_ids": joined(ids)} for folder_id, ids in inside.items()]


def feeds(followed: Sequence[Followed]) -> list[dict[str, Any]]:
    return [
        {
            "id": one.feed_id,
            "favicon_id": one.icon_id or NO_ICON_ID,
            "title": one.title,
            "url": one.url,
            "site_url": one.site_url or one.url,
            "is_spark": 0,
            "last_updated_on_time": seconds(one.last_changed_at or 0),
        }
        for one in followed
    ]


def favicons(icons: Sequence[tuple[int, str, bytes]]) -> list[dict[str, Any]]:
    """The beginning of a data address without `data:`, as Fever has it."""
    none = {"id": NO_ICON_ID, "data": f"image/png;base64,{_PIXEL}"}
    return [none] + [
        {"id": icon_id, "data": f"{media_type};base64,{b64encode(data).decode('ascii')}"}
        for icon_id, media_type, data in icons
    ]


def items(contents: Contents) -> list[dict[str, Any]]:
    return [_item(entry, contents) for entry in contents.entries]


def joined(ids: Sequence[int]) -> str:
    return ",".join(map(str, ids))


def _item(entry: Entry, contents: Contents) -> dict[str, Any]:
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


router = APIRouter(include_in_schema=False)

METHODS = ["GET", "HEAD", "POST", "OPTIONS"]
VERSION = 3
PAGE = 50
STRANGER = {"api_version": VERSION, "auth": 0}


@router.api_route("/fever", methods=METHODS)
@router.api_route("/fever/{rest:path}", methods=METHODS)
@router.api_route("/fever.php", methods=METHODS)
@router.api_route("/fever.php/{rest:path}", methods=METHODS)
@router.api_route("/api/fever.php", methods=METHODS)
@router.api_route("/api/fever.php/{rest:path}", methods=METHODS)
async def fever(request: Request, runtime: CurrentRuntime, rest: str = "") -> Response:
    """Apps add slashes and file names of their own to the address they are given."""
    if rest.strip("/") not in ("", "index.php", "fever.php"):
        raise NotFound("There is nothing at this address.")
    try:
        answer = ok() if request.method == "OPTIONS" else await _answer(request, runtime)
    except TooMany as error:
        answer = json(STRANGER, status_of(error), headers_of(error))
    except ReedbedError as error:
        answer = text(error.message, status_of(error), headers_of(error))
    return open_to_all(answer)


async def _answer(request: Request, runtime: Runtime) -> Response:
    params = await read_params(request)
    key = params.one("api_key")
    caller = await by_fever_key(runtime, key, ip=client_ip(request)) if key else None
    if caller is None:
        return json(STRANGER)
    call = ReaderCall(request, runtime, caller, params)
    changed = await apply_marks(call)
    async with runtime.db.read() as tx:
        return json(await _shown(tx, call, changed))


async def _shown(tx: Tx, call: ReaderCall, changed: frozenset[str]) -> dict[str, Any]:
    """`changed` names the lists of ids that a mark has altered: they are told without being asked for."""
    wanted = {name for name in ASKABLE if name in call.params} | changed
    shown: dict[str, Any] = {"api_version": VERSION, "auth": 1}
    checked = await subscriptions.last_check(tx, call.user_id)
    if checked is not None:
        shown["last_refreshed_on_time"] = checked // SECOND
    for part, names in PARTS:
        if wanted & names:
            shown.update(await part(tx, call, wanted))
    return shown


async def _subscriptions(tx: Tx, call: ReaderCall, wanted: set[str]) -> dict[str, Any]:
    followed = await subscriptions.list_followed(tx, call.user_id)
    shown: dict[str, Any] = {"feeds_groups": feeds_groups(followed)}
    if "groups" in wanted:
        shown["groups"] = groups(labels_of(await folders.of_user(tx, call.user_id)))
    if "feeds" in wanted:
        shown["feeds"] = feeds(followed)
    return shown


async def _favicons(tx: Tx, call: ReaderCall, wanted: set[str]) -> dict[str, Any]:
    return {"favicons": favicons(await blobs.icons_of(tx, call.user_id))}


async def _items(tx: Tx, call: ReaderCall, wanted: set[str]) -> dict[str, Any]:
    ids = await _item_ids(tx, call.user_id, call.params)
    contents = await read_contents(tx, call.user_id, ids, call.pictures)
    total = await entries.how_many(tx, call.user_id)
    return {"total_items": total, "items": items(contents)}


async def _item_ids(tx: Tx, user_id: int, params: Params) -> list[int]:
    """`with_ids`, else what came after `since_id`, else what came before `max_id`, else the oldest."""
    if params.one("with_ids").strip():
        return [id for text in params.one("with_ids").split(",") if (id := _number(text))][:PAGE]
    query = StreamQuery(order="oldest", after_id=0)
    since, before = _number(params.one("since_id")), _number(params.one("max_id"))
    if since is not None:
        query = StreamQuery(order="oldest", after_id=since)
    elif before is not None:
        query = StreamQuery(order="newest", after_id=before or None)
    return [item.id for item in await entries.ids_page(tx, user_id, query, PAGE)]


async def _links(tx: Tx, call: ReaderCall, wanted: set[str]) -> dict[str, Any]:
    return {"links": []}


async def _unread(tx: Tx, call: ReaderCall, wanted: set[str]) -> dict[str, Any]:
    """All of them: an app takes what is missing for read."""
    ids = await entries.every_id(tx, call.user_id, StreamQuery(read=False, order="oldest"))
    return {"unread_item_ids": joined(ids)}


async def _saved(tx: Tx, call: ReaderCall, wanted: set[str]) -> dict[str, Any]:
    ids = await entries.every_id(tx, call.user_id, StreamQuery(starred=True, order="oldest"))
    return {"saved_item_ids": joined(ids)}


def _number(text: str) -> int | None:
    """None for what is no number, blank included."""
    plain = text.strip()
    if not plain.isascii() or not plain.isdigit() or len(plain) > 19:
        return None
    return min(int(plain), MAX_ID)


PARTS = (
    (_subscriptions, frozenset({"groups", "feeds"})),
    (_favicons, frozenset({"favicons"})),
    (_items, frozenset({"items"})),
    (_links, frozenset({"links"})),
    (_unread, frozenset({"unread_item_ids"})),
    (_saved, frozenset({"saved_item_ids"})),
)
ASKABLE = frozenset(name for _, names in PARTS for name in names)
