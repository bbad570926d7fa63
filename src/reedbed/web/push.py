"""Notification settings: which devices receive push messages, and about what."""

from typing import Annotated

from fastapi import APIRouter, Header, Request, Response

from reedbed.domain.push import PushDevice, PushNote
from reedbed.domain.times import Instant
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.params import IdPath
from reedbed.services.push import add_device, list_devices, remove_device, send_test
from reedbed.services.users import preferences_of, set_preferences
from reedbed.store import sidebar
from reedbed.web.formats import ago
from reedbed.web.forms import FormFlag, Text
from reedbed.web.i18n import device_text, translate
from reedbed.web.pages import see_other
from reedbed.web.settings import settings_page
from reedbed.web.views.layout import SelectOption, Toast
from reedbed.web.views.settings import NotificationSettings, NotifiedDevice

router = APIRouter(include_in_schema=False)

PAGE = "/settings/notifications"


@router.get(PAGE)
async def show(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    now = runtime.now()
    async with runtime.db.read() as tx:
        notifying = await sidebar.notifying(tx, caller.user_id)
    view = NotificationSettings(
        devices=tuple(_device_view(device, caller, now) for device in await list_devices(runtime, caller.user_id)),
        feeds=tuple(SelectOption(str(id_), title, url=f"/feeds/{id_}/edit") for id_, title in notifying),
        digests=preferences_of(caller.user).push_digests,
        stopped=_stopped_options(preferences_of(caller.user).stopped_feeds),
        broken_weekly=preferences_of(caller.user).broken_feeds_weekly,
        has_mail=runtime.mailer is not None,
    )
    return await settings_page(request, runtime, caller, "notifications", view)


@router.post(PAGE)
async def save(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    digests: FormFlag = False,
    stopped: Text = "off",
    broken_weekly: FormFlag = False,
) -> Response:
    changes = {"push_digests": digests, "stopped_feeds": stopped, "broken_feeds_weekly": broken_weekly}
    await set_preferences(runtime, caller, changes)
    return see_other(request, PAGE, toast=Toast(translate("Saved.")))


@router.post(f"{PAGE}/devices")
async def add(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    endpoint: Text = "",
    p256dh: Text = "",
    auth: Text = "",
    user_agent: Annotated[str | None, Header()] = None,
) -> Response:
    await add_device(runtime, caller, endpoint=endpoint, p256dh=p256dh, auth=auth, user_agent=user_agent)
    return see_other(request, PAGE, toast=Toast(translate("This device gets notifications from now on.")))


@router.post(f"{PAGE}/devices/{{device_id}}/delete")
async def remove(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, device_id: IdPath) -> Response:
    await remove_device(runtime, caller.user_id, device_id)
    return see_other(request, PAGE, toast=Toast(translate("This device no longer gets notifications.")))


@router.post(f"{PAGE}/devices/{{device_id}}/test")
async def test(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, device_id: IdPath) -> Response:
    note = PushNote("Reedbed", translate("This device gets notifications."), PAGE, "test")
    await send_test(runtime, caller.user_id, device_id, note)
    return see_other(request, PAGE, toast=Toast(translate("A note is on its way.")))


def _stopped_options(chosen: str) -> tuple[SelectOption, ...]:
    names = {
        "off": translate("Do not tell me"),
        "mail": translate("By mail"),
        "push": translate("My devices"),
        "both": translate("By mail and my devices"),
    }
    return tuple(SelectOption(value, name, value == chosen) for value, name in names.items())


def _device_view(device: PushDevice, caller: Caller, now: Instant) -> NotifiedDevice:
    reached = (
        translate("Reached %(when)s", when=ago(device.reached_at, now))
        if device.reached_at
        else translate("Not reached yet")
    )
    return NotifiedDevice(device.id, device_text(device.name), reached, this_one=device.session_id == caller.session_id)
