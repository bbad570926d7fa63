"""The sidebar, pages that show it (`app_page`), and paging by id."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta, tzinfo
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Protocol, TypeVar
from urllib.parse import quote
from zlib import crc32

from fastapi import APIRouter, Request, Response

from reedbed.domain.entries import Counts
from reedbed.domain.folders import FolderNode, build_tree
from reedbed.domain.records import UNSET, Unset, record
from reedbed.domain.subscriptions import FOREVER, FeedProblemKind, SubscribedFeedRow, feed_problem
from reedbed.domain.times import DAY, Instant, from_datetime, to_datetime
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.services.runtime import Runtime
from reedbed.store import folders
from reedbed.store.engine.database import Tx
from reedbed.store.read_state.counts import totals
from reedbed.store.retention import cleanups
from reedbed.store.search import saved as searches
from reedbed.store.sidebar import busiest_feeds
from reedbed.web.formats import ago, format_future_time
from reedbed.web.i18n import current_language, explain, marked, name_key, ngettext, sentence, translate
from reedbed.web.pages import page, render_page, theme_of
from reedbed.web.views.layout import (
    NOTHING,
    Count,
    FeedLines,
    Pages,
    SelectOption,
    Sidebar,
    SidebarFeed,
    SidebarFolder,
    SidebarLink,
    Theme,
    Toast,
    feed_mark,
)

MAX_SHOWN = 300
"""Limit of feeds in the sidebar, busiest first. The others are counted in a link to /feeds."""
MAX_FAILING = 1_000
"""Failing feeds are shown however quiet they are, up to this number: without a network, all feeds fail."""

MANY_FEEDS = 60
"""More lines of feeds and folders come as a part of their own, which the browser keeps between pages."""

_ICONS: dict[FeedProblemKind, str] = {
    "gone": "gone",
    "stopped": "alert",
    "locked": "lock",
    "address": "nowhere",
    "waits": "wait",
    "damaged": "broken",
}
_ADVICE: dict[FeedProblemKind, str] = {
    "gone": marked("Look for its new address, or stop following it."),
    "stopped": marked("Open the feed to start it again."),
    "locked": marked("Give its name and password in the settings of the feed."),
    "address": marked("Check its address in the settings of the feed."),
    "waits": marked("Reedbed tries again by itself."),
    "damaged": marked("Only its publisher can fix it."),
}


async def build_sidebar(tx: Tx, user_id: int, here: str, theme: Theme, now: Instant, *, whole: bool = False) -> Sidebar:
    """`here` is the path of the current view; its link is marked as current. `whole`: with all lines of feeds."""
    rows = await folders.of_user(tx, user_id)
    feeds, checked = await busiest_feeds(tx, user_id, MAX_SHOWN, MAX_FAILING)
    counts, total = await totals(tx, user_id, rows)
    saved = await searches.of_user(tx, user_id)
    notice = await cleanups.get_notice(tx, user_id)
    by_folder = _by_folder(sorted(feeds, key=_by_unread if theme.by_unread else _by_title))
    apart = frozenset(row.id for row in rows if not row.in_unread)
    tree = tuple(
        _folder_view(node, by_folder, counts, here, theme, apart)
        for node in _in_order(build_tree(rows, name_key), counts, theme)
    )
    return Sidebar(
        smart=_smart_links(counts, here),
        lines=_feed_lines(tree, _feed_views(by_folder[None], here), here, whole=whole),
        kept=_kept_links(here),
        kept_open="kept" not in theme.folded,
        icons=_icons_version(feeds),
        hides_read=theme.hide_read,
        by_unread=theme.by_unread,
        queued=counts.queued,
        needy=_needy_text(feeds),
        searches=(
            *(_link(f"saved:{search.id}", f"/saved/{search.id}", search.name, "search", 0, here) for search in saved),
            *(
                _link(f"tag:{tag.name}", f"/tag/{quote(tag.name, safe='')}", tag.name, "tag", tag.unread, here)
                for tag in sorted(counts.tags, key=lambda tag: name_key(tag.name))
            ),
        ),
        unread=Count(counts.unread),
        left_out=ngettext("%(num)s more feed", "%(num)s more feeds", total - len(feeds)) if total > len(feeds) else "",
        checked=translate("Checked %(when)s", when=ago(checked, now)) if checked else "",
        notice=ngettext(
            "%(num)s unread entry was removed, as it had become too old.",
            "%(num)s unread entries were removed, as they had become too old.",
            notice.unread_removed,
        )
        if notice
        else "",
    )


def _feed_lines(
    folders: tuple[SidebarFolder, ...], feeds: tuple[SidebarFeed, ...], here: str, *, whole: bool
) -> FeedLines:
    """Few lines are part of every page. Of many it has only what differs from page to page, and their key."""
    lines = FeedLines(folders, feeds)
    every = (*_all_in(folders), *feeds)
    if len(every) <= MANY_FEEDS:
        return lines
    plain = FeedLines(tuple(map(_plain_folder, folders)), tuple(map(_plain_feed, feeds)))
    html = render_page("partials/tree.html", {"lines": plain})
    return replace(
        lines,
        key=blake2b(html.encode(), digest_size=9).hexdigest(),
        whole=whole,
        counts=" ".join(map(_count_text, every)),
        folded=" ".join(str(line.id) for line in every if isinstance(line, SidebarFolder) and not line.open),
        here=here,
    )


def _all_in(folders: Sequence[SidebarFolder]) -> list[SidebarFolder | SidebarFeed]:
    """The lines in the order in which the page shows them."""
    return [line for folder in folders for line in (folder, *_all_in(folder.folders), *folder.feeds)]


def _plain_folder(folder: SidebarFolder) -> SidebarFolder:
    """Without what differs from page to page."""
    inner = tuple(map(_plain_folder, folder.folders))
    feeds = tuple(map(_plain_feed, folder.feeds))
    return replace(folder, count=NOTHING, current=False, open=True, folders=inner, feeds=feeds)


@lru_cache(maxsize=5_000)
def _plain_feed(feed: SidebarFeed) -> SidebarFeed:
    return replace(feed, count=NOTHING, current=False)


def _count_text(line: SidebarFolder | SidebarFeed) -> str:
    """As it is shown; with the exact number, where that is another one."""
    count = line.count
    return f"{count.short}:{int(count)}" if count > 999 else str(int(count))


def _icons_version(feeds: Sequence[SubscribedFeedRow]) -> str:
    """Changes with the set of icons; an icon itself never changes."""
    icons = sorted({feed.icon_id for feed in feeds if feed.icon_id})
    return f"{crc32(repr(icons).encode()):x}" if icons else ""


def _by_title(feed: SubscribedFeedRow) -> Any:
    return name_key(feed.title)


def _by_unread(feed: SubscribedFeedRow) -> Any:
    return -feed.unread, name_key(feed.title)


def _in_order(level: Sequence[FolderNode], counts: Counts, theme: Theme) -> Sequence[FolderNode]:
    """The folders as the user arranged them, or those with the most unread entries first."""
    return sorted(level, key=lambda node: -counts.folders.get(node.id, 0)) if theme.by_unread else level


def _needy_text(feeds: Sequence[SubscribedFeedRow]) -> str:
    problems = filter(None, map(feed_problem, feeds))
    needy = sum(problem.needs_reader for problem in problems)
    return ngettext("%(num)s feed needs you", "%(num)s feeds need you", needy) if needy else ""


def _smart_links(counts: Counts, here: str) -> tuple[SidebarLink, ...]:
    everything = _link("unread", "/unread", translate("Everything"), "unread", counts.unread, here)
    return (
        replace(everything, current=here in ("/unread", "/all")),
        _link("stories", "/stories", translate("Stories"), "story", 0, here),
        _link("digests", "/summaries", translate("Digests"), "digest", 0, here),
        _link("ask", "/ask", translate("Ask"), "ask", 0, here),
        _link("later", "/later", translate("Later"), "later", counts.later, here),
    )


def _kept_links(here: str) -> tuple[SidebarLink, ...]:
    return (
        _link("starred", "/starred", translate("Starred"), "star", 0, here),
        _link("highlights", "/highlights", translate("Highlights"), "highlight", 0, here),
        _link("bookmarks", "/bookmarks", translate("Bookmarks"), "bookmark", 0, here),
        _link("books", "/books", translate("Books"), "book", 0, here),
        _link("history", "/history", translate("Recently read"), "history", 0, here),
    )


def _link(key: str, url: str, name: str, icon: str, count: int, here: str) -> SidebarLink:
    return SidebarLink(key, url, name, icon, Count(count), current=here == url)


def _by_folder(feeds: Sequence[SubscribedFeedRow]) -> defaultdict[int | None, list[SubscribedFeedRow]]:
    by_folder: defaultdict[int | None, list[SubscribedFeedRow]] = defaultdict(list)
    for feed in feeds:
        for folder_id in feed.folder_ids or (None,):
            by_folder[folder_id].append(feed)
    return by_folder


def _folder_view(
    node: FolderNode,
    by_folder: defaultdict[int | None, list[SubscribedFeedRow]],
    counts: Counts,
    here: str,
    theme: Theme,
    apart: frozenset[int],
) -> SidebarFolder:
    url = f"/folder/{node.id}"
    return SidebarFolder(
        id=node.id,
        url=url,
        name=node.name,
        count=Count(counts.folders.get(node.id, 0)),
        current=here == url,
        open=str(node.id) not in theme.folded,
        folders=tuple(
            _folder_view(child, by_folder, counts, here, theme, apart)
            for child in _in_order(node.children, counts, theme)
        ),
        feeds=_feed_views(by_folder[node.id], here),
        apart=node.id in apart,
    )


def _feed_views(feeds: Sequence[SubscribedFeedRow], here: str) -> tuple[SidebarFeed, ...]:
    return tuple(_feed_view(feed, f"/feed/{feed.subscription_id}" == here, current_language()) for feed in feeds)


@lru_cache(maxsize=5_000)
def _feed_view(feed: SubscribedFeedRow, current: bool, language: str) -> SidebarFeed:
    """`language` is part of the cache key, because the problem text is translated."""
    problem = feed_problem(feed)
    return SidebarFeed(
        id=feed.feed_id,
        url=f"/feed/{feed.subscription_id}",
        name=feed.title,
        mark=feed_mark(feed.title, feed.feed_id, feed.icon_id),
        count=Count(feed.unread),
        current=current,
        language=feed.language or "",
        problem=_ICONS[problem.kind] if problem else "",
        problem_text=f"{sentence(explain(problem.reason))} {translate(_ADVICE[problem.kind])}" if problem else "",
        needs_reader=problem is not None and problem.needs_reader,
        muted=translate("Muted") if feed.muted_until else "",
        unread_display=feed.unread_display,
        apart=not feed.in_unread,
    )


# --- Muting and the display of what is unread, as choices

SPANS = {"days3": 3 * DAY, "week": 7 * DAY}
MORNING = 7
"""The hour at which "until tomorrow" ends."""


def mute_options(muted_until: Instant | None, zone: tzinfo, now: Instant) -> tuple[SelectOption, ...]:
    keep = (SelectOption("keep", muted_text(muted_until, zone, now), chosen=True),) if muted_until else ()
    return (
        *keep,
        SelectOption("none", translate("Not muted"), chosen=not keep),
        SelectOption("tomorrow", translate("Until tomorrow, 07:00")),
        SelectOption("days3", translate("For three days")),
        SelectOption("week", translate("For a week")),
        SelectOption("forever", translate("Until I unmute it")),
    )


def parse_mute(choice: str | None, zone: tzinfo, now: Instant) -> Instant | Unset | None:
    """The inverse of `mute_options`; a choice that is not there changes nothing."""
    match choice:
        case "none":
            return None
        case "tomorrow":
            tomorrow = to_datetime(now).astimezone(zone) + timedelta(days=1)
            return from_datetime(tomorrow.replace(hour=MORNING, minute=0, second=0, microsecond=0))
        case "days3" | "week":
            return now + SPANS[choice]
        case "forever":
            return FOREVER
        case _:
            return UNSET


def muted_text(until: Instant, zone: tzinfo, now: Instant) -> str:
    if until >= FOREVER:
        return translate("Muted")
    return translate("Muted until %(when)s", when=format_future_time(until, now, zone))


def display_options(chosen: str) -> tuple[SelectOption, ...]:
    names = {"number": translate("Number"), "dot": translate("Dot"), "none": translate("Nothing")}
    return tuple(SelectOption(value, name, value == chosen) for value, name in names.items())


router = APIRouter(include_in_schema=False)


@router.get("/sidebar")
async def show_sidebar(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, here: str = "") -> Response:
    """`here` is the path of the view that the page shows."""
    async with runtime.db.read() as tx:
        sidebar = await build_sidebar(tx, caller.user_id, here, theme_of(request), runtime.now(), whole=True)
    return await page(request, "partials/sidebar.html", None, sidebar=sidebar)


@router.get("/sidebar/templates")
async def show_templates(request: Request, _: CurrentCaller) -> Response:
    """What scripts show on demand; it depends on nothing but the language, which is part of the address."""
    kept = {"Cache-Control": "private, max-age=600", "Vary": "Cookie"}
    return await page(request, "partials/templates.html", None, headers=kept)


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
            next_url=f"{address}{'&' if '?' in address else '?'}before={last_id}&seen={end}"
            if last_id is not None
            else "",
        )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 16
