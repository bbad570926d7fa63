"""Webhooks: addresses that are called when something happens, and the log of the calls."""

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
    name: str = Field("", description="Without one it is called by its address.")
    events: Events = Field(default_factory=lambda: ALL_EVENTS, max_length=10)


class WebhookChange(ApiModel):
    """What is left out stays as it is."""

    url: str | None = None
    name: str | None = None
    events: Events | None = Field(None, max_length=10)
    enabled: bool | None = None


class WebhookResponse(ApiModel):
    id: str
    name: str
    url: str
    events: list[str] = Field(description="Empty: only rules that name its address call it.")
    enabled: bool
    failing_since: str | None
    disabled_at: str | None = Field(description="When it was switched off because its calls kept failing.")
    created_at: str


class NewWebhookResponse(WebhookResponse):
    secret: str = Field(description="Signs the calls. Shown this once.", examples=["whsec_…"])


class WebhookList(ApiModel):
    items: list[WebhookResponse]
    next_cursor: str | None


class DeliveryResponse(ApiModel):
    id: str
    event: str
    state: str = Field(description="waiting, delivered or failed")
    tries: int
    status: int | None = Field(description="Of the last answer.")
    answer: str = Field(description="What was wrong with it, in words.")
    created_at: str
    tried_at: str | None
    next_at: str | None


class DeliveryList(ApiModel):
    items: list[DeliveryResponse]
    next_cursor: str | None


ONE: dict[int | str, dict[str, Any]] = {200: {"model": WebhookResponse}}


@router.get("", summary="All webhooks, without their secrets", responses={200: {"model": WebhookList}})
async def list_all(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    found = await list_webhooks(runtime, caller.user_id)
    return json_response({"items": [webhook_json(one) for one in found], "next_cursor": None})


@router.post("", status_code=201, summary="Make a webhook", responses={201: {"model": NewWebhookResponse}})
async def create(runtime: CurrentRuntime, caller: CurrentCaller, body: WebhookRequest) -> Response:
    made = await create_webhook(runtime, caller.user_id, body.url, read_events(body.events), body.name)
    return _with_secret(made, 201)


@router.get("/{webhook_id}", summary="One webhook", responses=ONE)
async def get(runtime: CurrentRuntime, caller: CurrentCaller, webhook_id: IdPath) -> Response:
    return json_response(webhook_json(await get_webhook(runtime, caller.user_id, webhook_id)))


@router.patch("/{webhook_id}", summary="Change it, or switch it on and off", responses=ONE)
async def change(
    runtime: CurrentRuntime, caller: CurrentCaller, webhook_id: IdPath, body: WebhookChange
) -> Response:
    wanted = Changes(
        name=UNSET if body.name is None else body.name,
        url=UNSET if body.url is None else body.url,
        events=UNSET if body.events is None else read_events(body.events),
        enabled=UNSET if body.enabled is None else body.enabled,
    )
    return json_response(webhook_json(await change_webhook(runtime, caller.user_id, webhook_id, wanted)))


@router.post(
    "/{webhook_id}/secret",
    summary="Give it a new secret; the old one signs nothing more",
    responses={200: {"model": NewWebhookResponse}},
)
async def renew(runtime: CurrentRuntime, caller: CurrentCaller, webhook_id: IdPath) -> Response:
    return _with_secret(await renew_secret(runtime, caller.user_id, webhook_id), 200)


@router.post(
    "/{webhook_id}/test",
    status_code=202,
    summary="Call it with a greeting",
    responses={202: {"model": DeliveryResponse}},
)
async def test(runtime: CurrentRuntime, caller: CurrentCaller, webhook_id: IdPath) -> Response:
    return json_response(delivery_json(await try_webhook(runtime, caller.user_id, webhook_id)), 202)


@router.get(
    "/{webhook_id}/deliveries",
    summary="What it was told, newest first; a month of it",
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
    found = await list_deliveries(runtime, caller.user_id, webhook_id, limit=size + 1, before=before)
    return newest_first(found, size, name, delivery_json)


@router.delete("/{webhook_id}", status_code=204, summary="Delete it, with its log")
async def delete(runtime: CurrentRuntime, caller: CurrentCaller, webhook_id: IdPath) -> Response:
    await delete_webhook(runtime, caller.user_id, webhook_id)
    return Response(status_code=204)


def webhook_json(one: Webhook) -> dict[str, Any]:
    return {
        "id": str(one.id),
        "name": one.name,
        "url": one.url,
        "events": [event for event in CHOOSABLE if event in one.events],
        "enabled": one.enabled,
        "failing_since": moment(one.failing_since),
        "disabled_at": moment(one.disabled_at),
        "created_at": moment(one.created_at),
    }


def delivery_json(one: Delivery) -> dict[str, Any]:
    return {
        "id": str(one.id),
        "event": one.event,
        "state": one.state,
        "tries": one.tries,
        "status": one.status,
        "answer": one.answer,
        "created_at": moment(one.created_at),
        "tried_at": moment(one.tried_at),
        "next_at": moment(one.next_at),
    }


def _with_secret(one: Webhook, status: int) -> Response:
    shown = {**webhook_json(one), "secret": one.secret}
    return json_response(shown, status, {"Cache-Control": "no-store"})
