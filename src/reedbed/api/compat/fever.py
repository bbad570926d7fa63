"""The Fever API: one door, and whatever is asked for in one call is answered in one call."""

from typing import Any

from fastapi import APIRouter, Request, Response

from reedbed.api.compat import fever_out
from reedbed.api.compat.answers import json, ok, open_to_all, text
from reedbed.api.compat.calls import Call
from reedbed.api.compat.fever_marks import apply_marks
from reedbed.api.compat.greader_items import read_contents
from reedbed.api.compat.params import Params, read_params
from reedbed.domain.entries import StreamQuery
from reedbed.domain.errors import NotFound, ReedbedError, TooMany
from reedbed.domain.reader_ids import LARGEST_ID
from reedbed.domain.reader_labels import labels_of
from reedbed.domain.times import SECOND
from reedbed.http.caller import RuntimeOf
from reedbed.http.client_ip import client_ip
from reedbed.http.errors import headers_of, status_of
from reedbed.services.reader_logins import by_fever_key
from reedbed.services.runtime import Runtime
from reedbed.store import blobs, entries, folders, following
from reedbed.store.database import Tx

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
async def fever(request: Request, runtime: RuntimeOf, rest: str = "") -> Response:
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
    call = Call(request, runtime, caller, params)
    changed = await apply_marks(call)
    async with runtime.db.read() as tx:
        return json(await _shown(tx, call, changed))


async def _shown(tx: Tx, call: Call, changed: frozenset[str]) -> dict[str, Any]:
    """`changed` names the lists of ids that a mark has altered: they are told without being asked for."""
    wanted = {name for name in ASKABLE if name in call.params} | changed
    shown: dict[str, Any] = {"api_version": VERSION, "auth": 1}
    checked = await following.last_check(tx, call.user_id)
    if checked is not None:
        shown["last_refreshed_on_time"] = checked // SECOND
    for part, names in PARTS:
        if wanted & names:
            shown.update(await part(tx, call, wanted))
    return shown


async def _subscriptions(tx: Tx, call: Call, wanted: set[str]) -> dict[str, Any]:
    followed = await following.followed(tx, call.user_id)
    shown: dict[str, Any] = {"feeds_groups": fever_out.feeds_groups(followed)}
    if "groups" in wanted:
        shown["groups"] = fever_out.groups(labels_of(await folders.of_user(tx, call.user_id)))
    if "feeds" in wanted:
        shown["feeds"] = fever_out.feeds(followed)
    return shown


async def _favicons(tx: Tx, call: Call, wanted: set[str]) -> dict[str, Any]:
    return {"favicons": fever_out.favicons(await blobs.icons_of(tx, call.user_id))}


async def _items(tx: Tx, call: Call, wanted: set[str]) -> dict[str, Any]:
    ids = await _item_ids(tx, call.user_id, call.params)
    contents = await read_contents(tx, call.user_id, ids, call.pictures)
    total = await entries.how_many(tx, call.user_id)
    return {"total_items": total, "items": fever_out.items(contents)}


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


async def _links(tx: Tx, call: Call, wanted: set[str]) -> dict[str, Any]:
    return {"links": []}


async def _unread(tx: Tx, call: Call, wanted: set[str]) -> dict[str, Any]:
    """All of them: an app takes what is missing for read."""
    ids = await entries.every_id(tx, call.user_id, StreamQuery(read=False, order="oldest"))
    return {"unread_item_ids": fever_out.joined(ids)}


async def _saved(tx: Tx, call: Call, wanted: set[str]) -> dict[str, Any]:
    ids = await entries.every_id(tx, call.user_id, StreamQuery(starred=True, order="oldest"))
    return {"saved_item_ids": fever_out.joined(ids)}


def _number(text: str) -> int | None:
    """None for what is no number, blank included."""
    plain = text.strip()
    if not plain.isascii() or not plain.isdigit() or len(plain) > 19:
        return None
    return min(int(plain), LARGEST_ID)


PARTS = (
    (_subscriptions, frozenset({"groups", "feeds"})),
    (_favicons, frozenset({"favicons"})),
    (_items, frozenset({"items"})),
    (_links, frozenset({"links"})),
    (_unread, frozenset({"unread_item_ids"})),
    (_saved, frozenset({"saved_item_ids"})),
)
ASKABLE = frozenset(name for _, names in PARTS for name in names)
