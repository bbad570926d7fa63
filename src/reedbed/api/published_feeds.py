"""Published feeds: a user's views as Atom and JSON Feed at secret URLs, and the API to manage them."""

import hashlib
from collections.abc import Callable, Sequence
from email.utils import format_datetime, parsedate_to_datetime
from typing import Annotated, Literal

import orjson
from fastapi import Request, Response
from pydantic import Field

from reedbed.domain.errors import NotFound
from reedbed.domain.feed_writer import FeedDocument, FeedItem, FeedSource, to_json_feed, write_atom
from reedbed.domain.published_feeds import PublishedFeed, check_view
from reedbed.domain.records import record
from reedbed.domain.times import SECOND, Instant, from_datetime, rfc3339, to_datetime
from reedbed.domain.urls import host_of
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel, JsonId, ListPage, ResponseModel, Timestamp
from reedbed.http.params import IdPath
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.images import image_urls_for_apps
from reedbed.services.listening.manage import podcast_url
from reedbed.services.published_feeds import (
    OpenedFeed,
    Publication,
    get_published,
    publish_view,
    read_publication,
    rename_published,
    renew_published,
    undo_last,
)
from reedbed.services.runtime import Runtime
from reedbed.store import published_feeds
from reedbed.store.entries.read import EntryText

router = ApiRouter(prefix="/published", tags=["published feeds"])

Writer = Callable[[FeedDocument, Sequence[FeedItem]], bytes]

_ENTRY_ID_PREFIXES = {"digests": "digest", "stories": "story"}
_HEADERS = {
    "Cache-Control": "private, max-age=60",
    "X-Robots-Tag": "noindex, nofollow",
    "Content-Security-Policy": "default-src 'none'; sandbox",
}


@router.get("/{token}.atom", summary="Get a published view as Atom", response_class=Response)
async def atom(request: Request, runtime: CurrentRuntime, token: str) -> Response:
    return await _feed_response(request, runtime, token, "atom", write_atom, "application/atom+xml; charset=utf-8")


@router.get("/{token}.json", summary="Get a published view as JSON Feed", response_class=Response)
async def json_feed(request: Request, runtime: CurrentRuntime, token: str) -> Response:
    return await _feed_response(request, runtime, token, "json", _write_json, "application/feed+json; charset=utf-8")


def published_url(runtime: Runtime, token: str, form: str) -> str:
    return f"{runtime.accounts.base_url}/published/{token}.{form}"


async def _feed_response(
    request: Request, runtime: Runtime, token: str, form: str, write: Writer, media_type: str
) -> Response:
    publication = await read_publication(runtime, token)
    if publication.feed.view.spoken:
        raise NotFound("There is nothing at this address.")  # a podcast has an address of its own
    body = write(*_document(runtime, publication, published_url(runtime, token, form)))
    tag = f'"{hashlib.blake2b(body, digest_size=16).hexdigest()}"'
    changed_at = _changed_at(publication)
    headers = {**_HEADERS, "ETag": tag, "Last-Modified": format_datetime(to_datetime(changed_at), usegmt=True)}
    if _is_not_modified(request, publication, tag, changed_at):
        return Response(status_code=304, headers=headers)
    return Response(body, 200, headers, media_type)


def _write_json(feed: FeedDocument, items: Sequence[FeedItem]) -> bytes:
    return orjson.dumps(to_json_feed(feed, items))


def _document(runtime: Runtime, publication: Publication, self_url: str) -> tuple[FeedDocument, list[FeedItem]]:
    """The feed and its items; an entry has the same id in every feed."""
    feed, base_url = publication.feed, runtime.accounts.base_url
    host = host_of(base_url) or "localhost"
    id_base = f"tag:{host},2026:{_ENTRY_ID_PREFIXES.get(feed.view.kind, 'entry')}-"
    images = image_urls_for_apps(runtime)
    document = FeedDocument(
        id=f"tag:{host},{rfc3339(feed.created_at)[:10]}:published-{feed.id}",
        title=feed.name,
        self_url=self_url,
        home_url=base_url,
        updated=_changed_at(publication),
    )
    return document, [_item(entry, id_base, images.in_html(entry.content)) for entry in publication.entries]


def _item(entry: EntryText, id_base: str, content: str) -> FeedItem:
    updated = None if entry.changed_at is None else max(entry.sort_at, entry.changed_at)
    return FeedItem(
        id=f"{id_base}{entry.id}",
        title=entry.title,
        content_html=content,
        published=entry.sort_at,
        updated=updated,
        url=entry.url,
        author=entry.author,
        language=entry.language,
        summary=entry.summary,
        source=FeedSource(entry.feed_title, f"{id_base}feed-{entry.feed_id}", updated or entry.sort_at),
    )


def _changed_at(publication: Publication) -> Instant:
    """Round down to whole seconds, the resolution of HTTP dates."""
    times = [max(entry.fetched_at, entry.changed_at or 0) for entry in publication.entries]
    return max(publication.feed.created_at, *times) // SECOND * SECOND if times else publication.feed.created_at


def _is_not_modified(request: Request, publication: Publication, tag: str, changed_at: Instant) -> bool:
    """`If-None-Match` takes precedence. A date is only valid for views that only grow."""
    tags = request.headers.get("if-none-match")
    if tags is not None:
        return "*" in tags or tag in tags
    since = request.headers.get("if-modified-since")
    if since is None or not publication.feed.view.only_grows:
        return False
    try:
        return changed_at <= from_datetime(parsedate_to_datetime(since))
    except (ValueError, OverflowError):
        return False


# --- Management

settings_router = ApiRouter(prefix="/api/v1/published-feeds", tags=["published feeds"])


class PublishRequest(ApiModel):
    name: str = Field(examples=["Starred"])
    view: Literal["unread", "all", "starred", "later", "history", "stories", "digests"] = "all"
    feed_id: JsonId | None = None
    folder_id: JsonId | None = None
    tag: str | None = None
    search_id: JsonId | None = Field(None, description="A saved search.")


class RenameRequest(ApiModel):
    name: str


@record
class PublishedResponse(ResponseModel):
    id: JsonId
    name: str
    view: str
    feed_id: JsonId | None
    folder_id: JsonId | None
    tag: str | None
    search_id: JsonId | None
    created_at: Timestamp
    last_used_at: Timestamp | None


@record
class PublishedUrlsResponse(PublishedResponse):
    atom_url: Annotated[str, Field(description="Empty for the podcast of what is read aloud.")]
    json_url: Annotated[str, Field(description="Empty for the podcast of what is read aloud.")]
    podcast_url: Annotated[str | None, Field(description="Only of that podcast.")]


_OPENED = {"description": "Includes the URLs, which are shown only once."}


@settings_router.get("", summary="List published feeds without their URLs")
async def list_published(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[ListPage[PublishedResponse]]:
    async with runtime.db.read() as tx:
        feeds = await published_feeds.of_user(tx, caller.user_id)
    return Json(ListPage([published_response(feed) for feed in feeds]))


@settings_router.post("", status_code=201, summary="Publish a view", responses={201: _OPENED})
async def create(runtime: CurrentRuntime, caller: CurrentCaller, body: PublishRequest) -> Json[PublishedUrlsResponse]:
    view = check_view(body.view, feed_id=body.feed_id, folder_id=body.folder_id, tag=body.tag, search_id=body.search_id)
    opened = await publish_view(runtime, caller.user_id, body.name, view)
    return Json(_opened_response(runtime, opened), 201)


@settings_router.get("/{published_id}", summary="Get a published feed")
async def get(runtime: CurrentRuntime, caller: CurrentCaller, published_id: IdPath) -> Json[PublishedResponse]:
    return Json(published_response(await get_published(runtime, caller.user_id, published_id)))


@settings_router.patch("/{published_id}", summary="Rename a published feed")
async def rename(
    runtime: CurrentRuntime, caller: CurrentCaller, published_id: IdPath, body: RenameRequest
) -> Json[PublishedResponse]:
    changed = await rename_published(runtime, caller.user_id, published_id, body.name)
    return Json(published_response(changed))


@settings_router.post(
    "/{published_id}/renew", summary="Create a new URL; the old one stops working", responses={200: _OPENED}
)
async def renew(runtime: CurrentRuntime, caller: CurrentCaller, published_id: IdPath) -> Json[PublishedUrlsResponse]:
    opened = await renew_published(runtime, caller.user_id, published_id)
    return Json(_opened_response(runtime, opened))


@settings_router.delete("/{published_id}", status_code=204, summary="Delete a published feed; its URL stops working")
async def delete(runtime: CurrentRuntime, caller: CurrentCaller, published_id: IdPath) -> Response:
    await undo_last(runtime, caller.user_id, published_id)
    return Response(status_code=204)


def published_response(feed: PublishedFeed) -> PublishedResponse:
    return PublishedResponse.of(feed, feed.view, view=feed.view.kind)


def _opened_response(runtime: Runtime, opened: OpenedFeed) -> PublishedUrlsResponse:
    spoken = opened.feed.view.spoken
    return PublishedUrlsResponse.of(
        opened.feed,
        opened.feed.view,
        view=opened.feed.view.kind,
        atom_url="" if spoken else published_url(runtime, opened.token, "atom"),
        json_url="" if spoken else published_url(runtime, opened.token, "json"),
        podcast_url=podcast_url(runtime, opened.token) if spoken else None,
    )
