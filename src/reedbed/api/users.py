"""The caller's own account: preferences, password, devices, log."""

from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import Field

from reedbed.api.people_out import EventList, UserOut, event_json, events_after, events_before, user_json
from reedbed.domain.accounts import Caller, Session
from reedbed.domain.devices import device_name
from reedbed.domain.paging import page_limit
from reedbed.http.caller import CallerOf, RuntimeOf, SessionOf
from reedbed.http.cookies import clear_session_cookie
from reedbed.http.ids import IdPath
from reedbed.http.json import json_response, moment
from reedbed.http.models import ApiModel
from reedbed.http.paging import PageCursor, PageLimit
from reedbed.services.accounts import delete_account
from reedbed.services.members import member
from reedbed.services.passwords import change_password
from reedbed.services.preferences import set_preferences
from reedbed.services.sessions import list_sessions, revoke_other_sessions, revoke_session
from reedbed.store import events

router = APIRouter(prefix="/api/v1/users/me", tags=["account"])


class AccountChange(ApiModel):
    preferences: dict[str, Any] = Field(
        default_factory=dict[str, Any],
        max_length=50,
        description="Choices to change; what is not named stays.",
        examples=[{"theme": "sepia"}],
    )


class PasswordChange(ApiModel):
    current_password: str = Field(max_length=2_000, repr=False)
    new_password: str = Field(max_length=2_000, repr=False)


class Farewell(ApiModel):
    password: str = Field(max_length=2_000, repr=False)


class DeviceOut(ApiModel):
    id: str
    device: str = Field(examples=["Firefox on Linux"])
    ip: str | None
    created_at: str
    last_active_at: str
    expires_at: str
    current: bool


class DeviceList(ApiModel):
    items: list[DeviceOut]
    next_cursor: str | None


class RevokedOut(ApiModel):
    revoked: int


@router.get("", summary="The account", responses={200: {"model": UserOut}})
async def get(runtime: RuntimeOf, caller: CallerOf) -> Response:
    return json_response(user_json(await member(runtime, caller.user_id)))


@router.patch("", summary="Change preferences", responses={200: {"model": UserOut}})
async def change(runtime: RuntimeOf, caller: CallerOf, body: AccountChange) -> Response:
    return json_response(user_json(await set_preferences(runtime, caller, body.preferences)))


@router.delete("", status_code=204, summary="Delete the account with everything in it, for good")
async def delete(request: Request, runtime: RuntimeOf, caller: SessionOf, body: Farewell) -> Response:
    await delete_account(runtime, caller, body.password)
    response = Response(status_code=204)
    clear_session_cookie(request, response, runtime)
    return response


@router.post("/password", status_code=204, summary="Change the password; every other device is logged out")
async def password(runtime: RuntimeOf, caller: SessionOf, body: PasswordChange) -> Response:
    await change_password(runtime, caller, body.current_password, body.new_password)
    return Response(status_code=204)


@router.get("/sessions", summary="Devices that are logged in", responses={200: {"model": DeviceList}})
async def sessions(runtime: RuntimeOf, caller: CallerOf) -> Response:
    found = await list_sessions(runtime, caller.user_id)
    return json_response({"items": [_device(one, caller) for one in found], "next_cursor": None})


@router.delete("/sessions", summary="Log out every other device", responses={200: {"model": RevokedOut}})
async def revoke_others(runtime: RuntimeOf, caller: SessionOf) -> Response:
    return json_response({"revoked": await revoke_other_sessions(runtime, caller)})


@router.delete("/sessions/{session_id}", status_code=204, summary="Log out one device")
async def revoke(runtime: RuntimeOf, caller: SessionOf, session_id: IdPath) -> Response:
    await revoke_session(runtime, caller, session_id)
    return Response(status_code=204)


@router.get("/events", summary="What happened to the account", responses={200: {"model": EventList}})
async def log(
    runtime: RuntimeOf,
    caller: CallerOf,
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Response:
    size, view = page_limit(limit), "own events"
    async with runtime.db.read() as tx:
        found = list(
            await events.newest(
                tx, user_id=caller.user_id, before=events_before(cursor, view), limit=size + 1
            )
        )
    items = [event_json(event) for event in found[:size]]
    return json_response({"items": items, "next_cursor": events_after(found, size, view)})


def _device(session: Session, caller: Caller) -> dict[str, Any]:
    return {
        "id": str(session.id),
        "device": device_name(session.user_agent),
        "ip": session.ip,
        "created_at": moment(session.created_at),
        "last_active_at": moment(session.last_active_at),
        "expires_at": moment(session.expires_at),
        "current": session.id == caller.session_id,
    }
