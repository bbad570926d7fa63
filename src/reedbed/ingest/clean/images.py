"""Pictures before cleaning: lazy ones get their real address, counting pixels go.

Plain http pictures are kept as `<img data-http-src="http://…">` without a `src`: no page loads them as they
stand, and `route_images` gives them one through the image proxy.
"""

import re
from collections.abc import Callable
from html import escape, unescape

from reedbed.domain.images import MAIL_PATH
from reedbed.ingest.clean.attributes import ANCHOR_PREFIX
from reedbed.ingest.clean.urls import data_image, largest, web_address

_NOSCRIPT = re.compile(r"<noscript[^<>]*>([^<]*(?:<(?!/?noscript)[^<]*)*)</noscript\s*>", re.IGNORECASE)
_MAX_NOSCRIPTS = 200
_SOURCE_VALUE = re.compile(r"""\ssrc\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)

_LAZY_SOURCES = (
    "data-src", "data-original", "data-lazy-src", "data-original-src", "data-actualsrc", "data-orig-file",
    "data-full-src", "data-hi-res-src", "data-echo", "data-url", "data-lazy", "data-image", "data-img-src",
)  # fmt: skip
_LAZY_SRCSETS = ("data-srcset", "data-lazy-srcset", "data-original-set")
LAZY_ATTRIBUTES = frozenset((*_LAZY_SOURCES, *_LAZY_SRCSETS))
_LOOKS_LIKE_PICTURE = re.compile(r"^(?:https?:)?//|\.(?:jpe?g|png|gif|webp|avif)\b|^/", re.IGNORECASE)

_HIDDEN_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|(?:^|[;\s])(?:max-)?(?:width|height)\s*:\s*[01](?:px)?\s*(?:;|!|$)",
    re.IGNORECASE,
)
_NO_SIZE = re.compile(r"\s*0*[01](?:\.0*)?\s*(?:px)?\s*\Z")
_COUNTER = re.compile(
    r"^https?://(?:"
    r"feeds\.feedburner\.com/~r/|feeds\.wordpress\.com/1\.0/|pixel\.wp\.com/|stats\.wordpress\.com/|"
    r"(?:[\w-]+\.)*(?:scorecardresearch\.com|quantserve\.com|doubleclick\.net|google-analytics\.com|"
    r"googlesyndication\.com|googleadservices\.com|feedsportal\.com|pheedo\.com|chartbeat\.(?:com|net)|"
    r"imrworldwide\.com|statcounter\.com|bluekai\.com|adnxs\.com|demdex\.net|omtrdc\.net|bat\.bing\.com|"
    r"mailtrack\.io|litms\.com|emltrk\.com)/|"
    r"(?:www\.)?facebook\.com/tr\b|px\.ads\.linkedin\.com/|medium\.com/_/stat|counter\.theconversation\.com/|"
    r"(?:[\w-]+\.)*list-manage\.com/track/open|track\.customer\.io/|"
    r"[^/?#]+/(?:[^?#]*/)?(?:wf/open|track/open(?:\.php)?|matomo\.php|piwik\.php|"
    r"(?:1x1|pixel|spacer|blank|transparent|clear|tracking|beacon)\.(?:gif|png))(?:[?#]|\Z))",
    re.IGNORECASE,
)


def settled_image(attributes: dict[str, str], base: str | None) -> dict[str, str] | None:
    """The attributes an image should have had, or None if it is nothing to look at."""
    if _is_pixel(attributes):
        return None
    source = _real_source(attributes, base)
    if source is None or _COUNTER.match(source):
        return None
    settled = dict(attributes)
    settled.pop("src", None)
    settled.pop("data-http-src", None)
    kind = "data-http-src" if source.startswith("http:") else "src"
    return {kind: source, **_with_srcset(settled)}


def settled_source(attributes: dict[str, str]) -> dict[str, str]:
    return _with_srcset(attributes)


def unwrap_noscript(html: str) -> str:
    """What a page shows without scripts, unless the same picture stands beside it."""
    return _NOSCRIPT.sub(lambda match: _fallback(match, html), html, count=_MAX_NOSCRIPTS)


def route_images(html: str, through: Callable[[str], str], *, everything: bool) -> str:
    """Give the pictures of clean markup an address through the proxy: all, or only plain http ones."""

    def routed(match: re.Match[str]) -> str:
        tag = _CHOICES.sub("", match[0]) if everything else match[0]
        wanted = _ANY_SRC if everything else _HTTP_SRC
        return wanted.sub(lambda found: f' src="{escape(through(unescape(found[1])))}"', tag)

    if not everything and "data-http-src" not in html:
        return html
    return _CLEAN_IMAGE.sub(routed, _CLEAN_SOURCE.sub("", html) if everything else html)


def standing_alone(html: str) -> str:
    """Clean markup for use outside Reedbed's pages: anchors as the source named them, http pictures shown."""
    shown = route_images(html, lambda address: address, everything=False)
    return shown.replace(f' href="#{ANCHOR_PREFIX}', ' href="#').replace(f' id="{ANCHOR_PREFIX}', ' id="')


def route_mail_images(html: str, through: Callable[[str], str]) -> str:
    """Give the pictures that came inside a mail another address; `through` gets the name of each."""
    if MAIL_PATH not in html:
        return html
    return _MAIL_SRC.sub(lambda found: f' src="{escape(through(found[1]))}"', html)


# Exact on clean markup: nh3 escapes `<`, `>` and `"` inside attribute values and `<` in text.
_CLEAN_IMAGE = re.compile(r"<img [^>]*>")
_CLEAN_SOURCE = re.compile(r"<source [^>]*srcset=[^>]*>")
_HTTP_SRC = re.compile(r' data-http-src="([^"]*)"')
_MAIL_SRC = re.compile(rf' src="{re.escape(MAIL_PATH)}([0-9a-f]{{64}})"')
_ANY_SRC = re.compile(r' (?:src|data-http-src)="(https?:[^"]*)"')
_CHOICES = re.compile(r' (?:srcset|sizes)="[^"]*"')


def _fallback(noscript: re.Match[str], html: str) -> str:
    inside = noscript[1]
    source = _SOURCE_VALUE.search(inside)
    return "" if source and html.count(source[1]) > 1 else inside


def _with_srcset(attributes: dict[str, str]) -> dict[str, str]:
    for key in _LAZY_SRCSETS:
        if value := attributes.get(key):
            return {**attributes, "srcset": value}
    return attributes


def _is_pixel(attributes: dict[str, str]) -> bool:
    for side in ("width", "height"):
        if (value := attributes.get(side)) and _NO_SIZE.match(value):
            return True
    style = attributes.get("style")
    return bool(style) and _HIDDEN_STYLE.search(style[:500]) is not None


def _real_source(attributes: dict[str, str], base: str | None) -> str | None:
    lazy = () if LAZY_ATTRIBUTES.isdisjoint(attributes) else _LAZY_SOURCES
    for key in lazy:
        value = attributes.get(key)
        if value and _LOOKS_LIKE_PICTURE.search(value[:2_000]) and (address := web_address(value, base)):
            return address
    for key in ("src", "data-http-src"):
        if (value := attributes.get(key)) and (address := web_address(value, base)):
            return address
    for key in (*_LAZY_SRCSETS, "srcset"):
        if (value := attributes.get(key)) and (address := largest(value, base)):
            return address
    return data_image(attributes.get("src", ""))
