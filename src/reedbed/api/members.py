"""The people of a server, for its operators."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import Field

from reedbed.api.people_out import EverybodysEvents, event_json, events_after, events_before
from reedbed.domain.accounts import User
from reedbed.domain.paging import decode_cursor, encode_cursor, page_limit
from reedbed.domain.texts import storable
from reedbed.http.caller import AdminOf, RuntimeOf, SessionOf
from reedbed.http.ids import IdPath
from reedbed.http.json import json_response, moment
from reedbed.http.models import ApiModel
from reedbed.http.paging import PageCursor, PageLimit
from reedbed.services.members import (
    delete_member,
    disable_member,
    enable_member,
    member,
    member_to_change,
    set_role,
)
from reedbed.services.passwords import reset_link
from reedbed.services.registration import invite, open_invites, withdraw_invite
from reedbed.store import events, users
from reedbed.store.users import Member

router = APIRouter(prefix="/api/v1/admin", tags=["operator"])


class MemberOut(ApiModel):
    id: str
    email: str
    role: str
    email_verified: bool
    disabled: bool
    created_at: str


class ListedMember(MemberOut):
    feeds: int
    last_active_at: str | None


class MemberList(ApiModel):
    items: list[ListedMember]
    next_cursor: str | None


class MemberChange(ApiModel):
    role: str | None = Field(None, examples=["admin"])
    disabled: bool | None = None


class InviteBody(ApiModel):
    email: str = Field(max_length=320, examples=["friend@example.org"])


class InviteOut(ApiModel):
    id: str
    email: str
    created_at: str
    expires_at: str


class InviteList(ApiModel):
    items: list[InviteOut]
    next_cursor: str | None


class NewInviteOut(ApiModel):
    email: str
    url: str = Field(description="Shown this once.")
    mailed: bool


class LinkOut(ApiModel):
    url: str = Field(description="Works once, for an hour.")


@router.get("/users", summary="Everybody", responses={200: {"model": MemberList}})
async def list_users(
    runtime: RuntimeOf,
    caller: AdminOf,
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Response:
    size, after = page_limit(limit), 0 if cursor is None else decode_cursor(cursor, "oldest", "users").id
    async with runtime.db.read() as tx:
        found = await users.members(tx, after=after, limit=size + 1)
    more = encode_cursor(0, found[size - 1].user.id, "oldest", "users") if len(found) > size else None
    return json_response({"items": [_listed(one) for one in found[:size]], "next_cursor": more})


@router.get("/users/{user_id}", summary="One user", responses={200: {"model": MemberOut}})
async def get(runtime: RuntimeOf, caller: AdminOf, user_id: IdPath) -> Response:
    return json_response(_member(await member(runtime, user_id)))


@router.patch(
    "/users/{user_id}", summary="Change a role, disable or enable", responses={200: {"model": MemberOut}}
)
async def change(runtime: RuntimeOf, caller: AdminOf, user_id: IdPath, body: MemberChange) -> Response:
    user = await member_to_change(runtime, caller.user, user_id, becoming=body.role or "user")
    if body.role is not None:
        user = await set_role(runtime, user, body.role)
    if body.disabled is not None:
        user = await (disable_member if body.disabled else enable_member)(runtime, user)
    return json_response(_member(user))


@router.delete("/users/{user_id}", status_code=204, summary="Delete a user with everything they have")
async def delete(runtime: RuntimeOf, caller: AdminOf, user_id: IdPath) -> Response:
    await delete_member(runtime, await member_to_change(runtime, caller.user, user_id))
    return Response(status_code=204)


@router.post(
    "/users/{user_id}/reset-link",
    status_code=201,
    summary="A link for a new password, to hand over by other means",
    responses={201: {"model": LinkOut}},
)
async def make_reset_link(runtime: RuntimeOf, caller: AdminOf, _: SessionOf, user_id: IdPath) -> Response:
    url = await reset_link(runtime, await member_to_change(runtime, caller.user, user_id))
    return json_response({"url": url}, 201, {"Cache-Control": "no-store"})


@router.get("/invites", summary="Open invitations", responses={200: {"model": InviteList}})
async def list_invites(runtime: RuntimeOf, caller: AdminOf) -> Response:
    items = [
        {
            "id": str(link.id),
            "email": link.email,
            "created_at": moment(link.created_at),
            "expires_at": moment(link.expires_at),
        }
        for link in await open_invites(runtime)
    ]
    return json_response({"items": items, "next_cursor": None})


@router.post("/invites", status_code=201, summary="Invite somebody", responses={201: {"model": NewInviteOut}})
async def create_invite(runtime: RuntimeOf, caller: AdminOf, body: InviteBody) -> Response:
    made = await invite(runtime, body.email, by_user_id=caller.user_id)
    shown = {"email": made.email, "url": made.url, "mailed": made.mailed}
    return json_response(shown, 201, {"Cache-Control": "no-store"})


@router.delete("/invites/{invite_id}", status_code=204, summary="Take an invitation back")
async def delete_invite(runtime: RuntimeOf, caller: AdminOf, invite_id: IdPath) -> Response:
    await withdraw_invite(runtime, invite_id)
    return Response(status_code=204)


@router.get("/events", summary="Everybody's event log", responses={200: {"model": EverybodysEvents}})
async def log(
    runtime: RuntimeOf,
    caller: AdminOf,
    kind: Annotated[str | None, Query(max_length=50, examples=["login_failed"])] = None,
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Response:
    kind = None if kind is None else storable(kind)
    size, view = page_limit(limit), f"all events {kind}"
    async with runtime.db.read() as tx:
        found = list(await events.newest(tx, kind=kind, before=events_before(cursor, view), limit=size + 1))
    items = [event_json(event, whose=True) for event in found[:size]]
    return json_response({"items": items, "next_cursor": events_after(found, size, view)})


def _member(user: User) -> dict[str, Any]:
    return {
        "id": str(user.id),
        "email": user.email,
        "role": user.role,
        "email_verified": user.email_verified_at is not None,
        "disabled": user.disabled_at is not None,
        "created_at": moment(user.created_at),
    }


def _listed(one: Member) -> dict[str, Any]:
    return {**_member(one.user), "feeds": one.feeds, "last_active_at": moment(one.last_active_at)}
