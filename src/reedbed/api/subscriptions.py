"""Subscriptions: following, changing, refreshing."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import ConfigDict, Field

from reedbed.api.feeds import FeedResponse, feed_json
from reedbed.domain.errors import NotFound, ReedbedError
from reedbed.domain.pagination import page_limit
from reedbed.domain.subscriptions import Subscription, SubscriptionFilter
from reedbed.domain.text import storable
from reedbed.domain.times import SECOND
from reedbed.domain.unset import UNSET
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.dependencies import RefreshLimit
from reedbed.http.errors import body_of
from reedbed.http.models import ApiModel
from reedbed.http.params import IdPath, JsonId, PageCursor, PageLimit, next_offset, read_offset
from reedbed.http.responses import json_response, moment, text_id
from reedbed.services.subscriptions.manage import (
    NO_SUCH,
    RefusedRefresh,
    SubscribeOptions,
    SubscriptionChange,
    change_subscription,
    refresh_all,
    refresh_subscription,
    subscribe,
    unsubscribe,
)
from reedbed.store import subscriptions

router = APIRouter(prefix="/api/v1/subscriptions", tags=["subscriptions"])

MAX_IN_A_BATCH = 500


class SubscribeRequest(ApiModel):
    # One that is missing is told of in the same words as an empty one.
    model_config = ConfigDict(json_schema_extra={"required": ["url"]})

    url: str = Field("", examples=["https://example.org/feed.xml"])
    folder_id: JsonId | None = None
    title: str | None = None
    username: str | None = Field(
        None, description="For a feed behind a password, which is private then; also in the address."
    )
    password: str | None = None


class BatchRequest(ApiModel):
    items: list[SubscribeRequest] = Field(max_length=MAX_IN_A_BATCH)


class ChangeSubscriptionRequest(ApiModel):
    title: str | None = None
    folder_id: JsonId | None = None
    url: str | None = None
    username: str | None = Field(
        None, description="With a password, the feed is private from then on; null takes both away."
    )
    password: str | None = None
    paused: bool | None = None
    interval: int | None = Field(
        None, description="Seconds between checks; null takes the feed's own rhythm."
    )
    full_text: Literal["auto", "always", "never"] | None = None
    notify: bool | None = None
    keep_entries: int | None = Field(
        None, description="The newest so many stay; 0: all; null: as many as the server keeps."
    )
    keep_days: int | None = Field(
        None, description="How long read entries stay; 0: for ever; null: the server's."
    )
    keep_unread_days: int | None = Field(None, description="The same for unread entries.")
    summary_words: int | None = Field(
        None,
        description=(
            "New entries with at least so many words are summarised by themselves; -1: none; null: as the "
            "folder says, or your preferences."
        ),
    )
    local_only: bool | None = Field(
        None, description="Its texts are sent to no model that somebody else runs; the extract sums them up."
    )


class SubscriptionResponse(ApiModel):
    id: str
    feed_id: str
    title: str
    own_title: str | None
    url: str
    folder_id: str | None
    paused: bool
    interval: int | None
    full_text: str
    notify: bool
    keep_entries: int | None
    keep_days: int | None
    keep_unread_days: int | None
    summary_words: int | None
    local_only: bool
    unread_count: int
    subscribed_at: str
    feed: FeedResponse


class SubscriptionList(ApiModel):
    items: list[SubscriptionResponse]
    next_cursor: str | None


ONE: dict[int | str, dict[str, Any]] = {200: {"model": SubscriptionResponse}}


@router.get("", summary="What the user follows", responses={200: {"model": SubscriptionList}})
async def list_subscriptions(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    search: Annotated[str, Query(max_length=200, description="Part of the name or address.")] = "",
    status: Annotated[Literal["all", "working", "pending", "error"], Query()] = "all",
    folder_id: Annotated[JsonId | None, Query()] = None,
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Response:
    wanted = SubscriptionFilter(storable(search).strip(), status, folder_id)
    size, offset = page_limit(limit), read_offset(cursor)
    async with runtime.db.read() as tx:
        found = await subscriptions.page(tx, caller.user_id, wanted, limit=size + 1, offset=offset)
    items = [subscription_json(one) for one in found[:size]]
    return json_response({"items": items, "next_cursor": next_offset(offset, size, len(found))})


@router.post(
    "",
    status_code=201,
    summary="Follow a feed by any address",
    responses={201: {"model": SubscriptionResponse}},
)
async def create(runtime: CurrentRuntime, caller: CurrentCaller, body: SubscribeRequest) -> Response:
    wish = SubscribeOptions(
        body.url, body.folder_id, body.title, username=body.username, password=body.password
    )
    made = await subscribe(runtime, caller.user_id, wish)
    return json_response(subscription_json(made), 201)


@router.post("/batch", summary="Follow many at once; each address gets its own result")
async def batch(runtime: CurrentRuntime, caller: CurrentCaller, body: BatchRequest) -> Response:
    results = [await _follow_one(runtime, caller.user_id, item) for item in body.items]
    return json_response({"items": results, "next_cursor": None})


class RefusedResponse(ApiModel):
    id: str
    reason: str
    retry_at: str | None = Field(description="When the site may be asked again, if it has said so.")


class RefreshAllResponse(ApiModel):
    refreshing: int = Field(description="So many feeds are checked now.")
    refused: list[RefusedResponse]


class RefreshResponse(ApiModel):
    refreshing: bool
    reason: str | None = Field(None, description="Why it is not checked now; only if it is not.")
    retry_at: str | None = Field(None, description="When the site may be asked again, if it has said so.")


@router.post(
    "/refresh",
    status_code=202,
    summary="Check everything now, except what is paused",
    responses={202: {"model": RefreshAllResponse}},
)
async def refresh_everything(runtime: CurrentRuntime, caller: CurrentCaller, _: RefreshLimit) -> Response:
    count, refused = await refresh_all(runtime, caller.user_id)
    named = [{"id": str(one.subscription_id), **_why(one)} for one in refused]
    return json_response({"refreshing": count, "refused": named}, 202)


@router.get("/{subscription_id}", summary="One subscription", responses=ONE)
async def get(runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath) -> Response:
    async with runtime.db.read() as tx:
        found = await subscriptions.get(tx, caller.user_id, subscription_id)
    if found is None:
        raise NotFound(NO_SUCH)
    return json_response(subscription_json(found))


@router.patch("/{subscription_id}", summary="Change a subscription; a field not sent stays", responses=ONE)
async def change(
    runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath, body: ChangeSubscriptionRequest
) -> Response:
    changed = await change_subscription(runtime, caller.user_id, subscription_id, _change(body))
    return json_response(subscription_json(changed))


@router.delete("/{subscription_id}", status_code=204, summary="Stop following; the read state waits")
async def delete(runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath) -> Response:
    await unsubscribe(runtime, caller.user_id, subscription_id)
    return Response(status_code=204)


@router.post(
    "/{subscription_id}/refresh",
    status_code=202,
    summary="Check this feed now",
    responses={202: {"model": RefreshResponse}},
)
@router.post(
    "/{subscription_id}/enable",
    status_code=202,
    summary="Bring a stopped feed back, which a check does too",
    responses={202: {"model": RefreshResponse}},
)
async def refresh(
    runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath, _: RefreshLimit
) -> Response:
    refused = await refresh_subscription(runtime, caller.user_id, subscription_id)
    return json_response({"refreshing": refused is None, **(_why(refused) if refused else {})}, 202)


def _why(refused: RefusedRefresh) -> dict[str, str | None]:
    return {"reason": refused.reason, "retry_at": moment(refused.retry_at)}


def subscription_json(one: Subscription) -> dict[str, Any]:
    return {
        "id": str(one.id),
        "feed_id": str(one.feed.id),
        "title": one.title,
        "own_title": one.own_title,
        "url": one.url,
        "folder_id": text_id(one.folder_id),
        "paused": one.paused,
        "interval": None if one.interval is None else one.interval // SECOND,
        "full_text": one.full_text,
        "notify": one.notify,
        "keep_entries": one.keep.entries,
        "keep_days": one.keep.days,
        "keep_unread_days": one.keep.unread_days,
        "summary_words": one.summary_words,
        "local_only": one.local_only,
        "unread_count": one.unread,
        "subscribed_at": moment(one.subscribed_at),
        "feed": feed_json(one.feed),
    }


async def _follow_one(runtime: CurrentRuntime, user_id: int, item: SubscribeRequest) -> dict[str, Any]:
    """Without looking first: the crawler tells of each address what became of it."""
    wish = SubscribeOptions(
        item.url,
        item.folder_id,
        item.title,
        looked=True,
        username=item.username,
        password=item.password,
    )
    try:
        made = await subscribe(runtime, user_id, wish)
    except ReedbedError as error:
        return {"url": storable(item.url), **body_of(error)}
    return {"url": item.url, "subscription": subscription_json(made)}


def _change(body: ChangeSubscriptionRequest) -> SubscriptionChange:
    sent = body.model_fields_set
    return SubscriptionChange(
        title=body.title if "title" in sent else UNSET,
        folder_id=body.folder_id if "folder_id" in sent else UNSET,
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
    )
