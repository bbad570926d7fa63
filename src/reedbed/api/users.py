"""The account of the caller, and the users, invitations and event log for operators."""

from dataclasses import asdict
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from reedbed.domain.pagination import Cursor, decode_cursor, encode_cursor, page_limit
from reedbed.domain.text import storable
from reedbed.domain.users import Caller, LoggedEvent, Session, User, device_name
from reedbed.http.auth import (
    CurrentAdmin,
    CurrentCaller,
    CurrentRuntime,
    CurrentSession,
    clear_session_cookie,
)
from reedbed.http.models import ApiModel
from reedbed.http.params import IdPath, PageCursor, PageLimit
from reedbed.http.responses import json_response, moment, text_id
from reedbed.services.auth import list_sessions, revoke_other_sessions, revoke_session
from reedbed.services.users import (
    change_password,
    delete_account,
    delete_member,
    disable_member,
    enable_member,
    invite,
    member,
    member_to_change,
    open_invites,
    preferences_of,
    reset_link,
    set_preferences,
    set_role,
    withdraw_invite,
)
from reedbed.store import users
from reedbed.store.users import Member


class PreferencesResponse(ApiModel):
    theme: str
    size: str
    width: str
    font: str
    density: str
    order: str
    language: str
    summary_language: str
    time_zone: str
    open_marks: bool
    scroll_marks: bool
    group_stories: bool
    remote_ai: bool


class UserResponse(ApiModel):
    id: str
    email: str
    role: str
    email_verified: bool
    created_at: str
    preferences: PreferencesResponse


class EventResponse(ApiModel):
    id: str
    kind: str
    at: str
    detail: dict[str, Any]


class EventList(ApiModel):
    items: list[EventResponse]
    next_cursor: str | None


class UserEventResponse(EventResponse):
    user_id: str | None


class UserEventList(ApiModel):
    items: list[UserEventResponse]
    next_cursor: str | None


def user_json(user: User) -> dict[str, Any]:
    return {
        "id": str(user.id),
        "email": user.email,
        "role": user.role,
        "email_verified": user.email_verified_at is not None,
        "created_at": moment(user.created_at),
        "preferences": asdict(preferences_of(user)),
    }


def event_json(event: LoggedEvent, *, whose: bool = False) -> dict[str, Any]:
    fields = {
        "id": str(event.id),
        "kind": event.kind,
        "at": moment(event.at),
        "detail": orjson.loads(event.detail),
    }
    return {**fields, "user_id": text_id(event.user_id)} if whose else fields


def decode_event_cursor(cursor: str | None, view: str) -> Cursor | None:
    return None if cursor is None else decode_cursor(cursor, "newest", view)


def next_event_cursor(events: list[LoggedEvent], size: int, view: str) -> str | None:
    """Cursor of the next page. `events` holds one more than `size` if there is one."""
    if len(events) <= size:
        return None
    return encode_cursor(events[size - 1].at, events[size - 1].id, "newest", view)


# --- Own account

router = APIRouter(prefix="/api/v1/users/me", tags=["account"])


class ChangeAccountRequest(ApiModel):
    preferences: dict[str, Any] = Field(
        default_factory=dict[str, Any],
        max_length=50,
        description="Preferences to change; the others stay.",
        examples=[{"theme": "sepia"}],
    )


class ChangePasswordRequest(ApiModel):
    current_password: str = Field(max_length=2_000, repr=False)
    new_password: str = Field(max_length=2_000, repr=False)


class DeleteAccountRequest(ApiModel):
    password: str = Field(max_length=2_000, repr=False)


class DeviceResponse(ApiModel):
    id: str
    device: str = Field(examples=["Firefox on Linux"])
    ip: str | None
    created_at: str
    last_active_at: str
    expires_at: str
    current: bool


class DeviceList(ApiModel):
    items: list[DeviceResponse]
    next_cursor: str | None


class RevokedResponse(ApiModel):
    revoked: int


@router.get("", summary="Get the account", responses={200: {"model": UserResponse}})
async def get(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    return json_response(user_json(await member(runtime, caller.user_id)))


@router.patch("", summary="Change preferences", responses={200: {"model": UserResponse}})
async def change(runtime: CurrentRuntime, caller: CurrentCaller, body: ChangeAccountRequest) -> Response:
    return json_response(user_json(await set_preferences(runtime, caller, body.preferences)))


@router.delete("", status_code=204, summary="Delete the account and all its data permanently")
async def delete(
    request: Request, runtime: CurrentRuntime, caller: CurrentSession, body: DeleteAccountRequest
) -> Response:
    await delete_account(runtime, caller, body.password)
    response = Response(status_code=204)
    clear_session_cookie(request, response, runtime)
    return response


@router.post("/password", status_code=204, summary="Change the password and log out all other devices")
async def password(runtime: CurrentRuntime, caller: CurrentSession, body: ChangePasswordRequest) -> Response:
    await change_password(runtime, caller, body.current_password, body.new_password)
    return Response(status_code=204)


@router.get("/sessions", summary="List logged-in devices", responses={200: {"model": DeviceList}})
async def sessions(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    logged_in = await list_sessions(runtime, caller.user_id)
    return json_response(
        {"items": [_device_json(session, caller) for session in logged_in], "next_cursor": None}
    )


@router.delete("/sessions", summary="Log out all other devices", responses={200: {"model": RevokedResponse}})
async def revoke_others(runtime: CurrentRuntime, caller: CurrentSession) -> Response:
    return json_response({"revoked": await revoke_other_sessions(runtime, caller)})


@router.delete("/sessions/{session_id}", status_code=204, summary="Log out one device")
async def revoke(runtime: CurrentRuntime, caller: CurrentSession, session_id: IdPath) -> Response:
    await revoke_session(runtime, caller, session_id)
    return Response(status_code=204)


@router.get("/events", summary="List the account's events", responses={200: {"model": EventList}})
async def log(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Response:
    size, view = page_limit(limit), "own events"
    async with runtime.db.read() as tx:
        events = list(
            await users.list_events(
                tx, user_id=caller.user_id, before=decode_event_cursor(cursor, view), limit=size + 1
            )
        )
    items = [event_json(event) for event in events[:size]]
    return json_response({"items": items, "next_cursor": next_event_cursor(events, size, view)})


def _device_json(session: Session, caller: Caller) -> dict[str, Any]:
    return {
        "id": str(session.id),
        "device": device_name(session.user_agent),
        "ip": session.ip,
        "created_at": moment(session.created_at),
        "last_active_at": moment(session.last_active_at),
        "expires_at": moment(session.expires_at),
        "current": session.id == caller.session_id,
    }


# --- Users and invitations, for operators

members_router = APIRouter(prefix="/api/v1/admin", tags=["operator"])


class MemberResponse(ApiModel):
    id: str
    email: str
    role: str
    email_verified: bool
    disabled: bool
    created_at: str


class MemberItem(MemberResponse):
    feeds: int
    last_active_at: str | None


class MemberList(ApiModel):
    items: list[MemberItem]
    next_cursor: str | None


class ChangeMemberRequest(ApiModel):
    role: str | None = Field(None, examples=["admin"])
    disabled: bool | None = None


class InviteRequest(ApiModel):
    email: str = Field(max_length=320, examples=["friend@example.org"])


class InviteResponse(ApiModel):
    id: str
    email: str
    created_at: str
    expires_at: str


class InviteList(ApiModel):
    items: list[InviteResponse]
    next_cursor: str | None


class NewInviteResponse(ApiModel):
    email: str
    url: str = Field(description="Shown only once.")
    mailed: bool


class LinkResponse(ApiModel):
    url: str = Field(description="Works once, for an hour.")


@members_router.get("/users", summary="List all users", responses={200: {"model": MemberList}})
async def list_users(
    runtime: CurrentRuntime,
    caller: CurrentAdmin,
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Response:
    size, after = page_limit(limit), 0 if cursor is None else decode_cursor(cursor, "oldest", "users").id
    async with runtime.db.read() as tx:
        members = await users.list_members(tx, after=after, limit=size + 1)
    next_cursor = (
        encode_cursor(0, members[size - 1].user.id, "oldest", "users") if len(members) > size else None
    )
    return json_response(
        {"items": [_listed_member_json(row) for row in members[:size]], "next_cursor": next_cursor}
    )


@members_router.get("/users/{user_id}", summary="Get a user", responses={200: {"model": MemberResponse}})
async def get_member(runtime: CurrentRuntime, caller: CurrentAdmin, user_id: IdPath) -> Response:
    return json_response(_member_json(await member(runtime, user_id)))


@members_router.patch(
    "/users/{user_id}",
    summary="Change a user's role, or disable or enable the user",
    responses={200: {"model": MemberResponse}},
)
async def change_member(
    runtime: CurrentRuntime, caller: CurrentAdmin, user_id: IdPath, body: ChangeMemberRequest
) -> Response:
    user = await member_to_change(runtime, caller.user, user_id, becoming=body.role or "user")
    if body.role is not None:
        user = await set_role(runtime, user, body.role)
    if body.disabled is not None:
        user = await (disable_member if body.disabled else enable_member)(runtime, user)
    return json_response(_member_json(user))


@members_router.delete("/users/{user_id}", status_code=204, summary="Delete a user and all their data")
async def delete_member_account(runtime: CurrentRuntime, caller: CurrentAdmin, user_id: IdPath) -> Response:
    await delete_member(runtime, await member_to_change(runtime, caller.user, user_id))
    return Response(status_code=204)


@members_router.post(
    "/users/{user_id}/reset-link",
    status_code=201,
    summary="Create a password reset link to hand over yourself",
    responses={201: {"model": LinkResponse}},
)
async def make_reset_link(
    runtime: CurrentRuntime, caller: CurrentAdmin, _: CurrentSession, user_id: IdPath
) -> Response:
    url = await reset_link(runtime, await member_to_change(runtime, caller.user, user_id))
    return json_response({"url": url}, 201, {"Cache-Control": "no-store"})


@members_router.get("/invites", summary="List open invitations", responses={200: {"model": InviteList}})
async def list_invites(runtime: CurrentRuntime, caller: CurrentAdmin) -> Response:
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


@members_router.post(
    "/invites", status_code=201, summary="Invite a user", responses={201: {"model": NewInviteResponse}}
)
async def create_invite(runtime: CurrentRuntime, caller: CurrentAdmin, body: InviteRequest) -> Response:
    invitation = await invite(runtime, body.email, by_user_id=caller.user_id)
    fields = {"email": invitation.email, "url": invitation.url, "mailed": invitation.mailed}
    return json_response(fields, 201, {"Cache-Control": "no-store"})


@members_router.delete("/invites/{invite_id}", status_code=204, summary="Withdraw an invitation")
async def delete_invite(runtime: CurrentRuntime, caller: CurrentAdmin, invite_id: IdPath) -> Response:
    await withdraw_invite(runtime, invite_id)
    return Response(status_code=204)


@members_router.get(
    "/events", summary="List the events of all users", responses={200: {"model": UserEventList}}
)
async def list_member_events(
    runtime: CurrentRuntime,
    caller: CurrentAdmin,
    kind: Annotated[str | None, Query(max_length=50, examples=["login_failed"])] = None,
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Response:
    kind = None if kind is None else storable(kind)
    size, view = page_limit(limit), f"all events {kind}"
    async with runtime.db.read() as tx:
        events = list(
            await users.list_events(tx, kind=kind, before=decode_event_cursor(cursor, view), limit=size + 1)
        )
    items = [event_json(event, whose=True) for event in events[:size]]
    return json_response({"items": items, "next_cursor": next_event_cursor(events, size, view)})


def _member_json(user: User) -> dict[str, Any]:
    return {
        "id": str(user.id),
        "email": user.email,
        "role": user.role,
        "email_verified": user.email_verified_at is not None,
        "disabled": user.disabled_at is not None,
        "created_at": moment(user.created_at),
    }


def _listed_member_json(row: Member) -> dict[str, Any]:
    return {
        **_member_json(row.user),
        "feeds": row.feeds,
        "last_active_at": moment(row.last_active_at),
    }
