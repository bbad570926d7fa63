"""What the event log holds, in words; it keeps short names that programs can look for."""

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from reedbed.domain.errors import Conflict, Invalid, NotFound, TooMany
from reedbed.domain.sign_in import LinkedIdentity
from reedbed.domain.times import Instant
from reedbed.domain.users import Caller, User
from reedbed.http.auth import AdminOf, CurrentCaller, CurrentRuntime, SessionOf, clear_session_cookie
from reedbed.http.errors import status_of
from reedbed.http.params import IdPath, JsonId, path_id
from reedbed.services.runtime import Runtime
from reedbed.services.sign_in import linked, unlink
from reedbed.services.users import (
    change_password,
    delete_account,
    delete_member,
    disable_member,
    enable_member,
    has_password,
    invite,
    may_change,
    member_to_change,
    reset_link,
    set_role,
    withdraw_invite,
)
from reedbed.store import auth, users
from reedbed.store.users import Member
from reedbed.web.formats import ago, coming_time, full_time, zone_of
from reedbed.web.forms import Text
from reedbed.web.i18n import marked, ngettext, translate
from reedbed.web.pages import see_other
from reedbed.web.settings import settings_page
from reedbed.web.sidebar import app_page
from reedbed.web.views.layout import SelectOption, Toast
from reedbed.web.views.settings import AccountSettings, InviteView, NewLink, PeoplePage, UserView

router = APIRouter(include_in_schema=False)


@router.get("/settings/account")
async def show_account(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    return await _show(request, runtime, caller)


@router.post("/settings/password")
async def set_password(
    request: Request,
    runtime: CurrentRuntime,
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
    request: Request, runtime: CurrentRuntime, caller: SessionOf, provider: Text = ""
) -> Response:
    try:
        await unlink(runtime, caller, path_id(provider))
    except (Conflict, NotFound) as error:
        return await _show(request, runtime, caller, {"linked": error.message}, status_of(error))
    return see_other(request, "/settings/account", toast=Toast(translate("It is unlinked.")))


@router.post("/settings/account/delete")
async def remove_account(
    request: Request, runtime: CurrentRuntime, caller: SessionOf, delete_password: Text = ""
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


def _ways(runtime: Runtime, linked_ones: Sequence[LinkedIdentity]) -> tuple[SelectOption, ...]:
    """What is linked, by the address it told; then what could be."""
    names = {key: each.name for key, each in runtime.sign_in.providers.items()}
    taken = {each.provider for each in linked_ones}
    return (
        *(
            SelectOption(
                str(each.id), f"{names.get(each.provider, each.provider)} {each.email}".strip(), True
            )
            for each in linked_ones
        ),
        *(
            SelectOption(key, name, False, f"/settings/account/link/{key}")
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
        since=full_time(user.created_at, runtime.now(), zone_of(request)),
        linked=_ways(runtime, linked_ones),
        has_password=await has_password(runtime, user.id),
        errors=errors or {},
    )
    return await settings_page(request, runtime, caller, "account", shown, status=status)


admin_router = APIRouter(include_in_schema=False)

PLACE = "/admin/people"
PAGE_SIZE = 100


@admin_router.get(PLACE)
async def show(
    request: Request, runtime: CurrentRuntime, caller: AdminOf, after: Annotated[JsonId, Query()] = 0
) -> Response:
    return await _show_people(request, runtime, caller, after=after)


@admin_router.post(f"{PLACE}/invites")
async def make_invite(
    request: Request, runtime: CurrentRuntime, caller: AdminOf, email: Text = ""
) -> Response:
    """The answer is the page itself: the link is shown this once, and no redirect could carry it."""
    try:
        made = await invite(runtime, email, by_user_id=caller.user_id)
    except (Invalid, Conflict) as error:
        return await _show_people(request, runtime, caller, email=email, error=error)
    says = (
        translate("%(email)s has been sent this link.", email=made.email)
        if made.mailed
        else translate("Send this link to %(email)s: this server cannot.", email=made.email)
    )
    return await _show_people(request, runtime, caller, made=NewLink(says, made.url))


@admin_router.post(f"{PLACE}/invites/{{invite_id}}/delete")
async def take_invite_back(
    request: Request, runtime: CurrentRuntime, caller: AdminOf, invite_id: IdPath
) -> Response:
    await withdraw_invite(runtime, invite_id)
    return _done(request, translate("The invitation is taken back."))


@admin_router.post(f"{PLACE}/{{user_id}}/disable")
async def disable(request: Request, runtime: CurrentRuntime, caller: AdminOf, user_id: IdPath) -> Response:
    user = await disable_member(runtime, await member_to_change(runtime, caller.user, user_id))
    return _done(request, translate("%(email)s is logged out and cannot come in.", email=user.email))


@admin_router.post(f"{PLACE}/{{user_id}}/enable")
async def enable(request: Request, runtime: CurrentRuntime, caller: AdminOf, user_id: IdPath) -> Response:
    user = await enable_member(runtime, await member_to_change(runtime, caller.user, user_id))
    return _done(request, translate("%(email)s can come in again.", email=user.email))


@admin_router.post(f"{PLACE}/{{user_id}}/role")
async def change_role(
    request: Request, runtime: CurrentRuntime, caller: AdminOf, user_id: IdPath, role: Text = ""
) -> Response:
    await set_role(runtime, await member_to_change(runtime, caller.user, user_id, becoming=role), role)
    return _done(request, translate("Saved."))


@admin_router.post(f"{PLACE}/{{user_id}}/reset-link")
async def make_reset_link(
    request: Request, runtime: CurrentRuntime, caller: AdminOf, _: SessionOf, user_id: IdPath
) -> Response:
    user = await member_to_change(runtime, caller.user, user_id)
    url = await reset_link(runtime, user)
    says = translate("Send this link to %(email)s. It works once, for an hour.", email=user.email)
    return await _show_people(request, runtime, caller, made=NewLink(says, url))


@admin_router.post(f"{PLACE}/{{user_id}}/delete")
async def delete(request: Request, runtime: CurrentRuntime, caller: AdminOf, user_id: IdPath) -> Response:
    user = await member_to_change(runtime, caller.user, user_id)
    await delete_member(runtime, user)
    return _done(request, translate("%(email)s is deleted.", email=user.email))


def _done(request: Request, says: str) -> Response:
    return see_other(request, PLACE, toast=Toast(says))


async def _show_people(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    *,
    after: int = 0,
    made: NewLink | None = None,
    email: str = "",
    error: Invalid | Conflict | None = None,
) -> Response:
    now, zone = runtime.now(), zone_of(request)
    async with runtime.db.read() as tx:
        found = await users.list_members(tx, after=after, limit=PAGE_SIZE + 1)
        invited = await auth.list_invites(tx, now)
    view = PeoplePage(
        people=tuple(_person(one, caller.user, now, zone) for one in found[:PAGE_SIZE]),
        invites=tuple(
            InviteView(one.id, one.email, coming_time(one.expires_at, now, zone)) for one in invited
        ),
        made=made,
        email=email,
        error=error.message if error else "",
        more_url=_more(found),
    )
    status = status_of(error) if error else 200
    return await app_page(request, runtime, caller, "users/list.html", view, status=status)


def _more(found: Sequence[Member]) -> str:
    return f"{PLACE}?after={found[PAGE_SIZE - 1].user.id}" if len(found) > PAGE_SIZE else ""


def _person(one: Member, actor: User, now: Instant, zone: tzinfo) -> UserView:
    user, is_other = one.user, one.user.id != actor.id
    roles = {"owner": translate("Owner"), "admin": translate("Operator"), "user": translate("Reader")}
    other = {"user": "admin", "admin": "user"}.get(user.role, "")
    return UserView(
        id=user.id,
        email=user.email,
        role=roles[user.role],
        facts=_facts(one, now, zone),
        disabled=user.disabled_at is not None,
        may_change=is_other and may_change(actor, user),
        other_role=other if is_other and may_change(actor, user, becoming="admin") else "",
    )


def _facts(one: Member, now: Instant, zone: tzinfo) -> str:
    seen = ago(one.last_active_at, now) if one.last_active_at else translate("never")
    parts = (
        ngettext("%(num)s feed", "%(num)s feeds", one.feeds),
        translate("Here since %(when)s", when=full_time(one.user.created_at, now, zone).words),
        translate("Last seen: %(when)s", when=seen),
    )
    return " · ".join(parts)


WORDS = {
    "assistant_call": marked("An assistant asked for something"),
    "cleanup_asked": marked("Asked to tidy up"),
    "digest_generated": marked("A digest was written"),
    "digest_mail_ended": marked("Digests by mail ended"),
    "email_verified": marked("Address confirmed"),
    "feed_added": marked("Feed added"),
    "identity_linked": marked("Another way to log in linked"),
    "identity_unlinked": marked("Another way to log in unlinked"),
    "library_imported": marked("Collection imported"),
    "login_failed": marked("Login failed"),
    "opml_imported": marked("OPML imported"),
    "password_changed": marked("Password changed"),
    "register_again": marked("Registered again with a known address"),
    "reset_link_made": marked("Link for a new password made"),
    "role_changed": marked("Role changed"),
    "selectors_changed": marked("Choice of a feed's article parts changed"),
    "session_revoked": marked("A device logged out"),
    "sessions_revoked": marked("Other devices logged out"),
    "share_target_added": marked("Place to share to added"),
    "token_created": marked("Token made"),
    "token_revoked": marked("Token taken back"),
    "user_deleted": marked("Account deleted"),
    "user_disabled": marked("Account switched off"),
    "user_enabled": marked("Account switched on"),
    "user_invited": marked("Invited"),
    "user_login": marked("Logged in"),
    "user_registered": marked("Registered"),
    "webhook_created": marked("Webhook made"),
    "webhook_deleted": marked("Webhook deleted"),
    "webhook_switched_off": marked("Webhook switched off after failing for long"),
}


def event_words(kind: str) -> str:
    return translate(WORDS[kind]) if kind in WORDS else kind.replace("_", " ")
