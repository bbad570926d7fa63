"""Webhook settings: create, change, test, enable, disable and delete webhooks, and show their calls."""

from fastapi import APIRouter, Request, Response
from starlette.datastructures import FormData

from reedbed.domain.errors import Conflict, Invalid
from reedbed.domain.times import Instant
from reedbed.domain.users import Caller
from reedbed.domain.webhooks import CHOOSABLE, Delivery, Webhook, WebhookEvent, read_events
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.errors import status_of
from reedbed.http.params import IdPath
from reedbed.services.runtime import Runtime
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
from reedbed.web.formats import ago
from reedbed.web.i18n import enumerated, explain, translate
from reedbed.web.pages import see_other
from reedbed.web.settings import settings_page
from reedbed.web.views.layout import SelectOption, Toast
from reedbed.web.views.settings import Saved, WebhookCall, WebhookDetails, WebhooksSettings, WebhookView

router = APIRouter(include_in_schema=False)

HOME = "/settings/webhooks"
MAX_CALLS = 50


@router.get("/settings/webhooks")
async def show_all(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    return await _show(request, runtime, caller, chosen=frozenset(CHOOSABLE))


@router.get("/settings/webhooks/{webhook_id}")
async def show_one(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, webhook_id: IdPath) -> Response:
    return await _show(request, runtime, caller, webhook_id=webhook_id)


@router.post("/settings/webhooks")
async def make(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    """Respond with the page itself: the secret is shown only once."""
    form = await request.form()
    name, url = str(form.get("name", "")), str(form.get("url", ""))
    chosen = _events(form)
    try:
        webhook = await create_webhook(runtime, caller.user_id, url, chosen, name)
    except (Invalid, Conflict) as error:
        return await _show(request, runtime, caller, chosen=chosen, name=name, url=url, error=error)
    return await _show(request, runtime, caller, chosen=frozenset(CHOOSABLE), new_webhook=webhook)


@router.post("/settings/webhooks/{webhook_id}")
async def change(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, webhook_id: IdPath) -> Response:
    form = await request.form()
    name, url, chosen = str(form.get("name", "")), str(form.get("url", "")), _events(form)
    try:
        await change_webhook(runtime, caller.user_id, webhook_id, Changes(name, url, chosen))
    except (Invalid, Conflict) as error:
        return await _show(
            request, runtime, caller, webhook_id=webhook_id, chosen=chosen, name=name, url=url, error=error
        )
    return see_other(request, f"{HOME}/{webhook_id}", toast=Toast(translate("Saved.")))


@router.post("/settings/webhooks/{webhook_id}/switch")
async def switch(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, webhook_id: IdPath) -> Response:
    on = (await request.form()).get("on") == "true"
    await change_webhook(runtime, caller.user_id, webhook_id, Changes(enabled=on))
    message = translate("It is called again.") if on else translate("It is not called any more.")
    return see_other(request, f"{HOME}/{webhook_id}", toast=Toast(message))


@router.post("/settings/webhooks/{webhook_id}/test")
async def test(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, webhook_id: IdPath) -> Response:
    try:
        await try_webhook(runtime, caller.user_id, webhook_id)
    except Conflict as error:
        return await _show(request, runtime, caller, webhook_id=webhook_id, error=error)
    message = translate("A test is on its way. Its answer will be in the log.")
    return see_other(request, f"{HOME}/{webhook_id}", toast=Toast(message))


@router.post("/settings/webhooks/{webhook_id}/secret")
async def renew(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, webhook_id: IdPath) -> Response:
    webhook = await renew_secret(runtime, caller.user_id, webhook_id)
    return await _show(request, runtime, caller, webhook_id=webhook_id, new_webhook=webhook)


@router.post("/settings/webhooks/{webhook_id}/delete")
async def delete(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, webhook_id: IdPath) -> Response:
    await delete_webhook(runtime, caller.user_id, webhook_id)
    return see_other(request, HOME, toast=Toast(translate("The webhook is deleted.")))


async def _show(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    *,
    webhook_id: int | None = None,
    chosen: frozenset[WebhookEvent] = frozenset(),
    new_webhook: Webhook | None = None,
    name: str = "",
    url: str = "",
    error: Invalid | Conflict | None = None,
) -> Response:
    details = None if webhook_id is None else await _details(runtime, caller.user_id, webhook_id)
    webhooks = await list_webhooks(runtime, caller.user_id)
    error_field = error.field if error and error.field in ("name", "url") else ""
    view = WebhooksSettings(
        webhooks=tuple(_webhook_view(webhook) for webhook in webhooks),
        events=_event_options(chosen),
        one=details,
        made=Saved(new_webhook.name, new_webhook.secret) if new_webhook else None,
        name=name,
        url=url,
        error=explain(error) if error and not error_field else "",
        errors={error_field: explain(error)} if error and error_field else {},
    )
    status = status_of(error) if error else 200
    return await settings_page(request, runtime, caller, "webhooks", view, status=status)


async def _details(runtime: Runtime, user_id: int, webhook_id: int) -> WebhookDetails:
    webhook = await get_webhook(runtime, user_id, webhook_id)
    calls = await list_deliveries(runtime, user_id, webhook_id, limit=MAX_CALLS)
    now = runtime.now()
    return WebhookDetails(
        _webhook_view(webhook),
        _event_options(webhook.events),
        tuple(_call_view(call, now) for call in calls),
        webhook.enabled,
    )


def _events(form: FormData) -> frozenset[WebhookEvent]:
    return read_events(str(name) for name in form.getlist("event"))


def _event_options(chosen: frozenset[WebhookEvent]) -> tuple[SelectOption, ...]:
    names = _event_names()
    return tuple(SelectOption(event, names[event], event in chosen) for event in CHOOSABLE)


def _webhook_view(webhook: Webhook) -> WebhookView:
    names = _event_names()
    events = enumerated(names[event] for event in CHOOSABLE if event in webhook.events)
    state, kind = _state(webhook)
    no_events = translate("Only rules that name its address")
    return WebhookView(webhook.id, webhook.name, webhook.url, events or no_events, state, kind)


def _state(webhook: Webhook) -> tuple[str, str]:
    if webhook.disabled_at is not None and not webhook.enabled:
        return translate("Switched off: its calls failed for long"), "bad"
    if not webhook.enabled:
        return translate("Switched off"), "warn"
    return (translate("Failing"), "warn") if webhook.failing_since is not None else (translate("On"), "good")


def _call_view(call: Delivery, now: Instant) -> WebhookCall:
    states = {
        "delivered": (translate("Delivered"), "good"),
        "waiting": (translate("Waiting"), "warn"),
        "failed": (translate("Failed"), "bad"),
    }
    state, kind = states[call.state]
    status = translate("status %(status)s", status=call.status) if call.status and not call.answer else ""
    tries = translate("%(count)s tries", count=call.tries) if call.tries > 1 else ""
    detail = enumerated(part for part in (status, tries, explain(call.answer)) if part)
    return WebhookCall(_event_names()[call.event], ago(call.created_at, now), state, kind, detail)


def _event_names() -> dict[WebhookEvent, str]:
    return {
        WebhookEvent.NEW_ENTRIES: translate("New entries"),
        WebhookEvent.RULE_MATCH: translate("Matches of rules that notify"),
        WebhookEvent.DIGEST: translate("Digests"),
        WebhookEvent.TEST: translate("Test"),
    }
