"""Entry lists: which list a URL means, and how its entries become rows grouped by day."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import tzinfo
from itertools import groupby
from typing import TypedDict
from urllib.parse import quote, unquote, urlencode

from markupsafe import Markup

from reedbed.domain.entries import LAYOUTS, EntryPage, EntryRow, ListSettings, Post, PostLink, View, ViewQuery
from reedbed.domain.errors import Invalid, NotFound
from reedbed.domain.highlights import mark_words_in_text
from reedbed.domain.images import WIDTHS
from reedbed.domain.pagination import LIST_ORDERS, ListOrder, Order, decode_cursor, encode_cursor
from reedbed.domain.records import record
from reedbed.domain.subscriptions import SubscribedFeedRow, feed_problem
from reedbed.domain.times import Instant
from reedbed.domain.users import User
from reedbed.http.params import path_id
from reedbed.services.images import Pictures
from reedbed.services.users import preferences_of
from reedbed.store import folders, subscriptions
from reedbed.store.engine.database import Tx
from reedbed.web.entries.translations import ListTranslations
from reedbed.web.formats import ago, dated_time, day_of, seen, short_time
from reedbed.web.framing import ListFraming
from reedbed.web.i18n import enumerated, ngettext, translate
from reedbed.web.images import row_picture
from reedbed.web.interest import ListInterest
from reedbed.web.stories import ListStories
from reedbed.web.views.entries import Day, Empty, EntryListView, EntryRowView, PostLinkView, WaitingEntry
from reedbed.web.views.feeds import FeedRowView
from reedbed.web.views.layout import Count, HiddenField, SelectOption, Theme, TimeView, feed_mark

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
    default: ListOrder = "newest"
    """The order kept for this list; URLs omit it."""
    settings_name: str = ""
    """The name under which the settings of this list are kept."""
    layout: str = ""
    """The layout kept for this list; empty: chosen from its entries."""
    has_days: bool = True
    """The list has a heading for each day where it is in the order of time."""
    has_interest: bool = False
    """The user has switched on the order by interest."""

    def list_address(self, *, cursor: str = "") -> str:
        return self._url(self.address, self.query.order, cursor)

    def entry_address(self, entry_id: int) -> str:
        return self._url(f"{self.address}/entry/{entry_id}", self.query.order)

    def _url(self, path: str, order: str, cursor: str = "") -> str:
        params = {"order": order} if order != self.default else {}
        if cursor:
            params["cursor"] = cursor
        return f"{path}?{urlencode(params)}" if params else path

    def scope(self) -> tuple[HiddenField, ...]:
        """The hidden fields with which mark-read forms name this list."""
        query = self.query
        fields = [("view", query.view), ("order", query.order)]
        fields += [
            (name, str(value))
            for name, value in (("feed_id", query.feed_id), ("folder_id", query.folder_id), ("tag", query.tag))
            if value is not None
        ]
        return tuple(HiddenField(name, value) for name, value in fields)


@record
class ListChoice:
    """What the URL asks for, and what the user has kept for a list."""

    kept: ListSettings
    default: ListOrder
    """The order of lists without a kept one."""
    requested: str | None = None
    """The order in the URL."""
    has_interest: bool = False

    def kept_order(self) -> ListOrder:
        return self._available(_as_order(self.kept.order) or self.default)

    def order(self) -> ListOrder:
        if not self.requested:
            return self.kept_order()
        if (order := _as_order(self.requested)) is None:
            raise Invalid("The order is newest, oldest, important or shortest.", field="order")
        return self._available(order)

    def _available(self, order: ListOrder) -> ListOrder:
        return "newest" if order == "interest" and not self.has_interest else order

    def view(self, default: View) -> View:
        return "unread" if self.kept.show == "unread" else "all" if self.kept.show == "all" else default


def settings_name(path: str) -> str:
    """The name of the settings for the list at this path: `/unread` and `/all` are two sides of one list."""
    kind, _, rest = path.removeprefix("/").partition("/")
    if kind in ("unread", "all"):
        return "everything"
    return f"{kind}:{rest.split('/')[0]}" if kind in ("feed", "folder", "tag") else kind


def smart_reading_list(name: str, choice: ListChoice) -> ReadingList:
    titles = {
        "unread": translate("Everything"),
        "all": translate("Everything"),
        "priority": translate("Priority"),
        "starred": translate("Starred"),
        "later": translate("Later"),
        "history": translate("Recently read"),
    }
    view = choice.view("unread") if name == "priority" else SMART[name]
    query = ViewQuery(view, choice.order() if name != "history" else "newest")
    count_key = "unread" if name in ("all", "priority") else name
    return ReadingList(f"/{name}", titles[name], query, count_key, **_kept(f"/{name}", choice))


async def folder_reading_list(tx: Tx, user_id: int, text: str, choice: ListChoice) -> ReadingList:
    folder = await folders.get(tx, user_id, path_id(text))
    if folder is None:
        raise NotFound("There is no such folder")
    query = ViewQuery(choice.view("unread"), choice.order(), folder_id=folder.id)
    address = f"/folder/{folder.id}"
    return ReadingList(address, folder.name, query, f"folder:{folder.id}", **_kept(address, choice))


async def feed_reading_list(tx: Tx, user_id: int, text: str, choice: ListChoice) -> ReadingList:
    subscription = await subscriptions.get(tx, user_id, path_id(text))
    if subscription is None:
        raise NotFound("Feed not found")
    query = ViewQuery(choice.view("all"), choice.order(), feed_id=subscription.feed.id)
    address, key = f"/feed/{subscription.id}", f"feed:{subscription.feed.id}"
    return ReadingList(address, subscription.title, query, key, subscription.id, **_kept(address, choice))


def tag_reading_list(name: str, choice: ListChoice) -> ReadingList:
    query = ViewQuery(choice.view("all"), choice.order(), tag=name)
    address = f"/tag/{quote(name, safe='')}"
    kept = ListKept(
        default=choice.kept_order(),
        settings_name=f"tag:{name}",
        layout=choice.kept.layout,
        has_days=choice.kept.days != "together",
        has_interest=choice.has_interest,
    )
    return ReadingList(address, name, query, f"tag:{name}", **kept)


class ListKept(TypedDict):
    default: ListOrder
    settings_name: str
    layout: str
    has_days: bool
    has_interest: bool


def _kept(address: str, choice: ListChoice) -> ListKept:
    return ListKept(
        default=choice.kept_order(),
        settings_name=settings_name(address),
        layout=choice.kept.layout,
        has_days=choice.kept.days != "together",
        has_interest=choice.has_interest,
    )


def preferred_order(user: User) -> Order:
    return "oldest" if preferences_of(user).order == "oldest" else "newest"


def _as_order(text: str) -> ListOrder | None:
    return next((order for order in LIST_ORDERS if order == text), None)


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
        translations: ListTranslations | None = None,
        stories: ListStories | None = None,
        marked_words: str = "",
        lengths: Mapping[int, str] | None = None,
        interest: ListInterest | None = None,
        posts: Mapping[int, Post] | None = None,
    ) -> None:
        self._reading_list = reading_list
        self._feeds = feeds
        self._theme = theme
        self._now = now
        self._zone = zone
        self._pictures = pictures
        self._summaries = lines or {}
        self._framing = framing or ListFraming()
        self._translations = translations or ListTranslations()
        self._stories = stories or ListStories()
        self._marked_words = marked_words
        self._lengths = lengths or {}
        self._interest = interest or ListInterest()
        self._posts = posts or {}
        # Of pictures, by entry: set for layouts that show them in their shapes or large.
        self.sizes: Mapping[int, tuple[int, int]] = {}

    def make(self, page: EntryPage, *, count: int | None, current: int | None, after: Instant | None) -> EntryListView:
        """`after` is the time of the last row already on the page, when loading more rows."""
        reading_list = self._reading_list
        layout = self.layout(page)
        return EntryListView(
            title=reading_list.title,
            address=reading_list.address,
            days=self._days(page.rows, current, after, layout),
            count=Count(count) if count else None,
            count_key=reading_list.count_key,
            scope=reading_list.scope(),
            settings_name=reading_list.settings_name,
            switch=self._switch(),
            orders=self._orders(),
            layouts=_layout_options(layout),
            days_choice=self._days_choice(layout),
            folds_stories=self._stories.are_folded if reading_list.query.view == "unread" else None,
            layout=layout,
            one_feed=reading_list.query.feed_id is not None,
            more_url=self._more_url(page),
            empty=None if page.rows else self._empty(),
            feed_edit_url=f"/feeds/{reading_list.subscription_id}/edit" if reading_list.subscription_id else "",
            can_mark=reading_list.query.view != "history",
            by_time=reading_list.query.order in ("newest", "oldest"),
            order_note=self._interest.note,
            marks_on_scroll=self._theme.scroll_marks,
        )

    def _days(
        self, rows: Sequence[EntryRow], current: int | None, after: Instant | None, layout: str
    ) -> tuple[Day, ...]:
        if not self._has_days(layout):
            return self._one_day(rows, current, layout, is_first=after is None)
        shown_day = day_of(after, self._now, self._zone)[0] if after is not None else ""
        days = groupby(rows, key=lambda row: day_of(row.read_at or row.sort_at, self._now, self._zone))
        return tuple(
            Day(key, name, tuple(self._row(row, current, layout) for row in group), continued=key == shown_day)
            for (key, name), group in days
        )

    def _has_days(self, layout: str) -> bool:
        return self._can_have_days(layout) and self._reading_list.has_days

    def _can_have_days(self, layout: str) -> bool:
        """Headings of days would tear a grid apart, and make no sense in an order that is not by time."""
        is_ranked = self._reading_list.query.order in ("important", "shortest") or self._interest.is_ranked
        return layout not in ("magazine", "pictures") and not is_ranked

    def _one_day(
        self, rows: Sequence[EntryRow], current: int | None, layout: str, *, is_first: bool
    ) -> tuple[Day, ...]:
        """All rows without the headings of days."""
        shown = [self._row(row, current, layout) for row in rows]
        may_lead = (place for place, row in enumerate(rows) if shown[place].picture and self._may_lead(row))
        lead = next(may_lead, None) if is_first and layout == "magazine" else None
        if lead is not None:
            shown.insert(0, replace(shown.pop(lead), lead=True, picture_size="(width < 45rem) 92vw, 44vw"))
        return (Day("", "", tuple(shown), continued=True),) if shown else ()

    def _may_lead(self, row: EntryRow) -> bool:
        """A picture that is known to be small would be blurred in the size of a lead."""
        width, _ = self.sizes.get(row.id, (LEAD_WIDTH, 0))
        return row.words > SHORT_TEXT_WORDS and width >= LEAD_WIDTH

    def _when(self, row: EntryRow, layout: str) -> TimeView:
        form = short_time if self._has_days(layout) else dated_time
        time = form(row.read_at or row.sort_at, self._now, self._zone)
        return seen(time) if row.published_at is None and row.read_at is None else time

    def _row(self, row: EntryRow, current: int | None, layout: str = "cards") -> EntryRowView:
        feed = self._feeds.get(row.feed_id)
        source = feed.title if feed else ""
        post = self._posts.get(row.id)
        is_small = layout in ("cards", "titles") and post is None
        size = self.sizes.get(row.id) if layout == "pictures" else None
        view = EntryRowView(
            id=row.id,
            url=self._reading_list.entry_address(row.id),
            title=post.text if post else self._title(row),
            feed_id=row.feed_id,
            source=source,
            mark=feed_mark(source, row.feed_id, feed.icon_id if feed else None),
            when=self._when(row, layout),
            text="" if post else self._shown_text(row, layout),
            language=row.language or "",
            **row_picture(self._pictures, row.image, size, is_small=is_small),
            unread=not row.states.read,
            starred=row.states.starred,
            later=row.states.later,
            current=row.id == current,
            post=post is not None,
            link=_link_view(post.link) if post and post.link else None,
            boosted_from=post.boosted_from if post else "",
            original=row.url if row.url and row.url.startswith(("https:", "http:")) else "",
            length=self._lengths.get(row.id, ""),
            also_in=enumerated(one.feed_title for one in row.also_in),
        )
        view = self._framing.dress(self._translations.dress(view, row), row)
        return self._with_marked_words(self._interest.dress(self._stories.dress(view)))

    def _with_marked_words(self, view: EntryRowView) -> EntryRowView:
        """Search results have the matches marked instead."""
        if not self._marked_words:
            return view
        return replace(view, title=self._mark(view.title), text=self._mark(view.text))

    def _mark(self, text: str | Markup) -> str | Markup:
        marked = None if isinstance(text, Markup) else mark_words_in_text(self._marked_words, text)
        return text if marked is None else Markup(marked)  # noqa: S704  escaped before it was marked

    def _title(self, row: EntryRow) -> str | Markup:
        return row.title or translate("Without a title")

    def _text(self, row: EntryRow) -> str | Markup:
        return self._summaries.get(row.id) or row.summary

    def _shown_text(self, row: EntryRow, layout: str) -> str | Markup:
        text = self._text(row)
        return "" if text == row.title else _shortened(text, layout)

    def _more_url(self, page: EntryPage) -> str:
        if page.next is None:
            return ""
        query = self._reading_list.query
        cursor = encode_cursor(page.next.sort_at, page.next.id, query.order, query.name())
        return self._reading_list.list_address(cursor=cursor)

    def layout(self, page: EntryPage) -> str:
        if self._reading_list.layout:
            return self._reading_list.layout
        is_gallery = self._reading_list.query.feed_id is not None and _is_mostly_pictures(page.rows)
        return "pictures" if is_gallery else self._theme.density

    def _switch(self) -> tuple[SelectOption, ...]:
        query = self._reading_list.query
        if query.view not in ("unread", "all") or self._reading_list.settings_name in ("", "search"):
            return ()
        options = (("unread", translate("Unread")), ("all", translate("All")))
        return tuple(SelectOption(value, name, value == query.view) for value, name in options)

    def _days_choice(self, layout: str) -> bool | None:
        return self._reading_list.has_days if self._can_have_days(layout) else None

    def _orders(self) -> tuple[SelectOption, ...]:
        if self._reading_list.query.view == "history":
            return ()
        chosen = self._reading_list.query.order
        options = (
            ("newest", translate("Newest first"), translate("Newest")),
            ("oldest", translate("Oldest first"), translate("Oldest")),
            ("important", translate("Most important first"), translate("Most important")),
            ("shortest", translate("Shortest first"), translate("Shortest")),
        )
        if self._reading_list.has_interest:
            options = (("interest", translate("For you"), translate("For you")), *options)
        return tuple(SelectOption(value, name, value == chosen, short=short) for value, name, short in options)

    def _empty(self) -> Empty:
        if not self._feeds:
            return Empty(
                "reed",
                translate("Nothing followed yet"),
                translate("Add a site you like; its entries appear here by themselves."),
                "/add",
                translate("Add a feed"),
                other_url="/settings/data#bring-title",
                other=translate("Move in from another reader"),
            )
        return Empty("all", translate("Nothing here yet"))


def _layout_options(chosen: str) -> tuple[SelectOption, ...]:
    names = (translate("Titles"), translate("Cards"), translate("Magazine"), translate("Pictures"))
    return tuple(SelectOption(value, name, value == chosen) for value, name in zip(LAYOUTS, names, strict=True))


LEAD_WIDTH = 800
"""Pixels that the picture of a lead has at least, if its width is known."""
SHORT_TEXT_WORDS = 40
"""A picture with at most so many words is what the entry is about."""


SHORT_TEXT = 240
"""More of a text is never seen in cards, which show two lines of it."""


def _shortened(text: str | Markup, layout: str) -> str | Markup:
    if layout in ("magazine", "pictures") or len(text) <= SHORT_TEXT or isinstance(text, Markup):
        return text
    return text[:SHORT_TEXT].rpartition(" ")[0] + "…" if " " in text[:SHORT_TEXT] else text[:SHORT_TEXT] + "…"


def _is_mostly_pictures(rows: Sequence[EntryRow]) -> bool:
    pictures = sum(row.image is not None and row.words <= SHORT_TEXT_WORDS for row in rows)
    return len(rows) > 2 and pictures * 2 > len(rows)


def _link_view(link: PostLink) -> PostLinkView:
    host, _, path = link.url.partition("://")[2].removeprefix("www.").partition("/")
    path = unquote(path.partition("#")[0].rstrip("/"))
    return PostLinkView(link.url, f"{link.title} · {host}" if link.title else f"{host}/{path}".rstrip("/"))


def all_read(feeds: Sequence[SubscribedFeedRow]) -> Empty:
    """The empty state of an unread list; it mentions feeds that cannot be fetched."""
    failing = [feed for feed in feeds if (problem := feed_problem(feed)) and problem.kind != "damaged"]
    details_link = ("/feeds?status=error", translate("See why"))
    if not feeds:
        return Empty("folder", translate("No feeds in this folder yet"), "", "/feeds", translate("Feeds"))
    if len(failing) == len(feeds):
        heading = ngettext("The feed here cannot be read", "None of the %(num)s feeds here can be read", len(feeds))
        return Empty("alert", heading, translate("They are tried again, unless they have stopped."), *details_link)
    if failing:
        checked = ngettext("%(num)s feed here cannot be read.", "%(num)s feeds here cannot be read.", len(failing))
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


def build_suggestion(
    row: EntryRow, feeds: Mapping[int, SubscribedFeedRow], pictures: Pictures, now: Instant
) -> WaitingEntry:
    feed = feeds.get(row.feed_id)
    scaled = pictures.scaled(row.image, WIDTHS[:1]) if row.image else ()
    return WaitingEntry(
        url=f"/later/entry/{row.id}",
        title=row.title or translate("Without a title"),
        source=feed.title if feed else "",
        since=translate("In Later, published %(when)s", when=ago(row.sort_at, now)),
        language=row.language or "",
        picture=scaled[0][0] if scaled else "",
    )
