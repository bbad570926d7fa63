"""Any page, saved for later by its address."""

from fastapi import APIRouter, Response
from pydantic import Field

from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.json import json_response, text_id
from reedbed.http.limits import RefreshLimit
from reedbed.http.models import ApiModel
from reedbed.services.saved_pages import save_page

router = APIRouter(prefix="/api/v1/saved-pages", tags=["entries"])


class SavedPageBody(ApiModel):
    url: str = Field(max_length=2_048, examples=["https://example.org/how-reeds-grow"])
    title: str = Field("", max_length=500, description="What to call it until the page has been read.")


class SavedPageOut(ApiModel):
    entry_id: str = Field(description="The entry, marked for later.")
    new: bool = Field(description="False when it was among your entries already.")


@router.post(
    "",
    status_code=201,
    summary="Save a page for later by its address; its article is fetched in the background",
    responses={201: {"model": SavedPageOut}},
)
async def save(runtime: RuntimeOf, caller: CallerOf, body: SavedPageBody, _: RefreshLimit) -> Response:
    saved = await save_page(runtime, caller.user_id, body.url, body.title)
    return json_response({"entry_id": text_id(saved.entry_id), "new": saved.new}, 201)
