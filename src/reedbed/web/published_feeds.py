"""Views as feeds of their own: published, given new addresses, taken back."""

from fastapi import APIRouter, Request, Response

from reedbed.domain.errors import Conflict, Invalid
from reedbed.domain.published_feeds import PublishedFeed as Published
from reedbed.domain.published_feeds import PublishedView, check_view
from reedbed.domain.times import Instant
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.errors import status_of
from reedbed.http.params import IdPath, path_id
from reedbed.services.published_feeds import OpenedFeed, publish_view, renew_published, undo_last
from reedbed.services.runtime import Runtime
from reedbed.store import folders, published_feeds, subscriptions
from reedbed.store.tags import names as tag_names
from reedbed.web.feeds.views import folder_choices
from reedbed.web.formats import ago
from reedbed.web.forms import Text
from reedbed.web.i18n import translate
from reedbed.web.pages import see_other
from reedbed.web.settings import settings_page
from reedbed.web.views.layout import SelectOption, Toast
from reedbed.web.views.settings import PublishedAddress, PublishedFeedView, PublishedSettings

router = APIRouter(include_in_schema=False)


@router.get("/settings/published")
async def show_published(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    return await _show(request, runtime, caller)


@router.post("/settings/published")
async def publish(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, view: Text = ""
) -> Response:
    names = {choice.value: choice.name for choice in await _views(runtime, caller.user_id, view)}
    try:
        name = names.get(view, view)[:100]
        opened = await publish_view(runtime, caller.user_id, name, _read_view(view))
    except (Invalid, Conflict) as error:
        return await _show(request, runtime, caller, chosen=view, error=error)
    return await _show(request, runtime, caller, opened=opened)


@router.post("/settings/published/{feed_id}/renew")
async def renew(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, feed_id: IdPath
) -> Response:
    return await _show(
        request, runtime, caller, opened=await renew_published(runtime, caller.user_id, feed_id)
    )


@router.post("/settings/published/{feed_id}/delete")
async def unpublish(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, feed_id: IdPath
) -> Response:
    await undo_last(runtime, caller.user_id, feed_id)
    said = translate("Its address does not work any more.")
    return see_other(request, "/settings/published", toast=Toast(said))


async def _show(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    *,
    opened: OpenedFeed | None = None,
    chosen: str = "",
    error: Invalid | Conflict | None = None,
) -> Response:
    now = runtime.now()
    async with runtime.db.read() as tx:
        known = await published_feeds.of_user(tx, caller.user_id)
    shown = PublishedSettings(
        feeds=tuple(PublishedFeedView(one.id, one.name, _used(one, now)) for one in known),
        views=await _views(runtime, caller.user_id, chosen),
        made=_address(runtime, opened) if opened else None,
        error=error.message if error else "",
    )
    status = status_of(error) if error else 200
    return await settings_page(request, runtime, caller, "published", shown, status=status)


async def _views(runtime: Runtime, user_id: int, chosen: str) -> tuple[SelectOption, ...]:
    async with runtime.db.read() as tx:
        rows = await folders.of_user(tx, user_id)
        tags = await tag_names(tx, user_id)
        followed = await subscriptions.sidebar_feeds(tx, user_id)
    named = [
        ("unread", translate("Unread")),
        ("all", translate("All entries")),
        ("starred", translate("Starred")),
        ("later", translate("Later")),
        ("history", translate("Recently read")),
        ("stories", translate("Stories")),
        ("digests", translate("Digests")),
        *((f"folder:{one.value}", one.name) for one in folder_choices(rows, None)[1:]),
        *((f"tag:{name}", name) for name in tags),
        *((f"feed:{one.feed_id}", one.title) for one in followed),
    ]
    return tuple(SelectOption(value, name, value == chosen) for value, name in named)


def _read_view(text: str) -> PublishedView:
    kind, _, which = text.partition(":")
    match kind:
        case "folder":
            return check_view("all", folder_id=path_id(which))
        case "feed":
            return check_view("all", feed_id=path_id(which))
        case "tag":
            return check_view("all", tag=which)
        case _:
            return check_view(text)


def _address(runtime: Runtime, opened: OpenedFeed) -> PublishedAddress:
    base = f"{runtime.accounts.base_url}/published/{opened.token}"
    return PublishedAddress(opened.feed.name, f"{base}.atom", f"{base}.json")


def _used(one: Published, now: Instant) -> str:
    if one.last_used_at is None:
        return translate("Published %(when)s, not read yet", when=ago(one.created_at, now))
    return translate("Last read %(when)s", when=ago(one.last_used_at, now))
