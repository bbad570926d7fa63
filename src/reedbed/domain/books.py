"""Books: EPUB files of lists and digests, what they may hold, their titles, and the plans that make them."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Literal

from reedbed.domain.entries import View
from reedbed.domain.errors import Invalid
from reedbed.domain.failures import Failure
from reedbed.domain.languages import Texts
from reedbed.domain.records import record
from reedbed.domain.rules import MAX_TAG
from reedbed.domain.text import storable
from reedbed.domain.times import DAY, Instant, Millis, from_datetime, to_datetime

MAX_ENTRIES = 200
MAX_PICTURES = 400
MAX_PICTURES_OF_ENTRY = 40
MAX_PICTURE_BYTES = 16_000_000
"""Of all pictures of a book, as they are stored in it."""
MAX_TEXT = 8_000_000
"""Characters of all entries of a book."""
MAX_COUNTED = 2_000
"""The entries of a list that are considered. Those beyond are not even counted."""
MAX_MAIL_BYTES = 36_000_000
"""Amazon takes mails of 50 MB, and an attachment grows by 37 % on its way."""

RETENTION: Millis = 30 * DAY
MAX_KEPT = 20
"""Books of each user."""
MAX_KEPT_BYTES = 100_000_000
MAX_PLANS = 20
MAX_SENT = 5_000
"""How many entries a plan remembers, so that no book repeats one."""

BOOK_TYPE = "application/epub+zip"

_BOOK_VIEWS: dict[str, View] = {"unread": "unread", "all": "all", "starred": "starred", "later": "later"}


@record
class BookSource:
    """What a book holds: one digest, the newest digest, or a list with at most one filter."""

    view: View = "all"
    feed_id: int | None = None
    folder_id: int | None = None
    tag: str | None = None
    search_id: int | None = None
    digest_id: int | None = None
    digests: bool = False
    """The newest digest, whichever it is."""

    @property
    def is_digest(self) -> bool:
        return self.digests or self.digest_id is not None

    @property
    def grows_by_arrival(self) -> bool:
        """Whether new entries join the list only when they arrive, not because a user marks them."""
        return self.view in ("all", "unread") and self.tag is None


@record
class LeftOut:
    """What had no room in a book, or could not be fetched."""

    entries: int = 0
    pictures: int = 0


@record
class Book:
    id: int
    user_id: int
    source: BookSource
    title: str
    language: str
    status: Literal["pending", "ready", "failed"]
    error: Failure | None
    progress: int
    """Percent."""
    entries: int
    pictures: int
    left_out: LeftOut
    length: int
    """Bytes."""
    created_at: Instant
    finished_at: Instant | None
    plan_id: int | None
    mail_to: str
    """Where it is sent, or was."""
    mail_status: Literal["", "pending", "sent", "failed"]
    mail_error: Failure | None

    @property
    def file_name(self) -> str:
        return f"{file_stem(self.title)}.epub"


@record
class BookPlan:
    """Makes a book every day or every week."""

    id: int
    user_id: int
    source: BookSource
    minute: int
    """Of the day, in the zone."""
    weekday: int | None
    """0 is Monday; None is every day."""
    zone: str
    mail: bool
    next_at: Instant
    last_at: Instant | None
    """When the last book was made."""
    sent: tuple[int, ...] = ()
    """Entries, or digests, that were in a book, oldest first."""
    error: Failure | None = None
    """Why the last try made no book."""


def check_source(
    view: str = "all",
    *,
    feed_id: int | None = None,
    folder_id: int | None = None,
    tag: str | None = None,
    search_id: int | None = None,
    digest_id: int | None = None,
) -> BookSource:
    filters = sum(value is not None for value in (feed_id, folder_id, tag, search_id, digest_id))
    if view == "digests" or digest_id is not None:
        if filters - (digest_id is not None):
            raise Invalid("A book of a digest has no other filter.", field="view")
        return BookSource(digest_id=digest_id, digests=digest_id is None)
    checked_view = _BOOK_VIEWS.get(view)
    if checked_view is None:
        raise Invalid("Choose one of: unread, all, starred, later, digests", field="view")
    if filters > 1:
        raise Invalid("Choose one of feed, folder, tag, search and digest", field="view")
    name = storable(tag).strip() if tag is not None else None
    if name is not None and not 0 < len(name) <= MAX_TAG:
        raise Invalid("A tag needs a name of at most %(limit)s characters", field="tag", limit=MAX_TAG)
    return BookSource(checked_view, feed_id, folder_id, name, search_id)


def named_source(name: str) -> BookSource:
    """Read what a form or an address names: `unread`, `digests`, `folder:3`, `tag:birds`, `search:4` …"""
    kind, _, key = name.partition(":")
    match kind:
        case "feed":
            return check_source(feed_id=_id(key))
        case "folder":
            return check_source(folder_id=_id(key))
        case "tag":
            return check_source(tag=key)
        case "search":
            return check_source(search_id=_id(key))
        case "digest":
            return check_source(digest_id=_id(key))
        case _:
            return check_source(name)


def _id(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 16):
        raise Invalid("There is nothing with this id.", field="of")
    return int(text)


def check_weekday(weekday: int | None) -> int | None:
    if weekday is not None and not 0 <= weekday <= 6:
        raise Invalid("The day of the week must be between 0 (Monday) and 6 (Sunday).", field="weekday")
    return weekday


def next_book_time(plan_minute: int, weekday: int | None, zone: tzinfo, now: Instant) -> Instant:
    """The next time at which a local clock shows this minute, on this day of the week if there is one."""
    day = to_datetime(now).astimezone(zone).date()
    for days in range(9):
        date = day + timedelta(days=days)
        if weekday is not None and date.weekday() != weekday:
            continue
        at = from_datetime(datetime(date.year, date.month, date.day, plan_minute // 60, plan_minute % 60, tzinfo=zone))
        if at > now:
            return at
    return now + DAY


def excess(books: Iterable[tuple[int, int]]) -> list[int]:
    """Ids of those to delete, of (id, bytes) newest first. The newest one always stays."""
    too_many: list[int] = []
    total = 0
    for place, (book_id, length) in enumerate(books):
        total += length
        if place and (place >= MAX_KEPT or total > MAX_KEPT_BYTES):
            too_many.append(book_id)
    return too_many


def unsent(candidates: Sequence[int], sent: Sequence[int]) -> list[int]:
    known = set(sent)
    return [id_ for id_ in candidates if id_ not in known]


def remembered(sent: Sequence[int], added: Sequence[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys((*sent, *added)))[-MAX_SENT:]


def file_stem(title: str) -> str:
    """A name that every file system and mail program takes; letters of other scripts stay."""
    name = re.sub(r"[^\w\-., ]+", " ", title)
    return " ".join(name.split())[:80].strip(" .") or "Reedbed"


# --- Addresses of e-readers

_READER_DOMAINS = ("kindle.com", "free.kindle.com", "kindle.cn", "pbsync.com")
"""Mail to these is taken from approved senders alone, so no mailbox can be flooded with it."""


def is_reader_address(address: str) -> bool:
    return address.rpartition("@")[2] in _READER_DOMAINS


# --- The texts inside a book


def list_name(source: BookSource, texts: Texts) -> str:
    """What a list without a filter is called, or a digest."""
    if source.is_digest:
        return texts.translate("Digest")
    match source.view:
        case "unread":
            return texts.translate("Unread")
        case "starred":
            return texts.translate("Starred")
        case "later":
            return texts.translate("Later")
        case _:
            return texts.translate("All entries")


def book_date(now: Instant, zone: tzinfo, texts: Texts) -> str:
    return texts.conventions.short_date(to_datetime(now).astimezone(zone), with_year=True)


def left_out_lines(left_out: LeftOut, texts: Texts) -> list[str]:
    lines: list[str] = []
    if left_out.entries:
        lines.append(
            texts.translate("Entries left out because the book was full: %(number)s.", number=left_out.entries)
        )
    if left_out.pictures:
        lines.append(
            texts.translate(
                "Pictures left out because they were too large, too many or could not be fetched: %(number)s.",
                number=left_out.pictures,
            )
        )
    return lines
