"""The Google Reader API, at the three prefixes where apps look for it.

Apps disagree about slashes and repeat the prefix, so one route per prefix takes every path below it, and the
tables `READS` and `WRITES` map the rest of the path to a handler.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter, Request, Response

from reedbed.api.reader_apps.common import (
    Params,
    ReaderCall,
    allow_any_origin,
    conditional,
    etag_cache,
    icon_address,
    json,
    ok,
    read_params,
    read_query,
    text,
)
from reedbed.api.reader_apps.edits import (
    disable_tag,
    edit_tag,
    import_subscriptions,
    mark_all_as_read,
    quickadd,
    rename_tag,
    subscription_edit,
)
from reedbed.api.reader_apps.streams import (
    item_contents,
    item_count,
    item_ids,
    microseconds,
    stream_atom,
    stream_contents,
)
from reedbed.domain.entries import Counts
from reedbed.domain.errors import Forbidden, ReedbedError
from reedbed.domain.reader_apps import Labels, feed_name, label_name, labels_of, state_name
from reedbed.domain.subscriptions import Followed
from reedbed.domain.times import SECOND, Instant
from reedbed.domain.users import Allowance, Caller, TokenScope
from reedbed.http.auth import CurrentRuntime, client_ip
from reedbed.http.errors import headers_of, status_of
from reedbed.services.reader_apps import caller_by_login_token, is_valid_edit_token, log_in, new_edit_token
from reedbed.services.runtime import Runtime
from reedbed.services.security import spend
from reedbed.services.transfer.opml import export_opml
from reedbed.store import folders, reader_apps
from reedbed.store.read_state import counts

# --- Login

MAX_HEADER_LENGTH = 500


async def client_login(request: Request, runtime: Runtime, params: Params) -> Response:
    token = await log_in(runtime, params.one("Email"), params.one("Passwd"), ip=client_ip(request))
    if token is None:
        return text("Error=BadAuthentication", 401)
    # Vienna needs a line for LSID, NetNewsWire a value on each line.
    names = {"SID": token, "LSID": token, "Auth": token}
    if params.one("output") == "json":
        return json(names)
    return text("\n".join(f"{name}={value}" for name, value in names.items()))


async def caller_of(request: Request, runtime: Runtime) -> Caller | None:
    token = _parse_authorization(request.headers.get("authorization", ""))
    return await caller_by_login_token(runtime, token) if token else None


def unauthorized() -> Response:
    return text("Unauthorized", 401, {"WWW-Authenticate": 'GoogleLogin realm="Reedbed"'})


async def edit_token(call: ReaderCall) -> Response:
    """No newline at the end: some apps send the whole body back."""
    return text(new_edit_token(call.runtime, call.caller))


def bad_edit_token(call: ReaderCall) -> Response | None:
    """Return the error response if the edit token is wrong or expired."""
    if is_valid_edit_token(call.runtime, call.caller, call.params.one("T")):
        return None
    return text("Unauthorized", 401, {"X-Reader-Google-Bad-Token": "true"})


def _parse_authorization(header: str) -> str:
    """`GoogleLogin auth=…`, with or without quotes; or `Bearer …`."""
    if len(header) > MAX_HEADER_LENGTH:
        return ""
    scheme, _, rest = header.strip().partition(" ")
    rest = rest.strip()
    match scheme.lower():
        case "bearer":
            return rest
        case "googlelogin":
            name, _, value = rest.partition("=")
            return value.strip().strip('"') if name.strip().lower() == "auth" else ""
        case _:
            return ""


# --- Lists and counts


async def user_info(call: ReaderCall) -> Response:
    user = call.caller.user
    number = str(user.id)
    return json(
        {
            "userId": number,
            "userName": user.email,
            "userProfileId": number,
            "userEmail": user.email,
            "isBloggerUser": False,
            "signupTimeSec": user.created_at // SECOND,
            "isMultiLoginEnabled": False,
        }
    )


async def subscription_list(call: ReaderCall) -> Response:
    async with call.runtime.db.read() as tx:
        subscribed = await reader_apps.list_followed(tx, call.user_id)
        labels = labels_of(await folders.of_user(tx, call.user_id))
    items = [
        _subscription_json(call.request, call.runtime, feed, labels, position)
        for position, feed in enumerate(subscribed)
    ]
    return json({"subscriptions": items})


def _subscription_json(
    request: Request, runtime: Runtime, feed: Followed, labels: Labels, position: int
) -> dict[str, Any]:
    names = [labels.folders[id_] for id_ in feed.folder_ids if id_ in labels.folders]
    return {
        "id": feed_name(feed.feed_id),
        "title": feed.title,
        "categories": [{"id": label_name(label), "label": label} for label in names],
        "sortid": f"{position:08X}",
        "firstitemmsec": str(feed.subscribed_at),
        "url": feed.url,
        "htmlUrl": feed.site_url or feed.url,
        "iconUrl": icon_address(request, runtime, feed.icon_id) if feed.icon_id is not None else "",
    }


async def tag_list(call: ReaderCall) -> Response:
    async with call.runtime.db.read() as tx:
        counted = await counts.counts(tx, call.user_id)
        labels = labels_of(await folders.of_user(tx, call.user_id))
    unread_in = _unread_by_folder(counted)
    tags: list[dict[str, Any]] = [{"id": state_name("starred"), "sortid": "00000000"}]
    tags += [
        {"id": label_name(label), "type": "folder", "unread_count": unread_in.get(folder_id, 0)}
        for folder_id, label in labels.folders.items()
    ]
    used_ids = {tag["id"] for tag in tags}
    tags += [
        {"id": label_name(tag.name), "type": "tag", "unread_count": tag.unread}
        for tag in counted.tags
        if label_name(tag.name) not in used_ids
    ]
    return json({"tags": [{**tag, "sortid": f"{position:08X}"} for position, tag in enumerate(tags)]})


async def unread_count(call: ReaderCall) -> Response:
    async with call.runtime.db.read() as tx:
        counted = await counts.counts(tx, call.user_id)
        labels = labels_of(await folders.of_user(tx, call.user_id))
        arrivals = await reader_apps.newest_arrivals(tx, call.user_id)
        newest_tagged = await reader_apps.newest_tagged(tx, call.user_id)
    newest = {feed_id: arrived for feed_id, (_, arrived) in arrivals.items()}
    unread = {feed.feed_id: 0 if feed.muted else feed.unread for feed in counted.subscriptions}
    rows = [_count_json(feed_name(feed_id), count, newest.get(feed_id, 0)) for feed_id, count in unread.items()]
    rows += _folder_counts(counted, labels, newest)
    used_ids = {row["id"] for row in rows}
    rows += [
        _count_json(label_name(tag.name), tag.unread, newest_tagged.get(tag.name, 0))
        for tag in counted.tags
        if label_name(tag.name) not in used_ids
    ]
    total = sum(unread.values())
    rows.append(_count_json(state_name("reading-list"), total, max(newest.values(), default=0)))
    return json({"max": total, "unreadcounts": rows})


def _folder_counts(counted: Counts, labels: Labels, newest: dict[int, Instant]) -> list[dict[str, Any]]:
    unread_in = _unread_by_folder(counted)
    newest_in: dict[int, Instant] = {}
    for feed in counted.subscriptions:
        arrived = newest.get(feed.feed_id, 0)
        for folder_id in feed.folder_ids:
            newest_in[folder_id] = max(newest_in.get(folder_id, 0), arrived)
    return [
        _count_json(label_name(label), unread_in.get(folder_id, 0), newest_in.get(folder_id, 0))
        for folder_id, label in labels.folders.items()
    ]


def _unread_by_folder(counted: Counts) -> dict[int, int]:
    """Counts only a folder's own feeds, because apps show subfolders as separate labels; muted feeds do not count."""
    unread_in: dict[int, int] = {}
    for feed in counted.subscriptions:
        for folder_id in () if feed.muted else feed.folder_ids:
            unread_in[folder_id] = unread_in.get(folder_id, 0) + feed.unread
    return unread_in


def _count_json(name: str, unread: int, newest: Instant) -> dict[str, Any]:
    """Must have the exact time of the newest entry: apps decide by it whether to fetch again."""
    return {"id": name, "count": unread, "newestItemTimestampUsec": microseconds(newest) if newest else "0"}


async def export_subscriptions(call: ReaderCall) -> Response:
    headers = {"Content-Disposition": 'attachment; filename="reedbed.opml"'}
    return Response(await export_opml(call.runtime, call.user_id), 200, headers, "text/x-opml; charset=utf-8")


# --- Routing

router = APIRouter(include_in_schema=False)

METHODS = ["GET", "HEAD", "POST", "OPTIONS"]
API = "reader/api/0/"
FRESHRSS = "api/greader.php"
CONTENTS = "stream/contents"
ATOM = "reader/atom"
REQUESTS = Allowance(2_000, 50)
"""newsboat requests each feed separately, and phones synchronise in bursts."""

Handler = Callable[[ReaderCall], Awaitable[Response]]


async def _do_nothing(call: ReaderCall) -> Response:
    return ok()


def _respond_with(name: str, empty: object) -> Handler:
    async def respond(call: ReaderCall) -> Response:
        return json({name: empty})

    return respond


READS: dict[str, Handler] = {
    "token": edit_token,
    "user-info": user_info,
    "subscription/list": subscription_list,
    "subscription/export": export_subscriptions,
    "tag/list": tag_list,
    "unread-count": unread_count,
    "stream/items/ids": item_ids,
    "stream/items/count": item_count,
    "stream/items/contents": item_contents,
    "preference/list": _respond_with("prefs", []),
    "preference/stream/list": _respond_with("streamprefs", {}),
    "friend/list": _respond_with("friends", []),
}
WRITES: dict[str, Handler] = {
    "edit-tag": edit_tag,
    "mark-all-as-read": mark_all_as_read,
    "subscription/edit": subscription_edit,
    "subscription/quickadd": quickadd,
    "subscription/import": import_subscriptions,
    "rename-tag": rename_tag,
    "disable-tag": disable_tag,
    "preference/set": _do_nothing,
    "preference/stream/set": _do_nothing,
}
CONDITIONAL = frozenset({"subscription/list", "tag/list", "unread-count", "stream/items/ids"})
WRITES_ALLOWED_BY_GET = frozenset({"subscription/quickadd"})


# A base URL that ends in a slash gives paths with two leading slashes.
@router.api_route("//{rest:path}", methods=METHODS)
@router.api_route("/accounts", methods=METHODS)
@router.api_route("/accounts/{rest:path}", methods=METHODS)
@router.api_route("/reader", methods=METHODS)
@router.api_route("/reader/{rest:path}", methods=METHODS)
@router.api_route("/api/greader.php", methods=METHODS)
@router.api_route("/api/greader.php/{rest:path}", methods=METHODS)
@router.api_route("/greader", methods=METHODS)
@router.api_route("/greader/{rest:path}", methods=METHODS)
async def google_reader(request: Request, runtime: CurrentRuntime) -> Response:
    try:
        response = await _dispatch(request, runtime, _endpoint(request.scope["path"]))
    except ReedbedError as error:
        response = text(error.message, status_of(error), headers_of(error))
    return allow_any_origin(response)


def _endpoint(path: str) -> str:
    """Strip the prefixes and slashes in front of the endpoint name."""
    rest = path.lstrip("/").removeprefix("greader")
    while (shorter := rest.lstrip("/").removeprefix(FRESHRSS)) != rest:
        rest = shorter
    while rest.startswith((API, "/")):
        rest = rest.removeprefix(API).lstrip("/")
    return rest


async def _dispatch(request: Request, runtime: Runtime, endpoint: str) -> Response:
    name = endpoint.rstrip("/")
    if request.method == "OPTIONS" or name in ("", "accounts", "reader", "reader/api", "reader/api/0"):
        return ok()
    if name == "accounts/ClientLogin":
        return await client_login(request, runtime, await read_params(request))
    if name == "check/compatibility":
        return text("PASS")
    if name in READS or f"{endpoint}/".startswith((f"{CONTENTS}/", f"{ATOM}/")):
        return await _run_read(await _authenticate(request, runtime, name), name, endpoint)
    if name in WRITES:
        return await _run_write(await _authenticate(request, runtime, name), name)
    return text("There is nothing at this address.", 404)


async def _authenticate(request: Request, runtime: Runtime, name: str) -> ReaderCall | None:
    caller = await caller_of(request, runtime)
    if caller is None:
        return None
    await spend(runtime, f"reader:{caller.user_id}", REQUESTS)
    # The body of an import is the file itself.
    params = read_query(request) if name == "subscription/import" else await read_params(request)
    return ReaderCall(request, runtime, caller, params)


async def _run_read(call: ReaderCall | None, name: str, endpoint: str) -> Response:
    if call is None:
        return unauthorized()
    handler = READS.get(name)
    if handler is None and endpoint.startswith(ATOM):
        return await stream_atom(call, endpoint[len(ATOM) + 1 :])
    if handler is None:
        return await stream_contents(call, endpoint[len(CONTENTS) + 1 :])
    response = await handler(call)
    if name not in CONDITIONAL or call.request.method != "GET":
        return response
    return conditional(call.request, etag_cache(call.request), call.user_id, call.runtime.now(), response)


async def _run_write(call: ReaderCall | None, name: str) -> Response:
    if call is None:
        return unauthorized()
    if call.request.method != "POST" and name not in WRITES_ALLOWED_BY_GET:
        return text("This is a change: send it by POST.", 405, {"Allow": "POST"})
    if TokenScope.WRITE not in call.caller.scopes:
        raise Forbidden("This token may only read.")
    return bad_edit_token(call) or await WRITES[name](call)
