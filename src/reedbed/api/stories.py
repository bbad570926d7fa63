"""Stories: one event as reported by several of the user's feeds."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from reedbed.api.entries import EntryItem
from reedbed.api.framing import AnalysisResponse, analysis_response
from reedbed.domain.pagination import Cursor, decode_cursor, encode_cursor, page_limit
from reedbed.domain.records import record
from reedbed.domain.stories.compare import loud_words
from reedbed.domain.stories.story import Outlet, Story, StorySource, StorySummary
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel, JsonId, ListPage, ResponseModel, Timestamp
from reedbed.http.params import IdPath, PageCursor, PageLimit
from reedbed.http.responses import ApiRouter, Json
from reedbed.services import stories as service
from reedbed.services.summaries import one_lines
from reedbed.store.stories import read as stories

router = ApiRouter(prefix="/api/v1/stories", tags=["stories"])


@record
class StorySourceResponse(ResponseModel):
    entry_id: JsonId
    feed_id: JsonId
    feed_title: str
    title: str
    at: Timestamp


@record
class StoryItem(ResponseModel):
    id: JsonId
    title: Annotated[str, Field(description="The calmest headline; of several, the one nearest to the others.")]
    feeds: Annotated[int, Field(description="Number of your feeds that report it.")]
    entries: int
    unread: int
    first_at: Timestamp
    newest_at: Timestamp
    sources: Annotated[list[StorySourceResponse], Field(description="At most twelve.")]


@record
class OutletResponse(EntryItem):
    feed_title: str
    first_seen_at: Timestamp
    only_here: Annotated[list[str], Field(description="Sentences with content that no other outlet has.")]
    loud_words: Annotated[list[str], Field(description="Words of the title that judge, stir up or shout.")]
    quotations: Annotated[int, Field(description="Number of quotations in the text.")]
    analysis: Annotated[AnalysisResponse | None, Field(description="Neutral headline and scores, if analysed.")]


@record
class SharedSentenceResponse(ResponseModel):
    text: str
    entry_ids: list[JsonId]


@record
class JoinedStoryResponse(ResponseModel):
    id: JsonId
    title: str


@record
class StoryResponse(ResponseModel):
    id: JsonId
    title: str
    feeds: int
    unread: int
    outlets: Annotated[list[OutletResponse], Field(description="In order of reporting; at most 100.")]
    set_apart: Annotated[list[OutletResponse], Field(description="Entries that you split off.")]
    opening: Annotated[str, Field(description="First sentences of the outlet with the calmest headline.")]
    shared: Annotated[
        list[SharedSentenceResponse], Field(description="Sentences that several outlets have in nearly the same words.")
    ]
    joined: Annotated[list[JoinedStoryResponse], Field(description="Stories that you have made part of this one.")]
    followed: Annotated[bool, Field(description="You are notified when an entry joins it.")]


class JoinRequest(ApiModel):
    entry_ids: Annotated[list[JsonId], Field(min_length=2, max_length=20)]


@record
class JoinResponse(ResponseModel):
    id: Annotated[JsonId, Field(description="The story that they are now.")]


class ReadRequest(ApiModel):
    read: bool = True


@record
class StoryMarkResponse(ResponseModel):
    marked: int
    undo: Annotated[str, Field(description="Token for POST /api/v1/undo.")]


@router.get(
    "",
    summary="List stories, most recently updated first",
    description="Entries that no other feed reports are in no story; /entries lists all entries.",
)
async def list_all(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    unread: Annotated[bool, Query(description="Only stories with unread entries.")] = False,
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Json[ListPage[StoryItem]]:
    size, view = page_limit(limit), f"stories:{unread}"
    start = None if cursor is None else decode_cursor(cursor, "newest", view)
    async with runtime.db.read() as tx:
        rows = await stories.page(
            tx, caller.user_id, cursor=start, limit=size + 1, now=runtime.now(), only_unread=unread
        )
    return Json(ListPage([_story_item(row) for row in rows[:size]], _next_cursor(rows, size, view)))


@router.post("/mark-read", summary="Mark all stories read")
async def mark_all(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[StoryMarkResponse]:
    marked = await service.mark_all_stories(runtime, caller.user_id)
    return Json(StoryMarkResponse(marked.count, marked.undo))


@router.post(
    "/join",
    summary="Say that entries are one story",
    description="Only for you. Their stories become one; an entry in no story becomes part of it, and so does what is "
    "added to their stories later. Undo it with DELETE /api/v1/stories/{id}/joined/{joined_id}.",
)
async def join(runtime: CurrentRuntime, caller: CurrentCaller, body: JoinRequest) -> Json[JoinResponse]:
    return Json(JoinResponse(await service.join_entries(runtime, caller.user_id, body.entry_ids)))


@router.get("/{story_id}", summary="Get a story with its outlets")
async def get(runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath) -> Json[StoryResponse]:
    story = await service.get_story(runtime, caller.user_id, story_id)
    ids = [outlet.row.id for outlet in (*story.outlets, *story.apart)]
    return Json(_story_response(story, await one_lines(runtime, caller.user, ids)))


@router.post(
    "/{story_id}/mark-read",
    summary="Mark all entries of a story read or unread",
    description="For a single entry, use PATCH /api/v1/entries/{id}.",
)
async def mark_read(
    runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath, body: ReadRequest | None = None
) -> Json[StoryMarkResponse]:
    options = body or ReadRequest()
    marked = await service.mark_story(runtime, caller.user_id, story_id, read=options.read)
    return Json(StoryMarkResponse(marked.count, marked.undo))


@router.post(
    "/{story_id}/entries/{entry_id}/split",
    status_code=204,
    summary="Split an entry off a story",
    description="Only for you; the entry itself does not change. DELETE undoes it.",
)
async def split(runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath, entry_id: IdPath) -> Response:
    await service.split_entry(runtime, caller.user_id, story_id, entry_id)
    return Response(status_code=204)


@router.delete("/{story_id}/entries/{entry_id}/split", status_code=204, summary="Undo a split")
async def unsplit(runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath, entry_id: IdPath) -> Response:
    await service.split_entry(runtime, caller.user_id, story_id, entry_id, apart=False)
    return Response(status_code=204)


@router.put(
    "/{story_id}/follow",
    status_code=204,
    summary="Follow a story",
    description="When an entry joins it, a push notification is sent, and a `notice` event with `event` story.",
)
async def follow(runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath) -> Response:
    await service.follow_story(runtime, caller.user_id, story_id)
    return Response(status_code=204)


@router.delete("/{story_id}/follow", status_code=204, summary="No longer follow a story")
async def unfollow(runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath) -> Response:
    await service.follow_story(runtime, caller.user_id, story_id, on=False)
    return Response(status_code=204)


@router.put(
    "/{story_id}/joined/{joined_id}", status_code=204, summary="Make another story part of this one, only for you"
)
async def join_story(runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath, joined_id: IdPath) -> Response:
    await service.join_stories(runtime, caller.user_id, story_id, joined_id)
    return Response(status_code=204)


@router.delete("/{story_id}/joined/{joined_id}", status_code=204, summary="Make it a story of its own again")
async def unjoin(runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath, joined_id: IdPath) -> Response:
    await service.separate_story(runtime, caller.user_id, story_id, joined_id)
    return Response(status_code=204)


def _next_cursor(rows: list[StorySummary], size: int, view: str) -> str | None:
    if len(rows) <= size:
        return None
    last = Cursor(rows[size - 1].newest_at, rows[size - 1].id)
    return encode_cursor(last.sort_at, last.id, "newest", view)


def _story_item(story: StorySummary) -> StoryItem:
    return StoryItem.of(
        story, title=story.headline.title, sources=[_source_response(source) for source in story.sources]
    )


def _source_response(source: StorySource) -> StorySourceResponse:
    return StorySourceResponse.of(source, feed_title=source.feed)


def _story_response(story: Story, lines: Mapping[int, str]) -> StoryResponse:
    return StoryResponse.of(
        story,
        title=story.headline.title,
        outlets=[_outlet_response(outlet, lines) for outlet in story.outlets],
        set_apart=[_outlet_response(outlet, lines) for outlet in story.apart],
        opening=story.plainest.opening,
        shared=[SharedSentenceResponse.of(shared) for shared in story.shared],
        joined=[JoinedStoryResponse.of(joined) for joined in story.joined],
    )


def _outlet_response(outlet: Outlet, lines: Mapping[int, str]) -> OutletResponse:
    return OutletResponse.of_row(
        outlet.row,
        lines.get(outlet.row.id),
        feed_title=outlet.feed,
        first_seen_at=outlet.row.fetched_at,
        only_here=outlet.only_here,
        loud_words=loud_words(outlet.row.title),
        quotations=outlet.quotations,
        analysis=outlet.analysis and analysis_response(outlet.analysis),
    )
