"""Webhooks and the log of their deliveries."""

from typing import Annotated, Literal

from fastapi import Response
from pydantic import Field

from reedbed.domain.pagination import page_limit
from reedbed.domain.records import UNSET, record
from reedbed.domain.webhooks import CHOOSABLE, Webhook, read_events
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel, FailureName, FailureSentence, JsonId, ListPage, ResponseModel, Timestamp
from reedbed.http.params import IdPath, PageCursor, PageLimit, before_of, newest_first
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.webhooks import (
    Changes,
    change_webhook,
    create_webhook,
    delete_webhook,
    get_webhook,
    list_deliveries,
    list_webhooks,
    renew_secret,
    try_webhook,
)

router = ApiRouter(prefix="/api/v1/webhooks", tags=["webhooks"])

Events = list[Literal["new_entries", "rule_match", "digest"]]
ALL_EVENTS: Events = ["new_entries", "rule_match", "digest"]


class WebhookRequest(ApiModel):
    url: str = Field(examples=["https://example.org/hook"])
    name: str = Field("", description="Default: its URL.")
    events: Events = Field(default_factory=lambda: ALL_EVENTS, max_length=10)


class ChangeWebhookRequest(ApiModel):
    """Fields that are not sent stay unchanged."""

    url: str | None = None
    name: str | None = None
    events: Events | None = Field(None, max_length=10)
    enabled: bool | None = None


@record
class WebhookResponse(ResponseModel):
    id: JsonId
    name: str
    url: str
    events: Annotated[list[str], Field(description="Empty: called only by rules that name its URL.")]
    enabled: bool
    failing_since: Timestamp | None
    disabled_at: Annotated[Timestamp | None, Field(description="When it was disabled because its calls kept failing.")]
    created_at: Timestamp


@record
class NewWebhookResponse(WebhookResponse):
    secret: Annotated[str, Field(description="Signs the calls. Shown only once.", examples=["whsec_…"])]


@record
class DeliveryResponse(ResponseModel):
    id: JsonId
    event: str
    state: Annotated[str, Field(description="waiting, delivered or failed")]
    tries: int
    status: Annotated[int | None, Field(description="HTTP status of the last response.")]
    answer: Annotated[FailureSentence, Field(description="Error of the last call, as text.")]
    answer_code: FailureName
    created_at: Timestamp
    tried_at: Timestamp | None
    next_at: Timestamp | None


@router.get("", summary="List webhooks without their secrets")
async def list_all(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[ListPage[WebhookResponse]]:
    webhooks = await list_webhooks(runtime, caller.user_id)
    return Json(ListPage([webhook_response(webhook) for webhook in webhooks]))


@router.post("", status_code=201, summary="Create a webhook")
async def create(runtime: CurrentRuntime, caller: CurrentCaller, body: WebhookRequest) -> Json[NewWebhookResponse]:
    webhook = await create_webhook(runtime, caller.user_id, body.url, read_events(body.events), body.name)
    return _secret_response(webhook, 201)


@router.get("/{webhook_id}", summary="Get a webhook")
async def get(runtime: CurrentRuntime, caller: CurrentCaller, webhook_id: IdPath) -> Json[WebhookResponse]:
    return Json(webhook_response(await get_webhook(runtime, caller.user_id, webhook_id)))


@router.patch("/{webhook_id}", summary="Change, enable or disable a webhook")
async def change(
    runtime: CurrentRuntime, caller: CurrentCaller, webhook_id: IdPath, body: ChangeWebhookRequest
) -> Json[WebhookResponse]:
    changes = Changes(
        name=UNSET if body.name is None else body.name,
        url=UNSET if body.url is None else body.url,
        events=UNSET if body.events is None else read_events(body.events),
        enabled=UNSET if body.enabled is None else body.enabled,
    )
    return Json(webhook_response(await change_webhook(runtime, caller.user_id, webhook_id, changes)))


@router.post("/{webhook_id}/secret", summary="Create a new secret; the old one stops working")
async def renew(runtime: CurrentRuntime, caller: CurrentCaller, webhook_id: IdPath) -> Json[NewWebhookResponse]:
    return _secret_response(await renew_secret(runtime, caller.user_id, webhook_id), 200)


@router.post("/{webhook_id}/test", status_code=202, summary="Send a test call")
async def test(runtime: CurrentRuntime, caller: CurrentCaller, webhook_id: IdPath) -> Json[DeliveryResponse]:
    return Json(DeliveryResponse.of(await try_webhook(runtime, caller.user_id, webhook_id)), 202)


@router.get("/{webhook_id}/deliveries", summary="List deliveries of the last month, newest first")
async def deliveries(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    webhook_id: IdPath,
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Json[ListPage[DeliveryResponse]]:
    name = f"webhook {webhook_id}"
    size, before = page_limit(limit), before_of(cursor, name)
    rows = await list_deliveries(runtime, caller.user_id, webhook_id, limit=size + 1, before=before)
    return newest_first(rows, size, name, DeliveryResponse.of)


@router.delete("/{webhook_id}", status_code=204, summary="Delete a webhook and its log")
async def delete(runtime: CurrentRuntime, caller: CurrentCaller, webhook_id: IdPath) -> Response:
    await delete_webhook(runtime, caller.user_id, webhook_id)
    return Response(status_code=204)


def webhook_response(webhook: Webhook) -> WebhookResponse:
    return WebhookResponse.of(webhook, events=_events(webhook))


def _events(webhook: Webhook) -> list[str]:
    return [event for event in CHOOSABLE if event in webhook.events]


def _secret_response(webhook: Webhook, status: int) -> Json[NewWebhookResponse]:
    return Json(NewWebhookResponse.of(webhook, events=_events(webhook)), status, {"Cache-Control": "no-store"})
