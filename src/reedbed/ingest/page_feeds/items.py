"""Pick title, link, date, image and teaser of every item of a list.

The fields are chosen for the list as a whole: a field stands at the same place in most items.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from urllib.parse import urlsplit

from reedbed.domain.page_feeds import PageEntry
from reedbed.domain.records import record
from reedbed.ingest.page_feeds.dates import DateReader
from reedbed.ingest.page_feeds.document import PageDocument, PageLink, common_shape, is_file, is_in_sentence, link_shape
from reedbed.ingest.page_feeds.item_dates import Item, ItemDates
from reedbed.ingest.page_feeds.media import MAX_TEASER, image_of, teaser_of
from reedbed.ingest.page_feeds.regions import is_advertisement, undated_kind, undated_place
from reedbed.ingest.page_feeds.titles import (
    ARCHIVE,
    HIDDEN_CLASS,
    LARGE_CLASS,
    NAMED_TITLE,
    OTHER_CLASS,
    REFERENCE,
    TITLE_CLASS,
    common_label,
    full_title,
    title_quality,
    without_size,
)
from reedbed.ingest.sanitize.rules import HEADINGS

MAX_TITLE = 300
_IN_LIST = "/li/"
_SENTENCE = 25
"""Characters of a line with a full stop that is no title."""
_MIN_SHAPED = 7
_NAMED_QUALITY = 0.55
_HEADING_DEPTH = 5
_CARD_PARTS = frozenset(("div", "p", "section", "article", "header", "ul", "time", *HEADINGS))
_SENTENCE_ENDS = (".", "…", "。", "！", "!", "؟", "۔")


Fields = Mapping[str, int]
"""The name of a field to its element."""


_NONE_NAMED: Fields = {}


_LEAST_TITLE = 0.2
"""The quality of a title of two short words."""


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
        self._item_dates = ItemDates(page, dates)
        # Many groups of links share their elements.
        self._title_text = cache(self._read_title_text)
        self._title_bonus = cache(self._read_title_bonus)

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
        columns: list[list[str]] = []
        self._item_dates.begin()
        images: defaultdict[str, int] = defaultdict(int)
        for index, item in enumerate(usable):
            named = fields[index] if fields else _NONE_NAMED
            entry = self._entry(item, titles.get(index), links.get(index), prefix, named)
            if entry is not None and entry.key not in entries:
                entries[entry.key] = entry
                starts.append(item.spans[0][0])
                columns.append(self._item_dates.short_texts(item) if entry.published is None else [])
                images[entry.image or ""] += 1
        self._item_dates.fill_column(entries, columns)
        self._drop_neighbours(entries, starts)
        self._item_dates.finish(entries)
        return [
            # An image that most items share is a placeholder.
            PageEntry(e.url, e.title, e.published, None, e.teaser) if e.image and images[e.image] > 2 else e
            for e in entries.values()
        ]

    def _drop_neighbours(self, entries: dict[str, PageEntry], starts: Sequence[int]) -> None:
        """Drop links that are built like those of the list but stand elsewhere and differ in dates or addresses."""
        self.dropped.clear()
        if len(entries) < _MIN_SHAPED:
            return
        by_key = dict(zip(entries, starts, strict=True))
        parents = [self._page.parents[number] for number in starts]
        outside = undated_place(list(entries.values()), parents)
        if not outside and all(self._page.tags[number] == "a" for number in starts):
            outside = undated_kind(list(entries.values()))
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

    # --- Title and link

    def _title_slot(self, items: Sequence[Item]) -> dict[int, int]:
        places: defaultdict[str, dict[int, int]] = defaultdict(dict)
        for index, item in enumerate(items):
            for place, number in self._text_places(item):
                places[place].setdefault(index, number)
        slots = [self._title_candidate(found, len(items), inner=_IN_LIST in place) for place, found in places.items()]
        slots = sorted((slot for slot in slots if slot.score > 0), key=lambda slot: -slot.score)
        chosen: dict[int, int] = {}
        # Other places to try, because some items are built a little differently.
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
        good = [n for n in item.numbers if self._is_named_title(n) and title_quality(page.text(n)) > 0]
        headings = [n for n in good if page.tags[n] in HEADINGS] or good
        linked = (n for n in headings if page.links_in(n, page.ends[n]) or self._link_at(n, item) is not None)
        return next(linked, headings[0] if headings else None)

    def _read_title_text(self, number: int) -> str:
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
                if has_own or page.tags[number] in HEADINGS or self._is_line(number):
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
        texts = [n for n in inside if (page.elements[n].text or "").strip()]
        if len(texts) < 2:
            return True
        parts = any(page.tags[n] in _CARD_PARTS for n in inside)
        return not parts and not any(TITLE_CLASS.search(page.attribute(n, "class")) for n in texts)

    def _title_candidate(self, found: dict[int, int], items: int, *, inner: bool) -> _Slot:
        texts = [self._title_text(number) for number in found.values()]
        qualities = [title_quality(text) for text in texts]
        good = sum(1 for quality in qualities if quality > 0)
        if good * 5 < items:
            return _Slot(found, 0)
        distinct = len(set(map(without_size, texts))) / len(texts)
        numbers = list(found.values())
        sample = numbers[:12]
        bonus = sum(self._title_bonus(number) for number in sample) / len(sample)
        mean = sum(qualities) / len(qualities)
        if inner:
            bonus -= 0.5  # a list in the item, of links or of what is known of it
        if 2 * sum(ARCHIVE.fullmatch(text) is not None for text in texts) > len(texts):
            bonus -= 0.8
        if 2 * sum(text.endswith(_SENTENCE_ENDS) and len(text) > _SENTENCE for text in texts) > len(texts):
            bonus -= 0.5
        if len(texts) >= 0.8 * items and all(map(self._is_named_title, sample)):
            mean = max(mean, _NAMED_QUALITY)  # “Bank sync” is the title, not the sentence below it
        if all(map(REFERENCE.fullmatch, texts)) and all(map(self._fills_cell, sample)):
            mean, bonus = max(mean, 0.4), bonus + 0.6
        score = good / items * distinct * distinct * mean * max(0.1, 1 + bonus)
        return _Slot(found, score * self._date_factor(texts[:12]))

    def _is_named_title(self, number: int) -> bool:
        return (
            self._page.tags[number] in HEADINGS or NAMED_TITLE.search(self._page.attribute(number, "class")) is not None
        )

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

    def _read_title_bonus(self, number: int) -> float:
        page = self._page
        bonus, classes, steps = 0.0, "", 0
        node = number
        while node >= 0 and steps < 3:
            classes += " " + page.attribute(node, "class") + " " + page.attribute(node, "itemprop")
            if page.tags[node] in HEADINGS:
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
        if page.tags[number] == "a" and self._repeats_link(number):
            bonus -= 1.0  # the line below the title, with the same link
        own = f"{page.attribute(number, 'class')} {page.attribute(number, 'itemprop')}"
        if TITLE_CLASS.search(own):
            bonus += 0.5
        elif TITLE_CLASS.search(classes) or LARGE_CLASS.search(own):
            bonus += 0.3
        if HIDDEN_CLASS.search(own):
            bonus -= 0.4
        if page.tags[number] in HEADINGS and self._is_subheading(number):
            bonus -= 0.8
        if OTHER_CLASS.search(own) and not TITLE_CLASS.search(own):
            bonus -= 0.6
        return bonus

    def _repeats_link(self, number: int) -> bool:
        """Whether the link before this one has the same address, and a text that can be a title."""
        page, before = self._page, self._page.elements[number].getprevious()
        if before is None or before.tag != "a" or before.get("href") != page.attribute(number, "href"):
            return False
        return title_quality(page.text(page.numbers[before])) >= _LEAST_TITLE

    def _is_subheading(self, number: int) -> bool:
        """Whether a higher heading stands above this one in the same link."""
        page = self._page
        outer = (page.ancestor(number, levels) for levels in range(1, _HEADING_DEPTH))
        link = next((one for one in outer if one >= 0 and page.tags[one] == "a"), number)
        above = (page.tags[one] for one in range(link, number))
        return any(tag in HEADINGS and tag < page.tags[number] for tag in above)

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
                if is_in_sentence(page, link):
                    continue
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
        marked = self._part(named, "date")
        published = self._item_dates.of(marked or item, url, title if marked is None else None)
        image = image_of(page, (self._part(named, "image") or item).numbers)
        teaser = page.text(named["teaser"])[:MAX_TEASER] if "teaser" in named else teaser_of(page, item.numbers, text)
        return PageEntry(url, text[:MAX_TITLE], published, image, teaser)

    def _part(self, named: Fields, field: str) -> Item | None:
        return Item(((named[field], self._page.ends[named[field]]),)) if field in named else None

    def _without_advertisements(self, items: Sequence[Item]) -> Sequence[Item]:
        usable = [item for item in items if not is_advertisement(self._page, list(item.numbers))]
        # What marks most of the items is the name of the list, as with classified advertisements.
        return usable if len(usable) * 2 > len(items) else items
