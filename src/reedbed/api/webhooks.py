"""Webhooks and the log of their deliveries."""

from typing import Any, Literal

from fastapi import APIRouter, Response
from pydantic import Field

from reedbed.domain.pagination import page_limit
from reedbed.domain.unset import UNSET
from reedbed.domain.webhooks import CHOOSABLE, Delivery, Webhook, read_events
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel
from reedbed.http.params import IdPath, PageCursor, PageLimit, before_of, newest_first
from reedbed.http.responses import json_response, moment
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

router = APIRouter(prefix="/api/v1/webhooks", tags=["webhooks"])

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


class WebhookResponse(ApiModel):
    id: str
    name: str
    url: str
    events: list[str] = Field(description="Empty: called only by rules that name its URL.")
    enabled: bool
    failing_since: str | None
    disabled_at: str | None = Field(description="When it was disabled because its calls kept failing.")
    created_at: str


class NewWebhookResponse(WebhookResponse):
    secret: str = Field(description="Signs the calls. Shown only once.", examples=["whsec_…"])


class WebhookList(ApiModel):
    items: list[WebhookResponse]
    next_cursor: str | None


class DeliveryResponse(ApiModel):
    id: str
    event: str
    state: str = Field(description="waiting, delivered or failed")
    tries: int
    status: int | None = Field(description="HTTP status of the last response.")
    answer: str = Field(description="Error of the last call, as text.")
    created_at: str
    tried_at: str | None
    next_at: str | None


class DeliveryList(ApiModel):
    items: list[DeliveryResponse]
    next_cursor: str | None


ONE: dict[int | str, dict[str, Any]] = {200: {"model": WebhookResponse}}


@router.get("", summary="List webhooks without their secrets", responses={200: {"model": WebhookList}})
async def list_all(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    webhooks = await list_webhooks(runtime, caller.user_id)
    return json_response({"items": [webhook_json(webhook) for webhook in webhooks], "next_cursor": None})


@router.post("", status_code=201, summary="Create a webhook", responses={201: {"model": NewWebhookResponse}})
async def create(runtime: CurrentRuntime, caller: CurrentCaller, body: WebhookRequest) -> Response:
    webhook = await create_webhook(runtime, caller.user_id, body.url, read_events(body.events), body.name)
    return _secret_response(webhook, 201)


@router.get("/{webhook_id}", summary="Get a webhook", responses=ONE)
async def get(runtime: CurrentRuntime, caller: CurrentCaller, webhook_id: IdPath) -> Response:
    return json_response(webhook_json(await get_webhook(runtime, caller.user_id, webhook_id)))


@router.patch("/{webhook_id}", summary="Change, enable or disable a webhook", responses=ONE)
async def change(
    runtime: CurrentRuntime, caller: CurrentCaller, webhook_id: IdPath, body: ChangeWebhookRequest
) -> Response:
    changes = Changes(
        name=UNSET if body.name is None else body.name,
        url=UNSET if body.url is None else body.url,
        events=UNSET if body.events is None else read_events(body.events),
        enabled=UNSET if body.enabled is None else body.enabled,
    )
    return json_response(webhook_json(await change_webhook(runtime, caller.user_id, webhook_id, changes)))


@router.post(
    "/{webhook_id}/secret",
    summary="Create a new secret; the old one stops working",
    responses={200: {"model": NewWebhookResponse}},
)
async def renew(runtime: CurrentRuntime, caller: CurrentCaller, webhook_id: IdPath) -> Response:
    return _secret_response(await renew_secret(runtime, caller.user_id, webhook_id), 200)


@router.post(
    "/{webhook_id}/test",
    status_code=202,
    summary="Send a test call",
    responses={202: {"model": DeliveryResponse}},
)
async def test(runtime: CurrentRuntime, caller: CurrentCaller, webhook_id: IdPath) -> Response:
    return json_response(delivery_json(await try_webhook(runtime, caller.user_id, webhook_id)), 202)


@router.get(
    "/{webhook_id}/deliveries",
    summary="List deliveries of the last month, newest first",
    responses={200: {"model": DeliveryList}},
)
async def deliveries(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    webhook_id: IdPath,
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Response:
    name = f"webhook {webhook_id}"
    size, before = page_limit(limit), before_of(cursor, name)
    rows = await list_deliveries(runtime, caller.user_id, webhook_id, limit=size + 1, before=before)
    return newest_first(rows, size, name, delivery_json)


@router.delete("/{webhook_id}", status_code=204, summary="Delete a webhook and its log")
async def delete(runtime: CurrentRuntime, caller: CurrentCaller, webhook_id: IdPath) -> Response:
    await delete_webhook(runtime, caller.user_id, webhook_id)
    return Response(status_code=204)


def webhook_json(webhook: Webhook) -> dict[str, Any]:
    return {
        "id": str(webhook.id),
        "name": webhook.name,
        "url": webhook.url,
        "events": [event for event in CHOOSABLE if event in webhook.events],
        "enabled": webhook.enabled,
        "failing_since": moment(webhook.failing_since),
        "disabled_at": moment(webhook.disabled_at),
        "created_at": moment(webhook.created_at),
    }


def delivery_json(delivery: Delivery) -> dict[str, Any]:
    return {
        "id": str(delivery.id),
        "event": delivery.event,
        "state": delivery.state,
        "tries": delivery.tries,
        "status": delivery.status,
        "answer": delivery.answer,
        "created_at": moment(delivery.created_at),
        "tried_at": moment(delivery.tried_at),
        "next_at": moment(delivery.next_at),
    }


def _secret_response(webhook: Webhook, status: int) -> Response:
    fields = {**webhook_json(webhook), "secret": webhook.secret}
    return json_response(fields, status, {"Cache-Control": "no-store"})
