"""Entry lists: which list a URL means, and how its entries become rows grouped by day."""

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from itertools import groupby
from urllib.parse import quote, urlencode

from markupsafe import Markup

from reedbed.domain.entries import EntryPage, EntryRow, View, ViewQuery
from reedbed.domain.errors import Invalid, NotFound
from reedbed.domain.pagination import Order, decode_cursor, encode_cursor
from reedbed.domain.records import record
from reedbed.domain.subscriptions import SubscribedFeedRow, feed_problem
from reedbed.domain.times import Instant
from reedbed.domain.users import User
from reedbed.http.params import path_id
from reedbed.services.images import Pictures
from reedbed.services.users import preferences_of
from reedbed.store import folders, subscriptions
from reedbed.store.engine.database import Tx
from reedbed.web.formats import day_of, short_time
from reedbed.web.framing import ListFraming
from reedbed.web.i18n import ngettext, translate
from reedbed.web.sidebar import icon_address
from reedbed.web.stories import ListStories
from reedbed.web.views.entries import Day, Empty, EntryListView, EntryRowView
from reedbed.web.views.feeds import FeedRowView
from reedbed.web.views.layout import Count, HiddenField, SelectOption, Theme, feed_mark

SMART: dict[str, View] = {
    "unread": "unread",
    "all": "all",
    "starred": "starred",
    "later": "later",
    "history": "history",
}


@record
class ReadingList:
    address: str
    title: str
    query: ViewQuery
    count_key: str = ""
    subscription_id: int | None = None
    usual: Order = "newest"
    """The user's preferred order; URLs omit it."""

    def list_address(self, *, cursor: str = "", order: Order | None = None) -> str:
        return self._url(self.address, order or self.query.order, cursor)

    def entry_address(self, entry_id: int) -> str:
        return self._url(f"{self.address}/entry/{entry_id}", self.query.order)

    def _url(self, path: str, order: str, cursor: str = "") -> str:
        params = {"order": order} if order != self.usual else {}
        if cursor:
            params["cursor"] = cursor
        return f"{path}?{urlencode(params)}" if params else path

    def scope(self) -> tuple[HiddenField, ...]:
        """The hidden fields with which mark-read forms name this list."""
        query = self.query
        fields = [("view", query.view), ("order", query.order)]
        fields += [
            (name, str(value))
            for name, value in (
                ("feed_id", query.feed_id),
                ("folder_id", query.folder_id),
                ("tag", query.tag),
            )
            if value is not None
        ]
        return tuple(HiddenField(name, value) for name, value in fields)


def smart_reading_list(name: str, order: str | None, usual: Order) -> ReadingList:
    titles = {
        "unread": translate("Unread"),
        "all": translate("All entries"),
        "starred": translate("Starred"),
        "later": translate("Later"),
        "history": translate("Recently read"),
    }
    query = ViewQuery(SMART[name], read_order(order, usual))
    return ReadingList(f"/{name}", titles[name], query, count_key=name, usual=usual)


async def folder_reading_list(
    tx: Tx, user_id: int, text: str, order: str | None, usual: Order
) -> ReadingList:
    folder = await folders.get(tx, user_id, path_id(text))
    if folder is None:
        raise NotFound("There is no such folder")
    query = ViewQuery("unread", read_order(order, usual), folder_id=folder.id)
    return ReadingList(f"/folder/{folder.id}", folder.name, query, f"folder:{folder.id}", usual=usual)


async def feed_reading_list(tx: Tx, user_id: int, text: str, order: str | None, usual: Order) -> ReadingList:
    subscription = await subscriptions.get(tx, user_id, path_id(text))
    if subscription is None:
        raise NotFound("Feed not found")
    query = ViewQuery("all", read_order(order, usual), feed_id=subscription.feed.id)
    key = f"feed:{subscription.feed.id}"
    return ReadingList(f"/feed/{subscription.id}", subscription.title, query, key, subscription.id, usual)


def tag_reading_list(name: str, order: str | None, usual: Order) -> ReadingList:
    query = ViewQuery("all", read_order(order, usual), tag=name)
    return ReadingList(f"/tag/{quote(name, safe='')}", name, query, f"tag:{name}", usual=usual)


def preferred_order(user: User) -> Order:
    return "oldest" if preferences_of(user).order == "oldest" else "newest"


def read_order(order: str | None, usual: Order) -> Order:
    if order not in (None, "", "newest", "oldest"):
        raise Invalid("The order is newest or oldest.", field="order")
    return order or usual


PAGE_SIZE = 40


class EntryListBuilder:
    """Turns a page of entries into the view of a list."""

    def __init__(
        self,
        reading_list: ReadingList,
        feeds: Mapping[int, SubscribedFeedRow],
        theme: Theme,
        now: Instant,
        zone: tzinfo,
        *,
        pictures: Pictures,
        lines: Mapping[int, str] | None = None,
        framing: ListFraming | None = None,
        stories: ListStories | None = None,
    ) -> None:
        self._reading_list = reading_list
        self._feeds = feeds
        self._theme = theme
        self._now = now
        self._zone = zone
        self._pictures = pictures
        self._summaries = lines or {}
        self._framing = framing or ListFraming()
        self._stories = stories or ListStories()

    def make(
        self, page: EntryPage, *, count: int | None, current: int | None, after: Instant | None
    ) -> EntryListView:
        """`after` is the time of the last row already on the page, when loading more rows."""
        reading_list = self._reading_list
        return EntryListView(
            title=reading_list.title,
            address=reading_list.address,
            days=self._days(page.rows, current, after),
            count=Count(count) if count else None,
            count_key=reading_list.count_key,
            scope=reading_list.scope(),
            orders=self._orders(),
            densities=self._densities(),
            density=self._theme.density,
            more_url=self._more_url(page),
            empty=None if page.rows else self._empty(),
            feed_edit_url=f"/feeds/{reading_list.subscription_id}/edit"
            if reading_list.subscription_id
            else "",
            can_mark=reading_list.query.view != "history",
            marks_on_scroll=self._theme.scroll_marks,
        )

    def _days(self, rows: Sequence[EntryRow], current: int | None, after: Instant | None) -> tuple[Day, ...]:
        shown_day = day_of(after, self._now, self._zone)[0] if after is not None else ""
        days = groupby(rows, key=lambda row: day_of(row.sort_at, self._now, self._zone))
        return tuple(
            Day(key, name, tuple(self._row(row, current) for row in group), continued=key == shown_day)
            for (key, name), group in days
        )

    def _row(self, row: EntryRow, current: int | None) -> EntryRowView:
        feed = self._feeds.get(row.feed_id)
        source = feed.title if feed else ""
        view = EntryRowView(
            id=row.id,
            url=self._reading_list.entry_address(row.id),
            title=self._title(row),
            feed_id=row.feed_id,
            source=source,
            mark=feed_mark(source, row.feed_id, icon_address(feed.icon_id) if feed else ""),
            when=short_time(row.sort_at, self._now, self._zone),
            text=self._text(row),
            language=row.language or "",
            picture=self._image_url(row),
            unread=not row.states.read,
            starred=row.states.starred,
            later=row.states.later,
            current=row.id == current,
        )
        return self._stories.dress(self._framing.dress(view, row))

    def _image_url(self, row: EntryRow) -> str:
        url = self._pictures.one(row.image) or ""
        return "" if url.startswith("http:") else url

    def _title(self, row: EntryRow) -> str | Markup:
        return row.title or translate("Without a title")

    def _text(self, row: EntryRow) -> str | Markup:
        if (remaining := _after_title(row)) is not None:
            return remaining
        return self._summaries.get(row.id) or row.summary

    def _more_url(self, page: EntryPage) -> str:
        if page.next is None:
            return ""
        query = self._reading_list.query
        cursor = encode_cursor(page.next.sort_at, page.next.id, query.order, query.name())
        return self._reading_list.list_address(cursor=cursor)

    def _orders(self) -> tuple[SelectOption, ...]:
        order = self._reading_list.query.order
        return (
            SelectOption(
                "newest",
                translate("Newest first"),
                order == "newest",
                self._reading_list.list_address(order="newest"),
            ),
            SelectOption(
                "oldest",
                translate("Oldest first"),
                order == "oldest",
                self._reading_list.list_address(order="oldest"),
            ),
        )

    def _densities(self) -> tuple[SelectOption, ...]:
        names = {
            "titles": translate("Titles"),
            "cards": translate("Cards"),
            "magazine": translate("Magazine"),
        }
        return tuple(SelectOption(value, name, value == self._theme.density) for value, name in names.items())

    def _empty(self) -> Empty:
        if not self._feeds:
            return Empty(
                "reed",
                translate("Nothing followed yet"),
                translate("Add a site you like; its entries appear here by themselves."),
                "/add",
                translate("Add a feed"),
            )
        return Empty("all", translate("Nothing here yet"))


def _after_title(row: EntryRow) -> str | None:
    """If the title is only the first words of the text (the entry has none), the rest; else None."""
    if row.summary == row.title:
        return ""
    beginning = row.title.removesuffix("…")
    if beginning in ("", row.title) or not row.summary.startswith(beginning):
        return None
    return f"… {row.summary[len(beginning) :].lstrip(' ,;:.')}"


def all_read(feeds: Sequence[SubscribedFeedRow]) -> Empty:
    """The empty state of an unread list; it mentions feeds that cannot be fetched."""
    failing = [feed for feed in feeds if (problem := feed_problem(feed)) and problem.kind != "damaged"]
    details_link = ("/feeds?status=error", translate("See why"))
    if not feeds:
        return Empty("folder", translate("No feeds in this folder yet"), "", "/feeds", translate("Feeds"))
    if len(failing) == len(feeds):
        heading = ngettext(
            "The feed here cannot be read", "None of the %(num)s feeds here can be read", len(feeds)
        )
        return Empty(
            "alert", heading, translate("They are tried again, unless they have stopped."), *details_link
        )
    if failing:
        checked = ngettext(
            "%(num)s feed here cannot be read.", "%(num)s feeds here cannot be read.", len(failing)
        )
        return Empty("check", translate("All read"), checked, *details_link)
    return Empty("check", translate("All read"), translate("New entries appear here by themselves."))


def empty_feed(line: FeedRowView) -> Empty:
    """The empty state of a feed's list, with the feed's status: it may never have been fetched."""
    if line.state != "bad":
        return Empty("all", translate("Nothing here yet"), line.why)
    heading = translate("This feed cannot be read")
    return Empty("alert", heading, line.why, line.act_url, line.act, acts=not line.act_by_link)


def read_cursor(reading_list: ReadingList, text: str | None):
    return decode_cursor(text, reading_list.query.order, reading_list.query.name()) if text else None
