"""Published feeds: views of one's own as private addresses."""

from typing import Any, Literal

from fastapi import APIRouter, Response
from pydantic import Field

from reedbed.api.published import published_url
from reedbed.domain.published_feeds import PublishedFeed, check_view
from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.ids import IdPath, JsonId
from reedbed.http.json import json_response, moment, text_id
from reedbed.http.models import ApiModel
from reedbed.services.published_feeds import (
    Opened,
    get_published,
    publish_view,
    rename_published,
    renew_published,
    take_back,
)
from reedbed.services.runtime import Runtime
from reedbed.store import published_feeds

router = APIRouter(prefix="/api/v1/published-feeds", tags=["published feeds"])


class PublishBody(ApiModel):
    name: str = Field(examples=["Starred"])
    view: Literal["unread", "all", "starred", "later", "history", "stories", "digests"] = "all"
    feed_id: JsonId | None = None
    folder_id: JsonId | None = None
    tag: str | None = None
    search_id: JsonId | None = Field(None, description="A saved search.")


class RenameBody(ApiModel):
    name: str


class PublishedOut(ApiModel):
    id: str
    name: str
    view: str
    feed_id: str | None
    folder_id: str | None
    tag: str | None
    search_id: str | None
    created_at: str
    last_used_at: str | None


class OpenedOut(PublishedOut):
    atom_url: str
    json_url: str


class PublishedList(ApiModel):
    items: list[PublishedOut]
    next_cursor: str | None


_OPENED = {"model": OpenedOut, "description": "With the addresses, which are shown this once."}


@router.get(
    "", summary="All published feeds, without their addresses", responses={200: {"model": PublishedList}}
)
async def list_published(runtime: RuntimeOf, caller: CallerOf) -> Response:
    async with runtime.db.read() as tx:
        found = await published_feeds.of_user(tx, caller.user_id)
    return json_response({"items": [published_json(feed) for feed in found], "next_cursor": None})


@router.post("", status_code=201, summary="Publish a view", responses={201: _OPENED})
async def create(runtime: RuntimeOf, caller: CallerOf, body: PublishBody) -> Response:
    view = check_view(
        body.view, feed_id=body.feed_id, folder_id=body.folder_id, tag=body.tag, search_id=body.search_id
    )
    opened = await publish_view(runtime, caller.user_id, body.name, view)
    return json_response(_opened_json(runtime, opened), 201)


@router.get("/{published_id}", summary="One published feed", responses={200: {"model": PublishedOut}})
async def get(runtime: RuntimeOf, caller: CallerOf, published_id: IdPath) -> Response:
    return json_response(published_json(await get_published(runtime, caller.user_id, published_id)))


@router.patch("/{published_id}", summary="Rename it", responses={200: {"model": PublishedOut}})
async def rename(runtime: RuntimeOf, caller: CallerOf, published_id: IdPath, body: RenameBody) -> Response:
    changed = await rename_published(runtime, caller.user_id, published_id, body.name)
    return json_response(published_json(changed))


@router.post(
    "/{published_id}/renew", summary="Give it a new address; the old one is dead", responses={200: _OPENED}
)
async def renew(runtime: RuntimeOf, caller: CallerOf, published_id: IdPath) -> Response:
    opened = await renew_published(runtime, caller.user_id, published_id)
    return json_response(_opened_json(runtime, opened))


@router.delete("/{published_id}", status_code=204, summary="Take it back; its address is dead")
async def delete(runtime: RuntimeOf, caller: CallerOf, published_id: IdPath) -> Response:
    await take_back(runtime, caller.user_id, published_id)
    return Response(status_code=204)


def published_json(feed: PublishedFeed) -> dict[str, Any]:
    view = feed.view
    return {
        "id": str(feed.id),
        "name": feed.name,
        "view": view.kind,
        "feed_id": text_id(view.feed_id),
        "folder_id": text_id(view.folder_id),
        "tag": view.tag,
        "search_id": text_id(view.search_id),
        "created_at": moment(feed.created_at),
        "last_used_at": moment(feed.last_used_at),
    }


def _opened_json(runtime: Runtime, opened: Opened) -> dict[str, Any]:
    return {
        **published_json(opened.feed),
        "atom_url": published_url(runtime, opened.token, "atom"),
        "json_url": published_url(runtime, opened.token, "json"),
    }
