"""Server-sent events."""

from collections.abc import AsyncGenerator
from typing import Annotated

import orjson
from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from reedbed.domain.live import ChangeEvent
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.services.live import check_room, follow
from reedbed.services.runtime import Runtime

router = APIRouter(prefix="/api/v1/events", tags=["events"])

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


@router.get(
    "",
    summary="Live updates as server-sent events",
    description=(
        "Events: `new_entry`, `entry_updated`, `state_changed`, `counts`, `progress`, `subscriptions`, "
        "`notice` (a rule that notifies has matched), and `resync` after a gap: read everything again. "
        "A comment every 30 s keeps the connection open. "
        "`Last-Event-ID` is honoured. The stream ends by itself after about an hour; reconnect. "
        "429 where one user has too many streams open (REEDBED_MAX_STREAMS_PER_USER)."
    ),
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def events(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    since: Annotated[str | None, Query(max_length=100, description="Begin after this event's id.")] = None,
) -> StreamingResponse:
    check_room(runtime, caller)
    last_id = request.headers.get("last-event-id") or since
    return StreamingResponse(
        _written(runtime, follow(runtime, caller, last_id)), 200, HEADERS, "text/event-stream"
    )


async def _written(runtime: Runtime, hints: AsyncGenerator[ChangeEvent | None]) -> AsyncGenerator[bytes]:
    yield b"retry: 2000\n\n"
    async for hint in hints:
        if hint is not None:
            runtime.meters.hints.add(hint.topic)
        yield b": heartbeat\n\n" if hint is None else _event(hint)


def _event(hint: ChangeEvent) -> bytes:
    data = dict(hint.data)
    if hint.feed_id is not None:
        data["feed_id"] = str(hint.feed_id)
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (hint.id.encode(), hint.topic.encode(), orjson.dumps(data))
