"""A page as blocks without behaviour, in which the parts of entries are picked by pointing at an example.

The markup is written anew: it has only boxes, texts and pictures, with numbers as attributes. Each place that occurs in
several items is a part. It has a selector that finds it in every item.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from html import escape

from reedbed.domain.failures import Failure
from reedbed.domain.page_feeds import PageBlocks, PageEntry, PagePart, PageRecipe
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.ingest.page_feeds.apply import css_of, fields_of, roots_of
from reedbed.ingest.page_feeds.dates import DateReader
from reedbed.ingest.page_feeds.detection import MIN_ITEMS, candidate_roots, items_from
from reedbed.ingest.page_feeds.document import BLOCKS, PageDocument, read_document
from reedbed.ingest.page_feeds.finder import date_reader, read_lists
from reedbed.ingest.page_feeds.items import Fields, Item, ItemReader
from reedbed.ingest.page_feeds.media import image_of
from reedbed.ingest.page_feeds.recipe import is_stable, selector_for
from reedbed.ingest.page_feeds.regions import aside_regions
from reedbed.ingest.sanitize.rules import HEADINGS

MAX_BLOCKS = 3_000
MAX_PARTS = 400
MAX_OTHER_LISTS = 12
_MAX_TEXT = 300
_MAX_CLASSES = 2
_MAX_EXAMPLE = 80
_MARKED_ITEMS = 60
_LEFT_OUT = frozenset(
    (
        "head", "script", "style", "svg", "template", "noscript", "iframe", "object", "embed", "canvas", "audio",
        "video", "input", "select", "textarea", "option", "link", "meta", "source", "track", "map", "br", "hr", "wbr",
    )
)  # fmt: skip

_ROOT = "&"
"""The step of the element that an item begins with."""
Step = str
"""`h3.title` or `td:nth-of-type(2)`: an element of a path in an item."""


def read_blocks(
    body: bytes, recipe: PageRecipe, url: str, *, now: Instant, content_type: str | None = None
) -> PageBlocks | None:
    """None if the page cannot be read, or if its list is nowhere in its markup."""
    page = read_document(body, url, content_type=content_type, css=css_of(recipe.selectors))
    if isinstance(page, Failure):
        return None
    dates = date_reader(page, now)
    roots, item = _items_of(page, recipe, dates, now)
    if not roots:
        return None
    items = items_from(page, roots, dates)
    parts = _Parts(page, items, item)
    others = _other_lists(page, parts.item_of)
    writer = _BlockWriter(
        page, parts, others, _marks(page, items, dates, fields_of(page, items, roots, recipe.selectors))
    )
    return PageBlocks(
        writer.html(), item, len(items), tuple(parts.described()), tuple(one.described for one in others), writer.cut
    )


def _items_of(page: PageDocument, recipe: PageRecipe, dates: DateReader, now: Instant) -> tuple[tuple[int, ...], str]:
    """The items of the recipe; for a list that is not read from markup, of the same links in the markup."""
    if recipe.source == "markup":
        return roots_of(page, recipe), recipe.selectors.item
    lists = read_lists(page, now)
    keys = {entry.key for one in lists if one.recipe.source == recipe.source for entry in one.entries}
    reader = ItemReader(page, dates)
    aside = aside_regions(page)
    best: tuple[int, tuple[int, ...]] = (0, ())
    for roots in candidate_roots(page, aside):
        shared = sum(entry.key in keys for entry in reader.entries(items_from(page, roots, dates)))
        best = max(best, (shared, roots), key=lambda one: one[0])
    return (best[1], selector_for(page, best[1])) if best[0] >= MIN_ITEMS else ((), "")


# --- Parts of items


class _Parts:
    """The places in the items, each with the elements that stand there."""

    def __init__(self, page: PageDocument, items: Sequence[Item], selector: str) -> None:
        self._page = page
        self._item_selector = selector
        self.items = items
        self.item_of: dict[int, int] = {}
        self.part_of: dict[int, int] = {}
        self._paths: dict[int, tuple[Step, ...]] = {}
        self._members: list[dict[int, int]] = []
        self._roots = {item.spans[0][0] for item in items}
        self._continuations = {start for item in items for start, _ in item.spans[1:]}
        ids: dict[tuple[Step, ...], int] = {}
        for index, item in enumerate(items):
            for number in item.numbers:
                if page.tags[number] in _LEFT_OUT:
                    continue
                self.item_of[number] = index
                path = self._paths[number] = (*self._paths.get(page.parents[number], ()), self._step(number))
                if path not in ids and len(ids) < MAX_PARTS:
                    ids[path] = len(ids)
                    self._members.append({})
                if path in ids:
                    self.part_of[number] = ids[path]
                    self._members[ids[path]].setdefault(index, number)

    def described(self) -> Iterator[PagePart]:
        for members in self._members:
            number = next(iter(members.values()))
            example = self._page.text(number) or self._page.label(number)
            yield PagePart(self._selector(members), len(members), example[:_MAX_EXAMPLE])

    def _step(self, number: int) -> Step:
        if number in self._roots:
            return _ROOT
        return _plain_step(self._page, number) if number in self._continuations else _step(self._page, number)

    def _selector(self, members: dict[int, int]) -> str:
        """The shortest end of the path that stands first in each item for the element at this place."""
        path = self._paths[next(iter(members.values()))]
        if path[-1] == _ROOT:
            return self._item_selector
        inside = tuple(step for step in path if step != _ROOT)
        for length in range(1, len(inside)):
            found = self._first_with(inside[-length:])
            if all(found.get(index) == number for index, number in members.items()):
                return " > ".join(inside[-length:])
        return " > ".join(inside)

    def _first_with(self, end: tuple[Step, ...]) -> dict[int, int]:
        """The first element in each item that a selector of these steps matches."""
        steps = [_parsed(step) for step in end]
        found: dict[int, int] = {}
        for number in self._by_tag[steps[-1][0]]:
            if self.item_of[number] not in found and self._ends_with(number, steps):
                found[self.item_of[number]] = number
        return found

    def _ends_with(self, number: int, steps: Sequence[tuple[str, frozenset[str], str]]) -> bool:
        page = self._page
        for tag, classes, place in reversed(steps):
            if number not in self._paths or page.tags[number] != tag:
                return False
            if not classes <= set(page.attribute(number, "class").split()) or (place and place != _place(page, number)):
                return False
            number = page.parents[number]
        return True

    @cached_property
    def _by_tag(self) -> dict[str, list[int]]:
        tags: defaultdict[str, list[int]] = defaultdict(list)
        for number in sorted(self._paths):
            tags[self._page.tags[number]].append(number)
        return tags


def _step(page: PageDocument, number: int) -> Step:
    name = _plain_step(page, number)
    alike = [one for one in _same_tag(page, number) if _plain_step(page, one) == name]
    return f"{name}:nth-of-type({_place(page, number)})" if len(alike) > 1 else name


def _parsed(step: Step) -> tuple[str, frozenset[str], str]:
    name, _, place = step.partition(":nth-of-type(")
    tag, *classes = name.split(".")
    return tag, frozenset(classes), place.rstrip(")")


def _place(page: PageDocument, number: int) -> str:
    return str(_same_tag(page, number).index(number) + 1)


def _same_tag(page: PageDocument, number: int) -> list[int]:
    """The element and its siblings of the same tag."""
    above = page.parents[number]
    found: list[int] = []
    one = above + 1
    while one != -1:
        if page.tags[one] == page.tags[number]:
            found.append(one)
        one = page.siblings_after(one)
    return found


def _plain_step(page: PageDocument, number: int) -> Step:
    words = [word for word in page.attribute(number, "class").split() if is_stable(word)]
    return ".".join((page.tags[number], *words[:_MAX_CLASSES]))


# --- Other lists


@record
class _OtherList:
    described: PagePart
    numbers: frozenset[int]


def _other_lists(page: PageDocument, taken: dict[int, int]) -> list[_OtherList]:
    """Groups of links outside the items: to point at one of them chooses another list."""
    found: list[_OtherList] = []
    seen: set[int] = set()
    for roots in candidate_roots(page, aside_regions(page)):
        if len(found) == MAX_OTHER_LISTS:
            break
        numbers = {number for root in roots for number in range(root, page.ends[root])}
        selector = selector_for(page, roots)
        if not selector or numbers & seen or not numbers.isdisjoint(taken):
            continue
        seen |= numbers
        found.append(_OtherList(PagePart(selector, len(roots), page.text(roots[0])[:_MAX_EXAMPLE]), frozenset(numbers)))
    return found


# --- What the parts of the entries are now


def _marks(page: PageDocument, items: Sequence[Item], dates: DateReader, picked: Sequence[Fields]) -> dict[int, str]:
    """For elements that show a field of an entry, its name."""
    marks: dict[int, str] = {}
    reader = ItemReader(page, dates)
    by_key = {entry.key: entry for entry in reader.entries(items, picked)}
    keys = {link.index: PageEntry(link.url, "").key for link in page.links}
    for at, item in enumerate(items[:_MARKED_ITEMS]):
        links = (link for start, end in item.spans for link in page.links_in(start, end))
        entry = next((by_key[keys[link.index]] for link in links if keys[link.index] in by_key), None)
        if entry is not None:
            found = {**_marks_of(page, item, entry, dates), **(picked[at] if picked else {})}
            marks.update((number, name) for name, number in found.items())
    return marks


def _marks_of(page: PageDocument, item: Item, entry: PageEntry, dates: DateReader) -> dict[str, int]:
    found: dict[str, int] = {}
    for number in item.numbers:
        text = page.text(number)
        if text.endswith(entry.title) and len(text) <= len(entry.title) + 20:
            found["title"] = number
        elif entry.published is not None and 0 < len(text) < 60 and entry.title not in text and "date" not in found:
            written = dates.written(text)
            if page.tags[number] == "time" or (written is not None and written.time == entry.published):
                found["date"] = number
        if entry.teaser and text.startswith(entry.teaser[:_MAX_EXAMPLE]):
            found["teaser"] = number
        if page.tags[number] == "img" and entry.image and image_of(page, (number,)) == entry.image:
            found.setdefault("image", number)
    return found


# --- Markup


class _BlockWriter:
    def __init__(self, page: PageDocument, parts: _Parts, others: Sequence[_OtherList], marks: dict[int, str]) -> None:
        self._page = page
        self._parts = parts
        self._marks = marks
        self._other_of = {number: at for at, one in enumerate(others) for number in one.numbers}
        self._starts = Counter(item.spans[0][0] for item in parts.items)
        self._written = 0
        self.cut = False

    def html(self) -> str:
        body = self._page.tags.index("body") if "body" in self._page.tags else 0
        return "".join(self._element(body))

    def _element(self, number: int) -> Iterator[str]:
        page = self._page
        if page.tags[number] in _LEFT_OUT or page.elements[number].get("hidden") is not None:
            return
        if self._written >= MAX_BLOCKS:
            self.cut = True
            return
        if page.tags[number] == "img":
            yield from self._image(number)
            return
        inside = [part for part in self._inside(number) if part]
        if not inside:
            return
        kept = self._is_block(number) or self._starts[number] or number in self._marks or page.tags[number] == "a"
        if not kept and len(inside) == 1 and inside[0].startswith("<div"):
            yield inside[0]  # a box around a box
            return
        self._written += 1
        is_block = page.tags[number] in BLOCKS or any(part.startswith("<div") for part in inside)
        tag = "div" if is_block else "span"
        yield f"<{tag}{self._attributes(number)}>{''.join(inside)}</{tag}>"

    def _is_block(self, number: int) -> bool:
        return bool(self._page.elements[number].text and self._page.elements[number].text.strip())

    def _inside(self, number: int) -> Iterator[str]:
        element = self._page.elements[number]
        yield escape((element.text or "")[:_MAX_TEXT])
        for child in element:
            at = self._page.numbers.get(child)
            if at is not None:
                yield "".join(self._element(at))
            yield escape((child.tail or "")[:_MAX_TEXT])

    def _image(self, number: int) -> Iterator[str]:
        url = image_of(self._page, (number,))
        if url is not None:
            self._written += 1
            label = escape(self._page.label(number)[:_MAX_EXAMPLE])
            yield f'<img{self._attributes(number)} src="{escape(url)}" alt="{label}" loading="lazy">'

    def _attributes(self, number: int) -> str:
        page = self._page
        values = {
            "n": str(number),
            "part": str(self._parts.part_of[number]) if number in self._parts.part_of else "",
            "item": str(self._parts.item_of[number]) if self._starts[number] else "",
            "other": str(self._other_of[number]) if number in self._other_of else "",
            "field": self._marks.get(number, ""),
            "kind": "heading" if page.tags[number] in HEADINGS else "link" if page.tags[number] == "a" else "",
        }
        return "".join(f' data-{name}="{value}"' for name, value in values.items() if value)
