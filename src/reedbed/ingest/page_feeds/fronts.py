"""Read the first list of a page with the rest of its front: its leads, and blocks that are built differently."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from urllib.parse import urlsplit

from reedbed.domain.page_feeds import PageEntry, entry_key
from reedbed.domain.records import record
from reedbed.ingest.page_feeds.dates import DateReader
from reedbed.ingest.page_feeds.detection import DetectedList, read_list
from reedbed.ingest.page_feeds.document import PageDocument, PageLink, common_shape, fits, link_pattern, link_shape
from reedbed.ingest.page_feeds.items import ItemReader
from reedbed.ingest.page_feeds.scores import most
from reedbed.ingest.page_feeds.titles import NAMED_TITLE, title_quality
from reedbed.ingest.sanitize.rules import HEADINGS

_KEPT, _KEPT_IF_DATED = 0.9, 0.6
"""The share of its score that a list must keep when others join it; less where those are dated as it is."""
_ALIKE = 0.8
_PRICE = re.compile(r"[€$£¥₹₽₺₩฿]\s?\d|\d\s?(?:[€$£¥₹₽₺₩฿元円원]|(?:kč|zł|kr|lei|ft|usd|eur|руб)(?!\w))", re.IGNORECASE)
_NUMBER = re.compile(r"\d{3,}")


@record
class _Kind:
    """The form of an address."""

    depth: int
    ending: str
    numbered: bool


def with_front(
    page: PageDocument, reader: ItemReader, lists: Sequence[DetectedList], dates: DateReader, aside: list[bool]
) -> list[DetectedList]:
    """The lists, of which the first has what belongs to it; a block that joins it is no list of its own any more."""
    if not lists or lists[0].sections:
        return list(lists)
    first = lists[0]
    others: list[DetectedList] = []
    for other in lists[1:]:
        is_same = _is_same_front(page, first, other, dates, aside)
        joined = _joined(page, reader, first, other, dates, aside) if is_same else None
        first, others = (joined, others) if joined is not None else (first, [*others, other])
    return [_with_leads(page, reader, first, dates, aside), *others]


def _joined(
    page: PageDocument,
    reader: ItemReader,
    first: DetectedList,
    other: DetectedList,
    dates: DateReader,
    aside: list[bool],
) -> DetectedList | None:
    merged = read_list(page, reader, tuple(sorted({*first.roots, *other.roots})), dates, aside)
    keys = {entry.key for one in (first, other) for entry in one.entries}
    if merged is None or not keys <= {entry.key for entry in merged.entries}:
        return None
    return merged if merged.score > (_KEPT_IF_DATED if _times(other.entries) else _KEPT) * first.score else None


# --- Blocks


def _is_same_front(
    page: PageDocument, first: DetectedList, other: DetectedList, dates: DateReader, aside: list[bool]
) -> bool:
    """Whether a block shows articles of the same kind as the first list: as new, with addresses of the same form."""
    if other.sections or any(aside[root] for root in other.roots) or _overlap(page, first, other):
        return False
    if not _have_one_kind(first.entries, other.entries):
        return False
    dated = [2 * len(_times(one.entries)) > len(one.entries) for one in (first, other)]
    if any(dated):
        return all(dated) and _are_as_new(first.entries, other.entries, dates)
    return all(_is_of_articles(page, one) for one in (first, other))


def _overlap(page: PageDocument, one: DetectedList, other: DetectedList) -> bool:
    spans = sorted((root, page.ends[root]) for root in {*one.roots, *other.roots})
    return any(start < end for (_, end), (start, _) in pairwise(spans))


def _times(entries: Sequence[PageEntry]) -> list[int]:
    return [entry.published for entry in entries if entry.published is not None]


def _have_one_kind(some: Sequence[PageEntry], others: Sequence[PageEntry]) -> bool:
    """Whether the addresses have the same form, whatever their section, and that of articles: numbers or words."""
    pattern = link_pattern([entry.url for entry in some])
    if not pattern or not all(fits(entry.url, pattern) for entry in others):
        return False
    kinds = [Counter(map(_kind_of, entries)).most_common(1)[0] for entries in (some, others)]
    alike = all(count >= _ALIKE * len(entries) for (_, count), entries in zip(kinds, (some, others), strict=True))
    worded = all(most("-" in urlsplit(entry.url).path for entry in entries) for entries in (some, others))
    return alike and kinds[0][0] == kinds[1][0] and (kinds[0][0].numbered or worded)


def _kind_of(entry: PageEntry) -> _Kind:
    path = urlsplit(entry.url).path.strip("/")
    return _Kind(path.count("/"), path.rpartition("/")[2].partition(".")[2], _NUMBER.search(path) is not None)


def _is_of_articles(page: PageDocument, one: DetectedList) -> bool:
    """Whether undated items are articles by their headings; those with prices are goods."""
    headed = most(not HEADINGS.isdisjoint(page.tags[root : page.ends[root]]) for root in one.roots)
    return headed and not most(_PRICE.search(page.text(root)) is not None for root in one.roots)


# --- Leads


def _with_leads(
    page: PageDocument, reader: ItemReader, found: DetectedList, dates: DateReader, aside: list[bool]
) -> DetectedList:
    """Add the entries that are built differently, such as the lead of a front page.

    They are titles above or between the items, with links like those of the list. Where the list has dates and they
    have, too, they can be as many as its items; else they are few and stand in headings.
    """
    leads = _possible_leads(page, found, aside)
    known = {entry.key for entry in found.entries}
    if 2 * len(_times(found.entries)) > len(found.entries) and len(leads) <= len(found.roots):
        merged = _with_links(page, reader, found, leads, dates, aside)
        added = [entry for entry in merged.entries if entry.key not in known] if merged is not None else []
        dated = len(_times(added)) == len(added) and _are_as_new(found.entries, added, dates)
        if merged is not None and dated and merged.score > _KEPT_IF_DATED * found.score:
            return merged
    shape = common_shape([entry.url for entry in found.entries])
    near = [link for link in leads if _is_near(page, link, found, shape)]
    titled = [link for link in leads if _in_heading(page, link.index) or (shape and link_shape(link.url) == shape)]
    for some in (list(dict.fromkeys((*near, *titled))), near):
        merged = _with_links(page, reader, found, some, dates, aside) if len(some) * 2 <= len(found.roots) else None
        added = [entry for entry in merged.entries if entry.key not in known] if merged is not None else []
        if (
            merged is not None
            and merged.score > _KEPT * found.score
            and (some == near or _are_as_new(found.entries, added, dates))
        ):
            return merged
    return found


def _are_as_new(known: Sequence[PageEntry], others: Sequence[PageEntry], dates: DateReader) -> bool:
    """Whether others are from the days of a list, if dated. Events are to come; what an editor picked is older."""
    some, times = _times(known), _times(others)
    return not some or not times or (max(times) >= min(some) and min(times) <= max(dates.now, *some))


def _possible_leads(page: PageDocument, found: DetectedList, aside: list[bool]) -> list[PageLink]:
    pattern = link_pattern([entry.url for entry in found.entries])
    if not pattern:
        return []
    known = {entry.key for entry in found.entries}
    shape = common_shape([entry.url for entry in found.entries])
    leads = [
        link
        for link in page.links
        if link.index < page.ends[found.roots[-1]]
        and not aside[link.index]
        and entry_key(link.url) not in known
        and fits(link.url, pattern)
        and title_quality(link.text) > 0
        and (_in_heading(page, link.index) or _is_titled(page, link, found) or _is_near(page, link, found, shape))
    ]
    # A carousel repeats its slides, for its end and for phones.
    return list({entry_key(link.url): link for link in reversed(leads)}.values())


def _with_links(
    page: PageDocument,
    reader: ItemReader,
    found: DetectedList,
    leads: Sequence[PageLink],
    dates: DateReader,
    aside: list[bool],
) -> DetectedList | None:
    if not leads:
        return None
    blocked = sorted({*found.roots, *(link.index for link in leads)})
    extra = {_lead_root(page, link.index, blocked) for link in leads}
    merged = read_list(page, reader, tuple(sorted({*found.roots, *extra})), dates, aside)
    if merged is None or not {entry.key for entry in found.entries} <= {entry.key for entry in merged.entries}:
        return None
    return merged


def _is_titled(page: PageDocument, link: PageLink, found: DetectedList) -> bool:
    """Whether a link outside the items is, has or stands in what its class calls a title."""
    around = (link.index, page.parents[link.index], *range(link.index + 1, page.ends[link.index]))
    named = any(NAMED_TITLE.search(page.attribute(one, "class")) is not None for one in around)
    return named and not any(page.contains(root, link.index) for root in found.roots)


def _is_near(page: PageDocument, link: PageLink, found: DetectedList, shape: str) -> bool:
    """Whether a link stands among the items and has an address of their form, as that of a sticky topic has."""
    above = page.parents[found.roots[0]]
    if not shape or not page.contains(above, link.index) or link_shape(link.url) != shape:
        return False
    return not any(page.contains(root, link.index) for root in found.roots)


def _in_heading(page: PageDocument, number: int) -> bool:
    inside = page.tags[number + 1 : page.ends[number]]
    above = [page.tags[page.ancestor(number, levels)] for levels in (1, 2)]
    return any(tag in HEADINGS for tag in (*inside, *above))


def _lead_root(page: PageDocument, number: int, blocked: list[int]) -> int:
    own = number
    while True:
        above = page.parents[number]
        if above <= 0 or page.tags[above] in ("body", "html", "main"):
            return number
        first, last = bisect_left(blocked, above), bisect_left(blocked, page.ends[above])
        if any(other != own for other in blocked[first:last]):
            return number
        number = above
