"""The account of the caller, and the users, invitations and event log for operators."""

from typing import Annotated, Any

import orjson
from fastapi import Query, Request, Response
from pydantic import Field

from reedbed.domain.pagination import Cursor, decode_cursor, encode_cursor, page_limit
from reedbed.domain.records import record
from reedbed.domain.text import storable
from reedbed.domain.users import Caller, LoggedEvent, Session, User, device_name
from reedbed.http.auth import CurrentAdmin, CurrentCaller, CurrentRuntime, CurrentSession, clear_session_cookie
from reedbed.http.models import ApiModel, JsonId, ListPage, ResponseModel, Timestamp
from reedbed.http.params import IdPath, PageCursor, PageLimit
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.auth import list_sessions, revoke_other_sessions, revoke_session
from reedbed.services.users import (
    change_password,
    delete_account,
    disable_member,
    enable_member,
    invite,
    member,
    member_to_change,
    open_invites,
    preferences_of,
    remove_user,
    reset_link,
    set_preferences,
    set_role,
    withdraw_invite,
)
from reedbed.store import users


@record
class PreferencesResponse(ResponseModel):
    theme: str
    size: str
    width: str
    font: str
    density: str
    order: str
    language: str
    mail_language: Annotated[
        str, Field(description="Of mails while `language` is empty: that of the browser which logged in first.")
    ]
    summary_language: str
    time_zone: str
    open_marks: bool
    scroll_marks: bool
    group_stories: bool
    marked_words: Annotated[str, Field(description="Words to mark in titles and texts, one per line.")]
    share_marks_read: bool
    same_address_once: bool
    stopped_feeds: Annotated[str, Field(description="How to tell that a feed has stopped: off, mail, push or both.")]
    broken_feeds_weekly: bool
    remote_ai: bool
    playback_speed: int
    video_site: Annotated[
        str,
        Field(
            description="An Invidious or Piped that plays videos of YouTube; empty: YouTube without cookies.",
            examples=["https://invidious.example.org"],
        ),
    ]
    translation_language: Annotated[
        str, Field(description="The language that entries are translated into; empty: that of the pages.")
    ]
    languages_read: Annotated[
        str, Field(description="Codes of languages that need no translation.", examples=["de, en"])
    ]
    auto_translate: Annotated[bool, Field(description="Translate new entries in other languages without asking.")]
    voice: Annotated[
        str,
        Field(
            description="The voice that reads aloud, or one for each language; empty: one that fits the language.",
            examples=["en=en-gb de=mb-de5"],
        ),
    ]
    book_address: Annotated[str, Field(description="Of your e-reader; `PUT /api/v1/books/address` checks it.")]
    spoken_digests: Annotated[bool, Field(description="Read new digests aloud.")]
    translations_in_apps: Annotated[
        bool, Field(description="Apps and published feeds get the translation instead of the original.")
    ]
    interest: Annotated[bool, Field(description="Learn from your own acts what to list first.")]
    interest_marks: Annotated[bool, Field(description="With `interest`: lists mark what is worth it.")]
    interest_digests: Annotated[bool, Field(description="With `interest`: digests put first what you read.")]


@record
class UserResponse(ResponseModel):
    id: JsonId
    email: str
    role: str
    email_verified: bool
    created_at: Timestamp
    preferences: PreferencesResponse


@record
class EventResponse(ResponseModel):
    id: JsonId
    kind: str
    at: Timestamp
    detail: dict[str, Any]


@record
class UserEventResponse(EventResponse):
    user_id: JsonId | None


def user_response(user: User) -> UserResponse:
    return UserResponse.of(
        user,
        email_verified=user.email_verified_at is not None,
        preferences=PreferencesResponse.of(preferences_of(user)),
    )


def decode_event_cursor(cursor: str | None, view: str) -> Cursor | None:
    return None if cursor is None else decode_cursor(cursor, "newest", view)


def next_event_cursor(events: list[LoggedEvent], size: int, view: str) -> str | None:
    """Cursor of the next page. `events` holds one more than `size` if there is one."""
    if len(events) <= size:
        return None
    return encode_cursor(events[size - 1].at, events[size - 1].id, "newest", view)


# --- Own account

router = ApiRouter(prefix="/api/v1/users/me", tags=["account"])


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
    password: str = Field(
        "", max_length=2_000, repr=False, description="May be left out in a session that was just confirmed."
    )


@record
class DeviceResponse(ResponseModel):
    id: JsonId
    device: Annotated[str, Field(examples=["Firefox on Linux"])]
    ip: str | None
    created_at: Timestamp
    last_active_at: Timestamp
    expires_at: Timestamp
    current: bool


@record
class RevokedResponse(ResponseModel):
    revoked: int


@router.get("", summary="Get the account")
async def get(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[UserResponse]:
    return Json(user_response(await member(runtime, caller.user_id)))


@router.patch("", summary="Change preferences")
async def change(runtime: CurrentRuntime, caller: CurrentCaller, body: ChangeAccountRequest) -> Json[UserResponse]:
    return Json(user_response(await set_preferences(runtime, caller, body.preferences)))


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


@router.get("/sessions", summary="List logged-in devices")
async def sessions(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[ListPage[DeviceResponse]]:
    logged_in = await list_sessions(runtime, caller.user_id)
    return Json(ListPage([_device_response(session, caller) for session in logged_in]))


@router.delete("/sessions", summary="Log out all other devices")
async def revoke_others(runtime: CurrentRuntime, caller: CurrentSession) -> Json[RevokedResponse]:
    return Json(RevokedResponse(await revoke_other_sessions(runtime, caller)))


@router.delete("/sessions/{session_id}", status_code=204, summary="Log out one device")
async def revoke(runtime: CurrentRuntime, caller: CurrentSession, session_id: IdPath) -> Response:
    await revoke_session(runtime, caller, session_id)
    return Response(status_code=204)


@router.get("/events", summary="List the account's events")
async def log(
    runtime: CurrentRuntime, caller: CurrentCaller, limit: PageLimit = None, cursor: PageCursor = None
) -> Json[ListPage[EventResponse]]:
    size, view = page_limit(limit), "own events"
    async with runtime.db.read() as tx:
        events = list(
            await users.list_events(
                tx, user_id=caller.user_id, before=decode_event_cursor(cursor, view), limit=size + 1
            )
        )
    items = [EventResponse.of(event, detail=orjson.loads(event.detail)) for event in events[:size]]
    return Json(ListPage(items, next_event_cursor(events, size, view)))


def _device_response(session: Session, caller: Caller) -> DeviceResponse:
    return DeviceResponse.of(session, device=device_name(session.user_agent), current=session.id == caller.session_id)


# --- Users and invitations, for operators

members_router = ApiRouter(prefix="/api/v1/admin", tags=["operator"])


@record
class MemberResponse(ResponseModel):
    id: JsonId
    email: str
    role: str
    email_verified: bool
    disabled: bool
    created_at: Timestamp


@record
class MemberItem(MemberResponse):
    feeds: int
    last_active_at: Timestamp | None


class ChangeMemberRequest(ApiModel):
    role: str | None = Field(None, examples=["admin"])
    disabled: bool | None = None


class InviteRequest(ApiModel):
    email: str = Field(max_length=320, examples=["friend@example.org"])


@record
class InviteResponse(ResponseModel):
    id: JsonId
    email: str
    created_at: Timestamp
    expires_at: Timestamp


@record
class NewInviteResponse(ResponseModel):
    email: str
    url: Annotated[str, Field(description="Shown only once.")]
    mailed: bool


@record
class LinkResponse(ResponseModel):
    url: Annotated[str, Field(description="Works once, for an hour.")]


@members_router.get("/users", summary="List all users")
async def list_users(
    runtime: CurrentRuntime, caller: CurrentAdmin, limit: PageLimit = None, cursor: PageCursor = None
) -> Json[ListPage[MemberItem]]:
    size, after = page_limit(limit), 0 if cursor is None else decode_cursor(cursor, "oldest", "users").id
    async with runtime.db.read() as tx:
        members = await users.list_members(tx, after=after, limit=size + 1)
    next_cursor = encode_cursor(0, members[size - 1].user.id, "oldest", "users") if len(members) > size else None
    return Json(ListPage([MemberItem.of(row, _member_response(row.user)) for row in members[:size]], next_cursor))


@members_router.get("/users/{user_id}", summary="Get a user")
async def get_member(runtime: CurrentRuntime, caller: CurrentAdmin, user_id: IdPath) -> Json[MemberResponse]:
    return Json(_member_response(await member(runtime, user_id)))


@members_router.patch("/users/{user_id}", summary="Change a user's role, or disable or enable the user")
async def change_member(
    runtime: CurrentRuntime, caller: CurrentAdmin, user_id: IdPath, body: ChangeMemberRequest
) -> Json[MemberResponse]:
    user = await member_to_change(runtime, caller.user, user_id, becoming=body.role or "user")
    if body.role is not None:
        user = await set_role(runtime, user, body.role)
    if body.disabled is not None:
        user = await (disable_member if body.disabled else enable_member)(runtime, user)
    return Json(_member_response(user))


@members_router.delete("/users/{user_id}", status_code=204, summary="Delete a user and all their data")
async def delete_member_account(runtime: CurrentRuntime, caller: CurrentAdmin, user_id: IdPath) -> Response:
    await remove_user(runtime, await member_to_change(runtime, caller.user, user_id))
    return Response(status_code=204)


@members_router.post(
    "/users/{user_id}/reset-link", status_code=201, summary="Create a password reset link to hand over yourself"
)
async def make_reset_link(
    runtime: CurrentRuntime, caller: CurrentAdmin, _: CurrentSession, user_id: IdPath
) -> Json[LinkResponse]:
    url = await reset_link(runtime, await member_to_change(runtime, caller.user, user_id))
    return Json(LinkResponse(url), 201, {"Cache-Control": "no-store"})


@members_router.get("/invites", summary="List open invitations")
async def list_invites(runtime: CurrentRuntime, caller: CurrentAdmin) -> Json[ListPage[InviteResponse]]:
    return Json(ListPage([InviteResponse.of(link) for link in await open_invites(runtime)]))


@members_router.post("/invites", status_code=201, summary="Invite a user")
async def create_invite(runtime: CurrentRuntime, caller: CurrentAdmin, body: InviteRequest) -> Json[NewInviteResponse]:
    invitation = await invite(runtime, body.email, by_user_id=caller.user_id)
    return Json(NewInviteResponse.of(invitation), 201, {"Cache-Control": "no-store"})


@members_router.delete("/invites/{invite_id}", status_code=204, summary="Withdraw an invitation")
async def delete_invite(runtime: CurrentRuntime, caller: CurrentAdmin, invite_id: IdPath) -> Response:
    await withdraw_invite(runtime, invite_id)
    return Response(status_code=204)


@members_router.get("/events", summary="List the events of all users")
async def list_member_events(
    runtime: CurrentRuntime,
    caller: CurrentAdmin,
    kind: Annotated[str | None, Query(max_length=50, examples=["login_failed"])] = None,
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Json[ListPage[UserEventResponse]]:
    kind = None if kind is None else storable(kind)
    size, view = page_limit(limit), f"all events {kind}"
    async with runtime.db.read() as tx:
        events = list(await users.list_events(tx, kind=kind, before=decode_event_cursor(cursor, view), limit=size + 1))
    items = [UserEventResponse.of(event, detail=orjson.loads(event.detail)) for event in events[:size]]
    return Json(ListPage(items, next_event_cursor(events, size, view)))


def _member_response(user: User) -> MemberResponse:
    return MemberResponse.of(
        user, email_verified=user.email_verified_at is not None, disabled=user.disabled_at is not None
    )
