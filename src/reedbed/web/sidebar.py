"""The sidebar, pages that show it (`app_page`), and paging by id."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

from fastapi import APIRouter, Request, Response

from reedbed.domain.entries import Counts
from reedbed.domain.folders import FolderNode, build_tree
from reedbed.domain.records import record
from reedbed.domain.subscriptions import FeedProblemKind, SubscribedFeedRow, feed_problem
from reedbed.domain.times import Instant
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.services.runtime import Runtime
from reedbed.store import folders, retention, subscriptions
from reedbed.store.engine.database import Tx
from reedbed.store.read_state.counts import totals
from reedbed.store.search import saved as searches
from reedbed.web.formats import ago
from reedbed.web.i18n import current_language, marked, ngettext, sentence, translate, translate_failure
from reedbed.web.pages import page, theme_of
from reedbed.web.views.layout import (
    Count,
    Pages,
    Sidebar,
    SidebarFeed,
    SidebarFolder,
    SidebarLink,
    Theme,
    Toast,
    feed_mark,
)

MAX_SHOWN = 300
"""Limit of feeds in the sidebar, busiest first. The others are reached through their folder or /feeds."""

_ADVICE: dict[FeedProblemKind, str] = {
    "gone": marked("Look for its new address, or stop following it."),
    "stopped": marked("Open the feed to start it again."),
    "locked": marked("Give its name and password in the settings of the feed."),
    "address": marked("Check its address in the settings of the feed."),
    "waits": marked("Reedbed tries again by itself."),
    "damaged": marked("Only its publisher can mend it."),
}


async def build_sidebar(tx: Tx, user_id: int, here: str, theme: Theme, now: Instant) -> Sidebar:
    """`here` is the path of the current view; its link is marked as current."""
    rows = await folders.of_user(tx, user_id)
    feeds, checked = await subscriptions.busiest_feeds(tx, user_id, MAX_SHOWN)
    counts = await totals(tx, user_id, {row.id: row.parent_id for row in rows})
    saved = await searches.of_user(tx, user_id)
    notice = await retention.get_notice(tx, user_id)
    by_folder = _by_folder(feeds)
    return Sidebar(
        smart=_smart_links(counts, here),
        folders=tuple(_folder_view(node, by_folder, counts, here, theme) for node in build_tree(rows)),
        feeds=_feed_views(by_folder[None], here),
        kept=(
            *(
                _link(f"saved:{search.id}", f"/saved/{search.id}", search.name, "search", 0, here)
                for search in saved
            ),
            *(
                _link(
                    f"tag:{tag.name}", f"/tag/{quote(tag.name, safe='')}", tag.name, "tag", tag.unread, here
                )
                for tag in counts.tags
            ),
        ),
        unread=Count(counts.unread),
        checked=translate("Checked %(when)s", when=ago(checked, now)) if checked else "",
        notice=ngettext(
            "%(num)s unread entry was removed, as it had become too old.",
            "%(num)s unread entries were removed, as they had become too old.",
            notice.unread_removed,
        )
        if notice
        else "",
    )


def _smart_links(counts: Counts, here: str) -> tuple[SidebarLink, ...]:
    return (
        _link("unread", "/unread", translate("Unread"), "unread", counts.unread, here),
        _link("all", "/all", translate("All entries"), "all", 0, here),
        _link("starred", "/starred", translate("Starred"), "star", 0, here),
        _link("later", "/later", translate("Later"), "later", counts.later, here),
        _link("stories", "/stories", translate("Stories"), "story", 0, here),
        _link("digests", "/summaries", translate("Digests"), "digest", 0, here),
        _link("ask", "/ask", translate("Ask"), "ask", 0, here),
    )


def _link(key: str, url: str, name: str, icon: str, count: int, here: str) -> SidebarLink:
    return SidebarLink(key, url, name, icon, Count(count), current=here == url)


def _by_folder(feeds: Sequence[SubscribedFeedRow]) -> defaultdict[int | None, list[SubscribedFeedRow]]:
    by_folder: defaultdict[int | None, list[SubscribedFeedRow]] = defaultdict(list)
    for feed in feeds:
        by_folder[feed.folder_id].append(feed)
    return by_folder


def _folder_view(
    node: FolderNode,
    by_folder: defaultdict[int | None, list[SubscribedFeedRow]],
    counts: Counts,
    here: str,
    theme: Theme,
) -> SidebarFolder:
    url = f"/folder/{node.id}"
    return SidebarFolder(
        id=node.id,
        url=url,
        name=node.name,
        count=Count(counts.folders.get(node.id, 0)),
        current=here == url,
        open=str(node.id) not in theme.folded,
        folders=tuple(_folder_view(child, by_folder, counts, here, theme) for child in node.children),
        feeds=_feed_views(by_folder[node.id], here),
    )


def _feed_views(feeds: Sequence[SubscribedFeedRow], here: str) -> tuple[SidebarFeed, ...]:
    return tuple(
        _feed_view(feed, f"/feed/{feed.subscription_id}" == here, current_language()) for feed in feeds
    )


@lru_cache(maxsize=5_000)
def _feed_view(feed: SubscribedFeedRow, current: bool, language: str) -> SidebarFeed:
    """`language` is part of the cache key, because the problem text is translated."""
    problem = feed_problem(feed)
    return SidebarFeed(
        id=feed.feed_id,
        url=f"/feed/{feed.subscription_id}",
        name=feed.title,
        mark=feed_mark(feed.title, feed.feed_id, icon_address(feed.icon_id)),
        count=Count(feed.unread),
        current=current,
        language=feed.language or "",
        trouble=f"{sentence(translate_failure(problem.reason))} {translate(_ADVICE[problem.kind])}"
        if problem
        else "",
        needs_reader=problem is not None and problem.needs_reader,
    )


def icon_address(icon_id: int | None) -> str:
    return f"/icons/{icon_id}" if icon_id else ""


router = APIRouter(include_in_schema=False)


@router.get("/sidebar")
async def show_sidebar(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, here: str = ""
) -> Response:
    """`here` is the path of the view that the page shows."""
    async with runtime.db.read() as tx:
        sidebar = await build_sidebar(tx, caller.user_id, here, theme_of(request), runtime.now())
    return await page(request, "partials/sidebar.html", None, sidebar=sidebar)


SIDEBAR_PATHS = {"/digests": "/summaries"}
"""Pages whose sidebar link has another path than their own."""


async def app_page(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    template: str,
    view: Any,
    *,
    status: int = 200,
    toast: Toast | None = None,
) -> Response:
    async with runtime.db.read() as tx:
        first = f"/{request.url.path.split('/')[1]}"
        here = SIDEBAR_PATHS.get(first, first)
        sidebar = await build_sidebar(tx, caller.user_id, here, theme_of(request), runtime.now())
    return await page(request, template, view, sidebar=sidebar, status=status, toast=toast)


# --- Paging by id


class HasId(Protocol):
    @property
    def id(self) -> int: ...


Row = TypeVar("Row", bound=HasId)


@record
class KeysetPage:
    """A page of a list paged by id: `?before=` is where it begins, `seen=` how many rows came before."""

    before: int | None
    seen: int
    size: int

    @classmethod
    def of(cls, params: Mapping[str, str], size: int) -> "KeysetPage":
        before, seen = params.get("before", ""), params.get("seen", "")
        if not _is_number(before) or not _is_number(seen):
            return cls(None, 0, size)
        return cls(int(before), int(seen), size)

    def cut(self, found: Sequence[Row]) -> tuple[Sequence[Row], int | None]:
        """Split `found`, which has one row more than a page: the rows, and the last id if more follow."""
        rows = found[: self.size]
        return rows, rows[-1].id if len(found) > self.size else None

    def pages(self, address: str, shown: int, total: int, last_id: int | None) -> Pages:
        """`shown` rows are on this page; `last_id` is set if more follow."""
        end = self.seen + shown
        return Pages(
            first=Count(self.seen + 1 if shown else 0),
            last=Count(end),
            total=Count(max(total, end)),
            previous_url=address if self.before is not None else "",
            next_url=f"{address}?before={last_id}&seen={end}" if last_id is not None else "",
        )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 16
