"""Subscriptions: create, list, change, delete and refresh them."""

from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import Query, Response
from pydantic import AwareDatetime, ConfigDict, Field

from reedbed.api.feeds import FeedResponse, feed_response
from reedbed.domain.errors import Invalid, NotFound, ReedbedError
from reedbed.domain.pagination import page_limit
from reedbed.domain.records import UNSET, record
from reedbed.domain.subscriptions import Subscription, SubscriptionFilter
from reedbed.domain.text import storable
from reedbed.domain.times import SECOND, from_datetime
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.errors import body_of
from reedbed.http.models import ApiModel, FailureName, FailureSentence, JsonId, ListPage, ResponseModel, Timestamp
from reedbed.http.params import IdPath, PageCursor, PageLimit, RefreshLimit, next_offset, read_offset
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.subscriptions.bulk import BulkChange, change_many, refresh_all, refresh_subscription
from reedbed.services.subscriptions.manage import (
    NO_SUCH,
    SubscribeOptions,
    SubscriptionChange,
    change_subscription,
    subscribe,
    unsubscribe,
)
from reedbed.store import subscriptions

router = ApiRouter(prefix="/api/v1/subscriptions", tags=["subscriptions"])

MAX_BATCH_SIZE = 500


class SubscribeRequest(ApiModel):
    # `url` has a default so that a missing one gives the same error as an empty one.
    model_config = ConfigDict(json_schema_extra={"required": ["url"]})

    url: str = Field("", examples=["https://example.org/feed.xml"])
    folder_id: JsonId | None = None
    folder_ids: list[JsonId] | None = Field(None, description="All its folders, instead of `folder_id`.")
    title: str | None = None
    username: str | None = Field(
        None, description="For a password-protected feed, which becomes private; may also be part of the URL."
    )
    password: str | None = None


class BatchRequest(ApiModel):
    items: list[SubscribeRequest] = Field(max_length=MAX_BATCH_SIZE)


class ChangeSubscriptionRequest(ApiModel):
    title: str | None = None
    folder_id: JsonId | None = Field(
        None, description="Its first folder; the other folders stay. null takes it out of all folders."
    )
    folder_ids: list[JsonId] | None = Field(
        None, description="All its folders. The first one decides what folders set for their feeds."
    )
    url: str | None = None
    username: str | None = Field(None, description="With a password, the feed becomes private; null removes both.")
    password: str | None = None
    paused: bool | None = None
    interval: int | None = Field(None, description="Seconds between checks; null: adaptive.")
    full_text: Literal["auto", "always", "never"] | None = None
    notify: bool | None = None
    keep_entries: int | None = Field(
        None, description="Number of newest entries to keep; 0: all; null: the server's default."
    )
    keep_days: int | None = Field(
        None, description="Days to keep read entries; 0: forever; null: the server's default."
    )
    keep_unread_days: int | None = Field(None, description="The same for unread entries.")
    summary_words: int | None = Field(
        None,
        description=(
            "Summarise new entries with at least this many words automatically; -1: never; "
            "null: as set for the folder or in your preferences."
        ),
    )
    local_only: bool | None = Field(
        None, description="Never send its texts to a remote model; use the built-in extract instead."
    )
    muted_until: AwareDatetime | None = Field(
        None,
        description=(
            "Until then its entries are missing from lists of several feeds, from their counts and from notifications; "
            "a time after 9998: until it is unmuted; null: not muted."
        ),
    )
    unread_display: Literal["number", "dot", "none"] | None = Field(
        None, description="How a list of feeds shows that the feed has unread entries."
    )
    unread_limit: int | None = Field(None, description="Only so many of its newest entries stay unread; null: all.")
    without_shorts: bool | None = Field(None, description="Mute short videos of a YouTube channel as they arrive.")
    in_unread: bool | None = Field(
        None, description="Whether the list of everything unread shows and counts it; its own list always does."
    )


@record
class SubscriptionResponse(ResponseModel):
    id: JsonId
    feed_id: JsonId
    title: str
    own_title: str | None
    url: str
    folder_id: Annotated[JsonId | None, Field(description="The first of its folders.")]
    folder_ids: list[JsonId]
    paused: bool
    interval: int | None
    full_text: str
    notify: bool
    keep_entries: int | None
    keep_days: int | None
    keep_unread_days: int | None
    summary_words: int | None
    local_only: bool
    muted_until: Timestamp | None
    unread_display: str
    in_unread: bool
    unread_limit: int | None
    without_shorts: bool
    unread_count: int
    subscribed_at: Timestamp
    feed: FeedResponse


@router.get("", summary="List subscriptions")
async def list_subscriptions(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    search: Annotated[str, Query(max_length=200, description="Part of the name or URL.")] = "",
    status: Annotated[
        Literal["all", "working", "pending", "error", "changed"],
        Query(description="`changed`: with settings that differ from the default."),
    ] = "all",
    folder_id: Annotated[JsonId | None, Query()] = None,
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Json[ListPage[SubscriptionResponse]]:
    subscription_filter = SubscriptionFilter(storable(search).strip(), status, folder_id)
    size, offset = page_limit(limit), read_offset(cursor)
    async with runtime.db.read() as tx:
        rows = await subscriptions.page(tx, caller.user_id, subscription_filter, limit=size + 1, offset=offset)
    items = [subscription_response(row) for row in rows[:size]]
    return Json(ListPage(items, next_offset(offset, size, len(rows))))


@router.post("", status_code=201, summary="Subscribe to a feed by feed or page URL")
async def create(runtime: CurrentRuntime, caller: CurrentCaller, body: SubscribeRequest) -> Json[SubscriptionResponse]:
    options = _options(body)
    subscription = await subscribe(runtime, caller.user_id, options)
    return Json(subscription_response(subscription), 201)


@record
class BatchItemResponse(ResponseModel):
    url: str
    subscription: SubscriptionResponse


@record
class BatchErrorResponse(ResponseModel):
    url: str
    error: dict[str, Any]


@router.post("/batch", summary="Subscribe to many feeds, with one result per URL")
async def batch(
    runtime: CurrentRuntime, caller: CurrentCaller, body: BatchRequest
) -> Json[ListPage[BatchItemResponse | BatchErrorResponse]]:
    results = [await _subscribe_item(runtime, caller.user_id, item) for item in body.items]
    return Json(ListPage(results))


class ChangeManyRequest(ApiModel):
    ids: list[JsonId] = Field(max_length=10_000)
    change: ChangeSubscriptionRequest


@record
class ChangedManyResponse(ResponseModel):
    changed: Annotated[int, Field(description="How many of them there were.")]


@router.post("/change", summary="Change many subscriptions; fields that are not sent stay")
async def change_several(
    runtime: CurrentRuntime, caller: CurrentCaller, body: ChangeManyRequest
) -> Json[ChangedManyResponse]:
    if {"title", "url", "username", "password"} & body.change.model_fields_set:
        raise Invalid("Title, address and login are set for one feed at a time.", field="change")
    return Json(
        ChangedManyResponse(await change_many(runtime, caller.user_id, body.ids, BulkChange(_change(body.change))))
    )


@record
class RefusedResponse(ResponseModel):
    id: JsonId
    reason: FailureSentence
    reason_code: FailureName
    retry_at: Annotated[
        Timestamp | None, Field(description="When the site allows the next request, if it gave a time.")
    ]


@record
class RefreshAllResponse(ResponseModel):
    refreshing: Annotated[int, Field(description="Number of feeds being checked now.")]
    refused: list[RefusedResponse]


@record
class RefreshResponse(ResponseModel):
    refreshing: bool


@record
class RefusedRefreshResponse(RefreshResponse):
    reason: Annotated[FailureSentence, Field(description="Why it is not checked now.")]
    reason_code: FailureName
    retry_at: Annotated[
        Timestamp | None, Field(description="When the site allows the next request, if it gave a time.")
    ]


@router.post("/refresh", status_code=202, summary="Check all feeds now, except paused ones")
async def refresh_everything(
    runtime: CurrentRuntime, caller: CurrentCaller, _: RefreshLimit
) -> Json[RefreshAllResponse]:
    count, refused = await refresh_all(runtime, caller.user_id)
    items = [RefusedResponse.of(refusal, id=refusal.subscription_id) for refusal in refused]
    return Json(RefreshAllResponse(count, items), 202)


@router.get("/{subscription_id}", summary="Get a subscription")
async def get(runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath) -> Json[SubscriptionResponse]:
    async with runtime.db.read() as tx:
        subscription = await subscriptions.get(tx, caller.user_id, subscription_id)
    if subscription is None:
        raise NotFound(NO_SUCH)
    return Json(subscription_response(subscription))


@router.patch("/{subscription_id}", summary="Change a subscription; fields that are not sent stay")
async def change(
    runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath, body: ChangeSubscriptionRequest
) -> Json[SubscriptionResponse]:
    changed = await change_subscription(runtime, caller.user_id, subscription_id, _change(body))
    return Json(subscription_response(changed))


@router.delete("/{subscription_id}", status_code=204, summary="Unsubscribe; the read state is kept for resubscribing")
async def delete(runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath) -> Response:
    await unsubscribe(runtime, caller.user_id, subscription_id)
    return Response(status_code=204)


@router.post("/{subscription_id}/refresh", status_code=202, summary="Check a feed now")
@router.post("/{subscription_id}/enable", status_code=202, summary="Restart a stopped feed; same as checking it")
async def refresh(
    runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath, _: RefreshLimit
) -> Json[RefreshResponse | RefusedRefreshResponse]:
    refused = await refresh_subscription(runtime, caller.user_id, subscription_id)
    if refused is None:
        return Json(RefreshResponse(refreshing=True), 202)
    return Json(RefusedRefreshResponse.of(refused, refreshing=False), 202)


def subscription_response(subscription: Subscription) -> SubscriptionResponse:
    return SubscriptionResponse.of(
        subscription,
        feed_id=subscription.feed.id,
        folder_ids=list(subscription.folder_ids),
        interval=None if subscription.interval is None else subscription.interval // SECOND,
        keep_entries=subscription.keep.entries,
        keep_days=subscription.keep.days,
        keep_unread_days=subscription.keep.unread_days,
        unread_count=subscription.unread,
        feed=feed_response(subscription.feed),
    )


async def _subscribe_item(
    runtime: CurrentRuntime, user_id: int, item: SubscribeRequest
) -> BatchItemResponse | BatchErrorResponse:
    """Subscribe without fetching first; the crawler later records the result for each URL."""
    options = replace(_options(item), looked=True)
    try:
        subscription = await subscribe(runtime, user_id, options)
    except ReedbedError as error:
        return BatchErrorResponse(storable(item.url), body_of(error)["error"])
    return BatchItemResponse(item.url, subscription_response(subscription))


def _options(body: SubscribeRequest) -> SubscribeOptions:
    return SubscribeOptions(
        body.url,
        body.folder_id,
        body.title,
        username=body.username,
        password=body.password,
        folder_ids=None if body.folder_ids is None else tuple(body.folder_ids),
    )


def _change(body: ChangeSubscriptionRequest) -> SubscriptionChange:
    sent = body.model_fields_set
    return SubscriptionChange(
        title=body.title if "title" in sent else UNSET,
        folder_id=body.folder_id if "folder_id" in sent else UNSET,
        folder_ids=UNSET if body.folder_ids is None else tuple(body.folder_ids),
        url=UNSET if body.url is None else body.url,
        username=body.username if "username" in sent else UNSET,
        password=body.password if "password" in sent else UNSET,
        paused=UNSET if body.paused is None else body.paused,
        interval=(None if body.interval is None else body.interval * SECOND) if "interval" in sent else UNSET,
        full_text=UNSET if body.full_text is None else body.full_text,
        notify=UNSET if body.notify is None else body.notify,
        keep_entries=body.keep_entries if "keep_entries" in sent else UNSET,
        keep_days=body.keep_days if "keep_days" in sent else UNSET,
        keep_unread_days=body.keep_unread_days if "keep_unread_days" in sent else UNSET,
        summary_words=body.summary_words if "summary_words" in sent else UNSET,
        local_only=UNSET if body.local_only is None else body.local_only,
        muted_until=(body.muted_until and from_datetime(body.muted_until)) if "muted_until" in sent else UNSET,
        unread_display=UNSET if body.unread_display is None else body.unread_display,
        in_unread=UNSET if body.in_unread is None else body.in_unread,
        without_shorts=UNSET if body.without_shorts is None else body.without_shorts,
        unread_limit=body.unread_limit if "unread_limit" in sent else UNSET,
    )
