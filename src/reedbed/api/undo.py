"""Take back what was marked."""

from fastapi import APIRouter, Response
from pydantic import Field

from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.json import json_response
from reedbed.http.models import ApiModel
from reedbed.services.marking import take_back

router = APIRouter(prefix="/api/v1/undo", tags=["entries"])


class UndoBody(ApiModel):
    undo: str = Field(max_length=200, description="As mark-read answered it, at most an hour ago.")


class UndoneOut(ApiModel):
    undone: bool


@router.post("", summary="Take back a mark-read", responses={200: {"model": UndoneOut}})
async def undo(runtime: RuntimeOf, caller: CallerOf, body: UndoBody) -> Response:
    await take_back(runtime, caller.user_id, body.undo)
    return json_response({"undone": True})
