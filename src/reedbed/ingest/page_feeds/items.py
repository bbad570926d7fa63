"""Pick title, link, date, image and teaser of every item of a list.

The fields are chosen for the list as a whole: a field stands at the same place in most items.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from reedbed.domain.page_feeds import PageEntry
from reedbed.domain.records import record
from reedbed.domain.text import is_cjk
from reedbed.domain.times import Instant
from reedbed.ingest.page_feeds.dates import DateReader, FoundDate
from reedbed.ingest.page_feeds.document import PageDocument, PageLink
from reedbed.ingest.sanitize.rules import absolute_web_url

MAX_TITLE = 300
_MAX_TEASER = 500
_MIN_TEASER = 40
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_TITLE_CLASS = re.compile(
    r"title|headline|heading|subject|betreff|titel|titre|titul|titolo|baslik|(?<![a-z])(?:tit|ttl|name|p-name)(?![a-z])",
    re.IGNORECASE,
)
_OTHER_CLASS = re.compile(
    r"teaser|summary|excerpt|desc|abstract|author|byline|date|time|kicker|categor|(?<![a-z])(?:tags?|meta)(?![a-z])|"
    r"price|location|comment|score|rating|label|badge|user|poster|num(?![a-z])|count|domain|venue|company|subtitle|"
    r"standfirst|lead(?![a-z])|resumo|chapo|entradilla|eyebrow|section(?![a-z])|department|button|btn",
    re.IGNORECASE,
)
_GENERIC_TEXT = re.compile(
    r"(?:read|see|view|show|learn|find out|continue|load)"
    r"(?: (?:more|all|full|reading|details|article|story|post|on|the))*(?: about it)?|"
    r"more|details?|full (?:story|article)|link|permalink|download|pdf(?: \(.*\))?|share|reply|comments?|tickets?|"
    r"buy|add to cart|transcript|last|next|previous|prev|new|go|here|click here|"
    r"weiterlesen|mehr(?: (?:lesen|erfahren|dazu))?|zum artikel|lesen|"
    r"lire(?: la suite| plus| l.article)?|en savoir plus|la suite|plus|"
    r"leer(?: más)?|(?:ver|saber|seguir) más|más(?: información)?|leggi(?: tutto| di più)?|continua(?: a leggere)?|"
    r"leia(?: mais)?|saiba mais|ver mais|ler mais|continuar|czytaj(?: więcej| dalej)?|więcej|lees(?: meer| verder)?|"
    r"meer|devamı(?:nı oku)?|подробнее|читать(?: далее| дальше| полностью)?|далее|ещё|"
    r"続きを読む|もっと見る|詳細|詳しく|全文|اقرأ المزيد|المزيد|阅读全文|查看详情|更多|详情|더보기|자세히(?: 보기)?|"
    r"läs mer|les mer|læs mere|lue lisää|číst dál|więcej…|περισσότερα|\d+ (?:comments?|kommentare|replies|reviews)",
    re.IGNORECASE,
)
_TWO_CHARS = re.compile(r"[^\W\d_].*?[^\W\d_]")
_VERSION = re.compile(r"\d+\.\d+")
_EDGE = " \t·•→»›>←«…[]().:|-–—"
_DATE_CLASS = re.compile(
    r"date|datum|fecha|(?<![a-z])data(?![a-z-])|time(?!line)|publi|posted|(?<![a-z])(?:dt|day|when|age|ago)(?![a-z])|"
    r"tarih|clock|meta|byline|dated",
    re.IGNORECASE,
)
_DATE_ATTRIBUTES = (
    "datetime", "data-datetime", "data-date", "data-time", "data-timestamp", "data-published", "data-created",
)  # fmt: skip
_IMAGE_ATTRIBUTES = (
    "data-src", "data-original", "data-lazy-src", "data-lazy", "data-image", "data-url", "data-hi-res-src",
)  # fmt: skip
_NO_PICTURE = re.compile(r"avatar|icon|logo|emoji|sprite|author|gravatar|badge|flag|pixel|spacer", re.IGNORECASE)
_BLANK_IMAGE = re.compile(r"(?:^|/)(?:blank|spacer|pixel|1x1|sp|loading|placeholder|transparent|line)\.\w{3,4}$|^data:")
_BACKGROUND = re.compile(r"background(?:-image)?\s*:[^;]{0,40}?url\(\s*['\"]?([^'\")]{3,1000})", re.IGNORECASE)
_WORD_SPLIT = re.compile(r"[\s_\-]+")
_AD_WORDS = frozenset(
    (
        "ad", "ads", "adv", "advert", "advertisement", "advertorial", "sponsor", "sponsored", "promo", "promoted",
        "werbung", "anzeige", "reklama", "publicidad", "skeleton", "ghost", "placeholder",
    )
)  # fmt: skip
_AD_LABEL = re.compile(
    r"advertisement|sponsored|promoted|anzeige|werbung|реклама|reklama|publicité|publicidad|广告|広告", re.I
)


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

    def entries(self, items: Sequence[Item], fields: Sequence[Fields] = ()) -> list[PageEntry]:
        """Entries of those items that have a title and a link, each link once.

        `fields` are the elements that a recipe names, for each item; what it does not name is picked.
        """
        usable = items if fields else [item for item in items if not self._is_advertisement(item)]
        titles = self._title_slot(usable)
        titles |= {at: named["title"] for at, named in enumerate(fields) if "title" in named}
        links = self._link_slot(usable, titles)
        links |= {at: link for at, named in enumerate(fields) if (link := self._named_link(named)) is not None}
        prefix = _common_label([self._title_text(number) for number in titles.values()])
        entries: dict[str, PageEntry] = {}
        images: defaultdict[str, int] = defaultdict(int)
        for index, item in enumerate(usable):
            named = fields[index] if fields else _NONE_NAMED
            entry = self._entry(item, titles.get(index), links.get(index), prefix, named)
            if entry is not None and entry.key not in entries:
                entries[entry.key] = entry
                images[entry.image or ""] += 1
        return [
            # An image that most items share is a placeholder.
            PageEntry(e.url, e.title, e.published, None, e.teaser) if e.image and images[e.image] > 2 else e
            for e in entries.values()
        ]

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
            title = page.text(heading).strip("#¶§ ")
            published = self._date(item, "", None)
            if page.links_in(heading, page.ends[heading]):
                continue
            if title_quality(title) > 0 and (published is not None or _VERSION.search(title)):
                url = f"{page.url.partition('#')[0]}#{page.attribute(heading, 'id')}"
                entries.append(PageEntry(url, title[:MAX_TITLE], published, None, self._teaser(item, title)))
        return entries if len(entries) * 3 >= len(items) * 2 else []

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
        headings = (number for number in item.numbers if self._page.tags[number] in _HEADINGS)
        return next((number for number in headings if title_quality(self._page.text(number)) > 0), None)

    def _title_text(self, number: int) -> str:
        return self._page.text(number) or (self._page.label(number) if self._page.tags[number] == "a" else "")

    def _is_date(self, text: str) -> bool:
        return len(text) < 40 and self._dates.written(text) is not None

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
                if has_own or page.tags[number] in _HEADINGS or page.tags[number] == "a":
                    yield f"{path}:{counts[path]}", number
                    if words := element.get("class"):
                        yield f"{path}.{words}", number

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
        dates = sum(map(self._is_date, texts[:12]))
        if dates * 2 > min(len(texts), 12):
            return _Slot(found, 0)
        return _Slot(found, good / items * distinct * distinct * mean * max(0.1, 1 + bonus))

    def _title_bonus(self, number: int) -> float:
        page = self._page
        bonus, classes, steps = 0.0, "", 0
        node = number
        while node >= 0 and steps < 3:
            classes += " " + page.attribute(node, "class") + " " + page.attribute(node, "itemprop")
            if page.tags[node] in _HEADINGS:
                bonus += 0.6
            if page.tags[node] == "a":
                bonus += 0.5
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
        if _TITLE_CLASS.search(own):
            bonus += 0.5
        elif _TITLE_CLASS.search(classes):
            bonus += 0.3
        if _OTHER_CLASS.search(own) and not _TITLE_CLASS.search(own):
            bonus -= 0.6
        return bonus

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
        if re.search(r"author|tag|categor|user|download|share", classes) or _is_file(links[0].url):
            score -= 0.5
        first = links[0]
        if any(page.attribute(first.index, name) for name in ("aria-label", "title")):
            score += 0.1
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
        image = self._image(self._part(named, "image") or item)
        teaser = page.text(named["teaser"])[:_MAX_TEASER] if "teaser" in named else self._teaser(item, text)
        return PageEntry(url, text[:MAX_TITLE], published, image, teaser)

    def _part(self, named: Fields, field: str) -> Item | None:
        return Item(((named[field], self._page.ends[named[field]]),)) if field in named else None

    def _is_advertisement(self, item: Item) -> bool:
        page = self._page
        for start, _ in item.spans[:1]:
            words = set(_WORD_SPLIT.split(page.attribute(start, "class").lower()))
            if words & _AD_WORDS:
                return True
        for count, number in enumerate(item.numbers):
            if count > 40:
                break
            text = page.elements[number].text
            if text and len(text) < 30 and _AD_LABEL.fullmatch(text.strip()):
                return True
        return False

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
            if title and second is None and len(title) < 60 and page.tags[number] != "a":
                second = self._dates.machine(title) or self._dates.machine(title.rpartition(" ")[2])
                if second is None and _DATE_CLASS.search(page.attribute(number, "class")):
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
        return best

    def _date_texts(self, number: int, *, whole: bool) -> Iterable[str]:
        """Texts at this element: its own and those between its children, or all of it together."""
        element = self._page.elements[number]
        if whole:
            yield self._page.text(number)
            yield " ".join(str(part) for part in element.itertext())[:_MAX_TEASER]
        if element.text and any(map(_may_be_date, element.text)):
            yield element.text.strip()
        for child in element:
            if child.tail and len(child.tail) < 80 and any(map(_may_be_date, child.tail)):
                yield child.tail.strip()

    # --- Image and teaser

    def _image(self, item: Item) -> str | None:
        page = self._page
        for number in item.numbers:
            element = page.elements[number]
            style = element.get("style")
            match = _BACKGROUND.search(style) if style and "url(" in style else None
            url = match[1] if match else None
            if page.tags[number] == "img":
                url = self._image_source(number) or url
            if url and not _BLANK_IMAGE.search(url.partition("?")[0]):
                return absolute_web_url(url, page.base)
        return None

    def _image_source(self, number: int) -> str | None:
        page = self._page
        element = page.elements[number]
        if _NO_PICTURE.search(f"{element.get('class') or ''} {element.get('src') or ''}"):
            return None
        size = element.get("width") or element.get("height") or ""
        if size.isdigit() and int(size) < 40:
            return None
        sources = [element.get(name) for name in _IMAGE_ATTRIBUTES] + [element.get("src")]
        sources += [_first_source(element.get(name)) for name in ("data-srcset", "srcset")]
        above = page.parents[number]
        if page.tags[above] == "picture":
            inner = range(above + 1, page.ends[above])
            sources += [_first_source(page.attribute(n, k)) for n in inner for k in ("data-srcset", "srcset")]
        return next((url for url in sources if url and not _BLANK_IMAGE.search(url.partition("?")[0])), None)

    def _teaser(self, item: Item, title: str) -> str:
        page = self._page
        best = ""
        for number in item.numbers:
            if page.tags[number] in ("p", "div", "td", "dd", "span", "li"):
                element = page.elements[number]
                own = element.text or ""
                if len(own) > _MIN_TEASER or page.tags[number] == "p":
                    text = page.text(number)
                    if len(text) > max(len(best), _MIN_TEASER) and title not in text[: len(title) + 20]:
                        best = text
        return best[:_MAX_TEASER]


@lru_cache(maxsize=4_000)
def title_quality(text: str) -> float:
    """0 for what cannot be a title, about 1 for a sentence-like line."""
    plain = text.strip(_EDGE)
    if _TWO_CHARS.search(text) is None or _GENERIC_TEXT.fullmatch(plain):
        return 0.0
    length = len(text) * (2.2 if is_cjk(text) else 1)
    if length > 220:
        return 0.25
    score = min(length, 45) / 45
    words = len(text.split())
    if words == 1 and not is_cjk(text):
        score *= 0.5
    if _VERSION.search(text):
        score = max(score, 0.6)
    return score * (0.7 if length > 140 else 1)


def _common_label(titles: Sequence[str]) -> str:
    """`Title:` where every title begins with it."""
    first = titles[0].partition(":")[0] if titles else ""
    if len(titles) < 3 or not first or len(first) > 20:
        return ""
    label = f"{first}: "
    return label if all(title.startswith(label) for title in titles) else ""


def _may_be_date(char: str) -> bool:
    return char.isdigit() or char in "今昨어오"


def _is_file(url: str) -> bool:
    return url.partition("?")[0].lower().endswith((".pdf", ".zip", ".mp3", ".doc", ".docx", ".jpg", ".png"))


def _first_source(srcset: str | None) -> str | None:
    return srcset.strip().split()[0].rstrip(",") if srcset and srcset.strip() else None
