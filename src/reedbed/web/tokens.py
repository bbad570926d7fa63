"""Where one is logged in, and the secrets of programs: app passwords with set-up cards, API tokens."""

from fastapi import APIRouter, Request, Response

from reedbed.domain.errors import Conflict, Invalid
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.domain.users import (
    ApiToken,
    Caller,
    NewApiToken,
    Session,
    TokenScope,
    device_name,
    is_phone,
    read_scopes,
)
from reedbed.http.auth import CurrentCaller, CurrentRuntime, SessionOf
from reedbed.http.dependencies import place_to_tell
from reedbed.http.errors import status_of
from reedbed.http.params import IdPath
from reedbed.services.auth import (
    create_api_token,
    create_app_password,
    list_sessions,
    list_tokens,
    revoke_session,
    revoke_token,
)
from reedbed.services.runtime import Runtime
from reedbed.web.formats import ago
from reedbed.web.forms import Text
from reedbed.web.i18n import marked, translate, translate_failure
from reedbed.web.pages import see_other
from reedbed.web.settings import settings_page
from reedbed.web.views.layout import SelectOption, Toast
from reedbed.web.views.settings import (
    AppPassword,
    DevicesSettings,
    DeviceView,
    Saved,
    SetupCard,
    TokensSettings,
)
from reedbed.web.views.settings import TokenView as ShownToken

FRESHRSS, GOOGLE_READER, FEVER = "FreshRSS", "Google Reader API", "Fever"
APPLE, ANDROID, DESK = "iPhone, iPad, Mac", "Android", "Windows, Mac, Linux"


@record
class App:
    name: str
    runs_on: str
    service: str = FRESHRSS
    """What it calls the kind of account that we are."""
    path: str = "/api/greader.php"


APPS = (
    App("NetNewsWire", APPLE),
    App("Reeder", APPLE),
    App("Unread", APPLE),
    App("Read You", ANDROID),
    App("Capy Reader", ANDROID),
    App("FeedMe", ANDROID),
    App("FocusReader", ANDROID),
    App("Fluent Reader", DESK, GOOGLE_READER, ""),
    App("RSS Guard", DESK, f"{GOOGLE_READER}, {FRESHRSS}"),
    App("NewsFlash", "Linux"),
    App("Fiery Feeds, ReadKit", APPLE, FEVER, "/fever/"),
)


def setup_cards(base: str, user: str) -> tuple[SetupCard, ...]:
    return (*(_card(app, base, user) for app in APPS), _newsboat(base, user), _assistants(base))


def _card(app: App, base: str, user: str) -> SetupCard:
    hint = translate("%(devices)s. Choose %(service)s.", devices=app.runs_on, service=app.service)
    return SetupCard(app.name, hint, base + app.path, translate("an app password"), user)


def _newsboat(base: str, user: str) -> SetupCard:
    address, password = f"{base}/api/greader.php", translate("an app password")
    lines = (
        'urls-source "freshrss"',
        f'freshrss-url "{address}"',
        f'freshrss-login "{user}"',
        f'freshrss-password "{password}"',
        'freshrss-flag-star "s"',
    )
    hint = translate("Terminal. Write this into its file config.")
    return SetupCard("newsboat", hint, address, password, user, "\n".join(lines))


def _assistants(base: str) -> SetupCard:
    return SetupCard(
        translate("Assistants"),
        translate("In programs that speak the Model Context Protocol: add a server over HTTP."),
        f"{base}/mcp",
        translate("an API token, as Bearer; it only reads unless you allow more"),
    )


router = APIRouter(include_in_schema=False)

_SCOPES = {
    TokenScope.READ: marked("read everything of mine"),
    TokenScope.WRITE: marked("change everything of mine"),
    TokenScope.ADMIN: marked("operate this server"),
}


@router.get("/settings/devices")
async def show_devices(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    return await _devices(request, runtime, caller)


@router.post("/settings/devices/{session_id}/delete")
async def log_device_out(
    request: Request, runtime: CurrentRuntime, caller: SessionOf, session_id: IdPath
) -> Response:
    await revoke_session(runtime, caller, session_id)
    return see_other(request, "/settings/devices", toast=Toast(translate("It is logged out.")))


@router.post("/settings/app-passwords")
async def make_app_password(
    request: Request, runtime: CurrentRuntime, caller: SessionOf, name: Text = ""
) -> Response:
    """The answer is the page itself: the password is shown this once, and no redirect could carry it."""
    try:
        made = await create_app_password(runtime, caller, name)
    except (Invalid, Conflict) as error:
        return await _devices(request, runtime, caller, name=name, error=error)
    return await _devices(request, runtime, caller, made=made)


@router.post("/settings/app-passwords/{token_id}/delete")
async def revoke_app_password(
    request: Request, runtime: CurrentRuntime, caller: SessionOf, token_id: IdPath
) -> Response:
    await revoke_token(runtime, caller, token_id)
    return see_other(request, "/settings/devices", toast=Toast(translate("The password is taken back.")))


@router.get("/settings/tokens")
async def show_tokens(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    return await _tokens(request, runtime, caller, chosen=("read",))


@router.post("/settings/tokens")
async def make_token(request: Request, runtime: CurrentRuntime, caller: SessionOf) -> Response:
    form = await request.form()
    name, chosen = str(form.get("name", "")), tuple(str(one) for one in form.getlist("scope"))
    try:
        made = await create_api_token(runtime, caller, name, read_scopes(chosen))
    except (Invalid, Conflict) as error:
        return await _tokens(request, runtime, caller, chosen=chosen, name=name, error=error)
    return await _tokens(request, runtime, caller, chosen=("read",), made=made)


@router.post("/settings/tokens/{token_id}/delete")
async def revoke_api_token(
    request: Request, runtime: CurrentRuntime, caller: SessionOf, token_id: IdPath
) -> Response:
    await revoke_token(runtime, caller, token_id)
    return see_other(request, "/settings/tokens", toast=Toast(translate("The token is taken back.")))


async def _devices(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    *,
    made: NewApiToken | None = None,
    name: str = "",
    error: Invalid | Conflict | None = None,
) -> Response:
    now = runtime.now()
    sessions = await list_sessions(runtime, caller.user_id)
    passwords = [one for one in await list_tokens(runtime, caller.user_id) if one.kind == "app_password"]
    shown = DevicesSettings(
        devices=tuple(_device(one, caller, now) for one in sessions),
        passwords=tuple(AppPassword(one.id, one.name, _used(one, now)) for one in passwords),
        cards=setup_cards(place_to_tell(request, runtime), caller.user.email),
        made=_saved(made),
        name=name,
        error=error.message if error else "",
    )
    status = status_of(error) if error else 200
    return await settings_page(request, runtime, caller, "devices", shown, status=status)


async def _tokens(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    *,
    chosen: tuple[str, ...],
    made: NewApiToken | None = None,
    name: str = "",
    error: Invalid | Conflict | None = None,
) -> Response:
    now = runtime.now()
    known = [one for one in await list_tokens(runtime, caller.user_id) if one.kind == "api"]
    shown = TokensSettings(
        tokens=tuple(ShownToken(one.id, one.name, _allowed(one), _used(one, now)) for one in known),
        scopes=tuple(
            SelectOption(scope, translate(_SCOPES[scope]), scope in chosen) for scope in _offered(caller)
        ),
        made=_saved(made),
        name=name,
        error=error.message if error else "",
    )
    status = status_of(error) if error else 200
    return await settings_page(request, runtime, caller, "tokens", shown, status=status)


def _device(one: Session, caller: Caller, now: Instant) -> DeviceView:
    return DeviceView(
        id=one.id,
        name=translate_failure(device_name(one.user_agent)),
        seen=translate("Last seen %(when)s", when=ago(one.last_active_at, now)),
        icon="phone" if is_phone(one.user_agent) else "device",
        this_one=one.id == caller.session_id,
    )


def _used(one: ApiToken, now: Instant) -> str:
    if one.last_used_at is None:
        return translate("Made %(when)s, never used", when=ago(one.created_at, now))
    return translate("Last used %(when)s", when=ago(one.last_used_at, now))


def _allowed(one: ApiToken) -> str:
    words = (translate(said) for scope, said in _SCOPES.items() if scope in one.scopes)
    return translate("It may %(what)s.", what=", ".join(words))


def _saved(made: NewApiToken | None) -> Saved | None:
    return Saved(made.token.name, made.secret) if made else None


def _offered(caller: Caller) -> tuple[TokenScope, ...]:
    return tuple(scope for scope in _SCOPES if scope is not TokenScope.ADMIN or caller.user.operates)
