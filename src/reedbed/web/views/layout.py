"""View models shared by all pages: layout, theme, toasts, select options, paging and the sidebar."""

import re
from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from typing import Final, Self
from urllib.parse import parse_qsl, quote, unquote, urlencode

from reedbed.domain.records import record
from reedbed.domain.text import digits_value
from reedbed.web.i18n import grouped

THEME_COOKIE: Final = "reedbed_look"

_CHOICES: Final = {
    "theme": ("", "light", "dark", "sepia"),
    "font": ("", "sans", "literata", "atkinson"),
    "size": ("", "xs", "s", "l", "xl"),
    "width": ("", "narrow", "wide"),
    "density": ("cards", "titles", "magazine"),
}
OWN_THEME_PREFIX: Final = "own-"
_OWN_THEME: Final = re.compile(r"own-[a-z0-9-]{1,40}\Z")
"""A theme of a file of the operator."""
_SIDE_REMS: Final = range(11, 26)
_LIST_REMS: Final = range(17, 41)


class Count(int):
    """A number that prints with grouped thousands."""

    def __str__(self) -> str:
        return grouped(self)

    @property
    def short(self) -> str:
        """At most four characters, as in the sidebar: "2.6k"; counts.js writes the same."""
        if self < 1_000:
            return str(int(self))
        thousands = self // 100 / 10
        return f"{thousands:.1f}k" if thousands < 10 else f"{int(thousands)}k"


NOTHING: Final = Count(0)


@record
class TimeView:
    """A time as ISO 8601 and as text."""

    iso: str
    words: str


@record
class Theme:
    """The user's display settings, set on `<html>` so that the first paint is right."""

    theme: str = ""
    font: str = ""
    size: str = ""
    width: str = ""
    density: str = "cards"
    side: int = 0
    list: int = 0
    scroll_marks: bool = False
    hide_read: bool = False
    """The sidebar hides feeds without unread entries."""
    by_unread: bool = False
    """The sidebar lists what has the most unread entries first."""
    folded: frozenset[str] = frozenset()

    @classmethod
    def from_cookie(cls, value: str) -> Self:
        """Parse the cookie; unknown values fall back to the default."""
        # The script percent-encodes the whole value.
        plain = value[:2000] if "=" in value else unquote(value[:6000])
        try:
            chosen = dict(parse_qsl(plain, max_num_fields=20))
        except ValueError:
            chosen = {}
        return cls.from_choices(chosen)

    @classmethod
    def from_choices(cls, chosen: Mapping[str, str]) -> Self:
        return cls(
            theme=_theme(chosen),
            font=_one_of("font", chosen),
            size=_one_of("size", chosen),
            width=_one_of("width", chosen),
            density=_one_of("density", chosen),
            side=_rems(chosen.get("side", ""), _SIDE_REMS),
            list=_rems(chosen.get("list", ""), _LIST_REMS),
            scroll_marks=chosen.get("scroll") == "marks",
            hide_read=chosen.get("hide_read") == "1",
            by_unread=chosen.get("by_unread") == "1",
            folded=frozenset(chosen.get("folded", "").split(".")) - {""},
        )

    def choices(self) -> dict[str, str]:
        """The inverse of `from_choices`."""
        chosen = {
            "theme": self.theme,
            "font": self.font,
            "size": self.size,
            "width": self.width,
            "density": self.density,
            "side": str(self.side or ""),
            "list": str(self.list or ""),
            "scroll": "marks" if self.scroll_marks else "",
            "hide_read": "1" if self.hide_read else "",
            "by_unread": "1" if self.by_unread else "",
            "folded": ".".join(sorted(self.folded)),
        }
        return {name: value for name, value in chosen.items() if value}

    def to_cookie(self) -> str:
        """Encoded the same way as by the script."""
        return quote(urlencode(self.choices()), safe="")


@record
class Toast:
    """A message about what just happened; `undo` is the token that undoes it."""

    message: str
    undo: str = ""


@record
class Banner:
    """A problem that persists until someone acts."""

    heading: str
    text: str
    action_url: str = ""
    action: str = ""


@record
class Layout:
    csrf_token: str
    here: str
    """The URL of this page; forms send it so that a plain submit returns here."""
    look: Theme = field(default_factory=Theme)
    themes: tuple[tuple[str, str], ...] = ()
    """The operator's themes: value and name."""
    theme_sheet: str = ""
    """The address of their style sheet; empty without any."""
    web_fonts: bool = False
    """The look needs letters that are no part of the system."""
    language: str = "en"
    direction: str = "ltr"
    signed_in: bool = False
    toast: Toast | None = None
    banner: Banner | None = None
    open_marks: bool = True
    """Opening an entry marks it read."""
    learns: bool = False
    """The order by interest is switched on."""
    newest: str = ""
    """Id of the newest event the page already reflects; the live stream starts after it."""
    rendered_at: int = 0
    """When the page was rendered. The browser may restore it later, after entries were marked."""


@record
class SelectOption:
    """One option of a select, a radio group or a segmented control."""

    value: str
    name: str
    chosen: bool = False
    url: str = ""
    count: Count | None = None
    short: str = ""
    """A shorter name for where space is scarce."""


@record
class HiddenField:
    name: str
    value: str


@record
class FeedMark:
    """A feed's icon, or its first letter on one of eight colours."""

    initial: str
    hue: int
    icon: int | None = None
    """Its rule is in the style sheet of icons."""


@record
class Pages:
    """The position in a paged list: "1 to 20 of 57"."""

    first: Count
    last: Count
    total: Count
    previous_url: str = ""
    next_url: str = ""


@lru_cache(maxsize=5_000)
def feed_mark(name: str, feed_id: int, icon: int | None = None) -> FeedMark:
    initial = next((char for char in name if char.isalnum()), "?")
    return FeedMark(initial=initial.upper(), hue=feed_id % 8, icon=icon)


def _theme(chosen: Mapping[str, str]) -> str:
    value = chosen.get("theme", "")
    return value if _OWN_THEME.match(value) else _one_of("theme", chosen)


def _one_of(name: str, chosen: Mapping[str, str]) -> str:
    allowed = _CHOICES[name]
    value = chosen.get(name, allowed[0])
    return value if value in allowed else allowed[0]


def _rems(value: str, allowed: range) -> int:
    size = digits_value(value)
    return size if size is not None and size in allowed else 0


# --- Sidebar


@record
class SidebarLink:
    """A smart view, a saved search or a tag. Live counts refer to `key`: `unread`, `tag:walk`, `saved:3`."""

    key: str
    url: str
    name: str
    icon: str
    count: Count = NOTHING
    current: bool = False


@record
class SidebarFeed:
    id: int
    url: str
    name: str
    mark: FeedMark
    count: Count = NOTHING
    current: bool = False
    language: str = ""
    problem: str = ""
    """The icon of what is wrong; empty: it works."""
    problem_text: str = ""
    """Why the feed fails or is incomplete, and what to do."""
    needs_reader: bool = False
    """Whether the problem persists until the user acts."""
    muted: str = ""
    """Until when it is muted; empty: it is not."""
    unread_display: str = "number"
    apart: bool = False
    """Kept out of the list of everything unread."""


@record
class SidebarFolder:
    id: int
    url: str
    name: str
    count: Count = NOTHING
    current: bool = False
    open: bool = True
    folders: "tuple[SidebarFolder, ...]" = ()
    feeds: tuple[SidebarFeed, ...] = ()
    apart: bool = False
    """Its feeds are kept out of the list of everything unread."""


@record
class FeedLines:
    """The feeds of the sidebar in their folders."""

    folders: tuple[SidebarFolder, ...] = ()
    feeds: tuple[SidebarFeed, ...] = ()
    """Feeds without a folder."""
    key: str = ""
    """Names lines that are many, so that the browser can keep them; empty: they are few."""
    whole: bool = True
    """The lines are on the page; else it has only what differs between pages with the same key, as follows."""
    counts: str = ""
    folded: str = ""
    here: str = ""


@record
class Sidebar:
    smart: tuple[SidebarLink, ...]
    lines: FeedLines = FeedLines()
    kept: tuple[SidebarLink, ...] = ()
    """What the user has kept: starred entries, highlights, bookmarks."""
    kept_open: bool = True
    icons: str = ""
    """The version of the style sheet with the feeds' icons; empty: they have none."""
    hides_read: bool = False
    by_unread: bool = False
    queued: bool = False
    """Whether something is waiting to be played."""
    needy: str = ""
    """How many feeds need the user: "4 feeds need you"."""
    searches: tuple[SidebarLink, ...] = ()
    """Saved searches and tags."""
    unread: Count = NOTHING
    left_out: str = ""
    """How many feeds are not listed: "27 more feeds"."""
    checked: str = ""
    """When feeds were last checked: "Checked 2 min ago"."""
    notice: str = ""
    """A notice that unread entries were removed, until the user dismisses it."""
