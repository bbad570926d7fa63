"""Entries: lists, search results, single entries with their states and versions, marking as read."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from fastapi import Query, Request
from pydantic import Field

from reedbed.domain.entries import (
    EVERY_LIST,
    Entry,
    EntryPage,
    EntryRow,
    ListSettings,
    Post,
    Selection,
    StateChange,
    View,
    ViewQuery,
)
from reedbed.domain.errors import Invalid
from reedbed.domain.pagination import ListOrder, Order, decode_cursor, encode_cursor, page_limit
from reedbed.domain.records import record
from reedbed.domain.search.query import MAX_TEXT
from reedbed.domain.text import storable
from reedbed.domain.times import Instant, from_datetime
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel, JsonId, ListPage, ResponseModel, Timestamp
from reedbed.http.params import IdPath, PageCursor, PageLimit, place_of, spend_search
from reedbed.http.responses import ApiRouter, Json
from reedbed.services import entries, read_state
from reedbed.services.entries import Revision
from reedbed.services.images import Pictures, image_urls_for_apps
from reedbed.services.search.find import Matched, SearchOrder, SearchPage, search_entries
from reedbed.services.stories import related_entries
from reedbed.services.summaries import one_lines
from reedbed.services.users import preferences_of


@record
class SameAddressResponse(ResponseModel):
    entry_id: JsonId
    feed_id: JsonId
    feed_title: str


@record
class PostLinkResponse(ResponseModel):
    url: str
    title: Annotated[str, Field(description="Empty if the text of the link is only its address.")]


@record
class PostResponse(ResponseModel):
    text: Annotated[str, Field(description="The summary without the address of the link at its end.")]
    link: Annotated[PostLinkResponse | None, Field(description="Null unless the text has exactly one link.")]
    boosted_from: Annotated[
        str | None,
        Field(description="The account that wrote it, if this one passed it on.", examples=["@ada@marsh.example"]),
    ]


@record
class EntryItem(ResponseModel):
    id: Annotated[JsonId, Field(examples=["4711"])]
    feed_id: Annotated[JsonId, Field(examples=["12"])]
    title: str
    url: str | None
    author: str | None
    summary: Annotated[str, Field(description="Plain text, at most 300 characters.")]
    one_line_summary: str | None
    image: str | None
    language: str | None
    published_at: Annotated[Timestamp | None, Field(examples=["2026-11-15T09:30:00Z"])]
    seen_at: Annotated[Timestamp, Field(description="When it was seen first: its date if `published_at` is null.")]
    changed_at: Timestamp | None
    sort_at: Timestamp
    read: bool
    starred: bool
    later: bool
    tags: Sequence[str]
    also_in: Annotated[
        Sequence[SameAddressResponse],
        Field(description="Entries in other feeds with the same address, with the preference `same_address_once`."),
    ]
    post: Annotated[
        PostResponse | None,
        Field(
            description="In lists and for a single entry; null if the entry has a title of its own, and in search "
            "results, stories, exports and the answer to a change."
        ),
    ]

    @classmethod
    def of_row(cls, row: EntryRow, one_line: str | None = None, post: Post | None = None, **given: Any) -> Self:
        states = row.states
        # By position: a list has a hundred of them, and keywords would take three times as long.
        return cls(
            row.id,
            row.feed_id,
            row.title,
            row.url,
            row.author,
            row.summary,
            one_line,
            row.image,
            row.language,
            row.published_at,
            row.fetched_at,
            row.changed_at,
            row.sort_at,
            states.read,
            states.starred,
            states.later,
            states.tags,
            [SameAddressResponse.of(one) for one in row.also_in] if row.also_in else (),
            _post_response(post) if post else None,
            **given,
        )


def _post_response(post: Post) -> PostResponse:
    link = PostLinkResponse(post.link.url, post.link.title) if post.link else None
    return PostResponse(post.text, link, post.boosted_from or None)


@record
class AuthorResponse(ResponseModel):
    name: str
    url: str | None
    email: str | None


@record
class AttachmentResponse(ResponseModel):
    url: str
    type: str | None
    length: int | None
    title: str | None
    duration: Annotated[int | None, Field(description="Seconds.")]


@record
class EntryResponse(EntryItem):
    content: Annotated[str, Field(description="Sanitised HTML.")]
    authors: list[AuthorResponse]
    categories: Sequence[str]
    attachments: list[AttachmentResponse]
    comments_url: str | None
    external_url: str | None
    words: int
    version: int
    fetched_at: Timestamp


@record
class DifferenceResponse(ResponseModel):
    kind: Annotated[str, Field(description="same, added or removed")]
    text: str


@record
class VersionResponse(ResponseModel):
    version: int
    title: str
    content: str
    replaced_at: Annotated[Timestamp | None, Field(description="Null for the current version.")]
    title_changes: list[DifferenceResponse]
    text_changes: Annotated[list[DifferenceResponse], Field(description="Compared with the version before.")]


def entry_response(
    entry: Entry, images: Pictures, one_line: str | None = None, post: Post | None = None
) -> EntryResponse:
    return EntryResponse.of_row(
        entry.row,
        one_line,
        post,
        content=images.in_html(entry.content),
        authors=[AuthorResponse.of(author) for author in entry.authors],
        categories=entry.categories,
        attachments=[AttachmentResponse.of(enclosure) for enclosure in entry.enclosures],
        comments_url=entry.comments_url,
        external_url=entry.external_url,
        words=entry.row.words,
        version=entry.row.version,
        fetched_at=entry.row.fetched_at,
    )


def revision_response(revision: Revision) -> VersionResponse:
    return VersionResponse.of(
        revision.version,
        title_changes=[DifferenceResponse.of(difference) for difference in revision.title],
        text_changes=[DifferenceResponse.of(difference) for difference in revision.text],
    )


# --- Search results


@record
class ExcerptResponse(ResponseModel):
    text: Annotated[str, Field(description="Plain text around the first match.")]
    spans: Annotated[
        Sequence[tuple[int, int]], Field(description="Half-open ranges of the text to highlight.", examples=[[[4, 9]]])
    ]


@record
class MatchedResponse(ResponseModel):
    title: Annotated[Sequence[tuple[int, int]], Field(description="Half-open ranges of the title to highlight.")]
    excerpt: ExcerptResponse


@record
class SearchHitResponse(EntryItem):
    matched: Annotated[MatchedResponse | None, Field(description="Null with `excerpts=false`.")]


@record
class SearchHitPage(ResponseModel):
    items: list[SearchHitResponse]
    next_cursor: Annotated[str | None, Field(description="A short or empty page may still have a next page.")]
    unknown: Annotated[
        list[str],
        Field(
            description="Feeds, folders, tags and states in the query that do not exist.",
            examples=[["feed:nothing", "is:bogus"]],
        ),
    ]
    did_you_mean: Annotated[
        str | None,
        Field(
            description="Another search that finds something, or this one with a misspelt state corrected. For at most "
            "two matches."
        ),
    ]


def cursor_order(order: SearchOrder) -> Order:
    """The order that cursors use. Relevance ranks within the newest matches."""
    return "newest" if order == "relevance" else order


EntryOrder = Literal["newest", "oldest", "relevance", "interest"]


def search_response(page: SearchPage, lines: Mapping[int, str], order: SearchOrder, name: str) -> Json[SearchHitPage]:
    next_cursor = page.next and encode_cursor(page.next.sort_at, page.next.id, cursor_order(order), name)
    items = [
        SearchHitResponse.of_row(row, lines.get(row.id), matched=_matched_response(page.matched.get(row.id)))
        for row in page.rows
    ]
    return Json(
        SearchHitPage(
            items, next_cursor, [f"{term.kind}:{term.value}" for term in page.unknown], page.did_you_mean or None
        )
    )


def _matched_response(matched: Matched | None) -> MatchedResponse | None:
    if matched is None:
        return None
    return MatchedResponse(matched.title, ExcerptResponse(matched.excerpt.text, matched.excerpt.spans))


# --- Routes

router = ApiRouter(prefix="/api/v1/entries", tags=["entries"])

NO_INTEREST = "This order needs the preference `interest`, and is not for searches."
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
    except_starred: bool = Field(default=False, description="Leave starred entries as they are.")
    read: bool = Field(default=True, description="False marks unread.")


@record
class MarkReadResponse(ResponseModel):
    marked: int
    undo: Annotated[str, Field(description="Token for POST /api/v1/undo, valid for an hour.")]


@router.get("", summary="List entries without their content")
async def list_entries(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    view: Annotated[View, Query()] = "all",
    feed_id: Annotated[JsonId | None, Query(description="The feed_id of an entry.")] = None,
    folder_id: Annotated[JsonId | None, Query(description="With its subfolders.")] = None,
    tag: Annotated[str | None, Query(max_length=200)] = None,
    q: Annotated[str | None, Query(max_length=MAX_TEXT, description=SEARCH)] = None,
    order: Annotated[
        EntryOrder,
        Query(
            description="`relevance` is only for searches. `interest` needs the preference of this name: it ranks the "
            "newest 500 entries of a list, older ones follow by time."
        ),
    ] = "newest",
    since: Annotated[datetime | None, Query(description="Only entries from this time on.")] = None,
    excerpts: Annotated[bool, Query(description="Whether a search says what matches; without, it is quicker.")] = True,
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Json[ListPage[EntryItem] | SearchHitPage]:
    query = ViewQuery(
        view=view,
        order="interest" if order == "interest" else cursor_order(order),
        feed_id=feed_id,
        folder_id=folder_id,
        tag=None if tag is None else storable(tag),
        since=_instant(since),
    )
    text = storable(q or "").strip()
    if order == "interest" and (text or not preferences_of(caller.user).interest):
        raise Invalid(NO_INTEREST, field="order")
    name = f"entries {query.name()} {order} {text}"
    start = None if cursor is None else decode_cursor(cursor, query.order, name)
    size = page_limit(limit)
    if not text:
        page = await entries.list_entries(runtime, caller.user_id, query, start, size)
        lines = await one_lines(runtime, caller.user, [row.id for row in page.rows])
        posts = await entries.read_posts(runtime, caller.user_id, page.rows)
        return _page_response(page, lines, posts, query.order, name)
    await spend_search(runtime, caller)
    searched = "newest" if order == "interest" else order
    results = await search_entries(
        runtime, caller.user_id, text, within=query, order=searched, cursor=start, limit=size, excerpts=excerpts
    )
    lines = await one_lines(runtime, caller.user, [row.id for row in results.rows])
    return search_response(results, lines, searched, name)


@router.post("/mark-read", summary="Mark many entries read or unread")
async def mark_read(runtime: CurrentRuntime, caller: CurrentCaller, body: MarkRequest) -> Json[MarkReadResponse]:
    marked = await read_state.mark(runtime, caller.user_id, _selection(body), read=body.read)
    return Json(MarkReadResponse(marked.count, marked.undo))


@router.get("/{entry_id}", summary="Get an entry with its content")
async def get(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath
) -> Json[EntryResponse]:
    entry = await entries.get_entry(runtime, caller.user_id, entry_id)
    lines = await one_lines(runtime, caller.user, [entry_id])
    posts = await entries.read_posts(runtime, caller.user_id, [entry.row])
    images = image_urls_for_apps(runtime, place_of(request, runtime))
    return Json(entry_response(entry, images, lines.get(entry_id), posts.get(entry_id)))


@router.patch("/{entry_id}", summary="Set read, starred, later and tags")
async def change(
    runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath, body: ChangeEntryRequest
) -> Json[EntryItem]:
    change = StateChange(body.read, body.starred, body.later, None if body.tags is None else tuple(body.tags))
    return Json(EntryItem.of_row(await entries.change_entry(runtime, caller.user_id, entry_id, change)))


@router.get("/{entry_id}/versions", summary="List the versions of an entry with their changes, newest first")
async def versions(runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Json[ListPage[VersionResponse]]:
    revisions = await entries.get_revisions(runtime, caller.user_id, entry_id)
    return Json(ListPage([revision_response(revision) for revision in revisions]))


@router.get(
    "/{entry_id}/related",
    summary="List entries about something similar, the nearest first",
    description="At most six of your entries, found by the names and rare words of title and first sentences.",
)
async def related(runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Json[ListPage[EntryItem]]:
    rows = await related_entries(runtime, caller.user_id, entry_id)
    lines = await one_lines(runtime, caller.user, [row.id for row in rows])
    posts = await entries.read_posts(runtime, caller.user_id, rows)
    return Json(ListPage([EntryItem.of_row(row, lines.get(row.id), posts.get(row.id)) for row in rows]))


def _page_response(
    page: EntryPage, lines: Mapping[int, str], posts: Mapping[int, Post], order: ListOrder, name: str
) -> Json[ListPage[EntryItem]]:
    next_cursor = encode_cursor(page.next.sort_at, page.next.id, order, name) if page.next else None
    items = [EntryItem.of_row(row, lines.get(row.id), posts.get(row.id)) for row in page.rows]
    return Json(ListPage(items, next_cursor))


def _selection(body: MarkRequest) -> Selection:
    criteria = (body.ids, body.feed_id, body.folder_id, body.tag, body.view, body.older_than, body.above, body.below)
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
        except_starred=body.except_starred,
    )


def _instant(time: datetime | None) -> Instant | None:
    try:
        return None if time is None else from_datetime(time)
    except ValueError:
        raise Invalid("A moment must lie between the years 1 and 9999.") from None


# --- Settings of lists

settings_router = ApiRouter(prefix="/api/v1/list-settings", tags=["entries"])

ListName = Annotated[
    str,
    Field(
        max_length=200,
        description="everything, starred, later, history, search, feed:3 (a subscription), folder:3 or tag:birds; "
        "`*` stands for every list without settings of its own.",
        examples=["feed:3"],
    ),
]
Shown = Annotated[str, Field(description="unread or all; empty: the default of the list.", examples=["unread"])]
Sorted = Annotated[str, Field(description="newest, oldest, important, shortest or interest; empty: your usual order.")]
LaidOut = Annotated[str, Field(description="titles, cards, magazine or pictures; empty: the usual layout.")]
Days = Annotated[
    str,
    Field(description="grouped: a heading for each day where the order is by time; together: none; empty: grouped."),
]


class ListSettingsRequest(ApiModel):
    list: ListName
    show: Shown = Field(default="", max_length=20)
    order: Sorted = Field(default="", max_length=20)
    layout: LaidOut = Field(default="", max_length=20)
    days: Days = Field(default="", max_length=20)
    for_every_list: bool = Field(default=False, description="Use them for every list; removes those of single lists.")


@record
class ListSettingsResponse(ResponseModel):
    list: ListName
    show: Shown
    order: Sorted
    layout: LaidOut
    days: Days


@settings_router.get("", summary="List how lists are shown: unread or all, order and layout")
async def list_settings(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[ListPage[ListSettingsResponse]]:
    kept = await entries.get_list_settings(runtime, caller.user_id)
    return Json(ListPage([ListSettingsResponse.of(settings, list=name) for name, settings in kept.items()]))


@settings_router.put("", summary="Set how a list, or every list, is shown")
async def set_list_settings(
    runtime: CurrentRuntime, caller: CurrentCaller, body: ListSettingsRequest
) -> Json[ListSettingsResponse]:
    settings = ListSettings(body.show, body.order, body.layout, body.days)
    every = body.for_every_list
    await entries.keep_list_settings(runtime, caller.user_id, body.list, settings, for_every_list=every)
    return Json(ListSettingsResponse.of(settings, list=EVERY_LIST if every else body.list))
