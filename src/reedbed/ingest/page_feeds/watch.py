"""Read the text of a page, or of some of its elements, to watch it for changes."""

from lxml import etree

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.page_feeds import WatchedPage
from reedbed.ingest.page_feeds.apply import is_xpath, selected_elements
from reedbed.ingest.page_feeds.document import BLOCKS, PageDocument, read_document
from reedbed.ingest.page_feeds.finder import NO_LIST, no_list_reason

MAX_CHARS = 100_000
"""What follows is not watched."""
_MAX_PASSAGE = 2_000
_CELLS = frozenset(("td", "th"))


def read_watched(body: bytes, selector: str, url: str, *, content_type: str | None = None) -> WatchedPage:
    """The text of the elements that the selector matches; without a selector, of the main part of the page."""
    css = {"item": selector} if selector and not is_xpath(selector) else {}
    page = read_document(body, url, content_type=content_type, css=css)
    if isinstance(page, Failure):
        return WatchedPage(reason=page)
    passages = _passages(page, selected_elements(page, "item", selector) if selector else _main(page))
    # A wall in front of the page is not its text; an element that was named is, wherever it stands.
    reason = no_list_reason(page) if not passages or not selector else NO_LIST
    if reason != NO_LIST:
        return WatchedPage(reason=reason)
    if not passages:
        return WatchedPage(reason=Failure(FailureCode.WATCHED_TEXT_NOT_FOUND))
    return WatchedPage(passages, page.title, page.language)


def _main(page: PageDocument) -> list[int]:
    for tag in ("main", "body"):
        if tag in page.tags:
            return [page.tags.index(tag)]
    return [0]


def _passages(page: PageDocument, numbers: list[int]) -> tuple[str, ...]:
    found: list[str] = []
    total, end = 0, -1
    for number in sorted(numbers):
        if number < end:
            continue  # it lies in the element before
        end = page.ends[number]
        for passage in _texts(page.elements[number]):
            total += len(passage)
            if total > MAX_CHARS:
                return tuple(found)
            found.append(passage)
    return tuple(found)


def _texts(root: etree.ElementBase) -> list[str]:
    """The text of the element, a passage for each block; the cells of a row are one passage."""
    parts: list[list[str]] = [[]]
    for event, element in etree.iterwalk(root, events=("start", "end")):
        tag = str(element.tag)
        if tag in _CELLS:
            parts[-1].append(" ")
        elif tag in BLOCKS:
            parts.append([])
        if event == "start":
            parts[-1].append(element.text or "")
        elif element is not root:
            parts[-1].append(element.tail or "")
    passages = (" ".join("".join(part).split())[:_MAX_PASSAGE] for part in parts)
    return [passage for passage in passages if passage]
