"""WebSub: the push status of a feed, and the callbacks for hubs at one secret URL per subscription."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import Field

from reedbed.domain.errors import NotFound
from reedbed.http.auth import CurrentCaller, CurrentRuntime, client_ip
from reedbed.http.models import ApiModel
from reedbed.http.params import IdPath
from reedbed.http.responses import json_response, moment
from reedbed.services.subscriptions.manage import NO_SUCH
from reedbed.services.websub import Push, admit, handle_hub_call, hub_status, store_push
from reedbed.store import subscriptions

callbacks = APIRouter(prefix="/websub", include_in_schema=False)
router = APIRouter(prefix="/api/v1/subscriptions", tags=["subscriptions"])


class PushResponse(ApiModel):
    hub: str | None = Field(description="The feed's hub; null: none.")
    status: str = Field(description="none, off, new, asked, active, failed or denied.")
    reason: str = Field(description="Reason for the status, as a sentence.")
    relied_on: bool = Field(description="True: the feed is only checked once a day.")
    live_since: str | None
    expires_at: str | None
    last_push_at: str | None
    pushes: int
    entries: int = Field(description="Number of entries that arrived by push first.")
    missed: int = Field(description="Number of entries that the hub should have sent but a check found.")
    forged: int = Field(description="Number of pushes ignored because of an invalid signature.")


@router.get(
    "/{subscription_id}/push",
    summary="Get the push status of a feed and how reliable its hub is",
    responses={200: {"model": PushResponse}},
)
async def push(runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath) -> Response:
    async with runtime.db.read() as tx:
        subscription = await subscriptions.get(tx, caller.user_id, subscription_id)
    if subscription is None:
        raise NotFound(NO_SUCH)
    push_status = await hub_status(runtime, subscription.feed.id)
    hub = push_status.standing
    return json_response(
        {
            "hub": push_status.hub_url,
            "status": push_status.status,
            "reason": push_status.reason,
            "relied_on": push_status.relied_on,
            "live_since": moment(hub and hub.live_since),
            "expires_at": moment(hub and hub.expires_at),
            "last_push_at": moment(hub and hub.last_push_at),
            "pushes": hub.pushes if hub else 0,
            "entries": hub.entries if hub else 0,
            "missed": hub.missed if hub else 0,
            "forged": hub.forged if hub else 0,
        }
    )


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
