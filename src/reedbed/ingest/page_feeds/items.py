"""Pick title, link, date, image and teaser of every item of a list.

The fields are chosen for the list as a whole: a field stands at the same place in most items.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from reedbed.domain.page_feeds import PageEntry
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.ingest.page_feeds.dates import DateReader, FoundDate, is_named_day, may_be_date, year_number
from reedbed.ingest.page_feeds.document import PageDocument, PageLink
from reedbed.ingest.page_feeds.links import common_shape, is_file, leads_to_own_page, link_shape
from reedbed.ingest.page_feeds.media import MAX_TEASER, image_of, teaser_of
from reedbed.ingest.page_feeds.regions import is_advertisement, undated_place
from reedbed.ingest.page_feeds.titles import (
    ARCHIVE,
    HIDDEN_CHARS,
    HIDDEN_CLASS,
    LARGE_CLASS,
    OTHER_CLASS,
    REFERENCE,
    TITLE_CLASS,
    VERSION,
    common_label,
    full_title,
    title_quality,
)

MAX_TITLE = 300
_HALF_A_YEAR = 182 * 86_400_000
_MIN_SHAPED = 7
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_CARD_PARTS = frozenset(("div", "p", "section", "article", "header", "ul", "time", *_HEADINGS))
_SENTENCE_ENDS = (".", "…", "。", "！", "!", "؟", "۔")
_DATE_CLASS = re.compile(
    r"date|datum|fecha|(?<![a-z])data(?![a-z-])|time(?!line)|publi|posted|(?<![a-z])(?:dt|day|when|age|ago)(?![a-z])|"
    r"tarih|clock|meta|byline|dated",
    re.IGNORECASE,
)
_DATE_ATTRIBUTES = (
    "datetime", "data-datetime", "data-date", "data-time", "data-timestamp", "data-published", "data-created",
)  # fmt: skip


Fields = Mapping[str, int]
"""The name of a field to its element."""


_NONE_NAMED: Fields = {}


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


@record
class _Slot:
    """A place in an item: the same in all items where it occurs."""

    elements: dict[int, int]
    """Item to element."""
    score: float


class ItemReader:
    def __init__(self, page: PageDocument, dates: DateReader) -> None:
        self._page = page
        self._dates = dates
        self.dropped: set[int] = set()
        """First elements of the items that turned out to belong to another list."""
        self._without_year: dict[str, FoundDate] = {}
        """By link: days whose year the page does not say."""

    def entries(self, items: Sequence[Item], fields: Sequence[Fields] = ()) -> list[PageEntry]:
        """Entries of those items that have a title and a link, each link once.

        `fields` are the elements that a recipe names, for each item; what it does not name is picked.
        """
        usable = items if fields else self._without_advertisements(items)
        titles = self._title_slot(usable)
        titles |= {at: named["title"] for at, named in enumerate(fields) if "title" in named}
        links = self._link_slot(usable, titles)
        links |= {at: link for at, named in enumerate(fields) if (link := self._named_link(named)) is not None}
        self._add_links_of_shape(items=usable, titles=titles, links=links)
        prefix = common_label([self._title_text(number) for number in titles.values()])
        entries: dict[str, PageEntry] = {}
        starts: list[int] = []
        self._without_year.clear()
        images: defaultdict[str, int] = defaultdict(int)
        for index, item in enumerate(usable):
            named = fields[index] if fields else _NONE_NAMED
            entry = self._entry(item, titles.get(index), links.get(index), prefix, named)
            if entry is not None and entry.key not in entries:
                entries[entry.key] = entry
                starts.append(item.spans[0][0])
                images[entry.image or ""] += 1
        self._drop_neighbours(entries, starts)
        self._move_events(entries)
        self._date_by_titles(entries)
        return [
            # An image that most items share is a placeholder.
            PageEntry(e.url, e.title, e.published, None, e.teaser) if e.image and images[e.image] > 2 else e
            for e in entries.values()
        ]

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

    def _drop_neighbours(self, entries: dict[str, PageEntry], starts: Sequence[int]) -> None:
        """Drop links that are built like those of the list but stand elsewhere and differ in dates or addresses."""
        self.dropped.clear()
        if len(entries) < _MIN_SHAPED:
            return
        by_key = dict(zip(entries, starts, strict=True))
        parents = [self._page.parents[number] for number in starts]
        outside = undated_place(list(entries.values()), parents)
        shape = common_shape([entry.url for entry in entries.values()], share=0.7)
        for above in (parents, [self._page.parents[number] for number in parents]) if shape and not outside else ():
            place, count = Counter(above).most_common(1)[0]
            if count >= 0.7 * len(entries):
                pairs = zip(entries.items(), above, strict=True)
                outside = [key for (key, entry), one in pairs if one != place and link_shape(entry.url) != shape]
                break
        for key in outside:
            del entries[key]
            self.dropped.add(by_key[key])

    def _named_link(self, named: Fields) -> int | None:
        if "link" not in named:
            return None
        number = named["link"]
        inside = self._page.links_in(number, self._page.ends[number])
        return inside[0].index if inside else None

    def sections(self, items: Sequence[Item]) -> list[PageEntry]:
        """Entries of a page whose sections have headings with ids: a changelog. They are dated or numbered."""
        page, entries = self._page, list[PageEntry]()
        for item in items:
            heading = item.spans[0][0]
            title = page.text(heading).translate(HIDDEN_CHARS).strip("#¶§ ")
            published = self._date(item, "", None)
            inside = page.links_in(heading, page.ends[heading])
            if any(not VERSION.search(title) or leads_to_own_page(link.url, page.url) for link in inside):
                continue
            if title_quality(title) > 0 and (published is not None or VERSION.search(title)):
                url = f"{page.url.partition('#')[0]}#{page.attribute(heading, 'id')}"
                entries.append(PageEntry(url, title[:MAX_TITLE], published, None, teaser_of(page, item.numbers, title)))
        repeated = len({entry.title for entry in entries}) * 2 <= len(entries)  # “Added”, “Fixed” of each version
        return entries if len(entries) * 3 >= len(items) * 2 and not repeated else []

    # --- Title and link

    def _title_slot(self, items: Sequence[Item]) -> dict[int, int]:
        places: defaultdict[str, dict[int, int]] = defaultdict(dict)
        for index, item in enumerate(items):
            for place, number in self._text_places(item):
                places[place].setdefault(index, number)
        slots = [self._title_candidate(found, len(items)) for found in places.values()]
        slots = sorted((slot for slot in slots if slot.score > 0), key=lambda slot: -slot.score)
        chosen: dict[int, int] = {}
        # Where the best place is missing, the item may be built a little differently.
        for at, slot in enumerate(slots[:4]):
            if at and slot.score < slots[0].score / 4:
                break
            if at == 1:
                self._add_headings(items, chosen)
            for index, number in slot.elements.items():
                if index not in chosen and not self._is_date(self._title_text(number)):
                    chosen[index] = number
        self._add_headings(items, chosen)
        return chosen

    def _add_headings(self, items: Sequence[Item], chosen: dict[int, int]) -> None:
        for index, item in enumerate(items):
            if index not in chosen and (heading := self._heading(item)) is not None:
                chosen[index] = heading

    def _heading(self, item: Item) -> int | None:
        page = self._page
        headings = [n for n in item.numbers if page.tags[n] in _HEADINGS and title_quality(page.text(n)) > 0]
        linked = (n for n in headings if page.links_in(n, page.ends[n]) or self._link_at(n, item) is not None)
        return next(linked, headings[0] if headings else None)

    def _title_text(self, number: int) -> str:
        page = self._page
        text = page.text(number) or (page.label(number) if page.tags[number] == "a" else "")
        return full_title(text, page.attribute(number, "title") or page.attribute(page.parents[number], "title"))

    def _is_date(self, text: str) -> bool:
        return len(text) < 60 and self._dates.is_only_date(text)

    def _text_places(self, item: Item) -> Iterable[tuple[str, int]]:
        page = self._page
        counts: defaultdict[str, int] = defaultdict(int)
        inside = {start: "" for start, _ in item.spans}
        for span, (start, end) in enumerate(item.spans):
            for number in range(start, end):
                above = inside.get(page.parents[number], f"{span}") if number != start else f"{span}"
                path = f"{above}/{page.tags[number]}"
                inside[number] = path
                counts[path] += 1
                element = page.elements[number]
                has_own = bool(element.text and element.text.strip()) or any(
                    child.tail and child.tail.strip() for child in element
                )
                if has_own or page.tags[number] in _HEADINGS or self._is_line(number):
                    yield f"{path}:{counts[path]}", number
                    words = element.get("class")
                    if words or page.tags[number] == "a":
                        # Beside a label with a class, the link of the title may be the one without.
                        yield f"{path}.{words or ''}", number

    def _is_line(self, number: int) -> bool:
        """Whether this is a link around one text, not around all parts of an item."""
        page = self._page
        if page.tags[number] != "a":
            return False
        inside = range(number + 1, page.ends[number])
        texts = sum(bool(text and text.strip()) for n in inside for text in (page.elements[n].text,))
        return texts < 2 or not any(page.tags[n] in _CARD_PARTS for n in inside)

    def _title_candidate(self, found: dict[int, int], items: int) -> _Slot:
        texts = [self._title_text(number) for number in found.values()]
        qualities = [title_quality(text) for text in texts]
        good = sum(1 for quality in qualities if quality > 0)
        if good * 5 < items:
            return _Slot(found, 0)
        distinct = len(set(texts)) / len(texts)
        numbers = list(found.values())
        sample = numbers[:12]
        bonus = sum(self._title_bonus(number) for number in sample) / len(sample)
        mean = sum(qualities) / len(qualities)
        if 2 * sum(ARCHIVE.fullmatch(text) is not None for text in texts) > len(texts):
            bonus -= 0.8
        if 2 * sum(text.endswith(_SENTENCE_ENDS) and len(text) > 60 for text in texts) > len(texts):
            bonus -= 0.5
        if all(map(REFERENCE.fullmatch, texts)) and all(map(self._fills_cell, sample)):
            mean, bonus = max(mean, 0.4), bonus + 0.6
        score = good / items * distinct * distinct * mean * max(0.1, 1 + bonus)
        return _Slot(found, score * self._date_factor(texts[:12]))

    def _fills_cell(self, number: int) -> bool:
        """Whether this is a link and all that a cell of a table holds."""
        page, above = self._page, self._page.parents[number]
        return page.tags[number] == "a" and page.tags[above] in ("td", "th") and page.text(above) == page.text(number)

    def _date_factor(self, texts: Sequence[str]) -> float:
        """Dates are no titles; lines that hold a date are less likely to be titles than others."""
        if 2 * sum(map(self._is_date, texts)) > len(texts):
            return 0.0
        dated = sum(len(text) < 60 and self._dates.written(text) is not None for text in texts)
        return 0.4 if dated * 2 > len(texts) else 1.0

    def _title_bonus(self, number: int) -> float:
        page = self._page
        bonus, classes, steps = 0.0, "", 0
        node = number
        while node >= 0 and steps < 3:
            classes += " " + page.attribute(node, "class") + " " + page.attribute(node, "itemprop")
            if page.tags[node] in _HEADINGS:
                bonus += 0.6
            if page.tags[node] == "a":
                bonus += 0.5 + (0.1 if self._lies_below(page.attribute(node, "href")) else 0)
            if page.tags[node] in ("time", "small", "button", "figcaption", "code"):
                bonus -= 0.5
            node, steps = page.parents[node], steps + 1
        inner = page.links_in(number, page.ends[number]) if page.tags[number] != "a" else []
        if inner:
            # A line with links in it is a text, unless one link is nearly all of it.
            bonus += 0.3 if max(len(link.text) for link in inner) > 0.6 * len(page.text(number)) else -0.8
        if page.tags[number] in ("p", "li", "dd"):
            bonus -= 0.2
        own = f"{page.attribute(number, 'class')} {page.attribute(number, 'itemprop')}"
        if TITLE_CLASS.search(own):
            bonus += 0.5
        elif TITLE_CLASS.search(classes) or LARGE_CLASS.search(own):
            bonus += 0.3
        if HIDDEN_CLASS.search(own):
            bonus -= 0.4
        if OTHER_CLASS.search(own) and not TITLE_CLASS.search(own):
            bonus -= 0.6
        return bonus

    def _lies_below(self, href: str) -> bool:
        """Whether the link leads to a page below this one."""
        path = urlsplit(self._page.url).path.rstrip("/")
        return len(path) > 1 and f"{path}/" in href

    def _link_slot(self, items: Sequence[Item], titles: dict[int, int]) -> dict[int, int]:
        """For each item the index of its link in `page.links`; those at the title first."""
        page = self._page
        chosen: dict[int, int] = {}
        for index, title in titles.items():
            link = self._link_at(title, items[index])
            if link is not None:
                chosen[index] = link.index
        missing = [index for index in titles if index not in chosen]
        if not missing:
            return chosen
        places: defaultdict[str, dict[int, PageLink]] = defaultdict(dict)
        for index in missing:
            for position, link in enumerate(self._links(items[index])):
                places[f"{page.paths[link.index]}:{position}"].setdefault(index, link)
        ranked = sorted(places.values(), key=lambda found: -self._link_score(found, titles, len(missing)))
        for found in ranked[:3]:
            for index, link in found.items():
                chosen.setdefault(index, link.index)
        return chosen

    def _add_links_of_shape(self, *, items: Sequence[Item], titles: dict[int, int], links: dict[int, int]) -> None:
        """In items without a title, a link whose address has the form of the others, as in sticky topics."""
        page = self._page
        missing = [index for index in range(len(items)) if index not in titles]
        if not missing or not links:
            return
        shape = common_shape([link.url for number in links.values() for link in page.links_in(number, number + 1)])
        for index in missing if shape else ():
            fitting = (link for link in self._links(items[index]) if link_shape(link.url) == shape)
            found = next((link for link in fitting if title_quality(link.text) > 0), None)
            if found is not None:
                titles[index] = links[index] = found.index

    def _link_at(self, title: int, item: Item) -> PageLink | None:
        page = self._page
        inner = page.links_in(title, page.ends[title])
        if inner:
            return inner[0] if page.tags[title] == "a" else max(inner, key=lambda link: len(link.text))
        starts = {start for start, _ in item.spans}
        node = title
        while node >= 0 and node not in starts:
            node = page.parents[node]
            if node >= 0 and page.tags[node] == "a":
                return next(iter(page.links_in(node, node + 1)), None)
        return None

    def _link_score(self, found: dict[int, PageLink], titles: dict[int, int], items: int) -> float:
        page = self._page
        links = list(found.values())
        distinct = len({link.url for link in links}) / len(links)
        score = len(links) / items * distinct * distinct
        classes = " ".join(
            page.attribute(link.index, "class") + page.attribute(link.index, "rel") for link in links[:5]
        )
        if re.search(r"u-url|bookmark|permalink", classes):
            score += 1
        if re.search(r"author|tag|categor|user|download|share", classes) or is_file(links[0].url):
            score -= 0.5
        first = links[0]
        if any(page.attribute(first.index, name) for name in ("aria-label", "title")):
            score += 0.1
        if self._lies_below(first.url):
            score += 0.2
        if any(page.parents[first.index] == page.parents[title] for title in titles.values()):
            score += 0.2
        return score

    def _links(self, item: Item) -> list[PageLink]:
        return [link for start, end in item.spans for link in self._page.links_in(start, end)]

    def _entry(self, item: Item, title: int | None, link: int | None, prefix: str, named: Fields) -> PageEntry | None:
        page = self._page
        if link is None:
            return None
        url = next(found.url for found in page.links_in(link, link + 1))
        text = self._title_text(title).removeprefix(prefix) if title is not None else ""
        text = text.strip().lstrip("·•›»-– ").strip()
        if title_quality(text) <= 0:
            return None
        published = self._date(self._part(named, "date") or item, url, title if "date" not in named else None)
        image = image_of(page, (self._part(named, "image") or item).numbers)
        teaser = page.text(named["teaser"])[:MAX_TEASER] if "teaser" in named else teaser_of(page, item.numbers, text)
        return PageEntry(url, text[:MAX_TITLE], published, image, teaser)

    def _part(self, named: Fields, field: str) -> Item | None:
        return Item(((named[field], self._page.ends[named[field]]),)) if field in named else None

    def _without_advertisements(self, items: Sequence[Item]) -> Sequence[Item]:
        usable = [item for item in items if not is_advertisement(self._page, list(item.numbers))]
        # What marks most of the items is the name of the list, as with classified advertisements.
        return usable if len(usable) * 2 > len(items) else items

    # --- Date

    def _date(self, item: Item, url: str, title: int | None) -> Instant | None:
        exact = self._machine_date(item)
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
        if item.inherited is not None:
            return item.inherited.time
        return self._dates.in_url(url)

    def _machine_date(self, item: Item) -> Instant | None:
        page = self._page
        second: Instant | None = None
        for number in item.numbers:
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
                title = title if self._is_date(title) else ""
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
        return best or next(filter(None, map(self._dates.written, self._text_after(item))), None)

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

    def _text_after(self, item: Item) -> Iterable[str]:
        """The text behind an item that is nothing but a link, as in the index of a directory."""
        links = (self._page.elements[start] for start, _ in item.spans if self._page.tags[start] == "a")
        return [link.tail.strip() for link in links if link.tail and len(link.tail) < 80]
