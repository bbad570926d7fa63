"""Books: EPUB files of lists and digests, what they may hold, their titles, and the plans that make them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Literal

from reedbed.domain.entries import View
from reedbed.domain.errors import Invalid
from reedbed.domain.failures import Failure
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
"""Entries of a list that are looked at. Those beyond are not counted either."""
MAX_MAIL_BYTES = 36_000_000
"""Amazon takes mails of 50 MB, and an attachment grows by 37 % on its way."""

KEPT: Millis = 30 * DAY
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
        """Whether new entries join the list only when they arrive, not because somebody marks them."""
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
    mail_error: str

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
"""Mail to these is taken from approved senders alone, so nobody can be flooded with it."""


def is_reader_address(address: str) -> bool:
    return address.rpartition("@")[2] in _READER_DOMAINS


# --- The texts inside a book


@record
class BookTexts:
    code: str
    names: Mapping[str, str]
    folder: str
    tag: str
    search: str
    date: str
    months: tuple[str, ...]
    contents: str
    cover: str
    about: str
    made: str
    entries_left_out: str
    pictures_left_out: str
    original: str
    recording: str
    untitled: str
    sources: str
    mail_text: str
    confirm_subject: str
    confirm_text: str


_ENGLISH = BookTexts(
    "en",
    {"all": "All entries", "unread": "Unread", "starred": "Starred", "later": "Read later", "digests": "Digest"},
    "Folder {name}", "Tag {name}", "Search {name}", "{day} {month} {year}",
    (
        "January", "February", "March", "April", "May", "June", "July",
        "August", "September", "October", "November", "December",
    ),
    "Contents", "Cover", "About this book", "Made by Reedbed on {date}.",
    "Entries left out because the book was full: {number}.",
    "Pictures left out because they were too large, too many or could not be fetched: {number}.",
    "Original", "Recording", "Without a title", "Sources",
    "The book “{title}” is attached. Your Reedbed made it.",
    "Confirm the address for your books",
    "Somebody, perhaps you, wants Reedbed to send books to this address. To allow that, open this link:\n\n{url}\n\n"
    "If it was not you, there is nothing to do.\n",
)  # fmt: skip
_GERMAN = BookTexts(
    "de",
    {
        "all": "Alle Einträge", "unread": "Ungelesen", "starred": "Mit Stern", "later": "Später lesen",
        "digests": "Überblick",
    },
    "Ordner {name}", "Schlagwort {name}", "Suche {name}", "{day}. {month} {year}",
    (
        "Januar", "Februar", "März", "April", "Mai", "Juni", "Juli",
        "August", "September", "Oktober", "November", "Dezember",
    ),
    "Inhalt", "Titelseite", "Über dieses Buch", "Von Reedbed erstellt am {date}.",
    "Einträge, für die kein Platz war: {number}.",
    "Bilder, die zu groß oder zu viele waren oder nicht geladen werden konnten: {number}.",
    "Original", "Aufnahme", "Ohne Titel", "Quellen",
    "Das Buch „{title}“ ist angehängt. Dein Reedbed hat es erstellt.",
    "Adresse für deine Bücher bestätigen",
    "Jemand, vielleicht du, möchte Bücher von Reedbed an diese Adresse schicken lassen. "
    "Um das zu erlauben, öffne diesen Link:\n\n{url}\n\nWenn du das nicht warst, ist nichts zu tun.\n",
)  # fmt: skip


def book_texts(language: str) -> BookTexts:
    return _GERMAN if language.partition("-")[0] == "de" else _ENGLISH


def book_date(now: Instant, zone: tzinfo, texts: BookTexts) -> str:
    day = to_datetime(now).astimezone(zone)
    return texts.date.format(day=day.day, month=texts.months[day.month - 1], year=day.year)


def left_out_lines(left_out: LeftOut, texts: BookTexts) -> list[str]:
    lines: list[str] = []
    if left_out.entries:
        lines.append(texts.entries_left_out.format(number=left_out.entries))
    if left_out.pictures:
        lines.append(texts.pictures_left_out.format(number=left_out.pictures))
    return lines
