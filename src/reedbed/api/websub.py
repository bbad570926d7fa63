"""WebSub: the push status of a feed, and the callbacks for hubs at one secret URL per subscription."""

from typing import Annotated

from fastapi import Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import Field

from reedbed.domain.errors import NotFound
from reedbed.domain.records import record
from reedbed.http.auth import CurrentCaller, CurrentRuntime, client_ip
from reedbed.http.models import ResponseModel, Timestamp
from reedbed.http.params import IdPath
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.subscriptions.manage import NO_SUCH
from reedbed.services.websub import Push, admit, handle_hub_call, hub_status, store_push
from reedbed.store import subscriptions

callbacks = ApiRouter(prefix="/websub", include_in_schema=False)
router = ApiRouter(prefix="/api/v1/subscriptions", tags=["subscriptions"])


@record
class PushResponse(ResponseModel):
    hub: Annotated[str | None, Field(description="The feed's hub; null: none.")]
    status: Annotated[str, Field(description="none, off, new, asked, active, failed or denied.")]
    reason: Annotated[str, Field(description="Reason for the status, as a sentence.")]
    relied_on: Annotated[bool, Field(description="True: the feed is only checked once a day.")]
    live_since: Timestamp | None
    expires_at: Timestamp | None
    last_push_at: Timestamp | None
    pushes: int
    entries: Annotated[int, Field(description="Number of entries that arrived by push first.")]
    missed: Annotated[int, Field(description="Number of entries that the hub should have sent but a check found.")]
    forged: Annotated[int, Field(description="Number of pushes ignored because of an invalid signature.")]


@router.get("/{subscription_id}/push", summary="Get the push status of a feed and how reliable its hub is")
async def push(runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath) -> Json[PushResponse]:
    async with runtime.db.read() as tx:
        subscription = await subscriptions.get(tx, caller.user_id, subscription_id)
    if subscription is None:
        raise NotFound(NO_SUCH)
    push_status = await hub_status(runtime, subscription.feed.id)
    hub = push_status.standing
    if hub is None:
        nothing = dict.fromkeys(("pushes", "entries", "missed", "forged"), 0)
        times = dict.fromkeys(("live_since", "expires_at", "last_push_at"))
        return Json(PushResponse.of(push_status, hub=push_status.hub_url, **nothing, **times))
    return Json(PushResponse.of(push_status, hub, hub=push_status.hub_url))


@callbacks.get("/{token}")
async def verify(request: Request, runtime: CurrentRuntime, token: str) -> Response:
    return PlainTextResponse(await handle_hub_call(runtime, token, request.query_params, client_ip(request)))


@callbacks.post("/{token}")
async def distribute(request: Request, runtime: CurrentRuntime, token: str) -> Response:
    hub = await admit(runtime, token, client_ip(request))
    headers = request.headers
    payload = Push(await request.body(), headers.get("x-hub-signature"), headers.get("content-type"))
    await store_push(runtime, hub, payload, client_ip(request))
    return Response(status_code=202)
