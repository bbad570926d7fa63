"""The account: its facts, its password, its end."""

from collections.abc import Mapping, Sequence

from fastapi import APIRouter, Request, Response

from reedbed.domain.accounts import Caller
from reedbed.domain.errors import Conflict, Invalid, NotFound, TooMany
from reedbed.domain.identities import LinkedIdentity
from reedbed.http.caller import CallerOf, RuntimeOf, SessionOf
from reedbed.http.cookies import clear_session_cookie
from reedbed.http.errors import status_of
from reedbed.http.ids import path_id
from reedbed.services.accounts import delete_account, has_password
from reedbed.services.identities import linked, unlink
from reedbed.services.passwords import change_password
from reedbed.services.runtime import Runtime
from reedbed.web.form_values import Text
from reedbed.web.moments import full_moment, zone_of
from reedbed.web.pages import see_other
from reedbed.web.settings_pages import settings_page
from reedbed.web.speech import translate
from reedbed.web.views.frame import Choice, Toast
from reedbed.web.views.settings import AccountSettings

router = APIRouter(include_in_schema=False)


@router.get("/settings/account")
async def show_account(request: Request, runtime: RuntimeOf, caller: CallerOf) -> Response:
    return await _show(request, runtime, caller)


@router.post("/settings/password")
async def set_password(
    request: Request,
    runtime: RuntimeOf,
    caller: SessionOf,
    current_password: Text = "",
    password: Text = "",
) -> Response:
    try:
        await change_password(runtime, caller, current_password, password)
    except (Invalid, TooMany) as error:
        field = getattr(error, "field", None)
        place = "password" if field == "new_password" else "current_password"
        return await _show(request, runtime, caller, {place: error.message}, status_of(error))
    said = translate("The new password is set. All other devices are logged out.")
    return see_other(request, "/settings/account", toast=Toast(said))


@router.post("/settings/account/unlink")
async def unlink_identity(
    request: Request, runtime: RuntimeOf, caller: SessionOf, provider: Text = ""
) -> Response:
    try:
        await unlink(runtime, caller, path_id(provider))
    except (Conflict, NotFound) as error:
        return await _show(request, runtime, caller, {"linked": error.message}, status_of(error))
    return see_other(request, "/settings/account", toast=Toast(translate("It is unlinked.")))


@router.post("/settings/account/delete")
async def remove_account(
    request: Request, runtime: RuntimeOf, caller: SessionOf, delete_password: Text = ""
) -> Response:
    try:
        await delete_account(runtime, caller, delete_password)
    except (Invalid, Conflict, TooMany) as error:
        return await _show(request, runtime, caller, {"delete_password": error.message}, status_of(error))
    response = see_other(
        request, "/login", toast=Toast(translate("The account is gone, with everything in it."))
    )
    clear_session_cookie(request, response, runtime)
    response.headers["Clear-Site-Data"] = '"cache", "storage"'
    return response


def _ways(runtime: Runtime, linked_ones: Sequence[LinkedIdentity]) -> tuple[Choice, ...]:
    """What is linked, by the address it told; then what could be."""
    names = {key: each.name for key, each in runtime.sign_in.providers.items()}
    taken = {each.provider for each in linked_ones}
    return (
        *(
            Choice(str(each.id), f"{names.get(each.provider, each.provider)} {each.email}".strip(), True)
            for each in linked_ones
        ),
        *(
            Choice(key, name, False, f"/settings/account/link/{key}")
            for key, name in names.items()
            if key not in taken
        ),
    )


async def _show(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    errors: Mapping[str, str] | None = None,
    status: int = 200,
) -> Response:
    user = caller.user
    linked_ones = await linked(runtime, user.id)
    shown = AccountSettings(
        email=user.email,
        verified=user.email_verified_at is not None,
        since=full_moment(user.created_at, runtime.now(), zone_of(request)),
        linked=_ways(runtime, linked_ones),
        has_password=await has_password(runtime, user.id),
        errors=errors or {},
    )
    return await settings_page(request, runtime, caller, "account", shown, status=status)
