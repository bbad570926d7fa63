"""People and their log as the API shows them."""

from dataclasses import asdict
from typing import Any

import orjson

from reedbed.domain.accounts import LoggedEvent, User
from reedbed.domain.paging import Cursor, decode_cursor, encode_cursor
from reedbed.http.json import moment, text_id
from reedbed.http.models import ApiModel
from reedbed.services.preferences import preferences_of

"""Later than any event."""


class PreferencesOut(ApiModel):
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


class UserOut(ApiModel):
    id: str
    email: str
    role: str
    email_verified: bool
    created_at: str
    preferences: PreferencesOut


class EventOut(ApiModel):
    id: str
    kind: str
    at: str
    detail: dict[str, Any]


class EventList(ApiModel):
    items: list[EventOut]
    next_cursor: str | None


class SomebodysEvent(EventOut):
    user_id: str | None


class EverybodysEvents(ApiModel):
    items: list[SomebodysEvent]
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
    shown = {
        "id": str(event.id),
        "kind": event.kind,
        "at": moment(event.at),
        "detail": orjson.loads(event.detail),
    }
    return {**shown, "user_id": text_id(event.user_id)} if whose else shown


def events_before(cursor: str | None, view: str) -> Cursor | None:
    return None if cursor is None else decode_cursor(cursor, "newest", view)


def events_after(found: list[LoggedEvent], size: int, view: str) -> str | None:
    """`found` has one more than was wanted, when there is one."""
    if len(found) <= size:
        return None
    return encode_cursor(found[size - 1].at, found[size - 1].id, "newest", view)
