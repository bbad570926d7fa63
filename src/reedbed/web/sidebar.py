"""A page of the application: the sidebar, and beside it whatever the view shows."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

from fastapi import APIRouter, Request, Response

from reedbed.domain.entries import Counts
from reedbed.domain.folders import FolderNode, build_tree
from reedbed.domain.records import record
from reedbed.domain.subscriptions import FollowedFeedRow, TroubleKind, trouble_of
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
from reedbed.web.pages import look_of, page
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
"""Feeds beyond these are reached through their folder or the page of all feeds; the busiest come first."""

_ADVICE: dict[TroubleKind, str] = {
    "gone": marked("Look for its new address, or stop following it."),
    "stopped": marked("Open the feed to start it again."),
    "locked": marked("Give its name and password in the settings of the feed."),
    "address": marked("Check its address in the settings of the feed."),
    "waits": marked("Reedbed tries again by itself."),
    "damaged": marked("Only its publisher can mend it."),
}


async def build_sidebar(tx: Tx, user_id: int, here: str, look: Theme, now: Instant) -> Sidebar:
    """`here` is the address of the view being shown: its link is the current one."""
    rows = await folders.of_user(tx, user_id)
    followed, checked = await subscriptions.busiest_feeds(tx, user_id, MAX_SHOWN)
    counted = await totals(tx, user_id, {row.id: row.parent_id for row in rows})
    kept = await searches.of_user(tx, user_id)
    notice = await retention.get_notice(tx, user_id)
    inside = _by_folder(followed)
    return Sidebar(
        smart=_smart(counted, here),
        folders=tuple(_folder(node, inside, counted, here, look) for node in build_tree(rows)),
        feeds=_feeds(inside[None], here),
        kept=(
            *(_link(f"saved:{one.id}", f"/saved/{one.id}", one.name, "search", 0, here) for one in kept),
            *(
                _link(
                    f"tag:{tag.name}", f"/tag/{quote(tag.name, safe='')}", tag.name, "tag", tag.unread, here
                )
                for tag in counted.tags
            ),
        ),
        unread=Count(counted.unread),
        checked=translate("Checked %(when)s", when=ago(checked, now)) if checked else "",
        notice=ngettext(
            "%(num)s unread entry was removed, as it had become too old.",
            "%(num)s unread entries were removed, as they had become too old.",
            notice.unread_removed,
        )
        if notice
        else "",
    )


def _smart(counted: Counts, here: str) -> tuple[SidebarLink, ...]:
    return (
        _link("unread", "/unread", translate("Unread"), "unread", counted.unread, here),
        _link("all", "/all", translate("All entries"), "all", 0, here),
        _link("starred", "/starred", translate("Starred"), "star", 0, here),
        _link("later", "/later", translate("Later"), "later", counted.later, here),
        _link("stories", "/stories", translate("Stories"), "story", 0, here),
        _link("digests", "/summaries", translate("Digests"), "digest", 0, here),
        _link("ask", "/ask", translate("Ask"), "ask", 0, here),
    )


def _link(key: str, url: str, name: str, icon: str, count: int, here: str) -> SidebarLink:
    return SidebarLink(key, url, name, icon, Count(count), current=here == url)


def _by_folder(followed: Sequence[FollowedFeedRow]) -> defaultdict[int | None, list[FollowedFeedRow]]:
    inside: defaultdict[int | None, list[FollowedFeedRow]] = defaultdict(list)
    for one in followed:
        inside[one.folder_id].append(one)
    return inside


def _folder(
    node: FolderNode,
    inside: defaultdict[int | None, list[FollowedFeedRow]],
    counted: Counts,
    here: str,
    look: Theme,
) -> SidebarFolder:
    url = f"/folder/{node.id}"
    return SidebarFolder(
        id=node.id,
        url=url,
        name=node.name,
        count=Count(counted.folders.get(node.id, 0)),
        current=here == url,
        open=str(node.id) not in look.folded,
        folders=tuple(_folder(child, inside, counted, here, look) for child in node.children),
        feeds=_feeds(inside[node.id], here),
    )


def _feeds(followed: Sequence[FollowedFeedRow], here: str) -> tuple[SidebarFeed, ...]:
    return tuple(_feed(one, f"/feed/{one.subscription_id}" == here, current_language()) for one in followed)


@lru_cache(maxsize=5_000)
def _feed(one: FollowedFeedRow, current: bool, language: str) -> SidebarFeed:
    """`language` is that of the trouble, which is told in the one being spoken."""
    trouble = trouble_of(one)
    return SidebarFeed(
        id=one.feed_id,
        url=f"/feed/{one.subscription_id}",
        name=one.title,
        mark=feed_mark(one.title, one.feed_id, icon_address(one.icon_id)),
        count=Count(one.unread),
        current=current,
        language=one.language or "",
        trouble=f"{sentence(translate_failure(trouble.reason))} {translate(_ADVICE[trouble.kind])}"
        if trouble
        else "",
        needs_reader=trouble is not None and trouble.needs_reader,
    )


def icon_address(icon_id: int | None) -> str:
    return f"/icons/{icon_id}" if icon_id else ""


router = APIRouter(include_in_schema=False)


@router.get("/sidebar")
async def show_sidebar(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, here: str = ""
) -> Response:
    """`here` is the address of the view the page shows."""
    async with runtime.db.read() as tx:
        sidebar = await build_sidebar(tx, caller.user_id, here, look_of(request), runtime.now())
    return await page(request, "partials/sidebar.html", None, sidebar=sidebar)


BELONGS_TO = {"/digests": "/summaries"}
"""Pages that stand under another name than the list that leads to them."""


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
        here = BELONGS_TO.get(first, first)
        sidebar = await build_sidebar(tx, caller.user_id, here, look_of(request), runtime.now())
    return await page(request, template, view, sidebar=sidebar, status=status, toast=toast)


class HasId(Protocol):
    @property
    def id(self) -> int: ...


Row = TypeVar("Row", bound=HasId)


@record
class KeysetPage:
    """A page of a list that goes on by id: `?before=` where it begins, `seen=` how many came before."""

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
        """Of one row more than the page holds: those on it, and the last one's id when more follow."""
        rows = found[: self.size]
        return rows, rows[-1].id if len(found) > self.size else None

    def pages(self, address: str, shown: int, total: int, last_id: int | None) -> Pages:
        """`shown` rows are on this page; `last_id` is set when more follow."""
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
