"""Entries that are sections of one page, as in changelogs: dated or numbered, and each with an anchor."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from urllib.parse import urlsplit

from reedbed.domain.page_feeds import PageEntry
from reedbed.ingest.page_feeds.dates import DateReader
from reedbed.ingest.page_feeds.document import PageDocument
from reedbed.ingest.page_feeds.item_dates import Item, ItemDates
from reedbed.ingest.page_feeds.media import teaser_of
from reedbed.ingest.page_feeds.titles import HIDDEN_CHARS, VERSION, title_quality

_HEADINGS = frozenset(("h2", "h3", "h4", "dt", "summary"))
_PAGE_PARTS = frozenset(("html", "body", "main"))
_MAX_TITLE = 300
_MAX_LABEL = 80
_MAX_CLIMB = 8
_MAX_BOXES = 20


def section_roots(page: PageDocument, least: int) -> list[tuple[int, ...]]:
    """Headings at the same place of the page with anchors, or boxes with ids, and what each of them begins."""
    headings: defaultdict[int, list[int]] = defaultdict(list)
    boxes: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
    for number, tag in enumerate(page.tags):
        if tag in _HEADINGS:
            headings[page.paths[number]].append(number)
        elif page.attribute(number, "id") and tag not in _PAGE_PARTS:
            boxes[page.paths[number], page.attribute(number, "class")].append(number)
    found = [_boxes_of(page, group) for group in headings.values() if len(group) >= least]
    found += [tuple(group) for group in boxes.values() if len(group) >= least and not _is_nested(page, group)]
    anchored = [
        roots for roots in found[:_MAX_BOXES] if all(_anchor(page, root, _heading(page, root)) for root in roots)
    ]
    return list(dict.fromkeys(anchored))


def _is_nested(page: PageDocument, numbers: Sequence[int]) -> bool:
    return any(other < page.ends[one] for one, other in pairwise(numbers))


def _boxes_of(page: PageDocument, headings: Sequence[int]) -> tuple[int, ...]:
    """For each heading the largest element that holds no other of them, as many levels up for all."""
    levels = min(_height(page, headings, at) for at in range(len(headings)))
    return tuple(page.ancestor(heading, levels) for heading in headings)


def _height(page: PageDocument, headings: Sequence[int], at: int) -> int:
    before, after = headings[at - 1] if at else -1, headings[at + 1] if at + 1 < len(headings) else len(page.tags)
    number, height = headings[at], 0
    while height < _MAX_CLIMB:
        above = page.parents[number]
        if above < 0 or page.tags[above] in _PAGE_PARTS or above <= before or page.ends[above] > after:
            break
        number, height = above, height + 1
    return height


def _heading(page: PageDocument, root: int) -> int:
    """The heading in a box; without one, its first text, such as a label with the date."""
    inside = range(root, page.ends[root])
    headings = [number for number in inside if page.tags[number] in _HEADINGS and page.text(number)]
    if headings:
        return headings[0]
    short = (number for number in inside if (page.elements[number].text or "").strip())
    return next((number for number in short if len(page.text(number)) <= _MAX_LABEL), root)


def _anchor(page: PageDocument, root: int, heading: int) -> str:
    """What to add to the address of the page to reach a section."""
    number = heading
    while number >= root:
        if identity := page.attribute(number, "id"):
            return identity
        number = page.parents[number]
    named = page.elements[root].getprevious()
    for element in (named, *(page.elements[number] for number in range(heading + 1, page.ends[heading]))):
        if element is not None and str(element.tag) == "a" and (name := element.get("id") or element.get("name")):
            return name
    alone = page.contains(root, heading) and root != heading
    inside = range(root, page.ends[root if alone else heading])
    links = (page.attribute(number, "href") for number in inside if page.tags[number] == "a")
    return next((href[1:] for href in links if href.startswith("#") and len(href) > 1), "")


def section_entries(page: PageDocument, dates: DateReader, items: Sequence[Item]) -> list[PageEntry]:
    reader = ItemDates(page, dates)
    entries: list[PageEntry] = []
    roots = [item.spans[0][0] for item in items]
    headings = [_heading(page, root) for root in roots]
    anchors = [_anchor(page, root, heading) for root, heading in zip(roots, headings, strict=True)]
    if len(set(anchors)) < len(anchors):
        anchors = [page.attribute(root, "id") or anchor for root, anchor in zip(roots, anchors, strict=True)]
    for item, heading, anchor in zip(items, headings, anchors, strict=True):
        title = page.text(heading).translate(HIDDEN_CHARS).strip("#¶§ ")
        is_version = VERSION.search(title) is not None
        published = reader.of(item, "", None)
        if any(not is_version or _is_own_page(page, link.url) for link in page.links_in(heading, page.ends[heading])):
            continue
        if not is_version and dates.is_only_date(title) and _is_of_links(page, item):
            continue  # a day of a list
        if title_quality(title) > 0 and (published is not None or is_version):
            url = f"{page.url.partition('#')[0]}#{anchor}"
            entries.append(PageEntry(url, title[:_MAX_TITLE], published, None, teaser_of(page, item.numbers, title)))
    return entries if _are_entries(entries, len(items)) else []


def _are_entries(entries: Sequence[PageEntry], sections: int) -> bool:
    if len(entries) * 3 < sections * 2 or len({entry.key for entry in entries}) < len(entries):
        return False
    versions = any(VERSION.search(entry.title) for entry in entries)
    if len({entry.published for entry in entries}) == 1 and not versions:
        return False  # the chapters of one article, with its date above them
    return len({entry.title for entry in entries}) * 2 > len(entries)  # not “Added”, “Fixed” of each version


def _is_own_page(page: PageDocument, url: str) -> bool:
    """Whether the link of a version leads to a page about it, not to a repository with its changes."""
    return urlsplit(url).netloc == urlsplit(page.url).netloc and "/compare/" not in url


def _is_of_links(page: PageDocument, item: Item) -> bool:
    """Whether a section has more text in links than beside them."""
    length = sum(len(page.text(start)) for start, _ in item.spans)
    links = [link for start, end in item.spans for link in page.links_in(start, end)]
    return 2 * sum(len(link.text) for link in links) > length
