"""Published feeds: publish a view as Atom and JSON Feed, renew its URL, unpublish it."""

from fastapi import APIRouter, Request, Response

from reedbed.domain.errors import Conflict, Invalid
from reedbed.domain.published_feeds import PublishedView, check_view
from reedbed.domain.shared_stories import SharedStory
from reedbed.domain.times import Instant
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.errors import status_of
from reedbed.http.params import IdPath, path_id
from reedbed.services.listening.manage import podcast_url
from reedbed.services.published_feeds import OpenedFeed, publish_view, renew_published, undo_last
from reedbed.services.runtime import Runtime
from reedbed.services.shared_stories import NewSharedStory
from reedbed.store import folders, published_feeds, shared_stories, sidebar
from reedbed.store.tags import names as tag_names
from reedbed.web.formats import ago
from reedbed.web.forms import Text, folder_options
from reedbed.web.i18n import explain, name_key, translate
from reedbed.web.pages import see_other
from reedbed.web.settings import settings_page, usage_text
from reedbed.web.views.layout import SelectOption, Toast
from reedbed.web.views.settings import PublishedAddress, PublishedFeedView, PublishedSettings

router = APIRouter(include_in_schema=False)


@router.get("/settings/published")
async def show_published(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    return await published_page(request, runtime, caller, chosen=request.query_params.get("view", ""))


@router.post("/settings/published")
async def publish(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, view: Text = "") -> Response:
    names = {choice.value: choice.name for choice in await _view_options(runtime, caller.user_id, view)}
    try:
        name = names.get(view, view)[:100]
        new_feed = await publish_view(runtime, caller.user_id, name, _read_view(view))
    except (Invalid, Conflict) as error:
        return await published_page(request, runtime, caller, chosen=view, error=error)
    return await published_page(request, runtime, caller, new_feed=new_feed)


@router.post("/settings/published/{feed_id}/renew")
async def renew(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, feed_id: IdPath) -> Response:
    return await published_page(
        request, runtime, caller, new_feed=await renew_published(runtime, caller.user_id, feed_id)
    )


@router.post("/settings/published/{feed_id}/delete")
async def unpublish(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, feed_id: IdPath) -> Response:
    await undo_last(runtime, caller.user_id, feed_id)
    message = translate("Its address does not work any more.")
    return see_other(request, "/settings/published", toast=Toast(message))


async def published_page(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    *,
    new_feed: OpenedFeed | None = None,
    new_story: NewSharedStory | None = None,
    chosen: str = "",
    error: Invalid | Conflict | None = None,
) -> Response:
    now = runtime.now()
    async with runtime.db.read() as tx:
        feeds = await published_feeds.of_user(tx, caller.user_id)
        stories = await shared_stories.of_user(tx, caller.user_id)
    view = PublishedSettings(
        feeds=tuple(PublishedFeedView(feed.id, feed.name, usage_text(feed, now)) for feed in feeds),
        views=await _view_options(runtime, caller.user_id, chosen),
        stories=tuple(PublishedFeedView(story.id, story.title, _opened_text(story, now)) for story in stories),
        made=_new_address(runtime, new_feed, new_story),
        error=explain(error) if error else "",
    )
    status = status_of(error) if error else 200
    return await settings_page(request, runtime, caller, "published", view, status=status)


async def _view_options(runtime: Runtime, user_id: int, chosen: str) -> tuple[SelectOption, ...]:
    async with runtime.db.read() as tx:
        rows = await folders.of_user(tx, user_id)
        tags = sorted(await tag_names(tx, user_id), key=name_key)
        feeds = sorted(await sidebar.sidebar_feeds(tx, user_id), key=lambda feed: name_key(feed.title))
    options = [
        ("unread", translate("Unread")),
        ("all", translate("All entries")),
        ("starred", translate("Starred")),
        ("later", translate("Later")),
        ("history", translate("Recently read")),
        ("stories", translate("Stories")),
        ("digests", translate("Digests")),
        *((f"folder:{folder.value}", folder.name) for folder in folder_options(rows, None)[1:]),
        *((f"tag:{name}", name) for name in tags),
        *((f"feed:{feed.feed_id}", feed.title) for feed in feeds),
    ]
    return tuple(SelectOption(value, name, value == chosen) for value, name in options)


def _read_view(text: str) -> PublishedView:
    kind, _, key = text.partition(":")
    match kind:
        case "folder":
            return check_view("all", folder_id=path_id(key))
        case "feed":
            return check_view("all", feed_id=path_id(key))
        case "tag":
            return check_view("all", tag=key)
        case _:
            return check_view(text)


def _new_address(
    runtime: Runtime, new_feed: OpenedFeed | None, new_story: NewSharedStory | None
) -> PublishedAddress | None:
    if new_feed and new_feed.feed.view.spoken:
        return PublishedAddress(new_feed.feed.name, (podcast_url(runtime, new_feed.token),))
    if new_feed:
        base = f"{runtime.accounts.base_url}/published/{new_feed.token}"
        return PublishedAddress(new_feed.feed.name, (f"{base}.atom", f"{base}.json"))
    if new_story:
        url = f"{runtime.accounts.base_url}/shared/{new_story.token}"
        return PublishedAddress(new_story.story.title, (url,), is_story=True)
    return None


def _opened_text(story: SharedStory, now: Instant) -> str:
    if story.last_used_at is None:
        return translate("Shared %(when)s, not opened yet", when=ago(story.created_at, now))
    return translate("Last opened %(when)s", when=ago(story.last_used_at, now))
