"""The player's markup, the queue for pages without scripts, and the list of audio and video."""

from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response

from reedbed.domain.pagination import decode_cursor, encode_cursor
from reedbed.domain.playback import QUEUE_PLACES, SHOWS, PositionReport, QueuedRecording, RecordingId, Show
from reedbed.domain.records import record
from reedbed.domain.text import digits_value
from reedbed.http.auth import CurrentCaller, CurrentRuntime, CurrentSession
from reedbed.http.params import path_id
from reedbed.services.auth import check_confirmed
from reedbed.services.images import image_urls_for_page
from reedbed.services.playback.podcast_apps import grant_login, pending_login
from reedbed.services.playback.positions import enqueue, forget_position, get_recording, report_position
from reedbed.services.runtime import Runtime
from reedbed.services.users import preferences_of
from reedbed.store.playback import recordings
from reedbed.web.entries.article import length_text
from reedbed.web.formats import dated_time, zone_of
from reedbed.web.forms import Text
from reedbed.web.i18n import translate
from reedbed.web.pages import page, see_other
from reedbed.web.sidebar import app_page
from reedbed.web.views.layout import SelectOption, TimeView, Toast

router = APIRouter(include_in_schema=False)


@record
class PlayerBar:
    speed: int
    """The user's own speed, in percent."""


@record
class RecordingRow:
    name: str
    """The ids that forms carry."""
    url: str
    title: str
    source: str
    picture: str
    when: TimeView
    length: str
    played: bool


@record
class RecordingsPage:
    title: str
    show: str
    shows: tuple[SelectOption, ...]
    rows: tuple[RecordingRow, ...]
    next_url: str = ""


@record
class ConnectPage:
    title: str
    url: str
    name: str
    """What the app calls itself."""
    email: str
    granted: bool


PAGE_SIZE = 50


@router.get("/playback/bar")
async def show_bar(request: Request, caller: CurrentCaller) -> Response:
    return await page(request, "playback/bar.html", PlayerBar(preferences_of(caller.user).playback_speed))


@router.post("/playback/queue")
async def queue_recording(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, recording: Text = "", place: Text = ""
) -> Response:
    chosen = QUEUE_PLACES[QUEUE_PLACES.index(place)] if place in QUEUE_PLACES else "last"
    await enqueue(runtime, caller.user_id, parse_recording(recording), chosen)
    return see_other(request, "/recordings", toast=Toast(translate("Added to the queue")))


@router.post("/playback/played")
async def mark_played(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    recording: Text = "",
    value: Text = "",
    show: Text = "",
) -> Response:
    """Played is kept apart from read."""
    id = parse_recording(recording)
    if value == "true":
        found = await get_recording(runtime, caller.user_id, id)
        at = found.seconds or (found.position.seconds if found.position else 0)
        await report_position(runtime, caller.user_id, id, PositionReport(at, done=True))
    else:
        await forget_position(runtime, caller.user_id, id)
    return see_other(request, f"/recordings?{urlencode({'show': _show(show)})}")


@router.get("/connect/{code}")
async def show_connect(request: Request, runtime: CurrentRuntime, caller: CurrentSession, code: str) -> Response:
    """A podcast app asks for access: the Login flow v2 of Nextcloud."""
    name, granted = await pending_login(runtime, code)
    view = ConnectPage(translate("Connect an app"), f"/connect/{code}", name, caller.user.email, granted)
    return await app_page(request, runtime, caller, "playback/connect.html", view)


@router.post("/connect/{code}")
async def connect(request: Request, runtime: CurrentRuntime, caller: CurrentSession, code: str) -> Response:
    await check_confirmed(runtime, caller)
    await grant_login(runtime, caller, code)
    return see_other(request, f"/connect/{code}")


@router.get("/recordings")
async def show_recordings(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    show, cursor = _show(request.query_params.get("show", "")), request.query_params.get("cursor")
    name = f"recordings {show}"
    beyond = decode_cursor(cursor, "newest", name) if cursor else None
    async with runtime.db.read() as tx:
        found = await recordings.page(tx, caller.user_id, show, beyond=beyond, limit=PAGE_SIZE + 1)
    rows = found[:PAGE_SIZE]
    last = rows[-1] if len(found) > PAGE_SIZE else None
    next_cursor = encode_cursor(last.sort_at, last.id.entry_id, "newest", name) if last else ""
    view = RecordingsPage(
        title=translate("Audio and video"),
        show=show,
        shows=_show_options(show),
        rows=tuple(_row(request, runtime, item) for item in rows),
        next_url=f"/recordings?{urlencode({'show': show, 'cursor': next_cursor})}" if next_cursor else "",
    )
    return await app_page(request, runtime, caller, "playback/list.html", view)


def parse_recording(text: str) -> RecordingId:
    """`12:0`: the id of the entry and the number of its recording."""
    entry_id, _, number = text.partition(":")
    return RecordingId(path_id(entry_id), digits_value(number) or 0)


def _show(text: str) -> Show:
    return SHOWS[SHOWS.index(text)] if text in SHOWS else "unplayed"


def _show_options(chosen: Show) -> tuple[SelectOption, ...]:
    names = {
        "unplayed": translate("Unplayed"),
        "started": translate("Partly played"),
        "played": translate("Played"),
        "all": translate("All"),
    }
    return tuple(SelectOption(show, names[show], chosen=show == chosen) for show in SHOWS)


def _row(request: Request, runtime: Runtime, item: QueuedRecording) -> RecordingRow:
    return RecordingRow(
        name=f"{item.id.entry_id}:{item.id.number}",
        url=f"/entry/{item.id.entry_id}",
        title=item.title,
        source=item.feed_title,
        picture=image_urls_for_page(runtime).one(item.image) or "",
        when=dated_time(item.sort_at, runtime.now(), zone_of(request)),
        length=length_text(item.seconds, item.position.seconds if item.position else 0),
        played=item.position is not None and item.position.done,
    )
