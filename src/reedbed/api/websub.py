"""Where hubs call: each subscription has an address of its own, which nobody can guess."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import Field

from reedbed.domain.errors import NotFound
from reedbed.http.auth import CurrentCaller, CurrentRuntime, client_ip
from reedbed.http.models import ApiModel
from reedbed.http.params import IdPath
from reedbed.http.responses import json_response, moment
from reedbed.services.subscriptions.manage import NO_SUCH
from reedbed.services.websub import Push, admit, answer_hub, hub_status, take_push
from reedbed.store import subscriptions

callbacks = APIRouter(prefix="/websub", include_in_schema=False)
router = APIRouter(prefix="/api/v1/subscriptions", tags=["subscriptions"])


class PushResponse(ApiModel):
    hub: str | None = Field(description="The hub that the feed names; null: it names none.")
    status: str = Field(description="none, off, new, asked, active, failed or denied.")
    reason: str = Field(description="One sentence: why it is so.")
    relied_on: bool = Field(description="True: the feed is checked once a day only.")
    live_since: str | None
    expires_at: str | None
    last_push_at: str | None
    pushes: int
    entries: int = Field(description="Entries that a push brought first.")
    missed: int = Field(description="Entries that a check found although the hub should have sent them.")
    forged: int = Field(description="Pushes without a valid signature, which were not read.")


@router.get(
    "/{subscription_id}/push",
    summary="Whether the feed's hub sends its news by itself, and how reliably",
    responses={200: {"model": PushResponse}},
)
async def push(runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath) -> Response:
    async with runtime.db.read() as tx:
        one = await subscriptions.get(tx, caller.user_id, subscription_id)
    if one is None:
        raise NotFound(NO_SUCH)
    shown = await hub_status(runtime, one.feed.id)
    standing = shown.standing
    return json_response(
        {
            "hub": shown.hub_url,
            "status": shown.status,
            "reason": shown.reason,
            "relied_on": shown.relied_on,
            "live_since": moment(standing and standing.live_since),
            "expires_at": moment(standing and standing.expires_at),
            "last_push_at": moment(standing and standing.last_push_at),
            "pushes": standing.pushes if standing else 0,
            "entries": standing.entries if standing else 0,
            "missed": standing.missed if standing else 0,
            "forged": standing.forged if standing else 0,
        }
    )


@callbacks.get("/{token}")
async def verify(request: Request, runtime: CurrentRuntime, token: str) -> Response:
    return PlainTextResponse(await answer_hub(runtime, token, request.query_params, client_ip(request)))


@callbacks.post("/{token}")
async def distribute(request: Request, runtime: CurrentRuntime, token: str) -> Response:
    one = await admit(runtime, token, client_ip(request))
    headers = request.headers
    sent = Push(await request.body(), headers.get("x-hub-signature"), headers.get("content-type"))
    await take_push(runtime, one, sent, client_ip(request))
    return Response(status_code=202)
