"""Entries: lists, search results, single entries with their states and versions, marking as read."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from reedbed.domain.entries import Entry, EntryPage, EntryRow, Selection, StateChange, View, ViewQuery
from reedbed.domain.errors import Invalid
from reedbed.domain.pagination import Order, decode_cursor, encode_cursor, page_limit
from reedbed.domain.search import MAX_TEXT
from reedbed.domain.text import Difference, storable
from reedbed.domain.times import Instant, from_datetime
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.dependencies import place_of, spend_search
from reedbed.http.models import ApiModel
from reedbed.http.params import IdPath, JsonId, PageCursor, PageLimit
from reedbed.http.responses import json_response, moment
from reedbed.services import entries, read_state
from reedbed.services.entries import Revision
from reedbed.services.images import Pictures, image_urls_for_apps
from reedbed.services.search import Matched, SearchOrder, SearchPage, search_entries
from reedbed.services.summaries import one_lines


class EntryItem(ApiModel):
    id: str = Field(examples=["4711"])
    feed_id: str = Field(examples=["12"])
    title: str
    url: str | None
    author: str | None
    summary: str = Field(description="Plain text, at most 300 characters.")
    one_line_summary: str | None
    image: str | None
    language: str | None
    published_at: str | None = Field(examples=["2026-11-15T09:30:00Z"])
    changed_at: str | None
    sort_at: str
    read: bool
    starred: bool
    later: bool
    tags: list[str]


class EntryList(ApiModel):
    items: list[EntryItem]
    next_cursor: str | None


class AuthorResponse(ApiModel):
    name: str
    url: str | None
    email: str | None


class AttachmentResponse(ApiModel):
    url: str
    type: str | None
    length: int | None
    title: str | None
    duration: int | None = Field(description="Seconds.")


class EntryResponse(EntryItem):
    content: str = Field(description="Sanitised HTML.")
    authors: list[AuthorResponse]
    categories: list[str]
    attachments: list[AttachmentResponse]
    comments_url: str | None
    external_url: str | None
    words: int
    version: int
    fetched_at: str


class DifferenceResponse(ApiModel):
    kind: str = Field(description="same, added or removed")
    text: str


class VersionResponse(ApiModel):
    version: int
    title: str
    content: str
    replaced_at: str | None = Field(description="Null for the current version.")
    title_changes: list[DifferenceResponse]
    text_changes: list[DifferenceResponse] = Field(description="Compared with the version before.")


class VersionList(ApiModel):
    items: list[VersionResponse]
    next_cursor: str | None


def entry_item(row: EntryRow, one_line: str | None = None) -> dict[str, Any]:
    states = row.states
    return {
        "id": str(row.id),
        "feed_id": str(row.feed_id),
        "title": row.title,
        "url": row.url,
        "author": row.author,
        "summary": row.summary,
        "one_line_summary": one_line,
        "image": row.image,
        "language": row.language,
        "published_at": moment(row.published_at),
        "changed_at": moment(row.changed_at),
        "sort_at": moment(row.sort_at),
        "read": states.read,
        "starred": states.starred,
        "later": states.later,
        "tags": states.tags,
    }


def entry_json(entry: Entry, images: Pictures, one_line: str | None = None) -> dict[str, Any]:
    row = entry.row
    return {
        **entry_item(row, one_line),
        "content": images.in_html(entry.content),
        "authors": entry.authors,
        "categories": entry.categories,
        "attachments": entry.enclosures,
        "comments_url": entry.comments_url,
        "external_url": entry.external_url,
        "words": row.words,
        "version": row.version,
        "fetched_at": moment(row.fetched_at),
    }


def revision_json(revision: Revision) -> dict[str, Any]:
    version = revision.version
    return {
        "version": version.version,
        "title": version.title,
        "content": version.content,
        "replaced_at": moment(version.replaced_at),
        "title_changes": _differences_json(revision.title),
        "text_changes": _differences_json(revision.text),
    }


def _differences_json(differences: tuple[Difference, ...]) -> list[dict[str, str]]:
    return [{"kind": difference.kind, "text": difference.text} for difference in differences]


# --- Search results


class ExcerptResponse(ApiModel):
    text: str = Field(description="Plain text around the first match.")
    spans: list[tuple[int, int]] = Field(
        description="Half-open ranges of the text to highlight.", examples=[[[4, 9]]]
    )


class MatchedResponse(ApiModel):
    title: list[tuple[int, int]] = Field(description="Half-open ranges of the title to highlight.")
    excerpt: ExcerptResponse


class SearchHitResponse(EntryItem):
    matched: MatchedResponse


class SearchHitList(ApiModel):
    items: list[SearchHitResponse]
    next_cursor: str | None = Field(description="A short or empty page may still have a next page.")
    unknown: list[str] = Field(
        description="Feeds, folders and tags in the query that do not exist.",
        examples=[["feed:nothing"]],
    )


def cursor_order(order: SearchOrder) -> Order:
    """The order that cursors use. Relevance ranks within the newest matches."""
    return "newest" if order == "relevance" else order


def search_response(page: SearchPage, lines: Mapping[int, str], order: SearchOrder, name: str) -> Response:
    next_cursor = page.next and encode_cursor(page.next.sort_at, page.next.id, cursor_order(order), name)
    items = [
        {**entry_item(row, lines.get(row.id)), "matched": _matched_json(page.matched[row.id])}
        for row in page.rows
    ]
    unknown = [f"{term.kind}:{term.value}" for term in page.unknown]
    return json_response({"items": items, "next_cursor": next_cursor, "unknown": unknown})


def _matched_json(matched: Matched) -> dict[str, Any]:
    excerpt = matched.excerpt
    return {"title": matched.title, "excerpt": {"text": excerpt.text, "spans": excerpt.spans}}


# --- Routes

router = APIRouter(prefix="/api/v1/entries", tags=["entries"])

SEARCH = (
    'Full-text search: words, "a phrase", -without, prefix*, this OR that, title:, author:, feed:, folder:, '
    "tag:, is:unread, is:starred, is:later, is:muted, lang:de, after:2026-11-01, before:7d. Matches are in "
    "`matched`."
)
TagName = Annotated[str, Field(max_length=200)]


class ChangeEntryRequest(ApiModel):
    """Fields that are not sent stay unchanged."""

    read: bool | None = None
    starred: bool | None = None
    later: bool | None = None
    tags: list[TagName] | None = Field(default=None, max_length=200, examples=[["birds"]])


class MarkRequest(ApiModel):
    """Entries to mark: by ids, feed, folder with its subfolders, tag or view, or all."""

    ids: list[JsonId] | None = Field(default=None, max_length=read_state.MAX_IDS)
    feed_id: JsonId | None = None
    folder_id: JsonId | None = None
    tag: TagName | None = None
    all: bool = False
    view: View | None = None
    order: Order = "newest"
    up_to: JsonId | None = Field(default=None, description="The newest entry seen; newer ones stay.")
    older_than: datetime | None = None
    above: JsonId | None = Field(default=None, description="Only entries listed before this one.")
    below: JsonId | None = Field(default=None, description="Only entries listed after this one.")
    read: bool = Field(default=True, description="False marks unread.")


class MarkReadResponse(ApiModel):
    marked: int
    undo: str = Field(description="Token for POST /api/v1/undo, valid for an hour.")


@router.get(
    "",
    summary="List entries without their content",
    responses={200: {"model": EntryList | SearchHitList}},
)
async def list_entries(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    view: Annotated[View, Query()] = "all",
    feed_id: Annotated[JsonId | None, Query(description="The feed_id of an entry.")] = None,
    folder_id: Annotated[JsonId | None, Query(description="With its subfolders.")] = None,
    tag: Annotated[str | None, Query(max_length=200)] = None,
    q: Annotated[str | None, Query(max_length=MAX_TEXT, description=SEARCH)] = None,
    order: Annotated[SearchOrder, Query(description="`relevance` is only for searches.")] = "newest",
    since: Annotated[datetime | None, Query(description="Only entries from this time on.")] = None,
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Response:
    query = ViewQuery(
        view=view,
        order=cursor_order(order),
        feed_id=feed_id,
        folder_id=folder_id,
        tag=None if tag is None else storable(tag),
        since=_instant(since),
    )
    text = storable(q or "").strip()
    name = f"entries {query.name()} {order} {text}"
    start = None if cursor is None else decode_cursor(cursor, query.order, name)
    size = page_limit(limit)
    if not text:
        page = await entries.list_entries(runtime, caller.user_id, query, start, size)
        lines = await one_lines(runtime, caller.user, [row.id for row in page.rows])
        return _page_response(page, lines, query.order, name)
    await spend_search(runtime, caller)
    results = await search_entries(
        runtime, caller.user_id, text, within=query, order=order, cursor=start, limit=size
    )
    lines = await one_lines(runtime, caller.user, [row.id for row in results.rows])
    return search_response(results, lines, order, name)


@router.post(
    "/mark-read", summary="Mark many entries read or unread", responses={200: {"model": MarkReadResponse}}
)
async def mark_read(runtime: CurrentRuntime, caller: CurrentCaller, body: MarkRequest) -> Response:
    marked = await read_state.mark(runtime, caller.user_id, _selection(body), read=body.read)
    return json_response({"marked": marked.count, "undo": marked.undo})


@router.get("/{entry_id}", summary="Get an entry with its content", responses={200: {"model": EntryResponse}})
async def get(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Response:
    entry = await entries.get_entry(runtime, caller.user_id, entry_id)
    lines = await one_lines(runtime, caller.user, [entry_id])
    images = image_urls_for_apps(runtime, place_of(request, runtime))
    return json_response(entry_json(entry, images, lines.get(entry_id)))


@router.patch(
    "/{entry_id}", summary="Set read, starred, later and tags", responses={200: {"model": EntryItem}}
)
async def change(
    runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath, body: ChangeEntryRequest
) -> Response:
    change = StateChange(body.read, body.starred, body.later, None if body.tags is None else tuple(body.tags))
    return json_response(entry_item(await entries.change_entry(runtime, caller.user_id, entry_id, change)))


@router.get(
    "/{entry_id}/versions",
    summary="List the versions of an entry with their changes, newest first",
    responses={200: {"model": VersionList}},
)
async def versions(runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Response:
    revisions = await entries.get_revisions(runtime, caller.user_id, entry_id)
    return json_response({"items": [revision_json(revision) for revision in revisions], "next_cursor": None})


def _page_response(page: EntryPage, lines: Mapping[int, str], order: Order, name: str) -> Response:
    next_cursor = encode_cursor(page.next.sort_at, page.next.id, order, name) if page.next else None
    items = [entry_item(row, lines.get(row.id)) for row in page.rows]
    return json_response({"items": items, "next_cursor": next_cursor})


def _selection(body: MarkRequest) -> Selection:
    criteria = (
        body.ids,
        body.feed_id,
        body.folder_id,
        body.tag,
        body.view,
        body.older_than,
        body.above,
        body.below,
    )
    if not body.all and all(criterion is None for criterion in criteria):
        raise Invalid("Say which entries: ids, feed_id, folder_id, tag or all.")
    return Selection(
        ids=None if body.ids is None else tuple(body.ids),
        view=body.view or "all",
        order=body.order,
        feed_id=body.feed_id,
        folder_id=body.folder_id,
        tag=None if body.tag is None else storable(body.tag),
        up_to=body.up_to,
        older_than=_instant(body.older_than),
        above=body.above,
        below=body.below,
    )


def _instant(time: datetime | None) -> Instant | None:
    try:
        return None if time is None else from_datetime(time)
    except ValueError:
        raise Invalid("A moment must lie between the years 1 and 9999.") from None
