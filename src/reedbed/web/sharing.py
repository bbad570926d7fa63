"""Sharing: manage the services in the settings, and send an entry to one of them."""

from urllib.parse import quote

from fastapi import APIRouter, Request, Response

from reedbed.domain.errors import Conflict, Invalid
from reedbed.domain.sharing import FIELDS, NAMES, Kind, ShareTarget
from reedbed.domain.times import Instant
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.errors import status_of
from reedbed.http.params import IdPath, path_id
from reedbed.services.entries import get_entry
from reedbed.services.runtime import Runtime
from reedbed.services.sharing import add_target, list_targets, remove_target, share_entry
from reedbed.services.users import preferences_of, set_preferences
from reedbed.store import sharing
from reedbed.web.formats import ago
from reedbed.web.forms import FormFlag, Text
from reedbed.web.i18n import explain, translate
from reedbed.web.pages import see_other
from reedbed.web.settings import settings_page
from reedbed.web.sidebar import app_page
from reedbed.web.views.layout import SelectOption, Toast
from reedbed.web.views.settings import SecretField, SharePage, ShareSettings, ShareTargetView

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
        return await _settings(request, runtime, caller, kind, name=name, url=url, error=error)
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
    name: str = "",
    url: str = "",
    error: Invalid | Conflict | None = None,
) -> Response:
    chosen = Kind(kind) if kind in frozenset(Kind) else Kind.LINKDING
    now = runtime.now()
    view = ShareSettings(
        targets=tuple(_target_view(target, now) for target in await list_targets(runtime, caller.user_id)),
        kinds=tuple(SelectOption(item, NAMES[item], item is chosen, f"{HOME}?kind={item}") for item in Kind),
        fields=tuple(_field(secret) for secret in FIELDS[chosen]),
        name=name,
        url=url,
        errors={error.field or "url": explain(error)} if error else {},
        marks_read=preferences_of(caller.user).share_marks_read,
    )
    status = status_of(error) if error else 200
    return await settings_page(request, runtime, caller, "sharing", view, status=status)


def _target_view(target: ShareTarget, now: Instant) -> ShareTargetView:
    used = (
        translate("Added %(when)s, not used yet", when=ago(target.created_at, now))
        if target.used_at is None
        else translate("Last used %(when)s", when=ago(target.used_at, now))
    )
    return ShareTargetView(target.id, target.name, NAMES[target.kind], target.url, used, explain(target.problem))


def _field(name: str) -> SecretField:
    labels = {
        "token": translate("API token"),
        "client_id": translate("Client ID"),
        "client_secret": translate("Client secret"),
        "username": translate("User name"),
        "password": translate("Password"),
    }
    return SecretField(name, labels[name], hidden=name in ("token", "client_secret", "password"))
