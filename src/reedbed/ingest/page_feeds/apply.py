"""Apply a recipe to a page, and find its list again on a page that was rebuilt."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any, cast

from lxml import etree
from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from reedbed.domain.errors import Invalid
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.page_feeds import (
    MAX_ENTRIES,
    MAX_SELECTOR,
    PageEntry,
    PageList,
    PageLists,
    PageRecipe,
    PageSelectors,
)
from reedbed.domain.times import Instant
from reedbed.ingest.page_feeds.dates import DateReader
from reedbed.ingest.page_feeds.detection import items_from
from reedbed.ingest.page_feeds.document import PageDocument, fits, read_document
from reedbed.ingest.page_feeds.finder import NO_LIST, TOO_MANY, date_reader, find_lists, no_list_reason, read_lists
from reedbed.ingest.page_feeds.items import Fields, Item, ItemReader
from reedbed.ingest.page_feeds.recipe import tag_path
from reedbed.ingest.page_feeds.sections import section_entries

_FIELDS = ("title", "link", "date", "image", "teaser")
_XPATH_STARTS = ("/", "./", "(", "../")
_MIN_SHARED = 2
_MIN_OVERLAP = 0.2
_MIN_FITTING = 0.8

NOTHING_MATCHES = Failure(FailureCode.LIST_SELECTORS_MATCH_NOTHING)


def check_selectors(selectors: PageSelectors) -> None:
    """Raise `Invalid` for a selector that is neither CSS nor XPath 1.0."""
    for name in ("item", *_FIELDS):
        selector = cast(str, getattr(selectors, name))
        if len(selector) > MAX_SELECTOR:
            raise Invalid("A selector has at most %(limit)d characters.", name, limit=MAX_SELECTOR)
        try:
            if is_xpath(selector):
                etree.XPath(selector)
            elif selector:
                LexborHTMLParser("<p></p>").css(selector)
        except (etree.XPathError, SelectolaxError, ValueError) as error:
            raise Invalid("“%(selector)s” is neither a CSS selector nor XPath 1.0.", name, selector=selector) from error


def is_xpath(selector: str) -> bool:
    return selector.startswith(_XPATH_STARTS)


def has_xpath(selectors: PageSelectors) -> bool:
    return any(is_xpath(selector) for selector in _named(selectors).values())


def css_of(selectors: PageSelectors) -> dict[str, str]:
    """The selectors that are CSS, by their fields."""
    return {name: value for name, value in _named(selectors).items() if not is_xpath(value)}


def apply_recipe(
    body: bytes, recipe: PageRecipe, url: str, *, now: Instant, content_type: str | None = None
) -> PageLists:
    """One list, or the reason why there is none."""
    if recipe.source == "news-sitemap":
        return find_lists(body, url, now=now, content_type=content_type)
    check_selectors(recipe.selectors)
    page = read_document(body, url, content_type=content_type, css=css_of(recipe.selectors))
    if isinstance(page, Failure):
        return PageLists(reason=page)
    entries = _entries(page, recipe, now)
    base = PageLists((), page.title, page.language)
    if len(entries) > MAX_ENTRIES:
        return replace(base, reason=TOO_MANY)
    if not entries:
        reason = no_list_reason(page)
        return replace(base, reason=NOTHING_MATCHES if reason == NO_LIST else reason)
    return replace(base, lists=(PageList(entries, recipe),))


def find_again(
    body: bytes, recipe: PageRecipe, known: Collection[str], url: str, *, now: Instant, content_type: str | None = None
) -> PageList | None:
    """The list with the most known links; without any, the best list whose links fit the old pattern."""
    page = read_document(body, url, content_type=content_type)
    if isinstance(page, Failure):
        return None
    lists = read_lists(page, now)
    wanted = set(known)
    best = max(lists, key=lambda one: _shared(one, wanted), default=None)
    if best is not None:
        shared = _shared(best, wanted)
        if shared >= _MIN_SHARED and shared >= _MIN_OVERLAP * min(len(wanted), len(best.entries)):
            return best
    pattern = recipe.fingerprints.link_pattern
    if pattern.count("/") > 3:
        return next((one for one in lists if _fitting(one, pattern) >= _MIN_FITTING), None)
    return None


def _shared(found: PageList, known: set[str]) -> int:
    return sum(entry.key in known for entry in found.entries)


def _fitting(found: PageList, pattern: str) -> float:
    return sum(fits(entry.url, pattern) for entry in found.entries) / len(found.entries)


def _entries(page: PageDocument, recipe: PageRecipe, now: Instant) -> tuple[PageEntry, ...]:
    if recipe.source not in ("markup", "sections"):
        lists = [one for one in read_lists(page, now) if one.recipe.source == recipe.source]
        named = [one for one in lists if one.recipe.data_path == recipe.data_path]
        return next((one.entries for one in named), ())
    dates = date_reader(page, now)
    for roots in _possible_roots(page, recipe):
        entries = _read(page, tuple(roots), recipe, dates)
        if entries:
            return entries
    return ()


def roots_of(page: PageDocument, recipe: PageRecipe) -> tuple[int, ...]:
    """The elements of the items; none if nothing fits."""
    return next((tuple(roots) for roots in _possible_roots(page, recipe) if roots), ())


def _possible_roots(page: PageDocument, recipe: PageRecipe) -> list[list[int]]:
    return [selected_elements(page, "item", recipe.selectors.item), *_by_fingerprints(page, recipe)]


def _read(page: PageDocument, roots: tuple[int, ...], recipe: PageRecipe, dates: DateReader) -> tuple[PageEntry, ...]:
    if not roots:
        return ()
    items = items_from(page, roots, dates)
    if recipe.source == "sections":
        return tuple(section_entries(page, dates, items))
    return tuple(ItemReader(page, dates).entries(items, fields_of(page, items, roots, recipe.selectors)))


def _by_fingerprints(page: PageDocument, recipe: PageRecipe) -> list[list[int]]:
    """Items by the path of tags and by classes, if their links look like those of the list."""
    prints = recipe.fingerprints
    by_path = (
        [n for n in range(len(page.tags)) if page.tags[n] == prints.path.rpartition(" ")[2]] if prints.path else []
    )
    by_path = [number for number in by_path if tag_path(page, number) == prints.path]
    classes = set(prints.classes)
    by_classes = [n for n in range(len(page.tags)) if classes and classes <= set(page.attribute(n, "class").split())]
    return [roots for roots in (by_path, by_classes) if _links_fit(page, roots, prints.link_pattern)]


def _links_fit(page: PageDocument, roots: list[int], pattern: str) -> bool:
    if not pattern or not roots:
        return False
    fitting = [any(fits(link.url, pattern) for link in page.links_in(root, page.ends[root])) for root in roots]
    return sum(fitting) >= _MIN_FITTING * len(roots)


def _named(selectors: PageSelectors) -> dict[str, str]:
    values = {name: cast(str, getattr(selectors, name)) for name in ("item", *_FIELDS)}
    return {name: value for name, value in values.items() if value}


def selected_elements(page: PageDocument, name: str, selector: str) -> list[int]:
    if not selector:
        return []
    return _numbers(page, page.tree.xpath(selector)) if is_xpath(selector) else page.selected(name)


def _numbers(page: PageDocument, result: object) -> list[int]:
    """Elements of an XPath result; an attribute or a text stands for its element."""
    if not isinstance(result, list):
        return []
    found: list[int] = []
    for value in cast("list[Any]", result):
        element = value if isinstance(value, etree.ElementBase) else getattr(value, "getparent", lambda: None)()
        if element is not None and element in page.numbers:
            found.append(page.numbers[element])
    return list(dict.fromkeys(found))


def fields_of(page: PageDocument, items: list[Item], roots: tuple[int, ...], selectors: PageSelectors) -> list[Fields]:
    """For each item the elements that the selectors name."""
    named = {name: value for name, value in _named(selectors).items() if name != "item"}
    if not named:
        return []
    everywhere = {name: page.selected(name) for name, value in named.items() if not is_xpath(value)}
    found: list[Fields] = []
    for root, item in zip(roots, items, strict=True):
        fields: dict[str, int] = {}
        for name, selector in named.items():
            numbers = _numbers(page, page.elements[root].xpath(selector)) if is_xpath(selector) else everywhere[name]
            inside = [n for n in numbers if any(start <= n < end for start, end in item.spans)]
            if inside:
                fields[name] = inside[0]
        found.append(fields)
    return found
