"""Podcast apps: the gpodder synchronisation of Nextcloud and the API of gpodder.net, over the same services.

Apps log in by Basic authentication with the account's email and an app password. AntennaPod keeps the cookie
`sessionid` of a gpodder.net login instead. Devices are accepted and not kept: everything is shared by all.
"""

from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, cast
from urllib.parse import unquote
from xml.sax.saxutils import quoteattr

import orjson
from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute

from reedbed.api.reader_apps.common import basic_login, json, read_params, text
from reedbed.domain.errors import AppPasswordRequired, Forbidden, Invalid, NotFound
from reedbed.domain.playback import EpisodeAction, PlayedEpisode
from reedbed.domain.times import SECOND, Instant, from_datetime, to_datetime
from reedbed.domain.users import Caller, TokenScope
from reedbed.http.auth import CurrentRuntime, client_ip, get_runtime
from reedbed.http.params import place_of, spend_request
from reedbed.services.playback.podcast_apps import (
    MAX_ACTIONS,
    apply_actions,
    change_podcasts,
    list_played,
    list_podcasts,
    start_login,
    take_login,
)
from reedbed.services.reader_apps import caller_by_login_token
from reedbed.services.runtime import Runtime


class _WithSession(APIRoute):
    """Sets a session cookie after a Basic login, as gpodder.net does.

    gPodder's library sends its password only when it is asked, and gives up when it is asked a fourth time.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            response = await handle(request)
            token: str | None = getattr(request.state, "app_login", None)
            if token and SESSION not in request.cookies:
                is_secure = place_of(request, get_runtime(request)).startswith("https:")
                response.set_cookie(SESSION, token, path="/", httponly=True, samesite="strict", secure=is_secure)
            return response

        return answer


router = APIRouter(include_in_schema=False, route_class=_WithSession)

NEXTCLOUD = "/index.php/apps/gpoddersync"
SESSION = "sessionid"
MAX_BODY = 4_000_000

# --- Who calls


async def _caller(request: Request, runtime: Runtime, user: str = "") -> Caller:
    token = await basic_login(request, runtime) or request.cookies.get(SESSION, "")
    caller = await caller_by_login_token(runtime, token) if token else None
    if caller is None:
        raise AppPasswordRequired("Log in with your email and an app password.")
    if user and unquote(user).strip().lower() != caller.user.email.lower():
        raise Forbidden("This is another account.")
    if request.method != "GET" and TokenScope.WRITE not in caller.scopes:
        raise Forbidden("This token may only read.")
    await spend_request(runtime, caller)
    return caller


async def _body(request: Request) -> Any:
    if int(request.headers.get("content-length") or 0) > MAX_BODY:
        raise Invalid("The request is too large.")
    try:
        return orjson.loads(await request.body() or b"null")
    except orjson.JSONDecodeError:
        raise Invalid("The request is not JSON.") from None


def _since(request: Request) -> Instant:
    """Seconds; also in a fraction, and -1 or nothing for all."""
    try:
        return max(0, min(int(float(request.query_params.get("since") or 0)), 10**11)) * SECOND
    except (ValueError, OverflowError):
        return 0


# --- Episodes


def _read_actions(body: Any) -> list[EpisodeAction]:
    if not isinstance(body, list):
        raise Invalid("A list of actions is expected.")
    items = cast(list[object], body)[:MAX_ACTIONS]
    return [_action(cast(dict[str, Any], item)) for item in items if isinstance(item, dict)]


def _action(item: dict[str, Any]) -> EpisodeAction:
    return EpisodeAction(
        podcast=_line(item.get("podcast")),
        episode=_line(item.get("episode")),
        action=_line(item.get("action")),
        guid=_line(item.get("guid")) or None,
        played_at=_moment(item.get("timestamp")),
        started=_number(item.get("started")),
        position=_number(item.get("position")),
        total=_number(item.get("total")),
    )


def _line(value: object) -> str:
    return value.replace("\0", "")[:5_000] if isinstance(value, str) else ""


def _number(value: object) -> int | None:
    """-1 is an unknown number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 10**9:
        return None
    return int(value)


def _moment(value: object) -> Instant | None:
    """`2026-11-19T02:00:00` in UTC, with or without a zone; or seconds since 1970."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 10**11:
        return int(value) * SECOND
    if not isinstance(value, str):
        return None
    try:
        return from_datetime(datetime.fromisoformat(value.strip().replace("Z", "+00:00")))
    except ValueError:
        return None


def _episode(played: PlayedEpisode, *, upper: bool) -> dict[str, Any]:
    position = played.total if played.done and played.total else played.seconds
    return {
        "podcast": played.podcast_url,
        "episode": played.url,
        "guid": played.guid or played.url,
        "action": "PLAY" if upper else "play",
        "timestamp": to_datetime(played.played_at).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S"),
        "started": min(played.started, position),
        "position": position,
        "total": -1 if played.total is None else played.total,
        "device": "reedbed",
    }


async def _episodes(runtime: Runtime, caller: Caller, request: Request, *, upper: bool) -> Response:
    # Before what is read: what is stored meanwhile is listed again next time.
    now = runtime.now() // SECOND
    played = await list_played(runtime, caller.user_id, _since(request))
    podcast = request.query_params.get("podcast")
    chosen = [_episode(one, upper=upper) for one in played if podcast in (None, one.podcast_url)]
    return json({"actions": chosen, "timestamp": now})


# --- Nextcloud


@router.get(f"{NEXTCLOUD}/subscriptions")
async def nextcloud_subscriptions(request: Request, runtime: CurrentRuntime) -> Response:
    return await _subscriptions(runtime, await _caller(request, runtime), request)


async def _subscriptions(runtime: Runtime, caller: Caller, request: Request) -> Response:
    now = runtime.now() // SECOND
    added, left = await list_podcasts(runtime, caller.user_id, _since(request))
    return json({"add": [one.shown_url for one in added], "remove": left, "timestamp": now})


@router.post(f"{NEXTCLOUD}/subscription_change/create")
async def nextcloud_change(request: Request, runtime: CurrentRuntime) -> Response:
    caller = await _caller(request, runtime)
    await _change(runtime, caller, await _body(request))
    return json({"timestamp": runtime.now() // SECOND})


async def _change(runtime: Runtime, caller: Caller, body: Any) -> None:
    fields = cast(dict[str, Any], body) if isinstance(body, dict) else {}
    await change_podcasts(runtime, caller.user_id, _urls(fields.get("add")), _urls(fields.get("remove")))


def _urls(value: object) -> list[str]:
    lines = cast(list[object], value) if isinstance(value, list) else []
    return [url for line in lines if (url := _line(line))]


@router.get(f"{NEXTCLOUD}/episode_action")
async def nextcloud_episodes(request: Request, runtime: CurrentRuntime) -> Response:
    return await _episodes(runtime, await _caller(request, runtime), request, upper=True)


@router.post(f"{NEXTCLOUD}/episode_action/create")
async def nextcloud_play(request: Request, runtime: CurrentRuntime) -> Response:
    caller = await _caller(request, runtime)
    await apply_actions(runtime, caller.user_id, _read_actions(await _body(request)))
    return json({"timestamp": runtime.now() // SECOND})


@router.post("/index.php/login/v2")
async def begin_login(request: Request, runtime: CurrentRuntime) -> Response:
    """Login flow v2: the app opens the page in a browser and asks until a user has granted it."""
    name = request.headers.get("user-agent", "").partition("/")[0].partition(" ")[0]
    started = await start_login(runtime, name, client_ip(request))
    base = place_of(request, runtime)
    poll = {"token": started.poll_token, "endpoint": f"{base}/index.php/login/v2/poll"}
    return json({"poll": poll, "login": f"{base}/connect/{started.code}"})


@router.post("/index.php/login/v2/poll")
async def poll_login(request: Request, runtime: CurrentRuntime) -> Response:
    granted = await take_login(runtime, (await read_params(request)).one("token"))
    if granted is None:
        return json([], 404)
    return json({"server": place_of(request, runtime), "loginName": granted.email, "appPassword": granted.password})


# --- gpodder.net


@router.get("/clientconfig.json")
async def client_config(request: Request, runtime: CurrentRuntime) -> Response:
    base = f"{place_of(request, runtime)}/"
    return json({"mygpo": {"baseurl": base}, "mygpo-feedservice": {"baseurl": base}, "update_timeout": 604800})


@router.post("/api/2/auth/{user}/login.json")
async def login(request: Request, runtime: CurrentRuntime, user: str) -> Response:
    await _caller(request, runtime, user)
    return json({})


@router.post("/api/2/auth/{user}/logout.json")
async def logout(user: str) -> Response:
    response = json({})
    response.delete_cookie(SESSION, path="/")
    return response


@router.get("/api/2/devices/{user}.json")
async def devices(request: Request, runtime: CurrentRuntime, user: str) -> Response:
    caller = await _caller(request, runtime, user)
    added, _ = await list_podcasts(runtime, caller.user_id, 0)
    return json([{"id": "reedbed", "caption": "Reedbed", "type": "server", "subscriptions": len(added)}])


@router.post("/api/2/devices/{user}/{device}.json")
async def rename_device(request: Request, runtime: CurrentRuntime, user: str, device: str) -> Response:
    await _caller(request, runtime, user)
    return Response(status_code=200)  # gPodder takes an empty answer as success only


@router.get("/api/2/subscriptions/{user}/{device}.json")
async def subscription_changes(request: Request, runtime: CurrentRuntime, user: str, device: str) -> Response:
    return await _subscriptions(runtime, await _caller(request, runtime, user), request)


@router.post("/api/2/subscriptions/{user}/{device}.json")
async def change_subscriptions(request: Request, runtime: CurrentRuntime, user: str, device: str) -> Response:
    caller = await _caller(request, runtime, user)
    await _change(runtime, caller, await _body(request))
    return json({"timestamp": runtime.now() // SECOND, "update_urls": []})


@router.get("/api/2/episodes/{user}.json")
async def episodes(request: Request, runtime: CurrentRuntime, user: str) -> Response:
    return await _episodes(runtime, await _caller(request, runtime, user), request, upper=False)


@router.post("/api/2/episodes/{user}.json")
async def play_episodes(request: Request, runtime: CurrentRuntime, user: str) -> Response:
    caller = await _caller(request, runtime, user)
    await apply_actions(runtime, caller.user_id, _read_actions(await _body(request)))
    return json({"timestamp": runtime.now() // SECOND, "update_urls": []})


@router.get("/subscriptions/{user}.{form}")
async def all_subscriptions(request: Request, runtime: CurrentRuntime, user: str, form: str) -> Response:
    return await device_subscriptions(request, runtime, user, "", form)


@router.get("/subscriptions/{user}/{device}.{form}")
async def device_subscriptions(
    request: Request, runtime: CurrentRuntime, user: str, device: str, form: str
) -> Response:
    caller = await _caller(request, runtime, user)
    added, _ = await list_podcasts(runtime, caller.user_id, 0)
    urls = [one.shown_url for one in added]
    match form:
        case "json":
            return json(urls)
        case "txt":
            return text("\n".join(urls) + "\n")
        case "opml":
            lines = (
                f'<outline type="rss" text={quoteattr(one.title)} xmlUrl={quoteattr(one.shown_url)}/>' for one in added
            )
            head = '<?xml version="1.0" encoding="utf-8"?>\n<opml version="2.0"><head/><body>'
            return Response(f"{head}{''.join(lines)}</body></opml>", media_type="text/x-opml+xml")
        case _:
            raise NotFound("There is no such format.")


@router.put("/subscriptions/{user}/{device}.{form}")
async def put_subscriptions(request: Request, runtime: CurrentRuntime, user: str, device: str, form: str) -> Response:
    """The whole list of an app. What it leaves out is kept: another app may follow it."""
    caller = await _caller(request, runtime, user)
    if form == "txt":
        urls = (await request.body()).decode("utf-8", "replace").split()
    elif form == "json":
        urls = _urls(await _body(request))
    else:
        raise NotFound("There is no such format.")
    await change_podcasts(runtime, caller.user_id, urls, ())
    return Response(status_code=200)
