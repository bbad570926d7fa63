"""Have an article or a digest read aloud, and the address of the podcast."""

from fastapi import APIRouter, Request, Response

from reedbed.domain.errors import Conflict
from reedbed.domain.listening import SourceKind
from reedbed.domain.playback import RecordingId
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.params import IdPath
from reedbed.services.listening.manage import end_podcast, podcast_url, publish_podcast, request_spoken
from reedbed.services.playback.positions import enqueue
from reedbed.services.runtime import Runtime
from reedbed.services.users import set_preferences
from reedbed.web.forms import FormFlag, Text
from reedbed.web.i18n import explain, translate
from reedbed.web.pages import is_htmx, page, see_other
from reedbed.web.settings import show_reading
from reedbed.web.views.layout import Toast

router = APIRouter(include_in_schema=False)


@router.post("/entry/{entry_id}/listen")
async def listen(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Response:
    return await _listen(request, runtime, caller, "entry", entry_id, f"/entry/{entry_id}")


@router.post("/digests/{digest_id}/listen")
async def listen_to_digest(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, digest_id: IdPath
) -> Response:
    return await _listen(request, runtime, caller, "digest", digest_id, f"/digests/{digest_id}")


async def _listen(
    request: Request, runtime: Runtime, caller: Caller, kind: SourceKind, source_id: int, back: str
) -> Response:
    """Play it if it is ready; else it is being read, and an event informs the page when it is done."""
    try:
        spoken = await request_spoken(runtime, caller.user, kind, source_id)
    except Conflict as error:
        return await _answer(request, back, explain(error))
    if spoken.status != "ready" or spoken.entry_id is None:
        return await _answer(request, back, translate("It is being read aloud. You find it under Audio and video."))
    if is_htmx(request):
        return Response(status_code=204, headers={"Reedbed-Recording": str(spoken.entry_id)})
    await enqueue(runtime, caller.user_id, RecordingId(spoken.entry_id), "next")
    return see_other(request, "/recordings", toast=Toast(translate("Added to the queue")))


async def _answer(request: Request, back: str, message: str) -> Response:
    """The script stays on its page, so that the event which says that it is ready cannot come in between."""
    if is_htmx(request):
        return await page(request, "partials/toast.html", None, toast=Toast(message))
    return see_other(request, back, toast=Toast(message))


@router.post("/settings/listening")
async def save_settings(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, voice: Text = "", spoken_digests: FormFlag = False
) -> Response:
    await set_preferences(runtime, caller, {"voice": voice.strip(), "spoken_digests": spoken_digests})
    return see_other(request, "/settings/reading#listening", toast=Toast(translate("Saved.")))


@router.post("/settings/podcast")
async def publish(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    opened = await publish_podcast(runtime, caller.user_id, translate("Read aloud"))
    return await show_reading(request, runtime, caller, podcast_url=podcast_url(runtime, opened.token))


@router.post("/settings/podcast/delete")
async def unpublish(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    await end_podcast(runtime, caller.user_id)
    message = translate("Its address does not work any more.")
    return see_other(request, "/settings/reading#podcast", toast=Toast(message))
