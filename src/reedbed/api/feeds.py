"""Feed previews and icons, and the shared feeds for operators."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field

from reedbed.domain.errors import Invalid, NotFound
from reedbed.domain.pagination import page_limit
from reedbed.domain.refresh.schedule import explain
from reedbed.domain.refresh.state import FetchState
from reedbed.domain.subscriptions import SubscribedFeed
from reedbed.domain.text import storable
from reedbed.domain.times import SECOND
from reedbed.domain.unset import UNSET
from reedbed.http.auth import CurrentAdmin, CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel
from reedbed.http.params import IdPath, PageCursor, PageLimit, next_offset, read_offset
from reedbed.http.responses import json_response, moment, text_id
from reedbed.services.feeds import FeedSettings, change_feed, disable_feed, enable_feed, find_feed, sync_feed
from reedbed.services.subscriptions.discover import FeedPreview, find_feeds, preview_feed
from reedbed.store import blobs
from reedbed.store.feeds import admin as admin_feeds
from reedbed.store.feeds.admin import AdminFeed, FeedFilter

# --- Preview, discovery and icons

router = APIRouter(tags=["feeds"])

Address = Annotated[str, Query(max_length=2_048, examples=["https://example.org/"])]


class ValidateRequest(ApiModel):
    url: str = Field(max_length=2_048)


@router.get("/api/v1/feeds/preview", summary="Preview the feed at a URL")
async def preview(runtime: CurrentRuntime, caller: CurrentCaller, url: Address) -> Response:
    return json_response(_preview_json(await preview_feed(runtime, caller.user_id, url)))


@router.get("/api/v1/feeds/discover", summary="Find the feeds of a page")
async def discover(runtime: CurrentRuntime, caller: CurrentCaller, url: Address) -> Response:
    discovery = await find_feeds(runtime, url)
    items = [
        {"url": candidate.url, "title": candidate.title, "type": candidate.type, "source": candidate.source}
        for candidate in discovery.candidates
    ]
    return json_response({"items": items, "next_cursor": None, "reason": discovery.reason})


@router.post("/api/v1/feeds/validate", summary="Check whether a URL is a feed")
async def validate(runtime: CurrentRuntime, caller: CurrentCaller, body: ValidateRequest) -> Response:
    try:
        feed = await preview_feed(runtime, caller.user_id, body.url)
    except Invalid as error:
        return json_response({"valid": False, "reason": error.message, "url": None, "title": None})
    return json_response({"valid": True, "reason": None, "url": feed.url, "title": feed.title})


@router.get("/icons/{icon_id}", summary="Get a feed's icon", response_class=Response)
async def icon(runtime: CurrentRuntime, caller: CurrentCaller, icon_id: IdPath) -> Response:
    async with runtime.db.read() as tx:
        image = await blobs.icon(tx, caller.user_id, icon_id)
    if image is None:
        raise NotFound("There is no such icon.")
    media_type, data = image
    return Response(data, 200, {"Cache-Control": "private, max-age=604800, immutable"}, media_type)


def _preview_json(feed: FeedPreview) -> dict[str, Any]:
    return {
        "url": feed.url,
        "title": feed.title,
        "description": feed.description,
        "site_url": feed.site_url,
        "language": feed.language,
        "total": feed.total,
        "subscription_id": text_id(feed.subscription_id),
        "entries": [
            {
                "title": entry.title,
                "url": entry.url,
                "published_at": moment(entry.published),
                "summary": entry.summary,
            }
            for entry in feed.entries
        ],
    }


# --- Feed JSON, also used by subscriptions


class FetchStateResponse(ApiModel):
    status: str
    etag: str | None
    last_modified: str | None
    cache_control: str | None
    expires_at: str | None
    retry_after_until: str | None
    last_checked_at: str | None
    next_check_at: str | None
    next_check_reason: str | None
    last_http_status: int | None
    last_success_at: str | None
    last_error_at: str | None
    last_error: str | None
    consecutive_failures: int
    stopped_at: str | None
    stop_reason: str | None


class FeedResponse(ApiModel):
    id: str
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


def feed_json(feed: SubscribedFeed) -> dict[str, Any]:
    return {
        "id": str(feed.id),
        "url": feed.url,
        "title": feed.title,
        "site_url": feed.site_url,
        "description": feed.description,
        "language": feed.language,
        "icon_url": None if feed.icon_id is None else f"/icons/{feed.icon_id}",
        "kind": feed.kind,
        "enabled": feed.enabled,
        "private": feed.private,
        "username": feed.username,
        "has_password": feed.has_password,
        "fetch_state": _state_json(feed.state),
    }


def _state_json(state: FetchState) -> dict[str, Any]:
    return {
        "status": state.status,
        "etag": state.etag,
        "last_modified": state.last_modified,
        "cache_control": state.cache_control,
        "expires_at": moment(state.expires_at),
        "retry_after_until": moment(state.retry_after_until),
        "last_checked_at": moment(state.last_checked_at),
        "next_check_at": moment(state.next_check_at),
        "next_check_reason": _next_check_reason(state),
        "last_http_status": state.last_http_status,
        "last_success_at": moment(state.last_success_at),
        "last_error_at": moment(state.last_error_at),
        "last_error": state.last_error,
        "consecutive_failures": state.consecutive_failures,
        "stopped_at": moment(state.stopped_at),
        "stop_reason": state.stop_reason,
    }


def _next_check_reason(state: FetchState) -> str | None:
    if state.next_check_rule is None or state.next_check_delay is None:
        return None
    return explain(state.next_check_rule, state.next_check_delay)


# --- Shared feeds, for operators

admin_router = APIRouter(prefix="/api/v1/admin/feeds", tags=["operator"])

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
    allow_duplicate_urls: bool | None = Field(
        None, description="Treat entries with the same URL as different entries."
    )
    deframe: bool | None = Field(
        None, description="Analyse its entries and publish them at the deframer endpoints."
    )
    root_domain: str | None = Field(
        None, examples=["example.org"], description="Site that the feed belongs to; null: none."
    )
    enforce_domain: bool | None = Field(
        None, description="Leave items of other sites out of the deframer endpoints."
    )
    prompt: str | None = Field(
        None, examples=["Mind the adjectives."], description="Extra instructions for the model."
    )


class OperatorFeedResponse(ApiModel):
    id: str
    url: str
    title: str
    status: Literal["working", "damaged", "pending", "error", "stopped", "off"]
    enabled: bool
    polling: bool
    followers: int
    last_checked_at: str | None
    next_run_at: str | None = Field(description="null: none scheduled.")
    last_error: str | None
    consecutive_failures: int
    stop_reason: str | None
    proxy: str | None = Field(description="Without its password.", examples=["http://***@proxy.example:3128"])
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


class OperatorFeedList(ApiModel):
    items: list[OperatorFeedResponse]
    next_cursor: str | None


ONE: dict[int | str, dict[str, Any]] = {200: {"model": OperatorFeedResponse}}


@admin_router.get("", summary="List shared feeds by name", responses={200: {"model": OperatorFeedList}})
async def list_feeds(
    runtime: CurrentRuntime,
    caller: CurrentAdmin,
    search: Annotated[str, Query(max_length=200, description="Part of the name or URL.")] = "",
    status: Annotated[Status, Query()] = "all",
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Response:
    feed_filter = FeedFilter(storable(search).strip(), status)
    size, offset = page_limit(limit), read_offset(cursor)
    async with runtime.db.read() as tx:
        feeds = await admin_feeds.page(tx, feed_filter, runtime.now(), limit=size + 1, offset=offset)
    items = [_admin_feed_json(feed) for feed in feeds[:size]]
    return json_response({"items": items, "next_cursor": next_offset(offset, size, len(feeds))})


@admin_router.get("/{feed_id}", summary="Get a shared feed", responses=ONE)
async def get(runtime: CurrentRuntime, caller: CurrentAdmin, feed_id: IdPath) -> Response:
    return json_response(_admin_feed_json(await find_feed(runtime, str(feed_id))))


@admin_router.patch(
    "/{feed_id}",
    summary="Change a shared feed; fields that are not sent stay",
    description="New fetch settings are tried at once, even if the feed had stopped.",
    responses=ONE,
)
async def change(
    runtime: CurrentRuntime, caller: CurrentAdmin, feed_id: IdPath, body: ChangeFeedRequest
) -> Response:
    return json_response(_admin_feed_json(await change_feed(runtime, str(feed_id), _settings(body))))


@admin_router.post("/{feed_id}/sync", summary="Check a feed now, even a stopped one", responses=ONE)
async def sync(runtime: CurrentRuntime, caller: CurrentAdmin, feed_id: IdPath) -> Response:
    return json_response(_admin_feed_json(await sync_feed(runtime, str(feed_id))))


@admin_router.post("/{feed_id}/enable", summary="Enable a feed without scheduling a check", responses=ONE)
async def enable(runtime: CurrentRuntime, caller: CurrentAdmin, feed_id: IdPath) -> Response:
    return json_response(_admin_feed_json(await enable_feed(runtime, str(feed_id))))


@admin_router.post("/{feed_id}/disable", summary="Disable a feed: not fetched, not published", responses=ONE)
async def disable(runtime: CurrentRuntime, caller: CurrentAdmin, feed_id: IdPath) -> Response:
    return json_response(_admin_feed_json(await disable_feed(runtime, str(feed_id))))


def _settings(body: ChangeFeedRequest) -> FeedSettings:
    sent = body.model_dump(exclude_unset=True)
    if sent.get("interval") is not None:
        sent["interval"] *= SECOND
    for name in ("polling", "allow_duplicate_urls", "deframe", "enforce_domain"):
        if sent.get(name) is None:
            sent[name] = UNSET
    return FeedSettings(**sent)


def _admin_feed_json(feed: AdminFeed) -> dict[str, Any]:
    fetching = feed.fetching
    return {
        "id": str(feed.id),
        "url": feed.url,
        "title": feed.title,
        "status": feed.standing,
        "enabled": feed.enabled,
        "polling": feed.polling,
        "followers": feed.followers,
        "last_checked_at": moment(feed.last_checked_at),
        "next_run_at": moment(feed.next_run_at),
        "last_error": feed.last_error,
        "consecutive_failures": feed.failures,
        "stop_reason": feed.stop_reason,
        "proxy": fetching.shown_proxy,
        "user_agent": fetching.user_agent,
        "username": fetching.username,
        "has_password": fetching.has_password,
        "interval": None if fetching.interval is None else fetching.interval // SECOND,
        "max_failures": fetching.max_failures,
        "allow_duplicate_urls": fetching.allow_duplicate_urls,
        "deframe": feed.deframe,
        "root_domain": feed.root_domain,
        "enforce_domain": feed.enforce_domain,
        "prompt": feed.prompt,
    }
