"""The one table from error to status. The API answers it as JSON, the page as a page."""

from typing import Any

from reedbed.domain.errors import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    ReedbedError,
    Refused,
    TooLarge,
    TooMany,
    Unauthorized,
    Unavailable,
)
from reedbed.domain.texts import storable

STATUS: dict[type[ReedbedError], int] = {
    Invalid: 400,
    Unauthorized: 401,
    Forbidden: 403,
    NotFound: 404,
    Conflict: 409,
    TooLarge: 413,
    TooMany: 429,
    Unavailable: 503,
    Refused: 400,
    ReedbedError: 500,
}

RETRY_SECONDS = 5


def status_of(error: ReedbedError) -> int:
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def headers_of(error: ReedbedError) -> dict[str, str]:
    match error:
        case TooMany():
            return {"Retry-After": str(max(1, error.retry_after))}
        case Unavailable():
            return {"Retry-After": str(RETRY_SECONDS)}
        case Unauthorized():
            return {"WWW-Authenticate": "Bearer"}
        case _:
            return {}


def body_of(error: ReedbedError) -> dict[str, Any]:
    """Message and field may repeat what was sent, and JSON cannot say all that can be sent."""
    field = getattr(error, "field", None)
    details = {"field": storable(field)} if field else {}
    return {"error": {"code": error.code, "message": storable(error.message), "details": details}}
