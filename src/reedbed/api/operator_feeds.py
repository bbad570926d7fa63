"""Every shared feed, for the server's operators: how it stands, how it is fetched, run, turned off."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field

from reedbed.domain.paging import page_limit
from reedbed.domain.same import SAME
from reedbed.domain.texts import storable
from reedbed.domain.times import SECOND
from reedbed.http.caller import AdminOf, RuntimeOf
from reedbed.http.ids import IdPath
from reedbed.http.json import json_response, moment
from reedbed.http.models import ApiModel
from reedbed.http.offsets import next_offset, read_offset
from reedbed.http.paging import PageCursor, PageLimit
from reedbed.services.feed_settings import FeedSettings
from reedbed.services.operator_feeds import change_feed, disable_feed, enable_feed, find_feed, sync_feed
from reedbed.store import operator_feeds
from reedbed.store.operator_feeds import FeedFilter, OperatorFeed

router = APIRouter(prefix="/api/v1/admin/feeds", tags=["operator"])

Status = Literal["all", "working", "damaged", "pending", "error", "stopped", "off"]


class FeedChange(ApiModel):
    polling: bool | None = Field(None, description="Run again after each good run.")
    proxy: str | None = Field(None, examples=["http://proxy.example:3128"], description="null: none.")
    user_agent: str | None = Field(
        None, examples=["Mozilla/5.0"], description="null: what every site is told."
    )
    username: str | None = Field(
        None, examples=["heron"], description="For basic authentication; null takes the password away, too."
    )
    password: str | None = Field(None, examples=["three calm words"], description="Never shown again.")
    interval: int | None = Field(
        None, examples=[3600], description="Seconds between checks; null: its own rhythm."
    )
    max_failures: int | None = Field(
        None, examples=[3], description="Failures in a row after which it stops; null: the server's number."
    )
    allow_duplicate_urls: bool | None = Field(
        None, description="Entries with the same address are different ones."
    )
    deframe: bool | None = Field(None, description="Its entries are read, and shown at the public doors.")
    root_domain: str | None = Field(
        None, examples=["example.org"], description="The site it belongs to; null: none."
    )
    enforce_domain: bool | None = Field(None, description="The public doors leave out items of other sites.")
    prompt: str | None = Field(
        None, examples=["Mind the adjectives."], description="What the model is asked beside."
    )


class OperatorFeedOut(ApiModel):
    id: str
    url: str
    title: str
    status: Literal["working", "damaged", "pending", "error", "stopped", "off"]
    enabled: bool
    polling: bool
    followers: int
    last_checked_at: str | None
    next_run_at: str | None = Field(description="null: it rests.")
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
    items: list[OperatorFeedOut]
    next_cursor: str | None


ONE: dict[int | str, dict[str, Any]] = {200: {"model": OperatorFeedOut}}


@router.get("", summary="Every shared feed, by name", responses={200: {"model": OperatorFeedList}})
async def list_feeds(
    runtime: RuntimeOf,
    caller: AdminOf,
    search: Annotated[str, Query(max_length=200, description="Part of the name or address.")] = "",
    status: Annotated[Status, Query()] = "all",
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Response:
    wanted = FeedFilter(storable(search).strip(), status)
    size, offset = page_limit(limit), read_offset(cursor)
    async with runtime.db.read() as tx:
        found = await operator_feeds.page(tx, wanted, runtime.now(), limit=size + 1, offset=offset)
    items = [_feed(one) for one in found[:size]]
    return json_response({"items": items, "next_cursor": next_offset(offset, size, len(found))})


@router.get("/{feed_id}", summary="One feed", responses=ONE)
async def get(runtime: RuntimeOf, caller: AdminOf, feed_id: IdPath) -> Response:
    return json_response(_feed(await find_feed(runtime, str(feed_id))))


@router.patch(
    "/{feed_id}",
    summary="Change how a feed is fetched and deframed; a field not sent stays",
    description="Another way of fetching is tried at once, also by a feed that had stopped.",
    responses=ONE,
)
async def change(runtime: RuntimeOf, caller: AdminOf, feed_id: IdPath, body: FeedChange) -> Response:
    return json_response(_feed(await change_feed(runtime, str(feed_id), _settings(body))))


@router.post("/{feed_id}/sync", summary="Run it now, also one that stopped", responses=ONE)
async def sync(runtime: RuntimeOf, caller: AdminOf, feed_id: IdPath) -> Response:
    return json_response(_feed(await sync_feed(runtime, str(feed_id))))


@router.post("/{feed_id}/enable", summary="Let workers take it; schedules no run", responses=ONE)
async def enable(runtime: RuntimeOf, caller: AdminOf, feed_id: IdPath) -> Response:
    return json_response(_feed(await enable_feed(runtime, str(feed_id))))


@router.post("/{feed_id}/disable", summary="No worker takes it and no door shows it", responses=ONE)
async def disable(runtime: RuntimeOf, caller: AdminOf, feed_id: IdPath) -> Response:
    return json_response(_feed(await disable_feed(runtime, str(feed_id))))


def _settings(body: FeedChange) -> FeedSettings:
    sent = body.model_dump(exclude_unset=True)
    if sent.get("interval") is not None:
        sent["interval"] *= SECOND
    for name in ("polling", "allow_duplicate_urls", "deframe", "enforce_domain"):
        if sent.get(name) is None:
            sent[name] = SAME
    return FeedSettings(**sent)


def _feed(one: OperatorFeed) -> dict[str, Any]:
    fetching = one.fetching
    return {
        "id": str(one.id),
        "url": one.url,
        "title": one.title,
        "status": one.standing,
        "enabled": one.enabled,
        "polling": one.polling,
        "followers": one.followers,
        "last_checked_at": moment(one.last_checked_at),
        "next_run_at": moment(one.next_run_at),
        "last_error": one.last_error,
        "consecutive_failures": one.failures,
        "stop_reason": one.stop_reason,
        "proxy": fetching.shown_proxy,
        "user_agent": fetching.user_agent,
        "username": fetching.username,
        "has_password": fetching.has_password,
        "interval": None if fetching.interval is None else fetching.interval // SECOND,
        "max_failures": fetching.max_failures,
        "allow_duplicate_urls": fetching.allow_duplicate_urls,
        "deframe": one.deframe,
        "root_domain": one.root_domain,
        "enforce_domain": one.enforce_domain,
        "prompt": one.prompt,
    }
