"""Is it alive, can it serve."""

from fastapi import APIRouter, Response

from reedbed.domain.errors import Unavailable
from reedbed.http.caller import RuntimeOf
from reedbed.http.json import json_response
from reedbed.store import health

router = APIRouter(tags=["health"])


@router.get("/healthz", summary="The process is alive")
async def healthz() -> Response:
    return json_response({"status": "ok"})


@router.get("/readyz", summary="The process can serve: its database answers")
async def readyz(runtime: RuntimeOf) -> Response:
    async with runtime.db.read() as tx:
        if not await health.answers(tx):
            raise Unavailable("The database does not answer.")
    return json_response({"status": "ok", "db": "ok"})
