"""The lists of a page from all sources, best first, or the reason why there is none."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.page_feeds import MAX_ENTRIES, PageEntry, PageList, PageLists
from reedbed.domain.times import Instant
from reedbed.ingest.article.extract import blocked_reason, is_error_title
from reedbed.ingest.article.metadata import read_metadata
from reedbed.ingest.page_feeds.dates import DateReader, day_order
from reedbed.ingest.page_feeds.detection import MIN_SCORE, DetectedList, detect_lists
from reedbed.ingest.page_feeds.document import PageDocument, read_document
from reedbed.ingest.page_feeds.fronts import with_front
from reedbed.ingest.page_feeds.items import ItemReader
from reedbed.ingest.page_feeds.recipe import recipe_for
from reedbed.ingest.page_feeds.regions import aside_regions
from reedbed.ingest.page_feeds.scores import (
    MIN_EVIDENCE,
    asks_to_log_in,
    content_score,
    most,
    named_evidence,
    undated_evidence,
)
from reedbed.ingest.page_feeds.sources import SourceReader, is_article, news_sitemap

MAX_LISTS = 5
_SOURCE_PREFERENCE = 1.25
_EMPTY_SHELL = 200
"""Characters; a page with less text and with scripts is built in the browser."""

_FEW = 4
"""Entries; so few without dates are no list that grows, except on a page that is called news."""

NO_LIST = Failure(FailureCode.LIST_NOT_FOUND)
TOO_MANY = Failure(FailureCode.LIST_TOO_LONG, {"limit": MAX_ENTRIES})
_CONSENT = re.compile(
    r"consent|cookies?|privacy|datenschutz|einwilligung|confidentialité|privacidad|partners|toestemming|"
    r"samtycke|consenso|zgod[aęy]|同意|согласие",
    re.IGNORECASE,
)
_SHORT_PAGE = 1_500
_MIN_PARAGRAPH, _MIN_TEXT, _MIN_ARTICLE, _MIN_SOLE = 80, 600, 900, 200
"""Characters."""


def find_lists(body: bytes, url: str, *, now: Instant, content_type: str | None = None) -> PageLists:
    if sitemap := news_sitemap(body, DateReader(now, None)):
        return _checked(PageLists(tuple(sitemap)))
    page = read_document(body, url, content_type=content_type)
    if isinstance(page, Failure):
        return PageLists(reason=page)
    found = read_lists(page, now)
    lists = PageLists(tuple(found[:MAX_LISTS]), page.title, page.language)
    if not found or _is_consent_wall(page, found[0]):
        return replace(lists, lists=(), reason=no_list_reason(page))
    if is_error_title(page.title) and all(entry.published is None for entry in found[0].entries):
        return replace(lists, lists=(), reason=Failure(FailureCode.PAGE_IS_ERROR))
    return _checked(lists)


def read_lists(page: PageDocument, now: Instant) -> list[PageList]:
    dates = date_reader(page, now)
    reader, aside = ItemReader(page, dates), aside_regions(page)
    detected = with_front(page, reader, detect_lists(page, dates, reader, aside), dates, aside)
    related = _related_lists(page, detected)
    # What is related to a text is no list of the page, in data for programs as little as in markup.
    keys = {entry.key for one in related for entry in one.entries}
    detected = [
        one
        for one in detected
        if one not in related and not _is_offer(page, one) and not _is_outside_article(page, one)
    ]
    found = [PageList(one.entries, recipe_for(page, one), one.score) for one in detected]
    given = [replace(one, score=_given_score(one.entries)) for one in SourceReader(page, dates).lists()]
    given = [one for one in given if 2 * sum(entry.key in keys for entry in one.entries) <= len(one.entries)]
    given = sorted((one for one in given if one.score >= MIN_SCORE), key=lambda one: -one.score)
    for one in given:
        found = _with_given(found, one, detected)
    return sorted(found, key=lambda one: -one.score)


def _is_offer(page: PageDocument, one: DetectedList) -> bool:
    """Whether a list is rather what a site offers, such as rooms and tariffs: a few things without dates."""
    undated = all(entry.published is None for entry in one.entries)
    return undated and len(one.entries) <= _FEW and named_evidence(page) <= 0


def _given_score(entries: Sequence[PageEntry]) -> float:
    dated = any(entry.published is not None for entry in entries)
    return content_score(entries) * (1.0 if dated or undated_evidence(entries) >= MIN_EVIDENCE - 1 else 0.1)


def _related_lists(page: PageDocument, detected: Sequence[DetectedList]) -> list[DetectedList]:
    """The lists around a text that is longer than they are: related articles, the latest of the site."""
    blocks: defaultdict[int, list[int]] = defaultdict(list)
    for number, tag in enumerate(page.tags):
        if tag == "p" and len(page.text(number)) >= _MIN_PARAGRAPH and not _is_linked(page, number):
            blocks[page.parents[number]].append(number)
    if not blocks:
        return []
    block = max(blocks, key=lambda above: sum(len(page.text(number)) for number in blocks[above]))
    is_one = is_article(page)
    return [one for one in detected if _is_related(page, one, block, blocks[block], is_article=is_one)]


def _is_outside_article(page: PageDocument, one: DetectedList) -> bool:
    """Whether an undated list stands beside the only article of the page, which has the heading of the page."""
    articles = [number for number, tag in enumerate(page.tags) if tag == "article"]
    if len(articles) != 1 or any(entry.published is not None for entry in one.entries):
        return False
    start, end = articles[0], page.ends[articles[0]]
    inside = any(start <= root < end for root in one.roots)
    return not inside and "h1" in page.tags[start:end] and len(page.text(start)) >= _MIN_SOLE


def _is_related(
    page: PageDocument, one: DetectedList, block: int, paragraphs: Sequence[int], *, is_article: bool
) -> bool:
    spans = [span for item in one.items for span in item.spans]
    outside = sum(
        len(page.text(number)) for number in paragraphs if not any(start <= number < end for start, end in spans)
    )
    if is_article and outside >= _MIN_ARTICLE and not any(page.contains(block, root) for root in one.roots):
        return True
    length = sum(len(page.text(start)) for start, _ in spans)
    dated = any(entry.published is not None for entry in one.entries)
    if dated and most(page.parents[root] == block for root in one.roots):
        return False  # the text is the introduction to the list
    return outside >= _MIN_TEXT and outside > length * (2 if dated else 1)


def _is_linked(page: PageDocument, number: int) -> bool:
    """Whether most of a paragraph is links."""
    links = page.links_in(number, page.ends[number])
    return 2 * sum(len(link.text) for link in links) > len(page.text(number))


def date_reader(page: PageDocument, now: Instant) -> DateReader:
    texts = [text for element in page.elements for text in (element.text, element.tail) if text and len(text) < 80]
    return DateReader(now, day_order(texts, page.language), (page.language or "").lower())


def _with_given(found: list[PageList], given: PageList, detected: Sequence[DetectedList]) -> list[PageList]:
    """Add a list that the page gives to programs; one list in place of the same list read from its markup."""
    keys = {entry.key for entry in given.entries}
    for at, other in enumerate(found):
        known = {entry.key for entry in other.entries}
        shared = len(keys & known)
        if shared * 2 < min(len(keys), len(known)):
            continue
        if len(known) > len(keys) * 1.2:
            return [*found[:at], replace(other, entries=_completed(other.entries, given.entries)), *found[at + 1 :]]
        score = max(given.score, other.score)
        better = replace(given, entries=_completed(given.entries, other.entries), score=score)
        return [*found[:at], better, *found[at + 1 :]]
    return [*found, replace(given, score=given.score * _SOURCE_PREFERENCE)]


def _completed(entries: Sequence[PageEntry], others: Sequence[PageEntry]) -> tuple[PageEntry, ...]:
    """Fill what a list lacks from another list of the same links."""
    by_key = {entry.key: entry for entry in others}
    return tuple(
        replace(
            entry,
            published=entry.published if entry.published is not None else other.published,
            image=entry.image or other.image,
            teaser=entry.teaser or other.teaser,
        )
        if (other := by_key.get(entry.key)) is not None
        else entry
        for entry in entries
    )


def _checked(lists: PageLists) -> PageLists:
    if lists.lists and len(lists.lists[0].entries) > MAX_ENTRIES:
        return replace(lists, lists=(), reason=TOO_MANY)
    return lists


def _is_consent_wall(page: PageDocument, best: PageList) -> bool:
    """Whether the page is short, speaks of consent, and its list is one of links to explanations of it."""
    explaining = sum(_CONSENT.search(f"{entry.title} {entry.url}") is not None for entry in best.entries)
    return 2 * explaining > len(best.entries) and no_list_reason(page).code is FailureCode.ARTICLE_NEEDS_CONSENT


def no_list_reason(page: PageDocument) -> Failure:
    text = " ".join(str(part) for part in page.tree.itertext())
    text = " ".join(text.split())
    metadata = read_metadata(page.tree, page.base)
    reason = blocked_reason(page.source, metadata, text)
    if reason is not None and reason.code is not FailureCode.ARTICLE_PAYWALL:
        return reason
    if len(text) < _SHORT_PAGE and len(_CONSENT.findall(text)) >= 3:
        return Failure(FailureCode.ARTICLE_NEEDS_CONSENT)
    if asks_to_log_in(page):
        return Failure(FailureCode.ARTICLE_NEEDS_LOGIN)
    if len(text) < _EMPTY_SHELL and "<script" in page.source.lower():
        return Failure(FailureCode.LIST_NEEDS_SCRIPTS)
    return NO_LIST
