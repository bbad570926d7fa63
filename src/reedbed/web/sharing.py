"""Sharing: manage the services in the settings, and send an entry to one of them."""

from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import quote

from fastapi import APIRouter, Request, Response

from reedbed.domain.errors import Conflict, Invalid
from reedbed.domain.sharing.services import SERVICES, Kind, Purpose, Service, ServiceField
from reedbed.domain.sharing.targets import METHODS, ShareTarget
from reedbed.domain.times import Instant
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.errors import status_of
from reedbed.http.params import IdPath, path_id
from reedbed.services.entries import get_entry
from reedbed.services.runtime import Runtime
from reedbed.services.sharing import (
    add_target,
    connectors,
    list_targets,
    remove_target,
    set_messages,
    share_entry,
    try_target,
)
from reedbed.services.users import preferences_of, set_preferences
from reedbed.store import sharing
from reedbed.web.formats import ago
from reedbed.web.forms import FormFlag, Text
from reedbed.web.i18n import explain, translate
from reedbed.web.pages import see_other
from reedbed.web.settings import settings_page
from reedbed.web.sidebar import app_page
from reedbed.web.views.layout import SelectOption, Toast
from reedbed.web.views.settings import SecretField, SharePage, ShareSettings, ShareTargetView, ShareTestView

router = APIRouter(include_in_schema=False)

HOME = "/settings/sharing"


@router.get("/settings/sharing")
async def show_targets(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, kind: str = Kind.LINKDING
) -> Response:
    return await _settings(request, runtime, caller, kind)


@router.post("/settings/sharing")
async def add(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    form = {name: str(value) for name, value in (await request.form()).items()}
    kind, name, url = (form.get(field, "") for field in ("kind", "name", "url"))
    try:
        await add_target(runtime, caller.user_id, kind=kind, url=url, name=name, secrets=form)
    except (Invalid, Conflict) as error:
        return await _settings(request, runtime, caller, kind, form=form, error=error)
    return see_other(request, HOME, toast=Toast(translate("The service is added.")))


@router.post("/settings/sharing/marks")
async def choose_marks(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, marks_read: FormFlag = False
) -> Response:
    await set_preferences(runtime, caller, {"share_marks_read": marks_read})
    return see_other(request, HOME, toast=Toast(translate("Saved.")))


@router.post("/settings/sharing/{target_id}/delete")
async def remove(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, target_id: IdPath) -> Response:
    await remove_target(runtime, caller.user_id, target_id)
    return see_other(request, HOME, toast=Toast(translate("The service is removed.")))


@router.post("/settings/sharing/{target_id}/messages")
async def choose_messages(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    target_id: IdPath,
    digests: FormFlag = False,
    stopped_feeds: FormFlag = False,
) -> Response:
    await set_messages(runtime, caller.user_id, target_id, digests=digests, stopped_feeds=stopped_feeds)
    return see_other(request, HOME, toast=Toast(translate("Saved.")))


@router.post("/settings/sharing/{target_id}/test")
async def test(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, target_id: IdPath) -> Response:
    result = await try_target(runtime, caller.user_id, target_id)
    name = next(target.name for target in await list_targets(runtime, caller.user_id) if target.id == target_id)
    view = ShareTestView(name, result.accepted, result.status, result.answer, explain(result.problem))
    return await _settings(request, runtime, caller, Kind.LINKDING, test=view)


@router.get("/entry/{entry_id}/share")
async def ways(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Response:
    entry = await get_entry(runtime, caller.user_id, entry_id)
    async with runtime.db.read() as tx:
        targets = await sharing.names(tx, caller.user_id)
    title = entry.row.title or translate("Without a title")
    url = entry.row.url or entry.external_url or ""
    view = SharePage(
        entry_id=entry_id,
        title=title,
        address=url,
        mail_url=f"mailto:?subject={quote(title)}&body={quote(url)}",
        targets=tuple(SelectOption(str(id), name) for id, name in targets),
    )
    return await app_page(request, runtime, caller, "sharing/share.html", view)


@router.post("/entry/{entry_id}/share")
async def share(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath, target: Text
) -> Response:
    sent_to = await share_entry(runtime, caller.user_id, entry_id, path_id(target))
    message = translate("It is on its way to %(name)s.", name=sent_to.name)
    return see_other(request, f"/entry/{entry_id}", toast=Toast(message))


async def _settings(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    kind: str,
    *,
    form: Mapping[str, str] = MappingProxyType({}),
    error: Invalid | Conflict | None = None,
    test: ShareTestView | None = None,
) -> Response:
    services, now = {**SERVICES, **connectors(runtime)}, runtime.now()
    chosen = kind if kind in services else Kind.LINKDING
    service = services[chosen]
    view = ShareSettings(
        targets=tuple(_target_view(target, now) for target in await list_targets(runtime, caller.user_id)),
        kinds=_kinds(services, chosen),
        chosen=_kind_option(chosen, service, chosen),
        fields=tuple(_field(one, form) for one in service.fields),
        asks_address=_asks_address(service),
        test=test,
        name=form.get("name", ""),
        url=form.get("url", "") or service.defaults.get("address", ""),
        errors={error.field or "url": explain(error)} if error else {},
        marks_read=preferences_of(caller.user).share_marks_read,
    )
    status = status_of(error) if error else 200
    return await settings_page(request, runtime, caller, "sharing", view, status=status)


def _asks_address(service: Service) -> bool:
    return not (service.address or service.origin_of)


def _kinds(services: Mapping[str, Service], chosen: str) -> tuple[tuple[str, tuple[SelectOption, ...]], ...]:
    groups = {translate("Keep links"): Purpose.SAVE, translate("Show messages"): Purpose.TELL}
    return tuple(
        (
            name,
            tuple(
                _kind_option(kind, service, chosen) for kind, service in services.items() if service.purpose is purpose
            ),
        )
        for name, purpose in groups.items()
    )


def _kind_option(kind: str, service: Service, chosen: str) -> SelectOption:
    return SelectOption(kind, _service_name(kind, service), kind == chosen, f"{HOME}?kind={quote(kind)}#add-title")


def _service_name(kind: str, service: Service) -> str:
    return translate("Own template") if kind == Kind.TEMPLATE else service.name


def _target_view(target: ShareTarget, now: Instant) -> ShareTargetView:
    used = (
        translate("Added %(when)s, not used yet", when=ago(target.created_at, now))
        if target.used_at is None
        else translate("Last used %(when)s", when=ago(target.used_at, now))
    )
    return ShareTargetView(
        id=target.id,
        name=target.name,
        kind=_service_name(target.kind, target.service),
        url=target.url,
        used=used,
        problem=explain(target.problem),
        takes_messages=target.service.takes_messages,
        digests=target.digests,
        stopped_feeds=target.stopped_feeds,
    )


def _field(one: ServiceField, form: Mapping[str, str]) -> SecretField:
    labels = {
        "token": translate("API token"),
        "client_id": translate("Client ID"),
        "client_secret": translate("Client secret"),
        "username": translate("User name"),
        "password": translate("Password"),
        "collection": translate("Number of the collection"),
        "page": translate("ID of the page"),
        "topic": translate("Topic"),
        "user": translate("User key"),
        "key": translate("Configuration key"),
        "urls": translate("Apprise addresses"),
        "chat": translate("ID of the chat"),
        "thread": translate("ID of the topic in the chat"),
        "room": translate("ID of the room"),
        "webhook": translate("Webhook address"),
        "method": translate("Method"),
        "headers": translate("Headers"),
        "body": translate("Body"),
    }
    hints = {
        "headers": translate("One on a line, as Name: value."),
        "body": translate(
            "What stands for the entry: {url}, {title}, {text}, {summary}, {feed}, {tags} and {note}, which is the "
            "text with the address. They can be in the address and the headers, too."
        ),
    }
    shows_value = not one.secret or one.name in hints
    typed = form.get(one.name, "") if shows_value else ""
    return SecretField(
        one.name,
        one.label or labels.get(one.name, one.name),
        hidden=one.secret,
        required=one.required,
        value=typed,
        hint=hints.get(one.name, "" if one.required else translate("Can be left empty.")),
        is_text=one.name in hints,
        choices=_methods(typed) if one.name == "method" else (),
    )


def _methods(chosen: str) -> tuple[SelectOption, ...]:
    return tuple(SelectOption(method, method, method == (chosen or METHODS[0])) for method in METHODS)
