"""Have an article or a digest read aloud, and the address of the podcast."""

from fastapi import APIRouter, Request, Response

from reedbed.domain.errors import Conflict
from reedbed.domain.listening import SourceKind
from reedbed.domain.playback import RecordingId
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.params import IdPath
from reedbed.services.listening.manage import publish_podcast, request_spoken
from reedbed.services.playback.positions import enqueue
from reedbed.services.runtime import Runtime
from reedbed.services.users import set_preferences
from reedbed.web.forms import FormFlag, Text
from reedbed.web.i18n import explain, translate
from reedbed.web.pages import see_other
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
    """Queue it if it is ready; else it is being read."""
    try:
        spoken = await request_spoken(runtime, caller.user, kind, source_id)
    except Conflict as error:
        return see_other(request, back, toast=Toast(explain(error)))
    if spoken.status != "ready" or spoken.entry_id is None:
        message = translate("It is being read aloud. You find it under Audio and video.")
        return see_other(request, back, toast=Toast(message))
    await enqueue(runtime, caller.user_id, RecordingId(spoken.entry_id), "next")
    return see_other(request, "/recordings", toast=Toast(translate("Added to the queue")))


@router.post("/settings/listening")
async def save_settings(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, voice: Text = "", spoken_digests: FormFlag = False
) -> Response:
    await set_preferences(runtime, caller, {"voice": voice.strip(), "spoken_digests": spoken_digests})
    return see_other(request, "/settings/reading#listening", toast=Toast(translate("Saved.")))


@router.post("/settings/podcast")
async def publish(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    opened = await publish_podcast(runtime, caller.user_id, translate("Read aloud"))
    url = f"{runtime.accounts.base_url}/podcast/{opened.token}/feed.rss"
    message = translate("The address for your podcast app, shown once: %(url)s", url=url)
    return see_other(request, "/settings/reading#listening", toast=Toast(message))
