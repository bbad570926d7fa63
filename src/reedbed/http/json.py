"""JSON answers as the API gives them: ids as text, moments as RFC 3339, written by orjson."""

from typing import Any

import orjson
from fastapi import Response

from reedbed.domain.times import Instant, rfc3339


def json_response(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(orjson.dumps(content), status, headers, "application/json")


def moment(value: Instant | None) -> str | None:
    return None if value is None else rfc3339(value)


def text_id(value: int | None) -> str | None:
    return None if value is None else str(value)
