"""The security settings: ways to log in, open sessions, and the latest logins."""

from collections.abc import Mapping, Sequence
from datetime import tzinfo

import orjson
from fastapi import APIRouter, Request, Response
from markupsafe import Markup

from reedbed.domain.codes import RECOVERY_CODES, CodesState, Enrolment
from reedbed.domain.errors import Conflict, Invalid, NotFound, TooMany
from reedbed.domain.passkeys import Passkey
from reedbed.domain.sign_in import LinkedIdentity
from reedbed.domain.times import Instant
from reedbed.domain.users import ApiToken, Caller, LoggedEvent, Session, device_name, is_phone
from reedbed.http.auth import CurrentCaller, CurrentRuntime, CurrentSession
from reedbed.http.errors import status_of
from reedbed.http.params import IdPath, path_id
from reedbed.services.auth import list_sessions, list_tokens, revoke_other_sessions, revoke_session
from reedbed.services.codes import (
    begin_codes,
    codes_state,
    disable_codes,
    enable_codes,
    pending_enrolment,
    renew_recovery_codes,
)
from reedbed.services.passkeys import (
    add_passkey,
    list_passkeys,
    own_party,
    remove_passkey,
    remove_password,
    rename_passkey,
)
from reedbed.services.runtime import Runtime
from reedbed.services.sign_in import linked, unlink
from reedbed.services.users import change_password, has_password
from reedbed.store import users
from reedbed.web.formats import ago, full_time, zone_of
from reedbed.web.forms import Text
from reedbed.web.i18n import device_text, explain, marked, ngettext, translate
from reedbed.web.pages import see_other
from reedbed.web.qr import qr_svg
from reedbed.web.settings import settings_page
from reedbed.web.views.layout import SelectOption, Toast
from reedbed.web.views.settings import CodesView, DeviceView, LoginEntry, PasskeyView, RevocableSecret, SecuritySettings

router = APIRouter(include_in_schema=False)

PLACE = "/settings/security"
MAX_LOGINS = 10
EVENTS_READ = 200
_LOGIN_EVENTS = {
    "user_login": marked("Logged in"),
    "login_failed": marked("Wrong password"),
    "code_failed": marked("Wrong code"),
    "recovery_code_used": marked("Recovery code used"),
}


@router.get(PLACE)
async def show(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    return await security_page(request, runtime, caller)


@router.post("/settings/password")
async def set_password(
    request: Request, runtime: CurrentRuntime, caller: CurrentSession, current_password: Text = "", password: Text = ""
) -> Response:
    try:
        await change_password(runtime, caller, current_password, password)
    except (Invalid, TooMany) as error:
        field = getattr(error, "field", None)
        form_field = "password" if field == "new_password" else "current_password"
        return await security_page(
            request, runtime, caller, errors={form_field: explain(error)}, status=status_of(error)
        )
    message = translate("The new password is set. All other devices are logged out.")
    return see_other(request, "/settings/security", toast=Toast(message))


@router.post("/settings/account/unlink")
async def unlink_identity(
    request: Request, runtime: CurrentRuntime, caller: CurrentSession, provider: Text = ""
) -> Response:
    try:
        await unlink(runtime, caller, path_id(provider))
    except (Conflict, NotFound) as error:
        return await security_page(request, runtime, caller, errors={"linked": explain(error)}, status=status_of(error))
    return see_other(request, "/settings/security", toast=Toast(translate("It is unlinked.")))


# --- Sessions


@router.post("/settings/devices/{session_id}/delete")
async def log_device_out(
    request: Request, runtime: CurrentRuntime, caller: CurrentSession, session_id: IdPath
) -> Response:
    await revoke_session(runtime, caller, session_id)
    return see_other(request, "/settings/security", toast=Toast(translate("It is logged out.")))


@router.post("/settings/sessions/others")
async def log_others_out(request: Request, runtime: CurrentRuntime, caller: CurrentSession) -> Response:
    await revoke_other_sessions(runtime, caller)
    return see_other(request, PLACE, toast=Toast(translate("All other devices are logged out.")))


# --- Passkeys


@router.post("/settings/passkeys")
async def add(
    request: Request, runtime: CurrentRuntime, caller: CurrentSession, name: Text = "", passkey: Text = ""
) -> Response:
    """The script of the page has put the browser's answer into the form."""
    try:
        await add_passkey(runtime, caller, name, passkey)
    except (Invalid, Conflict) as error:
        return await _passkey_error(request, runtime, caller, error)
    return see_other(request, PLACE, toast=Toast(translate("The passkey is added.")))


@router.post("/settings/passkeys/{passkey_id}/rename")
async def rename(
    request: Request, runtime: CurrentRuntime, caller: CurrentSession, passkey_id: IdPath, name: Text = ""
) -> Response:
    try:
        await rename_passkey(runtime, caller, passkey_id, name)
    except Invalid as error:
        return await _passkey_error(request, runtime, caller, error)
    return see_other(request, PLACE, toast=Toast(translate("Saved.")))


@router.post("/settings/passkeys/{passkey_id}/delete")
async def remove(request: Request, runtime: CurrentRuntime, caller: CurrentSession, passkey_id: IdPath) -> Response:
    try:
        await remove_passkey(runtime, caller, passkey_id)
    except Conflict as error:
        return await _passkey_error(request, runtime, caller, error)
    return see_other(request, PLACE, toast=Toast(translate("The passkey is removed.")))


@router.post("/settings/password/delete")
async def do_without_password(request: Request, runtime: CurrentRuntime, caller: CurrentSession) -> Response:
    try:
        await remove_password(runtime, caller)
    except Conflict as error:
        return await security_page(request, runtime, caller, errors={"password": explain(error)}, status=409)
    return see_other(request, PLACE, toast=Toast(translate("The password is removed.")))


async def _passkey_error(request: Request, runtime: Runtime, caller: Caller, error: Invalid | Conflict) -> Response:
    errors = {"passkey": explain(error)}
    return await security_page(request, runtime, caller, errors=errors, status=status_of(error))


# --- One-time codes


@router.post("/settings/codes")
async def set_up_codes(request: Request, runtime: CurrentRuntime, caller: CurrentSession) -> Response:
    try:
        await begin_codes(runtime, caller)
    except Conflict as error:
        return await security_page(request, runtime, caller, codes_error=explain(error), status=409)
    return see_other(request, f"{PLACE}?codes=new#codes")


@router.post("/settings/codes/enable")
async def turn_codes_on(request: Request, runtime: CurrentRuntime, caller: CurrentSession, code: Text = "") -> Response:
    """Respond with the page itself: recovery codes are shown only once, and a redirect could not carry them."""
    try:
        made = await enable_codes(runtime, caller, code)
    except (Invalid, Conflict, TooMany) as error:
        return await security_page(request, runtime, caller, codes_error=explain(error), status=status_of(error))
    return await security_page(request, runtime, caller, recovery=made)


@router.post("/settings/codes/recovery")
async def make_recovery_codes(request: Request, runtime: CurrentRuntime, caller: CurrentSession) -> Response:
    try:
        made = await renew_recovery_codes(runtime, caller)
    except Conflict as error:
        return await security_page(request, runtime, caller, codes_error=explain(error), status=409)
    return await security_page(request, runtime, caller, recovery=made)


@router.post("/settings/codes/delete")
async def turn_codes_off(request: Request, runtime: CurrentRuntime, caller: CurrentSession) -> Response:
    await disable_codes(runtime, caller)
    return see_other(request, PLACE, toast=Toast(translate("One-time codes are off.")))


# --- The page


async def security_page(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    *,
    errors: Mapping[str, str] | None = None,
    codes_error: str = "",
    recovery: Sequence[str] = (),
    status: int = 200,
) -> Response:
    now, zone, user_id = runtime.now(), zone_of(request), caller.user_id
    enrolling = codes_error or "codes" in request.query_params
    enrolment = await pending_enrolment(runtime, caller) if enrolling and caller.session_id else None
    state = await codes_state(runtime, user_id)
    async with runtime.db.read() as tx:
        events = await users.list_events(tx, user_id=user_id, limit=EVENTS_READ)
    view = SecuritySettings(
        email=caller.user.email,
        has_password=await has_password(runtime, user_id),
        passkeys=tuple(_passkey_view(runtime, passkey, now) for passkey in await list_passkeys(runtime, user_id)),
        passkeys_possible=own_party(runtime) is not None,
        codes=_codes_view(state, enrolment, recovery, codes_error, now),
        linked=_identity_options(runtime, await linked(runtime, user_id)),
        devices=tuple(_device_view(session, caller, now) for session in await list_sessions(runtime, user_id)),
        secrets=tuple(_secret_view(token, now) for token in await list_tokens(runtime, user_id)),
        logins=_login_views(events, now, zone),
        errors=errors or {},
    )
    return await settings_page(request, runtime, caller, "security", view, status=status)


def _codes_view(
    state: CodesState, enrolment: Enrolment | None, recovery: Sequence[str], error: str, now: Instant
) -> CodesView:
    if state.enabled_at is None:
        secret, url = (enrolment.secret, enrolment.url) if enrolment else ("", "")
        spaced = " ".join(secret[start : start + 4] for start in range(0, len(secret), 4))
        # A drawing of ours; the address in it is only dots.
        return CodesView(secret=spaced, url=url, qr=Markup(qr_svg(url)) if url else Markup(), error=error)  # noqa: S704
    left = state.recovery_left
    return CodesView(
        since=ago(state.enabled_at, now),
        left=left,
        used=max(0, RECOVERY_CODES - left),
        left_text=ngettext("%(num)s recovery code left.", "%(num)s recovery codes left.", left),
        recovery=tuple(recovery),
        error=error,
    )


def _identity_options(runtime: Runtime, identities: Sequence[LinkedIdentity]) -> tuple[SelectOption, ...]:
    """Linked identities with their e-mail addresses, then the providers that can be linked."""
    names = {key: provider.name for key, provider in runtime.sign_in.providers.items()}
    linked_providers = {identity.provider for identity in identities}
    return (
        *(
            SelectOption(
                str(identity.id), f"{names.get(identity.provider, identity.provider)} {identity.email}".strip(), True
            )
            for identity in identities
        ),
        *(
            SelectOption(key, name, False, f"/settings/account/link/{key}")
            for key, name in names.items()
            if key not in linked_providers
        ),
    )


def _device_view(session: Session, caller: Caller, now: Instant) -> DeviceView:
    return DeviceView(
        id=session.id,
        name=device_text(device_name(session.user_agent)),
        seen=_joined(session.ip, translate("Last seen %(when)s", when=ago(session.last_active_at, now))),
        icon="phone" if is_phone(session.user_agent) else "device",
        this_one=session.id == caller.session_id,
        new_place=session.new_place,
    )


def _passkey_view(runtime: Runtime, passkey: Passkey, now: Instant) -> PasskeyView:
    party = own_party(runtime)
    added = translate("Added %(when)s", when=ago(passkey.created_at, now))
    used = translate("last used %(when)s", when=ago(passkey.last_used_at, now)) if passkey.last_used_at else ""
    is_stranded = party is None or party.id != passkey.rp_id
    stranded = translate("It works at %(host)s only.", host=passkey.rp_id) if is_stranded else ""
    return PasskeyView(passkey.id, passkey.name, _joined(added, used), stranded)


def _secret_view(token: ApiToken, now: Instant) -> RevocableSecret:
    is_app = token.kind == "app_password"
    kind = translate("App password") if is_app else translate("API token")
    path = "app-passwords" if is_app else "tokens"
    return RevocableSecret(token.name, _joined(kind, usage_text(token, now)), f"/settings/{path}/{token.id}/delete")


def usage_text(token: ApiToken, now: Instant) -> str:
    if token.last_used_at is None:
        return translate("Made %(when)s, never used", when=ago(token.created_at, now))
    return translate("Last used %(when)s", when=ago(token.last_used_at, now))


def _login_views(events: Sequence[LoggedEvent], now: Instant, zone: tzinfo) -> tuple[LoginEntry, ...]:
    logins = [event for event in events if event.kind in _LOGIN_EVENTS]
    return tuple(_login_view(event, now, zone) for event in logins[:MAX_LOGINS])


def _login_view(event: LoggedEvent, now: Instant, zone: tzinfo) -> LoginEntry:
    detail = orjson.loads(event.detail)
    device = device_text(detail["device"]) if detail.get("device") else ""
    return LoginEntry(
        what=translate(_LOGIN_EVENTS[event.kind]),
        where=_joined(device, detail.get("ip")),
        when=full_time(event.at, now, zone),
        new_place=bool(detail.get("new_place")),
        failed=event.kind.endswith("failed"),
    )


def _joined(*parts: str | None) -> str:
    return " · ".join(part for part in parts if part)
