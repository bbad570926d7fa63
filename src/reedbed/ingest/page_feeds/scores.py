"""Scores of lists: how likely a list is the one that a reader wants to follow."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from reedbed.domain.page_feeds import PageEntry
from reedbed.ingest.page_feeds.document import PageDocument, common_shape
from reedbed.ingest.page_feeds.item_dates import Item
from reedbed.ingest.page_feeds.media import is_icon, is_picture
from reedbed.ingest.page_feeds.titles import title_length, title_quality, without_size

_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_NUMBERED = re.compile(r"\d{3,}")
MIN_EVIDENCE = 1.6
_DOUBTFUL = 0.1
_BARE = -0.3
_QUESTION_ENDS = ("?", "？", "؟")
_NO_PAGES = ("mailto:", "tel:", "#")
_FIGURE = re.compile(r"\d+")


def list_score(
    page: PageDocument, roots: Sequence[int], items: Sequence[Item], entries: Sequence[PageEntry], aside: list[bool]
) -> float:
    count = len(entries)
    quality = sum(title_quality(entry.title) for entry in entries) / count
    quality *= min(1.0, 2 * len({without_size(entry.title) for entry in entries}) / count)
    dated = sum(entry.published is not None for entry in entries) / count
    pictured = sum(entry.image is not None for entry in entries) / count
    teased = sum(bool(entry.teaser) for entry in entries) / count
    headed = _share_with_heading(page, roots)
    size = math.log2(1 + min(count, 60))
    fields = 1 + 0.8 * dated + 0.4 * pictured + 0.3 * teased + 0.4 * headed
    lost = count / len(roots) if len(roots) > count else 1.0
    region = 0.12 if sum(aside[root] for root in roots) * 2 > len(roots) else 1.0
    score = size * (quality + 0.1 * (pictured + dated)) * fields * lost * region
    score *= _place_factor(page, roots, entries)
    if not dated and undated_evidence(entries) + _figures(page, items, entries) < MIN_EVIDENCE:
        score *= _DOUBTFUL
    return score


def undated_evidence(entries: Sequence[PageEntry]) -> float:
    """How much speaks for a list that grows, where no entry has a date: its size, titles, pictures and addresses.

    What a site offers for good, such as services, features and people, has few, short titles and plain addresses.
    """
    count, urls = len(entries), [entry.url for entry in entries]
    size = min(1.5, max(-0.5, (count - 4) / 3))
    length = sum(title_length(entry.title) for entry in entries) / count
    titles = min(2.0, max(-1.0, (length - 20) / 8))
    pictured = most(entry.image is not None and not is_icon(entry.image) for entry in entries)
    numbered = most(_NUMBERED.search(urlsplit(url).path) is not None for url in urls)
    numbered = numbered or (len({urlsplit(url).netloc for url in urls}) == 1 and common_shape(urls) != "")
    explained = most(bool(entry.teaser) for entry in entries)
    unlikely = most(entry.title.endswith(_QUESTION_ENDS) for entry in entries) or most(map(is_picture, urls))
    marks = 0.75 * pictured + numbered if pictured or numbered else _BARE
    return size + titles + marks - 0.4 * explained - 2 * unlikely


def most(answers: Iterable[bool]) -> bool:
    known = list(answers)
    return 2 * sum(known) > len(known)


def _figures(page: PageDocument, items: Sequence[Item], entries: Sequence[PageEntry]) -> float:
    """What speaks for undated items: numbers of their own, such as prices and replies.

    Ways to reach somebody and links to a part of this page speak against them: people and chapters.
    """
    texts = [" ".join(page.text(start) for start, _ in item.spans) for item in items]
    found = [_FIGURE.findall(text.replace(entry.title, "")) for text, entry in zip(texts, entries, strict=False)]
    hrefs = [[page.attribute(number, "href") for number in item.numbers] for item in items]
    if most(any(href.startswith(_NO_PAGES) and len(href) > 1 for href in some) for some in hrefs):
        return -2.0
    varied = len({tuple(figures) for figures in found if figures})
    return 1.0 if 2 * varied > len(items) else 0.0


def content_score(entries: Sequence[PageEntry]) -> float:
    """The score of a list that was not read from markup."""
    count = len(entries)
    quality = sum(title_quality(entry.title) for entry in entries) / count
    dated = sum(entry.published is not None for entry in entries) / count
    pictured = sum(entry.image is not None for entry in entries) / count
    return math.log2(1 + min(count, 60)) * quality * (1 + 0.8 * dated + 0.4 * pictured)


def _share_with_heading(page: PageDocument, roots: Sequence[int]) -> float:
    sample = roots[:20]
    return sum(not _HEADINGS.isdisjoint(page.tags[root : page.ends[root]]) for root in sample) / len(sample)


def _place_factor(page: PageDocument, roots: Sequence[int], entries: Sequence[PageEntry]) -> float:
    factor = 1.0
    tags = Counter(page.tags[root] for root in roots)
    if tags["article"] * 2 > len(roots):
        factor *= 1.2
    above = page.parents[roots[0]]
    for _ in range(6):
        if above < 0:
            break
        if page.tags[above] == "main":
            factor *= 1.15
            break
        above = page.parents[above]
    paths = [urlsplit(entry.url).path for entry in entries]
    slugs = sum(1 for path in paths if path.count("-") >= 2 or _NUMBERED.search(path)) / len(paths)
    return factor * (0.8 + 0.3 * slugs)
