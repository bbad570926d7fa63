"""Find the lists of a page from its links.

Links at the same place of the page (by tags, or by classes) form a group. From each link one climbs to the largest
element that holds no other link of the group: that is an item. The groups are ranked by what their items hold.
"""

import math
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from urllib.parse import urlsplit

from reedbed.domain.page_feeds import PageEntry
from reedbed.domain.records import record
from reedbed.ingest.page_feeds.dates import DateReader, FoundDate, year_of
from reedbed.ingest.page_feeds.document import PageDocument, PageLink, fits, link_pattern
from reedbed.ingest.page_feeds.items import Item, ItemReader
from reedbed.ingest.page_feeds.regions import aside_regions
from reedbed.ingest.page_feeds.scores import list_score, most
from reedbed.ingest.page_feeds.sections import section_entries, section_roots
from reedbed.ingest.page_feeds.titles import title_quality, without_size
from reedbed.ingest.sanitize.rules import HEADINGS

MIN_ITEMS = 3
MIN_SCORE = 1.0
_MAX_GROUPS_READ = 10
_MAX_GAP = 12
_MAX_CLIMB = 12
_MAX_ORDINAL = 5
_SECTIONS_FACTOR = 4.0

_FIGURE = re.compile(r"\d+")
_FIGURES_OF_DAY = 3
"""A version with its date has more."""
_VARIANT = re.compile(r"\d|--|^(?:is|has|js)-|odd|even|first|last|sticky|active")


@record
class DetectedList:
    roots: tuple[int, ...]
    items: tuple[Item, ...]
    entries: tuple[PageEntry, ...]
    score: float
    sections: bool = False
    """The entries are sections of this page itself."""


def detect_lists(page: PageDocument, dates: DateReader, reader: ItemReader, aside: list[bool]) -> list[DetectedList]:
    """Lists whose score is high enough, best first; lists of the same links only once."""
    detected: list[DetectedList] = []
    seen: set[tuple[int, ...]] = set()
    for roots in candidate_roots(page, aside)[:_MAX_GROUPS_READ]:
        if roots in seen:
            continue
        seen.add(roots)
        found = read_list(page, reader, roots, dates, aside)
        if found is not None:
            detected.append(found)
    for roots in section_roots(page, MIN_ITEMS):
        items = items_from(page, roots, dates)
        if entries := section_entries(page, dates, items):
            linked = any(_lead_elsewhere(roots, entries, other, dates) for other in detected)
            score = (1 if linked else _SECTIONS_FACTOR) * list_score(page, roots, items, entries, aside)
            detected.append(DetectedList(roots, tuple(items), tuple(entries), score, sections=True))
    return _without_repeats(_without_parts(page, detected))


def _lead_elsewhere(roots: Sequence[int], entries: Sequence[PageEntry], other: DetectedList, dates: DateReader) -> bool:
    """Whether the sections link to pages of their own: then they are entries of those pages."""
    titles = {entry.title for entry in entries}
    if 2 * len(titles & {one.title for one in other.entries}) > len(titles):
        return True
    days = most(dates.is_only_date(title) and len(_FIGURE.findall(title)) <= _FIGURES_OF_DAY for title in titles)
    inside = {number for item in other.items for number in item.numbers}
    return (
        days
        and other.score >= MIN_SCORE
        and len(other.roots) <= 2 * len(roots)
        and most(map(inside.__contains__, roots))
    )


def read_list(
    page: PageDocument, reader: ItemReader, roots: tuple[int, ...], dates: DateReader, aside: "list[bool] | None" = None
) -> DetectedList | None:
    items = items_from(page, roots, dates)
    entries = reader.entries(items)
    if not entries:
        return None
    if reader.dropped:
        kept = [pair for pair in zip(roots, items, strict=True) if pair[1].spans[0][0] not in reader.dropped]
        roots, items = tuple(root for root, _ in kept), [item for _, item in kept]
    regions = aside if aside is not None else aside_regions(page)
    return DetectedList(roots, tuple(items), tuple(entries), list_score(page, roots, items, entries, regions))


def _without_parts(page: PageDocument, detected: Sequence[DetectedList]) -> list[DetectedList]:
    """A list whose items are parts of another list's items counts less: the changes of a release, not the releases."""
    weighed: list[DetectedList] = []
    for one in detected:
        inside = any(_lies_in(page, one, other) for other in detected if len(other.roots) < len(one.roots))
        groups = any(_groups(one, other) for other in detected if len(other.roots) > len(one.roots))
        weighed.append(replace(one, score=one.score / (4 if groups else 2)) if inside or groups else one)
    return sorted(weighed, key=lambda one: -one.score)


def _groups(one: DetectedList, other: DetectedList) -> bool:
    """Whether each item is a group of entries of the other list, of which this list has only one each."""
    keys, more = {entry.key for entry in one.entries}, other.entries
    if 2 * len({without_size(entry.title) for entry in more}) < len(more):
        return False  # the files of each row, called the same in all
    paths = {urlsplit(entry.url).path for entry in more}
    if not 2 * len(keys) <= len(more) == len(paths) or not keys <= {entry.key for entry in more}:
        return False
    pattern = link_pattern([entry.url for entry in one.entries])
    named = any(step not in ("", "*") for step in pattern.removeprefix("//").split("/")[1:])
    return named and all(fits(entry.url, pattern) for entry in more)


def _lies_in(page: PageDocument, one: DetectedList, other: DetectedList) -> bool:
    """Whether these items are parts of the others, which are dated entries while these have no dates of their own."""
    dated = sum(entry.published is not None for entry in other.entries)
    if dated * 2 < len(other.roots) or other.score < MIN_SCORE:
        return False
    few = len(one.roots) <= 3 * len(other.roots)
    if not few and (_has_own_dates(one) or {e.key for e in one.entries} & {e.key for e in other.entries}):
        return False
    ends = [item.spans[-1][1] for item in other.items] if other.sections else [page.ends[root] for root in other.roots]
    starts = [item.spans[0][0] for item in other.items] if other.sections else list(other.roots)
    return all((at := bisect_right(starts, root)) and root < ends[at - 1] for root in one.roots)


def _has_own_dates(one: DetectedList) -> bool:
    given = {item.inherited.time for item in one.items if item.inherited is not None}
    return most(entry.published is not None and entry.published not in given for entry in one.entries)


def _without_repeats(detected: Iterable[DetectedList]) -> list[DetectedList]:
    kept: list[DetectedList] = []
    for one in detected:
        keys = {entry.key for entry in one.entries}
        if one.score < MIN_SCORE or len(keys) < MIN_ITEMS:
            continue
        if not any(len(keys & {e.key for e in other.entries}) * 2 > len(keys) for other in kept):
            kept.append(one)
    return kept


# --- Groups of links


def candidate_roots(page: PageDocument, aside: list[bool]) -> list[tuple[int, ...]]:
    """Roots of items for every group of links, the most promising groups first."""
    groups: defaultdict[object, list[PageLink]] = defaultdict(list)
    signatures: dict[int, str] = {}
    for link in page.links:
        number = link.index
        side = aside[number]
        groups[("path", page.paths[number], side)].append(link)
        cell, ordinal = _cell_ordinal(page, number), _ordinal(page, number)
        groups[("cell", page.paths[number], cell, side)].append(link)
        if ordinal < _MAX_ORDINAL:
            groups[("place", page.paths[number], cell, ordinal, side)].append(link)
        shape = tuple(_class_signature(page, n, signatures) for n in (number, page.parents[number]))
        if any(shape):
            groups[("classes", page.tags[number], shape, side)].append(link)
    ranked = sorted(groups.items(), key=lambda group: -_promise(group[1]))
    results: list[tuple[int, ...]] = []
    for _, links in ranked[: 3 * _MAX_GROUPS_READ]:
        if len({link.url for link in links}) < MIN_ITEMS:
            continue
        roots = _climb(page, links)
        if len(roots) >= MIN_ITEMS and roots not in results:
            results.append(roots)
    return results


def _promise(links: Sequence[PageLink]) -> float:
    urls = len({link.url for link in links})
    if urls < MIN_ITEMS:
        return 0.0
    sample = links[:30]
    # A link around a picture has no text, but its item may have a title.
    quality = sum(title_quality(link.text) or 0.15 for link in sample) / len(sample)
    return quality * math.log2(1 + min(urls, 40))


def _ordinal(page: PageDocument, number: int) -> int:
    element = page.elements[number]
    tag, ordinal = page.tags[number], 0
    previous = element.getprevious()
    while previous is not None and ordinal < _MAX_ORDINAL:
        ordinal += previous.tag == tag
        previous = previous.getprevious()
    return ordinal


def _cell_ordinal(page: PageDocument, number: int) -> int:
    """The column, for a link in a table."""
    for _ in range(4):
        if number < 0:
            break
        if page.tags[number] in ("td", "th"):
            return _ordinal(page, number)
        number = page.parents[number]
    return -1


def _class_signature(page: PageDocument, number: int, known: dict[int, str]) -> str:
    if number < 0:
        return ""
    if number not in known:
        words = page.attribute(number, "class").split()
        known[number] = " ".join(sorted(word for word in words if not _VARIANT.search(word)))
    return known[number]


def _climb(page: PageDocument, links: Sequence[PageLink]) -> tuple[int, ...]:
    """For each link the highest ancestor without another link of the group."""
    numbers = [link.index for link in links]
    urls = [link.url for link in links]
    run_ends = _run_ends(urls)
    heights = [_height(page, numbers, run_ends, at) for at in range(len(links))]
    level = _common_level(page, numbers, urls, heights)
    roots = {page.ancestor(number, min(level, height)) for number, height in zip(numbers, heights, strict=True)}
    ordered = sorted(roots)
    # An item that lies in another one is a part of it.
    return tuple(
        root for at, root in enumerate(ordered) if at + 1 == len(ordered) or ordered[at + 1] >= page.ends[root]
    )


def _run_ends(urls: list[str]) -> list[int]:
    """For each link the end of the run of links with the same address."""
    ends = list(range(1, len(urls) + 1))
    for at in range(len(urls) - 2, -1, -1):
        if urls[at] == urls[at + 1]:
            ends[at] = ends[at + 1]
    return ends


def _height(page: PageDocument, numbers: list[int], run_ends: list[int], at: int) -> int:
    number, height = numbers[at], 0
    while height < _MAX_CLIMB:
        above = page.parents[number]
        if above <= 0 or page.tags[above] in ("body", "html"):
            break
        first, last = bisect_left(numbers, above), bisect_right(numbers, page.ends[above] - 1)
        if last > run_ends[first]:
            break
        number, height = above, height + 1
    return height


def _common_level(page: PageDocument, numbers: list[int], urls: list[str], heights: list[int]) -> int:
    """The highest level at which at least nine of ten links still have an item of their own."""
    distinct = len(set(urls))
    ranked = sorted(heights)
    level = ranked[len(ranked) // 10]
    for candidate in sorted(set(heights)):
        alone = len({urls[at] for at, height in enumerate(heights) if height >= candidate})
        if alone >= 0.9 * distinct or candidate <= level:
            level = max(level, candidate)
    return level


# --- Items


def items_from(page: PageDocument, roots: Sequence[int], dates: DateReader) -> list[Item]:
    """Items of the roots; where roots are headings or terms, with the siblings that belong to them."""
    spans = _spans(page, roots)
    headings = _date_headings(page, roots, spans, dates)
    items: list[Item] = []
    found: FoundDate | None = None
    year: int | None = None
    at = 0
    for root, span in zip(roots, spans, strict=True):
        while at < len(headings) and headings[at][0] <= root:
            _, new_date, new_year = headings[at]
            found, year = (new_date, year) if new_date is not None else (found, new_year)
            at += 1
        items.append(Item(span, found, year))
    return items


def _spans(page: PageDocument, roots: Sequence[int]) -> list[tuple[tuple[int, int], ...]]:
    gaps = _without_rare_headings(page, [_gap(page, one, other) for one, other in pairwise(roots)])
    known = [gap for gap in gaps if gap is not None]
    sizes = sorted(len(gap) for gap in known if gap)
    if len(known) < 2 or len(sizes) < 0.6 * len(known):
        return [((root, page.ends[root]),) for root in roots]
    typical = sizes[len(sizes) // 2]
    trailing, leading = _trailing(page, roots[-1]), _leading(page, roots[0])
    if trailing or not leading:
        tails = [*gaps, trailing[:typical]]
        return [(_span(page, root), *_each(page, tail)) for root, tail in zip(roots, tails, strict=True)]
    heads = [leading[-typical:], *gaps]
    return [(*_each(page, head), _span(page, root)) for root, head in zip(roots, heads, strict=True)]


def _without_rare_headings(page: PageDocument, gaps: Sequence[list[int] | None]) -> list[list[int] | None]:
    """A heading that stands between few of the items is one of their groups, such as a day, not a part of an item."""
    headed = sum(any(page.tags[number] in HEADINGS for number in gap or ()) for gap in gaps)
    if not headed or 2 * headed > len(gaps):
        return list(gaps)
    return [gap and [number for number in gap if page.tags[number] not in HEADINGS] for gap in gaps]


def _span(page: PageDocument, number: int) -> tuple[int, int]:
    return number, page.ends[number]


def _each(page: PageDocument, numbers: list[int] | None) -> list[tuple[int, int]]:
    return [_span(page, number) for number in (numbers or [])[:_MAX_GAP]]


def _gap(page: PageDocument, one: int, other: int) -> list[int] | None:
    """The siblings between two roots; None if the roots are not siblings."""
    if page.parents[one] != page.parents[other]:
        return None
    between: list[int] = []
    number = page.siblings_after(one)
    while number != -1 and number < other:
        between.append(number)
        number = page.siblings_after(number)
    return _without_breaks(page, between)


def _trailing(page: PageDocument, root: int) -> list[int]:
    found: list[int] = []
    number = page.siblings_after(root)
    while number != -1 and len(found) < _MAX_GAP and page.tags[number] not in ("hr", "footer", "nav"):
        found.append(number)
        number = page.siblings_after(number)
    return _without_breaks(page, found)


def _without_breaks(page: PageDocument, numbers: Sequence[int]) -> list[int]:
    return [number for number in numbers if page.tags[number] not in ("br", "hr", "script")]


def _leading(page: PageDocument, root: int) -> list[int]:
    found: list[int] = []
    above = page.parents[root]
    number = above + 1
    while number != -1 and number < root:
        found.append(number)
        number = page.siblings_after(number)
    return _without_breaks(page, found)


def _date_headings(
    page: PageDocument, roots: Sequence[int], spans: Sequence[tuple[tuple[int, int], ...]], dates: DateReader
) -> list[tuple[int, FoundDate | None, int | None]]:
    """Headings between the items that are a date or a year: they hold for the items below."""
    covered: set[int] = set()
    for span in spans:
        for start, end in span:
            covered.update(range(start, end))
    found: list[tuple[int, FoundDate | None, int | None]] = []
    for number in range(max(0, roots[0] - 60), roots[-1]):
        if number in covered or page.ends[number] - number > 4:
            continue
        tag = page.tags[number]
        marked = tag in ("h1", "h2", "h3", "h4", "h5", "dt", "th", "time", "caption", "summary", "strong", "b")
        if not marked and not re.search(r"date|day|year|jahr", page.attribute(number, "class"), re.IGNORECASE):
            continue
        text = page.text(number)
        if len(text) > 60:
            continue
        year = year_of(text)
        date = None if year is not None else dates.written(text)
        exact = date is not None and date.has_year and any(map(str.isdigit, text))
        if not exact and not dates.is_only_date(text):
            date = None
        if year is not None or date is not None:
            found.append((number, date, year))
    return found
