"""Shared stories: public, unlisted copies of stories, and how to take them back."""

from fastapi import Response

from reedbed.domain.records import record
from reedbed.domain.shared_stories import SharedStory
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel, JsonId, ListPage, ResponseModel, Timestamp
from reedbed.http.params import IdPath
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.shared_stories import share_story, take_back
from reedbed.store import shared_stories

router = ApiRouter(prefix="/api/v1/shared-stories", tags=["stories"])


class ShareStoryRequest(ApiModel):
    story_id: JsonId


@record
class SharedStoryResponse(ResponseModel):
    id: JsonId
    title: str
    created_at: Timestamp
    last_used_at: Timestamp | None


@record
class NewSharedStoryResponse(SharedStoryResponse):
    url: str


@router.get("", summary="List shared stories without their URLs")
async def list_shared(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[ListPage[SharedStoryResponse]]:
    async with runtime.db.read() as tx:
        shared = await shared_stories.of_user(tx, caller.user_id)
    return Json(ListPage([shared_story_response(story) for story in shared]))


@router.post(
    "",
    status_code=201,
    summary="Share a story",
    description="Makes a public page that only those with its URL find: headlines, short quotes and links. Entries of "
    "private feeds are left out, and so is everything of your own. The story may change later; the page does not.",
    responses={201: {"description": "Includes the URL, which is shown only once."}},
)
async def share(
    runtime: CurrentRuntime, caller: CurrentCaller, body: ShareStoryRequest
) -> Json[NewSharedStoryResponse]:
    made = await share_story(runtime, caller.user_id, body.story_id)
    url = f"{runtime.accounts.base_url}/shared/{made.token}"
    return Json(NewSharedStoryResponse.of(made.story, url=url), 201)


@router.delete("/{shared_id}", status_code=204, summary="Take a shared story back; its URL stops working")
async def delete(runtime: CurrentRuntime, caller: CurrentCaller, shared_id: IdPath) -> Response:
    await take_back(runtime, caller.user_id, shared_id)
    return Response(status_code=204)


def shared_story_response(story: SharedStory) -> SharedStoryResponse:
    return SharedStoryResponse.of(story)
