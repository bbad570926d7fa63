"""Separate side matter of a page from its content: navigation, footers, boxes of popular links, advertisements."""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from reedbed.domain.page_feeds import PageEntry
from reedbed.ingest.page_feeds.document import PageDocument

_ASIDE = re.compile(
    r"(?<![a-z])(?:nav|navigation|menu|megamenu|footer|foot|sidebar|aside|rail|related|popular|trending|breadcrumbs?|"
    r"pagination|pager|share|social|cookie|consent|cmp|(?<!elementor-)widget|recommended|recommend|jumpbox|toc|filters?|facets|"
    r"blogroll|ranking|rank|partners?|legal|subscribe|toolbar|dropdown|tabs|tagcloud|archive-list|bnr|banner)(?![a-z])"
    r"|most[-_]?(?:read|viewed|popular)|meist-?gelesen|plus-?lus|piu-?letti|mas-?(?:vist|le)|cok-?okunan|topnav|sub-?nav",
    re.IGNORECASE,
)
_MENU = re.compile(
    r"(?<![a-z])(?:mega-?menu|main-?nav|navbar|site-?nav|foot(?:er)?-?(?:nav|menu|links))(?![a-z])", re.IGNORECASE
)
_CONTENT = re.compile(
    r"(?<![a-z])(?:content|main|list|posts?|articles?|news|entries|entry|stream|feed|results|items?|stories|story|"
    r"archive|blog|listing|grid|topics?|threads?|river|releases?)(?![a-z])",
    re.IGNORECASE,
)
_ASIDE_HEADING = re.compile(
    r"most (?:read|viewed|popular|shared|commented)|trending|popular|related|recommended|you may also|editor.s picks?|"
    r"meistgelesen|beliebt|das könnte|les plus (?:lus|vus)|à lire aussi|lo más (?:visto|leído)|i più letti|più letti|"
    r"mais lidas?|mais vistos|популярное|читайте также|самое читаемое|ランキング|人気|关注|热门|排行|많이 본|인기|"
    r"الأكثر|najczęściej czytane|najpopularniejsze|çok okunan|meest gelezen|mest læste|recent posts|blogroll|archives?",
    re.IGNORECASE,
)
_ASIDE_TAGS = frozenset(("nav", "footer", "aside", "select", "form"))
_ROLES = frozenset(("navigation", "contentinfo", "complementary", "menu", "menubar", "dialog", "search"))
_WORD_SPLIT = re.compile(r"[\s_\-]+")
_MIN_ARTICLES = 4
_LABEL_WITHIN = 40
"""Elements from the start of an item."""
_AD_WORDS = frozenset(
    (
        "ad", "ads", "adv", "advert", "advertisement", "advertorial", "sponsor", "sponsored", "promo", "promoted",
        "werbung", "anzeige", "reklama", "publicidad", "skeleton", "ghost", "placeholder",
    )
)  # fmt: skip
_AD_LABEL = re.compile(
    r"advertisement|sponsored|promoted|anzeige|werbung|реклама|reklama|publicité|publicidad|广告|広告", re.I
)


def aside_regions(page: PageDocument) -> list[bool]:
    """For each element whether it lies in navigation, a footer, a sidebar or another side matter."""
    aside = [False] * len(page.elements)
    articles = [number for number, tag in enumerate(page.tags) if tag == "article"]
    for number, element in enumerate(page.elements):
        above = page.parents[number]
        if above >= 0 and aside[above]:
            aside[number] = True
            continue
        tag = page.tags[number]
        if tag in ("html", "body", "main", "article", "a", "li"):
            continue
        name = f"{element.get('class') or ''} {element.get('id') or ''}"
        if tag in ("nav", "footer") or element.get("role") in _ROLES or _MENU.search(name):
            aside[number] = True
        elif tag in _ASIDE_TAGS or (len(name) > 2 and _ASIDE.search(name) and not _CONTENT.search(name)):
            # What holds most of the page is no side matter, whatever it is called.
            aside[number] = page.ends[number] - number < len(page.elements) * 0.7 and (
                tag in _ASIDE_TAGS or not _holds_most(page, number, articles)
            )
    for number, tag in enumerate(page.tags):
        if tag in ("h2", "h3", "h4", "h5") and not aside[number]:
            text = page.text(number)
            if len(text) < 40 and _ASIDE_HEADING.match(text):
                _mark(aside, page, page.parents[number])
    return aside


def _holds_most(page: PageDocument, number: int, articles: Sequence[int]) -> bool:
    inside = sum(page.contains(number, article) for article in articles)
    return inside >= _MIN_ARTICLES and inside * 3 > len(articles) * 2


def _mark(aside: list[bool], page: PageDocument, number: int) -> None:
    if number > 0 and page.ends[number] - number < len(page.elements) * 0.4:
        for inner in range(number, page.ends[number]):
            aside[inner] = True


def is_advertisement(page: PageDocument, numbers: Sequence[int]) -> bool:
    """Whether an item is marked as an advertisement."""
    words = set(_WORD_SPLIT.split(page.attribute(numbers[0], "class").lower()))
    if words & _AD_WORDS:
        return True
    texts = (page.elements[number].text for number in numbers[:_LABEL_WITHIN])
    return any(text and len(text) < 30 and _AD_LABEL.fullmatch(text.strip()) for text in texts)


def undated_place(entries: Sequence[PageEntry], parents: Sequence[int]) -> list[str]:
    """Keys of entries without a date, if others at another place have dates and links of another directory."""
    dated = {parent for entry, parent in zip(entries, parents, strict=True) if entry.published is not None}
    inside = [entry for entry, parent in zip(entries, parents, strict=True) if parent in dated]
    outside = [entry for entry, parent in zip(entries, parents, strict=True) if parent not in dated]
    if len(inside) < 3 or any(entry.published is None for entry in inside):
        return []
    directories = [
        {urlsplit(entry.url).path.strip("/").partition("/")[0] for entry in some} for some in (inside, outside)
    ]
    return [entry.key for entry in outside] if directories[0].isdisjoint(directories[1]) else []
