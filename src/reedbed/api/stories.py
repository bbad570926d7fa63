"""Stories: one event as reported by several of the user's feeds."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import Field

from reedbed.api.entries import EntryItem, entry_item
from reedbed.api.framing import AnalysisResponse, analysis_json
from reedbed.domain.pagination import Cursor, decode_cursor, encode_cursor, page_limit
from reedbed.domain.stories import Outlet, Story, StorySource, StorySummary
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel
from reedbed.http.params import IdPath, PageCursor, PageLimit
from reedbed.http.responses import json_response, moment
from reedbed.services import stories as service
from reedbed.services.summaries import one_lines
from reedbed.store import stories

router = APIRouter(prefix="/api/v1/stories", tags=["stories"])


class StorySourceResponse(ApiModel):
    entry_id: str
    feed_id: str
    feed_title: str
    title: str
    at: str


class StoryItem(ApiModel):
    id: str
    title: str = Field(description="The headline that overlaps most with the others.")
    feeds: int = Field(description="Number of your feeds that report it.")
    entries: int
    unread: int
    first_at: str
    newest_at: str
    sources: list[StorySourceResponse] = Field(description="At most twelve.")


class StoryList(ApiModel):
    items: list[StoryItem]
    next_cursor: str | None


class OutletResponse(EntryItem):
    feed_title: str
    first_seen_at: str
    only_here: list[str] = Field(description="Sentences with content that no other outlet has.")
    analysis: AnalysisResponse | None = Field(description="Neutral headline and scores, if analysed.")


class StoryResponse(ApiModel):
    id: str
    title: str
    feeds: int
    unread: int
    outlets: list[OutletResponse] = Field(description="In order of reporting; at most 100.")
    set_apart: list[OutletResponse] = Field(description="Entries that you split off.")


class ReadRequest(ApiModel):
    read: bool = True


class StoryMarkResponse(ApiModel):
    marked: int
    undo: str = Field(description="Token for POST /api/v1/undo.")


@router.get(
    "",
    summary="List stories, most recently updated first",
    description="Entries that no other feed reports are in no story; /entries lists all entries.",
    responses={200: {"model": StoryList}},
)
async def list_all(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    unread: Annotated[bool, Query(description="Only stories with unread entries.")] = False,
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Response:
    size, view = page_limit(limit), f"stories:{unread}"
    start = None if cursor is None else decode_cursor(cursor, "newest", view)
    async with runtime.db.read() as tx:
        rows = await stories.page(
            tx, caller.user_id, cursor=start, limit=size + 1, now=runtime.now(), only_unread=unread
        )
    return json_response(
        {"items": [_story_item(row) for row in rows[:size]], "next_cursor": _next_cursor(rows, size, view)}
    )


@router.post("/mark-read", summary="Mark all stories read", responses={200: {"model": StoryMarkResponse}})
async def mark_all(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    marked = await service.mark_all_stories(runtime, caller.user_id)
    return json_response({"marked": marked.count, "undo": marked.undo})


@router.get("/{story_id}", summary="Get a story with its outlets", responses={200: {"model": StoryResponse}})
async def get(runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath) -> Response:
    story = await service.get_story(runtime, caller.user_id, story_id)
    ids = [outlet.row.id for outlet in (*story.outlets, *story.apart)]
    return json_response(_story_json(story, await one_lines(runtime, caller.user, ids)))


@router.post(
    "/{story_id}/mark-read",
    summary="Mark all entries of a story read or unread",
    description="For a single entry, use PATCH /api/v1/entries/{id}.",
    responses={200: {"model": StoryMarkResponse}},
)
async def mark_read(
    runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath, body: ReadRequest | None = None
) -> Response:
    options = body or ReadRequest()
    marked = await service.mark_story(runtime, caller.user_id, story_id, read=options.read)
    return json_response({"marked": marked.count, "undo": marked.undo})


@router.post(
    "/{story_id}/entries/{entry_id}/split",
    status_code=204,
    summary="Split an entry off a story",
    description="Only for you; the entry itself does not change. DELETE undoes it.",
)
async def split(
    runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath, entry_id: IdPath
) -> Response:
    await service.split_entry(runtime, caller.user_id, story_id, entry_id)
    return Response(status_code=204)


@router.delete("/{story_id}/entries/{entry_id}/split", status_code=204, summary="Undo a split")
async def unsplit(
    runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath, entry_id: IdPath
) -> Response:
    await service.split_entry(runtime, caller.user_id, story_id, entry_id, apart=False)
    return Response(status_code=204)


def _next_cursor(rows: list[StorySummary], size: int, view: str) -> str | None:
    if len(rows) <= size:
        return None
    last = Cursor(rows[size - 1].newest_at, rows[size - 1].id)
    return encode_cursor(last.sort_at, last.id, "newest", view)


def _story_item(story: StorySummary) -> dict[str, Any]:
    return {
        "id": str(story.id),
        "title": story.headline.title,
        "feeds": story.feeds,
        "entries": story.entries,
        "unread": story.unread,
        "first_at": moment(story.first_at),
        "newest_at": moment(story.newest_at),
        "sources": [_source_json(source) for source in story.sources],
    }


def _source_json(source: StorySource) -> dict[str, Any]:
    return {
        "entry_id": str(source.entry_id),
        "feed_id": str(source.feed_id),
        "feed_title": source.feed,
        "title": source.title,
        "at": moment(source.at),
    }


def _story_json(story: Story, lines: Mapping[int, str]) -> dict[str, Any]:
    return {
        "id": str(story.id),
        "title": story.headline.title,
        "feeds": story.feeds,
        "unread": story.unread,
        "outlets": [_outlet_json(outlet, lines) for outlet in story.outlets],
        "set_apart": [_outlet_json(outlet, lines) for outlet in story.apart],
    }


def _outlet_json(outlet: Outlet, lines: Mapping[int, str]) -> dict[str, Any]:
    return {
        **entry_item(outlet.row, lines.get(outlet.row.id)),
        "feed_title": outlet.feed,
        "first_seen_at": moment(outlet.row.fetched_at),
        "only_here": outlet.only_here,
        "analysis": analysis_json(outlet.analysis) if outlet.analysis else None,
    }
