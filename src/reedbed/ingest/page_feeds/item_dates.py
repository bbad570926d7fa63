"""The dates of the items of a list, one by one and as a column."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

from reedbed.domain.page_feeds import PageEntry
from reedbed.domain.records import record
from reedbed.domain.times import Instant, from_datetime, to_datetime
from reedbed.ingest.page_feeds.dates import DateReader, FoundDate, is_named_day, may_be_date, year_number
from reedbed.ingest.page_feeds.document import PageDocument
from reedbed.ingest.page_feeds.media import MAX_TEASER

_HALF_A_YEAR = 182 * 86_400_000
_MONTH_FIRST = frozenset(("zh", "ja", "ko", "hu", "lt", "mn"))
"""Languages that write `11-17` for 17 November."""
_DATE_CLASS = re.compile(
    r"date|datum|fecha|(?<![a-z])data(?![a-z-])|time(?!line)|publi|posted|(?<![a-z])(?:dt|day|when|age|ago)(?![a-z])|"
    r"tarih|clock|meta|byline|dated",
    re.IGNORECASE,
)
_HIDDEN = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_DATE_ATTRIBUTES = (
    "datetime", "data-datetime", "data-date", "data-time", "data-timestamp", "data-published", "data-created",
)  # fmt: skip

_MAX_SHORT = 18
_MAX_AROUND = 80
_TIME = re.compile(r"[\[(]?([01]?\d|2[0-3])[:.]([0-5]\d)(?: ?uhr)?[\])]?", re.IGNORECASE)
_DAY = re.compile(r"[\[(]?(\d{1,2})([-./])(\d{1,2})\.?[\])]?(?:,?\s+\d{1,2}[:.]\d\d)?")
_MIN_ENTRIES = 3
_DESCENDING = 0.8


@record
class Item:
    """Consecutive elements of the document: `spans` are ranges of element numbers."""

    spans: tuple[tuple[int, int], ...]
    inherited: FoundDate | None = None
    """From a heading above."""
    year: int | None = None
    """From a heading above."""

    @property
    def numbers(self) -> Iterable[int]:
        for start, end in self.spans:
            yield from range(start, end)


class ItemDates:
    def __init__(self, page: PageDocument, dates: DateReader) -> None:
        self._page = page
        self._dates = dates
        self._without_year: dict[str, FoundDate] = {}
        """By link: days whose year the page does not say."""
        styled = (number for number, element in enumerate(page.elements) if _HIDDEN.search(element.get("style") or ""))
        self._hidden = {number for outer in styled for number in range(outer, page.ends[outer])}

    def begin(self) -> None:
        self._without_year.clear()

    def of(self, item: Item, url: str, title: int | None) -> Instant | None:
        exact = self._machine_date(self._shown_first(item))
        if exact is not None:
            return exact
        found = self._written_date(item, title)
        if found is not None and not found.has_year:
            if item.year is not None:
                return found.in_year(item.year)
            by_url = self._dates.in_url(url)
            if by_url is None:
                self._without_year[url] = found
            return by_url if by_url is not None else found.time
        if found is not None:
            return found.time
        by_url = self._dates.in_url(url)
        return by_url if by_url is not None or item.inherited is None else item.inherited.time

    def _shown_first(self, item: Item) -> list[int]:
        """The elements of the item; those that are shown to a phone alone behind the others."""
        return sorted(item.numbers, key=self._hidden.__contains__)

    def _machine_date(self, numbers: Iterable[int]) -> Instant | None:
        page = self._page
        second: Instant | None = None
        for number in numbers:
            element = page.elements[number]
            if not element.attrib:
                continue
            if element.get("itemprop") in ("datePublished", "dateCreated", "startDate") and element.get("content"):
                time = self._dates.machine(element.get("content") or "")
                if time is not None:
                    return time
            for name in _DATE_ATTRIBUTES:
                value = element.get(name)
                if value and second is None:
                    second = self._dates.machine(value)
            title = element.get("title")
            if title and page.tags[number] == "a":
                # The label of a link is mostly its title, in which a date is part of what it says.
                title = title if (len(title) < 60 and self._dates.is_only_date(title)) else ""
            if title and second is None and len(title) < 60:
                second = self._dates.machine(title) or self._dates.machine(title.rpartition(" ")[2])
                if second is None and (page.tags[number] == "a" or _DATE_CLASS.search(page.attribute(number, "class"))):
                    found = self._dates.written(title)
                    second = found.time if found is not None else None
        return second

    def _written_date(self, item: Item, title: int | None) -> FoundDate | None:
        page = self._page
        best: FoundDate | None = None
        until = page.ends[title] if title is not None else 0
        for number in item.numbers:
            if title is not None and title <= number < until:
                continue
            if title is not None and page.contains(number, title) and page.tags[number] == "a":
                continue
            marked = _DATE_CLASS.search(page.attribute(number, "class")) is not None or page.tags[number] == "time"
            for text in self._date_texts(number, whole=marked):
                found = self._dates.written(text) if len(text) <= (100 if marked else 60) else None
                if found is not None and found.has_year:
                    return found
                best = best or found
        return best or next(filter(None, map(self._dates.written, self._text_around(item))), None)

    def _date_texts(self, number: int, *, whole: bool) -> Iterable[str]:
        """Texts at this element: its own and those between its children, or all of it together."""
        element = self._page.elements[number]
        if whole:
            yield self._page.text(number)
            yield " ".join(str(part) for part in element.itertext())[:MAX_TEASER]
        if element.text and (any(map(may_be_date, element.text)) or is_named_day(element.text)):
            yield element.text.strip()
        for child in element:
            if child.tail and len(child.tail) < 80 and any(map(may_be_date, child.tail)):
                yield child.tail.strip()

    def _text_around(self, item: Item) -> Iterable[str]:
        """The text behind an item that is nothing but a link, as in the index of a directory.

        In preformatted text it ends with the line, and the text before the link counts, too.
        """
        page = self._page
        for start in (start for start, _ in item.spans if page.tags[start] == "a"):
            link, above = page.elements[start], page.elements[page.parents[start]]
            behind, previous = link.tail or "", link.getprevious()
            if page.tags[page.parents[start]] == "pre":
                before = (above.text if previous is None else previous.tail) or ""
                yield from (behind.partition("\n")[0].strip(), before.rpartition("\n")[2].strip())
            elif len(behind) < _MAX_AROUND:
                yield behind.strip()

    # --- The dates of a list

    def fill_column(self, entries: dict[str, PageEntry], columns: Sequence[Sequence[str]]) -> None:
        known = [entry.published for entry in entries.values()]
        month_first = (self._page.language or "").lower()[:2] in _MONTH_FIRST
        found = _short_dates(columns, known, self._dates.now, month_first=month_first)
        for key, before, time in zip(list(entries), known, found, strict=True):
            if before is None and time is not None:
                entries[key] = replace(entries[key], published=time)

    def short_texts(self, item: Item) -> list[str]:
        """Texts of elements and beside them that are too short to say more than a day or a time."""
        elements = (self._page.elements[number] for number in item.numbers)
        texts = (text for element in elements for text in (element.text, element.tail) if text and len(text) < 60)
        return [
            short for text in texts if 3 < len(short := text.strip(" \t\r\n·•|,")) <= _MAX_SHORT and short[-1] != "%"
        ]

    def finish(self, entries: dict[str, PageEntry]) -> None:
        self._move_events(entries)
        self._date_by_titles(entries)

    def _move_events(self, entries: dict[str, PageEntry]) -> None:
        """Days without a year that ascend from now on are those of events to come, not of last year."""
        now = self._dates.now
        known = {key: self._without_year[e.url] for key, e in entries.items() if e.url in self._without_year}
        guessed = {key: found for key, found in known.items() if found.time <= now}
        days = [found.time for found in guessed.values()]
        if len(known) < 3 or len(days) < 2 or days != sorted(set(days)) or days[0] > now - _HALF_A_YEAR:
            return
        for key, found in guessed.items():
            entries[key] = replace(entries[key], published=found.in_year(year_number(found.time) + 1))

    def _date_by_titles(self, entries: dict[str, PageEntry]) -> None:
        """“Minutes of 3 May 2026”: the only date there is, if nearly all titles have one."""
        if any(entry.published is not None for entry in entries.values()):
            return
        found = {key: self._dates.written(entry.title) for key, entry in entries.items()}
        known = {key: date.time for key, date in found.items() if date is not None and date.has_year}
        if len(known) >= 0.8 * len(entries) and all(time <= self._dates.now for time in known.values()):
            entries.update({key: replace(entries[key], published=time) for key, time in known.items()})


# --- Short dates


def _short_dates(
    texts: Sequence[Sequence[str]], known: Sequence[Instant | None], now: Instant, *, month_first: bool
) -> list[Instant | None]:
    """Dates without a year, or the times of today, as in the columns of tickers and forums.

    One `11-17` or `10:34` may be anything. A column of them that goes back in time is one of dates.
    The date of every entry, those of `known` as they are; `known` if the texts are no column of dates.
    """
    missing = [at for at, time in enumerate(known) if time is None]
    if len(known) < _MIN_ENTRIES or not missing:
        return list(known)
    today = to_datetime(now).replace(hour=0, minute=0, second=0, microsecond=0)
    for first in (month_first, not month_first):
        found = [time if time is not None else _read(texts[at], today, first) for at, time in enumerate(known)]
        days = [day for day in found if day is not None]
        # Times alone say nothing of the day.
        if len(days) == len(known) and min(days) < from_datetime(today) and _goes_back(days):
            return found
    return list(known)


def _read(texts: Sequence[str], today: datetime, month_first: bool) -> Instant | None:
    for text in texts:
        if match := _DAY.fullmatch(text):
            one, other = int(match[1]), int(match[3])
            month, day = (one, other) if month_first and match[2] != "." else (other, one)
            return _latest(today, month, day)
    return from_datetime(today) if any(map(_TIME.fullmatch, texts)) else None


def _latest(today: datetime, month: int, day: int) -> Instant | None:
    """The latest such day that is not in the future."""
    for year in (today.year, today.year - 1):
        try:
            found = datetime(year, month, day, tzinfo=UTC)
        except ValueError:
            continue
        if found <= today:
            return from_datetime(found)
    return None


def _goes_back(days: Sequence[Instant]) -> bool:
    steps = [later >= earlier for later, earlier in pairwise(days)]
    return sum(steps) >= _DESCENDING * len(steps)
