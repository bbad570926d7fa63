"""Pick the image and the teaser of an item."""

import re
from collections.abc import Iterable

from reedbed.domain.text import digits_value
from reedbed.ingest.page_feeds.document import PageDocument
from reedbed.ingest.sanitize.rules import absolute_web_url

MAX_TEASER = 500
_MIN_TEASER = 40
_IMAGE_ATTRIBUTES = (
    "data-src", "data-original", "data-lazy-src", "data-lazy", "data-image", "data-url", "data-hi-res-src",
    "data-lazyload", "data-img", "data-thumb",
)  # fmt: skip
_BACKGROUND_ATTRIBUTES = (
    "data-bg",
    "data-background-image",
    "data-background",
    "data-bg-src",
    "data-img-url",
    "poster",
)
_WITH_BACKGROUND = frozenset(_BACKGROUND_ATTRIBUTES)
_SET_ATTRIBUTES = ("data-srcset", "data-lazy-srcset", "srcset")
_NO_PICTURE = re.compile(r"avatar|icon|emoji|sprite|author|gravatar|badge|flag|pixel|spacer", re.IGNORECASE)
_PERSON = re.compile(r"/(?:profiles?|users?|members?|authors?|u)/", re.IGNORECASE)
_LOGO = re.compile(r"logo", re.IGNORECASE)
_MIN_LOGO = 48
"""Pixels: a logo of this size is the picture of an item, as in lists of jobs."""
_BLANK_IMAGE = re.compile(
    r"(?:^|/)(?:blank|spacer|pixel|1x1|sp|loading|(?:\w+[-_])?placeholder|transparent|line)\.\w{3,4}$|^data:"
)
_BACKGROUND = re.compile(r"background(?:-image)?\s*:[^;]{0,40}?url\(\s*['\"]?([^'\")]{3,1000})", re.IGNORECASE)


def image_of(page: PageDocument, numbers: Iterable[int]) -> str | None:
    for number in numbers:
        element = page.elements[number]
        style = element.get("style")
        match = _BACKGROUND.search(style) if style and "url(" in style else None
        url = match[1] if match else _background(page, number)
        if page.tags[number] in ("img", "amp-img"):
            url = _image_source(page, number) or url
        if url and not _BLANK_IMAGE.search(url.partition("?")[0]):
            return absolute_web_url(url, page.base)
    return None


def is_picture(url: str) -> bool:
    return url.partition("?")[0].lower().endswith((".jpg", ".jpeg", ".png", ".webp", ".avif", ".gif", ".svg"))


def is_icon(url: str) -> bool:
    return url.partition("?")[0].lower().endswith(".svg")


def _is_of_person(page: PageDocument, number: int) -> bool:
    above = (page.ancestor(number, levels) for levels in (1, 2))
    return any(page.tags[one] == "a" and _PERSON.search(page.attribute(one, "href")) for one in above if one >= 0)


def _background(page: PageDocument, number: int) -> str | None:
    if _WITH_BACKGROUND.isdisjoint(page.elements[number].keys()):
        return None
    return next((url for name in _BACKGROUND_ATTRIBUTES if (url := page.attribute(number, name))), None)


def _image_source(page: PageDocument, number: int) -> str | None:
    element = page.elements[number]
    name = f"{element.get('class') or ''} {element.get('src') or ''}"
    size = digits_value(element.get("width") or element.get("height") or "")
    if _NO_PICTURE.search(name) or (_LOGO.search(name) and (size is None or size < _MIN_LOGO)):
        return None
    if (size is not None and size < 40) or _is_of_person(page, number):
        return None
    sources = [element.get(name) for name in _IMAGE_ATTRIBUTES] + [element.get("src")]
    sources += [_first_source(element.get(name)) for name in _SET_ATTRIBUTES]
    above = page.parents[number]
    while page.tags[above] == "source":  # libxml2 believes that it has an end tag
        above = page.parents[above]
    if page.tags[above] == "picture":
        inner = range(above + 1, page.ends[above])
        sources += [_first_source(page.attribute(n, k)) for n in inner for k in _SET_ATTRIBUTES]
    return next((url for url in sources if url and not _BLANK_IMAGE.search(url.partition("?")[0])), None)


def teaser_of(page: PageDocument, numbers: Iterable[int], title: str) -> str:
    best = ""
    for number in numbers:
        if page.tags[number] in ("p", "div", "td", "dd", "span", "li"):
            element = page.elements[number]
            own = element.text or ""
            if len(own) > _MIN_TEASER or page.tags[number] == "p":
                text = page.text(number)
                if len(text) > max(len(best), _MIN_TEASER) and title not in text[: len(title) + 20]:
                    best = text
    return best[:MAX_TEASER]


def _first_source(srcset: str | None) -> str | None:
    return srcset.strip().split()[0].rstrip(",") if srcset and srcset.strip() else None
