"""Stories: one event as every feed that you follow tells it."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import Field

from reedbed.api.entries import EntryItem, entry_item
from reedbed.api.framing import AnalysisResponse, analysis_json
from reedbed.domain.pagination import Cursor, decode_cursor, encode_cursor, page_limit
from reedbed.domain.stories import Outlet, Story, StoryLine, StorySource
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
    title: str = Field(description="The headline that says most of what the others say.")
    feeds: int = Field(description="How many of your feeds tell it.")
    entries: int
    unread: int
    first_at: str
    newest_at: str
    sources: list[StorySourceResponse] = Field(description="The first twelve.")


class StoryList(ApiModel):
    items: list[StoryItem]
    next_cursor: str | None


class OutletResponse(EntryItem):
    feed_title: str
    first_seen_at: str
    only_here: list[str] = Field(description="Sentences that say what no other outlet says.")
    analysis: AnalysisResponse | None = Field(
        description="Neutral headline and scores, where a model read it."
    )


class StoryResponse(ApiModel):
    id: str
    title: str
    feeds: int
    unread: int
    outlets: list[OutletResponse] = Field(description="The first to report it first; at most a hundred.")
    set_apart: list[OutletResponse] = Field(description="What you said is not the same story.")


class ReadRequest(ApiModel):
    read: bool = True


class StoryMarkResponse(ApiModel):
    marked: int
    undo: str = Field(description="For POST /api/v1/undo.")


@router.get(
    "",
    summary="Stories, the newest news first",
    description="Entries that are alone with their event are in no story; all of them are in /entries.",
    responses={200: {"model": StoryList}},
)
async def list_all(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    unread: Annotated[bool, Query(description="Only those with something unread.")] = False,
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Response:
    size, view = page_limit(limit), f"stories:{unread}"
    place = None if cursor is None else decode_cursor(cursor, "newest", view)
    async with runtime.db.read() as tx:
        found = await stories.page(
            tx, caller.user_id, cursor=place, limit=size + 1, now=runtime.now(), only_unread=unread
        )
    return json_response(
        {"items": [_line(one) for one in found[:size]], "next_cursor": _next(found, size, view)}
    )


@router.post("/mark-read", summary="Mark every story read", responses={200: {"model": StoryMarkResponse}})
async def mark_all(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    marked = await service.mark_all_stories(runtime, caller.user_id)
    return json_response({"marked": marked.count, "undo": marked.undo})


@router.get("/{story_id}", summary="One story, outlet by outlet", responses={200: {"model": StoryResponse}})
async def get(runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath) -> Response:
    found = await service.get_story(runtime, caller.user_id, story_id)
    ids = [one.row.id for one in (*found.outlets, *found.apart)]
    return json_response(_story(found, await one_lines(runtime, caller.user, ids)))


@router.post(
    "/{story_id}/mark-read",
    summary="Mark all entries of a story read or unread",
    description="One of them alone: PATCH /api/v1/entries/{id}.",
    responses={200: {"model": StoryMarkResponse}},
)
async def mark_read(
    runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath, body: ReadRequest | None = None
) -> Response:
    wanted = body or ReadRequest()
    marked = await service.mark_story(runtime, caller.user_id, story_id, read=wanted.read)
    return json_response({"marked": marked.count, "undo": marked.undo})


@router.post(
    "/{story_id}/entries/{entry_id}/split",
    status_code=204,
    summary="Not the same story",
    description="For you alone; the entry itself stays where it is. DELETE takes it back.",
)
async def split(
    runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath, entry_id: IdPath
) -> Response:
    await service.split_entry(runtime, caller.user_id, story_id, entry_id)
    return Response(status_code=204)


@router.delete("/{story_id}/entries/{entry_id}/split", status_code=204, summary="The same story after all")
async def unsplit(
    runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath, entry_id: IdPath
) -> Response:
    await service.split_entry(runtime, caller.user_id, story_id, entry_id, apart=False)
    return Response(status_code=204)


def _next(found: list[StoryLine], size: int, view: str) -> str | None:
    if len(found) <= size:
        return None
    last = Cursor(found[size - 1].newest_at, found[size - 1].id)
    return encode_cursor(last.sort_at, last.id, "newest", view)


def _line(line: StoryLine) -> dict[str, Any]:
    return {
        "id": str(line.id),
        "title": line.headline.title,
        "feeds": line.feeds,
        "entries": line.entries,
        "unread": line.unread,
        "first_at": moment(line.first_at),
        "newest_at": moment(line.newest_at),
        "sources": [_source(one) for one in line.sources],
    }


def _source(source: StorySource) -> dict[str, Any]:
    return {
        "entry_id": str(source.entry_id),
        "feed_id": str(source.feed_id),
        "feed_title": source.feed,
        "title": source.title,
        "at": moment(source.at),
    }


def _story(story: Story, lines: Mapping[int, str]) -> dict[str, Any]:
    return {
        "id": str(story.id),
        "title": story.headline.title,
        "feeds": story.feeds,
        "unread": story.unread,
        "outlets": [_outlet(one, lines) for one in story.outlets],
        "set_apart": [_outlet(one, lines) for one in story.apart],
    }


def _outlet(outlet: Outlet, lines: Mapping[int, str]) -> dict[str, Any]:
    return {
        **entry_item(outlet.row, lines.get(outlet.row.id)),
        "feed_title": outlet.feed,
        "first_seen_at": moment(outlet.row.fetched_at),
        "only_here": outlet.only_here,
        "analysis": analysis_json(outlet.analysis) if outlet.analysis else None,
    }
