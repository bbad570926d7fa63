"""The operator's page about people: who reads here, who is invited, and what can be done for them."""

from collections.abc import Sequence
from datetime import tzinfo
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from reedbed.domain.accounts import Caller, User
from reedbed.domain.errors import Conflict, Invalid
from reedbed.domain.times import Instant
from reedbed.http.caller import AdminOf, RuntimeOf, SessionOf
from reedbed.http.errors import status_of
from reedbed.http.ids import IdPath, JsonId
from reedbed.services.members import (
    delete_member,
    disable_member,
    enable_member,
    may_change,
    member_to_change,
    set_role,
)
from reedbed.services.passwords import reset_link
from reedbed.services.registration import invite, withdraw_invite
from reedbed.services.runtime import Runtime
from reedbed.store import mail_links, users
from reedbed.store.users import Member
from reedbed.web.form_values import Text
from reedbed.web.moments import ago, coming_moment, full_moment, zone_of
from reedbed.web.pages import see_other
from reedbed.web.shell import app_page
from reedbed.web.speech import ngettext, translate
from reedbed.web.views.frame import Toast
from reedbed.web.views.operator_people import InviteLine, MadeLink, PeoplePage, PersonLine

router = APIRouter(include_in_schema=False)

PLACE = "/admin/people"
PAGE_SIZE = 100


@router.get(PLACE)
async def show(
    request: Request, runtime: RuntimeOf, caller: AdminOf, after: Annotated[JsonId, Query()] = 0
) -> Response:
    return await _show(request, runtime, caller, after=after)


@router.post(f"{PLACE}/invites")
async def make_invite(request: Request, runtime: RuntimeOf, caller: AdminOf, email: Text = "") -> Response:
    """The answer is the page itself: the link is shown this once, and no redirect could carry it."""
    try:
        made = await invite(runtime, email, by_user_id=caller.user_id)
    except (Invalid, Conflict) as error:
        return await _show(request, runtime, caller, email=email, error=error)
    says = (
        translate("%(email)s has been sent this link.", email=made.email)
        if made.mailed
        else translate("Send this link to %(email)s: this server cannot.", email=made.email)
    )
    return await _show(request, runtime, caller, made=MadeLink(says, made.url))


@router.post(f"{PLACE}/invites/{{invite_id}}/delete")
async def take_invite_back(
    request: Request, runtime: RuntimeOf, caller: AdminOf, invite_id: IdPath
) -> Response:
    await withdraw_invite(runtime, invite_id)
    return _done(request, translate("The invitation is taken back."))


@router.post(f"{PLACE}/{{user_id}}/disable")
async def disable(request: Request, runtime: RuntimeOf, caller: AdminOf, user_id: IdPath) -> Response:
    user = await disable_member(runtime, await member_to_change(runtime, caller.user, user_id))
    return _done(request, translate("%(email)s is logged out and cannot come in.", email=user.email))


@router.post(f"{PLACE}/{{user_id}}/enable")
async def enable(request: Request, runtime: RuntimeOf, caller: AdminOf, user_id: IdPath) -> Response:
    user = await enable_member(runtime, await member_to_change(runtime, caller.user, user_id))
    return _done(request, translate("%(email)s can come in again.", email=user.email))


@router.post(f"{PLACE}/{{user_id}}/role")
async def change_role(
    request: Request, runtime: RuntimeOf, caller: AdminOf, user_id: IdPath, role: Text = ""
) -> Response:
    await set_role(runtime, await member_to_change(runtime, caller.user, user_id, becoming=role), role)
    return _done(request, translate("Saved."))


@router.post(f"{PLACE}/{{user_id}}/reset-link")
async def make_reset_link(
    request: Request, runtime: RuntimeOf, caller: AdminOf, _: SessionOf, user_id: IdPath
) -> Response:
    user = await member_to_change(runtime, caller.user, user_id)
    url = await reset_link(runtime, user)
    says = translate("Send this link to %(email)s. It works once, for an hour.", email=user.email)
    return await _show(request, runtime, caller, made=MadeLink(says, url))


@router.post(f"{PLACE}/{{user_id}}/delete")
async def delete(request: Request, runtime: RuntimeOf, caller: AdminOf, user_id: IdPath) -> Response:
    user = await member_to_change(runtime, caller.user, user_id)
    await delete_member(runtime, user)
    return _done(request, translate("%(email)s is deleted.", email=user.email))


def _done(request: Request, says: str) -> Response:
    return see_other(request, PLACE, toast=Toast(says))


async def _show(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    *,
    after: int = 0,
    made: MadeLink | None = None,
    email: str = "",
    error: Invalid | Conflict | None = None,
) -> Response:
    now, zone = runtime.now(), zone_of(request)
    async with runtime.db.read() as tx:
        found = await users.members(tx, after=after, limit=PAGE_SIZE + 1)
        invited = await mail_links.invites(tx, now)
    view = PeoplePage(
        people=tuple(_person(one, caller.user, now, zone) for one in found[:PAGE_SIZE]),
        invites=tuple(
            InviteLine(one.id, one.email, coming_moment(one.expires_at, now, zone)) for one in invited
        ),
        made=made,
        email=email,
        error=error.message if error else "",
        more_url=_more(found),
    )
    status = status_of(error) if error else 200
    return await app_page(request, runtime, caller, "operator/people.html", view, status=status)


def _more(found: Sequence[Member]) -> str:
    return f"{PLACE}?after={found[PAGE_SIZE - 1].user.id}" if len(found) > PAGE_SIZE else ""


def _person(one: Member, actor: User, now: Instant, zone: tzinfo) -> PersonLine:
    user, is_other = one.user, one.user.id != actor.id
    roles = {"owner": translate("Owner"), "admin": translate("Operator"), "user": translate("Reader")}
    other = {"user": "admin", "admin": "user"}.get(user.role, "")
    return PersonLine(
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
        translate("Here since %(when)s", when=full_moment(one.user.created_at, now, zone).words),
        translate("Last seen: %(when)s", when=seen),
    )
    return " · ".join(parts)
