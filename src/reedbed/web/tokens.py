"""Settings for apps and programs: app passwords with setup cards, and API tokens."""

from fastapi import APIRouter, Request, Response

from reedbed.domain.errors import Conflict, Invalid
from reedbed.domain.records import record
from reedbed.domain.users import ApiToken, Caller, NewApiToken, TokenScope, read_scopes
from reedbed.http.auth import CurrentCaller, CurrentRuntime, CurrentSession
from reedbed.http.errors import status_of
from reedbed.http.params import IdPath, public_base_url
from reedbed.services.auth import create_api_token, create_app_password, list_tokens, revoke_token
from reedbed.services.runtime import Runtime
from reedbed.web.forms import Text
from reedbed.web.i18n import enumerated, explain, listed, marked, translate
from reedbed.web.pages import see_other
from reedbed.web.security import usage_text
from reedbed.web.settings import settings_page
from reedbed.web.views.layout import SelectOption, Toast
from reedbed.web.views.settings import AppPassword, DevicesSettings, Saved, SetupCard, TokensSettings
from reedbed.web.views.settings import TokenView as ShownToken

FRESHRSS, GOOGLE_READER, FEVER = "FreshRSS", "Google Reader API", "Fever"
E_READERS = ("Kobo", "Kindle", "PocketBook")
APPLE, ANDROID, LINUX = ("iPhone", "iPad", "Mac"), ("Android",), ("Linux",)
COMPUTERS = ("Windows", "Mac", *LINUX)


@record
class App:
    names: tuple[str, ...]
    runs_on: tuple[str, ...]
    services: tuple[str, ...] = (FRESHRSS,)
    """The account types in the app that work."""
    path: str = "/api/greader.php"


APPS = (
    App(("NetNewsWire",), APPLE),
    App(("Reeder",), APPLE),
    App(("Unread",), APPLE),
    App(("Read You",), ANDROID),
    App(("Capy Reader",), ANDROID),
    App(("FeedMe",), ANDROID),
    App(("FocusReader",), ANDROID),
    App(("Fluent Reader",), COMPUTERS, (GOOGLE_READER,), ""),
    App(("RSS Guard",), COMPUTERS, (GOOGLE_READER, FRESHRSS)),
    App(("NewsFlash",), LINUX),
    App(("Fiery Feeds", "ReadKit"), APPLE, (FEVER,), "/fever/"),
    App(("KOReader", "Thorium Reader"), E_READERS, ("OPDS",), "/opds"),
)


def setup_cards(base: str, user: str) -> tuple[SetupCard, ...]:
    return (*(_card(app, base, user) for app in APPS), _newsboat(base, user), _assistants(base))


def _card(app: App, base: str, user: str) -> SetupCard:
    devices, services = enumerated(app.runs_on), enumerated(app.services)
    hint = translate("%(devices)s. Choose %(service)s.", devices=devices, service=services)
    return SetupCard(enumerated(app.names), hint, base + app.path, translate("an app password"), user)


def _newsboat(base: str, user: str) -> SetupCard:
    url, password = f"{base}/api/greader.php", translate("an app password")
    lines = (
        'urls-source "freshrss"',
        f'freshrss-url "{url}"',
        f'freshrss-login "{user}"',
        f'freshrss-password "{password}"',
        'freshrss-flag-star "s"',
    )
    hint = translate("Terminal. Write this into its file config.")
    return SetupCard("newsboat", hint, url, password, user, "\n".join(lines))


def _assistants(base: str) -> SetupCard:
    return SetupCard(
        translate("Assistants"),
        translate("In programs that speak the Model Context Protocol: add a server over HTTP."),
        f"{base}/mcp",
        translate("an API token, as Bearer; it only reads unless you allow more"),
    )


# --- Routes

router = APIRouter(include_in_schema=False)

_SCOPES = {
    TokenScope.READ: marked("read everything of mine"),
    TokenScope.WRITE: marked("change everything of mine"),
    TokenScope.ADMIN: marked("operate this server"),
}


@router.get("/settings/devices")
async def show_devices(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    return await _devices(request, runtime, caller)


@router.post("/settings/app-passwords")
async def make_app_password(
    request: Request, runtime: CurrentRuntime, caller: CurrentSession, name: Text = ""
) -> Response:
    """Respond with the page itself: the password is shown only once, and a redirect could not carry it."""
    try:
        new_token = await create_app_password(runtime, caller, name)
    except (Invalid, Conflict) as error:
        return await _devices(request, runtime, caller, name=name, error=error)
    return await _devices(request, runtime, caller, new_token=new_token)


@router.post("/settings/app-passwords/{token_id}/delete")
async def revoke_app_password(
    request: Request, runtime: CurrentRuntime, caller: CurrentSession, token_id: IdPath
) -> Response:
    await revoke_token(runtime, caller, token_id)
    return see_other(request, "/settings/devices", toast=Toast(translate("The password is revoked.")))


@router.get("/settings/tokens")
async def show_tokens(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    return await _tokens(request, runtime, caller, chosen=("read",))


@router.post("/settings/tokens")
async def make_token(request: Request, runtime: CurrentRuntime, caller: CurrentSession) -> Response:
    form = await request.form()
    name, chosen = str(form.get("name", "")), tuple(str(scope) for scope in form.getlist("scope"))
    try:
        new_token = await create_api_token(runtime, caller, name, read_scopes(chosen))
    except (Invalid, Conflict) as error:
        return await _tokens(request, runtime, caller, chosen=chosen, name=name, error=error)
    return await _tokens(request, runtime, caller, chosen=("read",), new_token=new_token)


@router.post("/settings/tokens/{token_id}/delete")
async def revoke_api_token(
    request: Request, runtime: CurrentRuntime, caller: CurrentSession, token_id: IdPath
) -> Response:
    await revoke_token(runtime, caller, token_id)
    return see_other(request, "/settings/tokens", toast=Toast(translate("The token is revoked.")))


async def _devices(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    *,
    new_token: NewApiToken | None = None,
    name: str = "",
    error: Invalid | Conflict | None = None,
) -> Response:
    now = runtime.now()
    passwords = [token for token in await list_tokens(runtime, caller.user_id) if token.kind == "app_password"]
    view = DevicesSettings(
        passwords=tuple(AppPassword(token.id, token.name, usage_text(token, now)) for token in passwords),
        cards=setup_cards(public_base_url(request, runtime), caller.user.email),
        made=_saved_secret(new_token),
        name=name,
        error=explain(error) if error else "",
    )
    status = status_of(error) if error else 200
    return await settings_page(request, runtime, caller, "devices", view, status=status)


async def _tokens(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    *,
    chosen: tuple[str, ...],
    new_token: NewApiToken | None = None,
    name: str = "",
    error: Invalid | Conflict | None = None,
) -> Response:
    now = runtime.now()
    api_tokens = [token for token in await list_tokens(runtime, caller.user_id) if token.kind == "api"]
    view = TokensSettings(
        tokens=tuple(
            ShownToken(token.id, token.name, _scopes_text(token), usage_text(token, now)) for token in api_tokens
        ),
        scopes=tuple(
            SelectOption(scope, translate(_SCOPES[scope]), scope in chosen) for scope in _available_scopes(caller)
        ),
        made=_saved_secret(new_token),
        name=name,
        error=explain(error) if error else "",
    )
    status = status_of(error) if error else 200
    return await settings_page(request, runtime, caller, "tokens", view, status=status)


def _scopes_text(token: ApiToken) -> str:
    labels = [translate(label) for scope, label in _SCOPES.items() if scope in token.scopes]
    return translate("It may %(what)s.", what=listed(labels))


def _saved_secret(new_token: NewApiToken | None) -> Saved | None:
    return Saved(new_token.token.name, new_token.secret) if new_token else None


def _available_scopes(caller: Caller) -> tuple[TokenScope, ...]:
    return tuple(scope for scope in _SCOPES if scope is not TokenScope.ADMIN or caller.user.operates)
