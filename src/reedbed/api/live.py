"""Live updates as server-sent events."""

from collections.abc import AsyncGenerator
from typing import Annotated

import orjson
from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from reedbed.domain.live import ChangeEvent
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.services.live import check_stream_limit, follow
from reedbed.services.runtime import Runtime

router = APIRouter(prefix="/api/v1/events", tags=["events"])

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


@router.get(
    "",
    summary="Live updates as server-sent events",
    description=(
        "Events: `new_entry`, `entry_updated`, `state_changed`, `counts`, `progress`, `subscriptions`, "
        "`notice` (a rule that notifies has matched), and `resync` after a gap: reload everything. "
        "A comment every 30 s keeps the connection open. "
        "`Last-Event-ID` is honoured. The stream ends after about an hour; reconnect. "
        "429 if the user has too many open streams (REEDBED_MAX_STREAMS_PER_USER)."
    ),
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def events(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    since: Annotated[str | None, Query(max_length=100, description="Start after this event id.")] = None,
) -> StreamingResponse:
    check_stream_limit(runtime, caller)
    last_id = request.headers.get("last-event-id") or since
    return StreamingResponse(
        _encode_stream(runtime, follow(runtime, caller, last_id)), 200, HEADERS, "text/event-stream"
    )


async def _encode_stream(runtime: Runtime, events: AsyncGenerator[ChangeEvent | None]) -> AsyncGenerator[bytes]:
    yield b"retry: 2000\n\n"
    async for event in events:
        if event is not None:
            runtime.metrics.hints.add(event.topic)
        yield b": heartbeat\n\n" if event is None else _encode_event(event)


def _encode_event(event: ChangeEvent) -> bytes:
    data = dict(event.data)
    if event.feed_id is not None:
        data["feed_id"] = str(event.feed_id)
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (event.id.encode(), event.topic.encode(), orjson.dumps(data))
