"""Account settings, the admin page of users and invitations, and labels for the event log."""

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from reedbed.domain.errors import Conflict, Invalid, TooMany
from reedbed.domain.times import Instant
from reedbed.domain.users import Caller, User
from reedbed.http.auth import CurrentAdmin, CurrentCaller, CurrentRuntime, CurrentSession, clear_session_cookie
from reedbed.http.errors import status_of
from reedbed.http.models import JsonId
from reedbed.http.params import IdPath
from reedbed.services.runtime import Runtime
from reedbed.services.users import (
    delete_account,
    disable_member,
    enable_member,
    has_password,
    invite,
    may_change,
    member_to_change,
    remove_user,
    reset_link,
    set_role,
    withdraw_invite,
)
from reedbed.store import auth, users
from reedbed.store.users import Member
from reedbed.web.formats import ago, format_future_time, full_time, zone_of
from reedbed.web.forms import Text
from reedbed.web.i18n import current_language, explain, marked, ngettext, translate
from reedbed.web.pages import see_other
from reedbed.web.settings import settings_page
from reedbed.web.sidebar import app_page
from reedbed.web.views.layout import Toast
from reedbed.web.views.settings import AccountSettings, InviteView, NewLink, UsersPage, UserView

router = APIRouter(include_in_schema=False)


@router.get("/settings/account")
async def show_account(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    return await _show(request, runtime, caller)


@router.post("/settings/account/delete")
async def remove_account(
    request: Request, runtime: CurrentRuntime, caller: CurrentSession, delete_password: Text = ""
) -> Response:
    try:
        await delete_account(runtime, caller, delete_password)
    except (Invalid, Conflict, TooMany) as error:
        return await _show(request, runtime, caller, {"delete_password": explain(error)}, status_of(error))
    response = see_other(request, "/login", toast=Toast(translate("The account is gone, with everything in it.")))
    clear_session_cookie(request, response, runtime)
    response.headers["Clear-Site-Data"] = '"cache", "storage"'
    return response


async def _show(
    request: Request, runtime: Runtime, caller: Caller, errors: Mapping[str, str] | None = None, status: int = 200
) -> Response:
    user = caller.user
    view = AccountSettings(
        email=user.email,
        verified=user.email_verified_at is not None,
        since=full_time(user.created_at, runtime.now(), zone_of(request)),
        has_password=await has_password(runtime, user.id),
        errors=errors or {},
    )
    return await settings_page(request, runtime, caller, "account", view, status=status)


# --- Admin: users and invitations

admin_router = APIRouter(include_in_schema=False)

PLACE = "/admin/people"
PAGE_SIZE = 100


@admin_router.get(PLACE)
async def show(
    request: Request, runtime: CurrentRuntime, caller: CurrentAdmin, after: Annotated[JsonId, Query()] = 0
) -> Response:
    return await _show_users(request, runtime, caller, after=after)


@admin_router.post(f"{PLACE}/invites")
async def make_invite(request: Request, runtime: CurrentRuntime, caller: CurrentAdmin, email: Text = "") -> Response:
    """Respond with the page itself: the link is shown only once, and a redirect could not carry it."""
    try:
        new_invite = await invite(runtime, email, by_user_id=caller.user_id, language=current_language())
    except (Invalid, Conflict) as error:
        return await _show_users(request, runtime, caller, email=email, error=error)
    message = (
        translate("%(email)s has been sent this link.", email=new_invite.email)
        if new_invite.mailed
        else translate("Send this link to %(email)s: this server cannot.", email=new_invite.email)
    )
    return await _show_users(request, runtime, caller, new_link=NewLink(message, new_invite.url))


@admin_router.post(f"{PLACE}/invites/{{invite_id}}/delete")
async def remove_invite(request: Request, runtime: CurrentRuntime, caller: CurrentAdmin, invite_id: IdPath) -> Response:
    await withdraw_invite(runtime, invite_id)
    return _redirect(request, translate("The invitation is withdrawn."))


@admin_router.post(f"{PLACE}/{{user_id}}/disable")
async def disable(request: Request, runtime: CurrentRuntime, caller: CurrentAdmin, user_id: IdPath) -> Response:
    user = await disable_member(runtime, await member_to_change(runtime, caller.user, user_id))
    return _redirect(request, translate("%(email)s is logged out and cannot log in.", email=user.email))


@admin_router.post(f"{PLACE}/{{user_id}}/enable")
async def enable(request: Request, runtime: CurrentRuntime, caller: CurrentAdmin, user_id: IdPath) -> Response:
    user = await enable_member(runtime, await member_to_change(runtime, caller.user, user_id))
    return _redirect(request, translate("%(email)s can log in again.", email=user.email))


@admin_router.post(f"{PLACE}/{{user_id}}/role")
async def change_role(
    request: Request, runtime: CurrentRuntime, caller: CurrentAdmin, user_id: IdPath, role: Text = ""
) -> Response:
    await set_role(runtime, await member_to_change(runtime, caller.user, user_id, becoming=role), role)
    return _redirect(request, translate("Saved."))


@admin_router.post(f"{PLACE}/{{user_id}}/reset-link")
async def make_reset_link(
    request: Request, runtime: CurrentRuntime, caller: CurrentAdmin, _: CurrentSession, user_id: IdPath
) -> Response:
    user = await member_to_change(runtime, caller.user, user_id)
    url = await reset_link(runtime, user)
    message = translate("Send this link to %(email)s. It works once, for an hour.", email=user.email)
    return await _show_users(request, runtime, caller, new_link=NewLink(message, url))


@admin_router.post(f"{PLACE}/{{user_id}}/delete")
async def delete(request: Request, runtime: CurrentRuntime, caller: CurrentAdmin, user_id: IdPath) -> Response:
    user = await member_to_change(runtime, caller.user, user_id)
    await remove_user(runtime, user)
    return _redirect(request, translate("%(email)s is deleted.", email=user.email))


def _redirect(request: Request, message: str) -> Response:
    return see_other(request, PLACE, toast=Toast(message))


async def _show_users(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    *,
    after: int = 0,
    new_link: NewLink | None = None,
    email: str = "",
    error: Invalid | Conflict | None = None,
) -> Response:
    now, zone = runtime.now(), zone_of(request)
    async with runtime.db.read() as tx:
        members = await users.list_members(tx, after=after, limit=PAGE_SIZE + 1)
        invites = await auth.list_invites(tx, now)
    view = UsersPage(
        people=tuple(_user_view(member, caller.user, now, zone) for member in members[:PAGE_SIZE]),
        invites=tuple(
            InviteView(pending.id, pending.email, format_future_time(pending.expires_at, now, zone))
            for pending in invites
        ),
        made=new_link,
        email=email,
        error=explain(error) if error else "",
        more_url=_more_url(members),
    )
    status = status_of(error) if error else 200
    return await app_page(request, runtime, caller, "users/list.html", view, status=status)


def _more_url(members: Sequence[Member]) -> str:
    return f"{PLACE}?after={members[PAGE_SIZE - 1].user.id}" if len(members) > PAGE_SIZE else ""


def _user_view(member: Member, actor: User, now: Instant, zone: tzinfo) -> UserView:
    user, is_other = member.user, member.user.id != actor.id
    roles = {"owner": translate("Owner"), "admin": translate("Server operator"), "user": translate("Reader")}
    other_role = {"user": "admin", "admin": "user"}.get(user.role, "")
    return UserView(
        id=user.id,
        email=user.email,
        role=roles[user.role],
        facts=_facts(member, now, zone),
        disabled=user.disabled_at is not None,
        may_change=is_other and may_change(actor, user),
        other_role=other_role if is_other and may_change(actor, user, becoming="admin") else "",
    )


def _facts(member: Member, now: Instant, zone: tzinfo) -> str:
    seen = ago(member.last_active_at, now) if member.last_active_at else translate("never")
    parts = (
        ngettext("%(num)s feed", "%(num)s feeds", member.feeds),
        translate("Here since %(when)s", when=full_time(member.user.created_at, now, zone).words),
        translate("Last seen: %(when)s", when=seen),
    )
    return " · ".join(parts)


# --- Event log

WORDS = {
    "assistant_call": marked("An assistant made a request"),
    "code_failed": marked("Wrong one-time code"),
    "codes_disabled": marked("One-time codes turned off"),
    "codes_enabled": marked("One-time codes turned on"),
    "recovery_code_used": marked("Recovery code used"),
    "recovery_codes_made": marked("New recovery codes made"),
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
    "passkey_added": marked("Passkey added"),
    "passkey_removed": marked("Passkey removed"),
    "passkeys_reset": marked("Passkeys removed by the operator"),
    "password_removed": marked("Password removed"),
    "password_changed": marked("Password changed"),
    "register_again": marked("Registered again with a known address"),
    "reset_link_made": marked("Link for a new password made"),
    "role_changed": marked("Role changed"),
    "selectors_changed": marked("Choice of a feed's article parts changed"),
    "session_revoked": marked("A device logged out"),
    "sessions_revoked": marked("Other devices logged out"),
    "share_target_added": marked("Place to share to added"),
    "token_created": marked("Token made"),
    "token_revoked": marked("Token revoked"),
    "user_deleted": marked("Account deleted"),
    "user_disabled": marked("Account switched off"),
    "user_enabled": marked("Account switched on"),
    "user_invited": marked("Invited"),
    "user_login": marked("Logged in"),
    "user_registered": marked("Registered"),
    "webhook_created": marked("Webhook made"),
    "webhook_deleted": marked("Webhook deleted"),
    "plugin_switched_off": marked("Plugin switched off after failing"),
    "webhook_switched_off": marked("Webhook switched off after failing for long"),
}


def event_words(kind: str) -> str:
    return translate(WORDS[kind]) if kind in WORDS else kind.replace("_", " ")
