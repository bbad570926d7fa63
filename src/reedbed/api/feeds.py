"""Feed previews and icons, and the shared feeds for operators."""

from typing import Annotated, Literal

from fastapi import Query, Response
from pydantic import Field

from reedbed.domain.errors import Invalid, NotFound
from reedbed.domain.failures import failure_message
from reedbed.domain.pagination import page_limit
from reedbed.domain.records import UNSET, record
from reedbed.domain.refresh.schedule import explain
from reedbed.domain.subscriptions import SubscribedFeed
from reedbed.domain.text import storable
from reedbed.domain.times import SECOND
from reedbed.http.auth import CurrentAdmin, CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel, FailureName, FailureText, JsonId, ListPage, ResponseModel, Timestamp
from reedbed.http.params import IdPath, PageCursor, PageLimit, next_offset, read_offset
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.feeds import FeedSettings, change_feed, disable_feed, enable_feed, find_feed, sync_feed
from reedbed.services.subscriptions.discover import find_feeds, preview_feed
from reedbed.store import blobs
from reedbed.store.feeds import admin as admin_feeds
from reedbed.store.feeds.admin import AdminFeed, FeedFilter

# --- Preview, discovery and icons

router = ApiRouter(tags=["feeds"])

Address = Annotated[str, Query(max_length=2_048, examples=["https://example.org/"])]


class ValidateRequest(ApiModel):
    url: str = Field(max_length=2_048)


@record
class ValidationResponse(ResponseModel):
    valid: bool
    reason: str | None
    url: str | None
    title: str | None


@record
class PreviewEntryResponse(ResponseModel):
    title: str
    url: str | None
    published_at: Timestamp | None
    summary: str


@record
class PreviewResponse(ResponseModel):
    url: str
    title: str
    description: str | None
    site_url: str | None
    language: str | None
    total: int
    subscription_id: JsonId | None
    entries: list[PreviewEntryResponse]


@record
class FeedCandidateResponse(ResponseModel):
    url: str
    title: str | None
    type: str
    source: str


@record
class DiscoveryResponse(ResponseModel):
    items: list[FeedCandidateResponse]
    next_cursor: str | None
    reason: str | None


@router.get("/api/v1/feeds/preview", summary="Preview the feed at a URL")
async def preview(runtime: CurrentRuntime, caller: CurrentCaller, url: Address) -> Json[PreviewResponse]:
    feed = await preview_feed(runtime, caller.user_id, url)
    entries = [PreviewEntryResponse.of(entry, published_at=entry.published) for entry in feed.entries]
    return Json(PreviewResponse.of(feed, entries=entries))


@router.get("/api/v1/feeds/discover", summary="Find the feeds of a page")
async def discover(runtime: CurrentRuntime, caller: CurrentCaller, url: Address) -> Json[DiscoveryResponse]:
    discovery = await find_feeds(runtime, url)
    items = [FeedCandidateResponse.of(candidate) for candidate in discovery.candidates]
    return Json(DiscoveryResponse(items, None, failure_message(discovery.reason)))


@router.post("/api/v1/feeds/validate", summary="Check whether a URL is a feed")
async def validate(runtime: CurrentRuntime, caller: CurrentCaller, body: ValidateRequest) -> Json[ValidationResponse]:
    try:
        feed = await preview_feed(runtime, caller.user_id, body.url)
    except Invalid as error:
        return Json(ValidationResponse(valid=False, reason=error.message, url=None, title=None))
    return Json(ValidationResponse(valid=True, reason=None, url=feed.url, title=feed.title))


@router.get("/icons/{icon_id}", summary="Get a feed's icon", response_class=Response)
async def icon(runtime: CurrentRuntime, caller: CurrentCaller, icon_id: IdPath) -> Response:
    async with runtime.db.read() as tx:
        image = await blobs.icon(tx, caller.user_id, icon_id)
    if image is None:
        raise NotFound("There is no such icon.")
    media_type, data = image
    return Response(data, 200, {"Cache-Control": "private, max-age=604800, immutable"}, media_type)


# --- Feed JSON, also used by subscriptions


@record
class FetchStateResponse(ResponseModel):
    status: str
    etag: str | None
    last_modified: str | None
    cache_control: str | None
    expires_at: Timestamp | None
    retry_after_until: Timestamp | None
    last_checked_at: Timestamp | None
    next_check_at: Timestamp | None
    next_check_reason: str | None
    last_http_status: int | None
    last_success_at: Timestamp | None
    last_error_at: Timestamp | None
    last_error: FailureText
    last_error_code: FailureName
    consecutive_failures: int
    stopped_at: Timestamp | None
    stop_reason: FailureText
    stop_reason_code: FailureName


@record
class FeedResponse(ResponseModel):
    id: JsonId
    url: str
    title: str
    site_url: str | None
    description: str | None
    language: str | None
    icon_url: str | None
    kind: str
    enabled: bool
    private: bool
    username: str | None
    has_password: bool
    fetch_state: FetchStateResponse


def feed_response(feed: SubscribedFeed) -> FeedResponse:
    state = feed.state
    rule, delay = state.next_check_rule, state.next_check_delay
    reason = None if rule is None or delay is None else explain(rule, delay)
    return FeedResponse.of(
        feed,
        icon_url=None if feed.icon_id is None else f"/icons/{feed.icon_id}",
        fetch_state=FetchStateResponse.of(state, next_check_reason=reason),
    )


# --- Shared feeds, for operators

admin_router = ApiRouter(prefix="/api/v1/admin/feeds", tags=["operator"])

Status = Literal["all", "working", "damaged", "pending", "error", "stopped", "off"]


class ChangeFeedRequest(ApiModel):
    polling: bool | None = Field(None, description="Schedule the next check after each successful one.")
    proxy: str | None = Field(None, examples=["http://proxy.example:3128"], description="null: no proxy.")
    user_agent: str | None = Field(None, examples=["Mozilla/5.0"], description="null: the server's default.")
    username: str | None = Field(
        None, examples=["heron"], description="For basic authentication; null also removes the password."
    )
    password: str | None = Field(None, examples=["three calm words"], description="Never returned.")
    interval: int | None = Field(None, examples=[3600], description="Seconds between checks; null: adaptive.")
    max_failures: int | None = Field(
        None, examples=[3], description="Consecutive failures before it stops; null: the server's default."
    )
    allow_duplicate_urls: bool | None = Field(None, description="Treat entries with the same URL as different entries.")
    deframe: bool | None = Field(None, description="Analyse its entries and publish them at the deframer endpoints.")
    root_domain: str | None = Field(
        None, examples=["example.org"], description="Site that the feed belongs to; null: none."
    )
    enforce_domain: bool | None = Field(None, description="Leave items of other sites out of the deframer endpoints.")
    prompt: str | None = Field(None, examples=["Mind the adjectives."], description="Extra instructions for the model.")


@record
class OperatorFeedResponse(ResponseModel):
    id: JsonId
    url: str
    title: str
    status: Literal["working", "damaged", "pending", "error", "stopped", "off"]
    enabled: bool
    polling: bool
    followers: int
    last_checked_at: Timestamp | None
    next_run_at: Annotated[Timestamp | None, Field(description="null: none scheduled.")]
    last_error: FailureText
    last_error_code: FailureName
    consecutive_failures: int
    stop_reason: FailureText
    stop_reason_code: FailureName
    proxy: Annotated[str | None, Field(description="Without its password.", examples=["http://***@proxy.example:3128"])]
    user_agent: str | None
    username: str | None
    has_password: bool
    interval: int | None
    max_failures: int | None
    allow_duplicate_urls: bool
    deframe: bool
    root_domain: str | None
    enforce_domain: bool
    prompt: str | None


@admin_router.get("", summary="List shared feeds by name")
async def list_feeds(
    runtime: CurrentRuntime,
    caller: CurrentAdmin,
    search: Annotated[str, Query(max_length=200, description="Part of the name or URL.")] = "",
    status: Annotated[Status, Query()] = "all",
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Json[ListPage[OperatorFeedResponse]]:
    feed_filter = FeedFilter(storable(search).strip(), status)
    size, offset = page_limit(limit), read_offset(cursor)
    async with runtime.db.read() as tx:
        feeds = await admin_feeds.page(tx, feed_filter, runtime.now(), limit=size + 1, offset=offset)
    items = [_admin_feed_response(feed) for feed in feeds[:size]]
    return Json(ListPage(items, next_offset(offset, size, len(feeds))))


@admin_router.get("/{feed_id}", summary="Get a shared feed")
async def get(runtime: CurrentRuntime, caller: CurrentAdmin, feed_id: IdPath) -> Json[OperatorFeedResponse]:
    return Json(_admin_feed_response(await find_feed(runtime, str(feed_id))))


@admin_router.patch(
    "/{feed_id}",
    summary="Change a shared feed; fields that are not sent stay",
    description="New fetch settings are tried at once, even if the feed had stopped.",
)
async def change(
    runtime: CurrentRuntime, caller: CurrentAdmin, feed_id: IdPath, body: ChangeFeedRequest
) -> Json[OperatorFeedResponse]:
    return Json(_admin_feed_response(await change_feed(runtime, str(feed_id), _settings(body))))


@admin_router.post("/{feed_id}/sync", summary="Check a feed now, even a stopped one")
async def sync(runtime: CurrentRuntime, caller: CurrentAdmin, feed_id: IdPath) -> Json[OperatorFeedResponse]:
    return Json(_admin_feed_response(await sync_feed(runtime, str(feed_id))))


@admin_router.post("/{feed_id}/enable", summary="Enable a feed without scheduling a check")
async def enable(runtime: CurrentRuntime, caller: CurrentAdmin, feed_id: IdPath) -> Json[OperatorFeedResponse]:
    return Json(_admin_feed_response(await enable_feed(runtime, str(feed_id))))


@admin_router.post("/{feed_id}/disable", summary="Disable a feed: not fetched, not published")
async def disable(runtime: CurrentRuntime, caller: CurrentAdmin, feed_id: IdPath) -> Json[OperatorFeedResponse]:
    return Json(_admin_feed_response(await disable_feed(runtime, str(feed_id))))


def _settings(body: ChangeFeedRequest) -> FeedSettings:
    sent = body.model_dump(exclude_unset=True)
    if sent.get("interval") is not None:
        sent["interval"] *= SECOND
    for name in ("polling", "allow_duplicate_urls", "deframe", "enforce_domain"):
        if sent.get(name) is None:
            sent[name] = UNSET
    return FeedSettings(**sent)


def _admin_feed_response(feed: AdminFeed) -> OperatorFeedResponse:
    fetching = feed.fetching
    return OperatorFeedResponse.of(
        feed,
        fetching,
        status=feed.standing,
        consecutive_failures=feed.failures,
        proxy=fetching.shown_proxy,
        interval=None if fetching.interval is None else fetching.interval // SECOND,
    )
