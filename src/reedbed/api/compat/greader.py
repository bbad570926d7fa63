"""The Google Reader API, at the three places where apps look for it.

Apps disagree about slashes and repeat the prefix, so each place takes every path below it and the table here
says what it means.
"""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Request, Response

from reedbed.api.compat import greader_contents, greader_edit, greader_lists
from reedbed.api.compat.answers import Stamps, conditional, json, ok, open_to_all, text
from reedbed.api.compat.calls import Call
from reedbed.api.compat.greader_auth import (
    bad_edit_token,
    caller_of,
    client_login,
    edit_token,
    unauthorized,
)
from reedbed.api.compat.params import read_params, read_query
from reedbed.domain.accounts import Scope
from reedbed.domain.errors import Forbidden, ReedbedError
from reedbed.domain.limits import Allowance
from reedbed.http.caller import RuntimeOf
from reedbed.http.errors import headers_of, status_of
from reedbed.services.limits import spend
from reedbed.services.runtime import Runtime

router = APIRouter(include_in_schema=False)

METHODS = ["GET", "HEAD", "POST", "OPTIONS"]
API = "reader/api/0/"
FRESHRSS = "api/greader.php"
CONTENTS = "stream/contents"
ATOM = "reader/atom"
REQUESTS = Allowance(2_000, 50)
"""newsboat asks for each feed by itself, and phones synchronise in bursts."""

Handler = Callable[[Call], Awaitable[Response]]


async def _ok(call: Call) -> Response:
    return ok()


def _stub(name: str, empty: object) -> Handler:
    async def answer(call: Call) -> Response:
        return json({name: empty})

    return answer


READS: dict[str, Handler] = {
    "token": edit_token,
    "user-info": greader_lists.user_info,
    "subscription/list": greader_lists.subscription_list,
    "subscription/export": greader_edit.export_subscriptions,
    "tag/list": greader_lists.tag_list,
    "unread-count": greader_lists.unread_count,
    "stream/items/ids": greader_contents.item_ids,
    "stream/items/count": greader_contents.item_count,
    "stream/items/contents": greader_contents.item_contents,
    "preference/list": _stub("prefs", []),
    "preference/stream/list": _stub("streamprefs", {}),
    "friend/list": _stub("friends", []),
}
WRITES: dict[str, Handler] = {
    "edit-tag": greader_edit.edit_tag,
    "mark-all-as-read": greader_edit.mark_all_as_read,
    "subscription/edit": greader_edit.subscription_edit,
    "subscription/quickadd": greader_edit.quickadd,
    "subscription/import": greader_edit.import_subscriptions,
    "rename-tag": greader_edit.rename_tag,
    "disable-tag": greader_edit.disable_tag,
    "preference/set": _ok,
    "preference/stream/set": _ok,
}
CONDITIONAL = frozenset({"subscription/list", "tag/list", "unread-count", "stream/items/ids"})
WRITTEN_BY_GET = frozenset({"subscription/quickadd"})


# A base address with a slash at its end puts two in front.
@router.api_route("//{rest:path}", methods=METHODS)
@router.api_route("/accounts", methods=METHODS)
@router.api_route("/accounts/{rest:path}", methods=METHODS)
@router.api_route("/reader", methods=METHODS)
@router.api_route("/reader/{rest:path}", methods=METHODS)
@router.api_route("/api/greader.php", methods=METHODS)
@router.api_route("/api/greader.php/{rest:path}", methods=METHODS)
@router.api_route("/greader", methods=METHODS)
@router.api_route("/greader/{rest:path}", methods=METHODS)
async def google_reader(request: Request, runtime: RuntimeOf) -> Response:
    try:
        answer = await _answer(request, runtime, _endpoint(request.scope["path"]))
    except ReedbedError as error:
        answer = text(error.message, status_of(error), headers_of(error))
    return open_to_all(answer)


def _endpoint(path: str) -> str:
    """What is asked for, without the places and slashes before it."""
    rest = path.lstrip("/").removeprefix("greader")
    while (shorter := rest.lstrip("/").removeprefix(FRESHRSS)) != rest:
        rest = shorter
    while rest.startswith((API, "/")):
        rest = rest.removeprefix(API).lstrip("/")
    return rest


async def _answer(request: Request, runtime: Runtime, endpoint: str) -> Response:
    name = endpoint.rstrip("/")
    if request.method == "OPTIONS" or name in ("", "accounts", "reader", "reader/api", "reader/api/0"):
        return ok()
    if name == "accounts/ClientLogin":
        return await client_login(request, runtime, await read_params(request))
    if name == "check/compatibility":
        return text("PASS")
    if name in READS or f"{endpoint}/".startswith((f"{CONTENTS}/", f"{ATOM}/")):
        return await _read(await _call(request, runtime, name), name, endpoint)
    if name in WRITES:
        return await _write(await _call(request, runtime, name), name)
    return text("There is nothing at this address.", 404)


async def _call(request: Request, runtime: Runtime, name: str) -> Call | None:
    caller = await caller_of(request, runtime)
    if caller is None:
        return None
    await spend(runtime, f"reader:{caller.user_id}", REQUESTS)
    # The body of an import is the file itself.
    params = read_query(request) if name == "subscription/import" else await read_params(request)
    return Call(request, runtime, caller, params)


async def _read(call: Call | None, name: str, endpoint: str) -> Response:
    if call is None:
        return unauthorized()
    handler = READS.get(name)
    if handler is None and endpoint.startswith(ATOM):
        return await greader_contents.stream_atom(call, endpoint[len(ATOM) + 1 :])
    if handler is None:
        return await greader_contents.stream_contents(call, endpoint[len(CONTENTS) + 1 :])
    answer = await handler(call)
    if name not in CONDITIONAL or call.request.method != "GET":
        return answer
    stamps: Stamps = call.request.app.state.reader_stamps
    return conditional(call.request, stamps, call.user_id, call.runtime.now(), answer)


async def _write(call: Call | None, name: str) -> Response:
    if call is None:
        return unauthorized()
    if call.request.method != "POST" and name not in WRITTEN_BY_GET:
        return text("This is a change: send it by POST.", 405, {"Allow": "POST"})
    if Scope.WRITE not in call.caller.scopes:
        raise Forbidden("This token may only read.")
    return bad_edit_token(call) or await WRITES[name](call)
