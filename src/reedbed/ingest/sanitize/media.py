"""Pictures before cleaning: lazy ones get their real address, counting pixels go.

Plain http pictures are kept as `<img data-http-src="http://…">` without a `src`: no page loads them as they
stand, and `route_images` gives them one through the image proxy.
"""

import re
from collections.abc import Callable
from html import escape, unescape
from urllib.parse import parse_qs, urlsplit

from reedbed.domain.images import MAIL_PATH
from reedbed.ingest.sanitize.rules import ANCHOR_PREFIX, data_image, largest, web_address

NAME_ENDS = r"(?=[ \t\n\f\r/>])"
_SPACE = r"[ \t\n\f\r]"
_NAME = r"[^ \t\n\f\r/>][^ \t\n\f\r/>=]*"
# Nothing follows the last part of these patterns, so a hostile tag costs one walk and no backtracking.
_ATTRIBUTE = re.compile(
    rf"({_NAME})(?:{_SPACE}*={_SPACE}*(?:\"([^\"]*)\"|'([^']*)'|([^ \t\n\f\r>\"'][^ \t\n\f\r>]*)))?"
)
_END_OR_ATTRIBUTE = re.compile(
    rf"[ \t\n\f\r/]*(?:(>)|{_NAME}(?:{_SPACE}*={_SPACE}*"
    r"(?:\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z)|[^ \t\n\f\r>]*))?)"
)
MAX_ATTRIBUTES = 64


def find_tag_end(html: str, start: int) -> int:
    """The place of the `>` that ends a tag, searched from the end of the tag's name; -1 if there is none.

    A `>` in a quoted value does not end a tag.
    """
    end = html.find(">", start)
    if end == -1:
        return -1
    if html.find('"', start, end) == -1 and html.find("'", start, end) == -1:
        return end
    while found := _END_OR_ATTRIBUTE.match(html, start):
        if found[1]:
            return found.end() - 1
        start = found.end()
    return -1


def read_attributes(source: str) -> dict[str, str]:
    """The attributes of one tag by lower-case name; the first of a name wins, as in a browser."""
    found: dict[str, str] = {}
    for attribute in _ATTRIBUTE.finditer(source):
        name, double, single, bare = attribute.groups("")
        name = name.lower()
        if name not in found:
            value = double or single or bare
            found[name] = unescape(value) if "&" in value else value
            if len(found) == MAX_ATTRIBUTES:
                break
    return found


def write_tag(name: str, attributes: dict[str, str]) -> str:
    written = "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())
    return f"<{name}{written}>"


_EMBED = re.compile(rf"<(/?)(iframe|embed|object|amp-youtube){NAME_ENDS}", re.IGNORECASE)
_ADDRESS_NAMES = ("src", "data-src", "data-lazy-src", "data-litespeed-src", "data")
_FILM_ID = re.compile(r"[A-Za-z0-9_\-]{6,20}\Z")
_NUMBER = re.compile(r"[0-9]{4,15}\Z")
_YOUTUBE_HOSTS = ("youtube.com", "youtube-nocookie.com", "youtu.be")
# Frames that show nothing to read: advertising, counting, consent, share buttons.
_SILENT_HOST = re.compile(
    r"(?:^|\.)(?:doubleclick\.net|googlesyndication\.com|googletagmanager\.com|google-analytics\.com|"
    r"amazon-adsystem\.com|facebook\.com|addthis\.com|sharethis\.com|recaptcha\.net|disqus\.com|outbrain\.com|"
    r"taboola\.com)\Z"
)


def embeds_to_links(html: str, base: str | None) -> str:
    seen: set[str] = set()
    kept: list[str] = []
    end = 0
    while embed := _EMBED.search(html, end):
        tag_end = find_tag_end(html, embed.end())
        if tag_end == -1:
            break
        kept.append(html[end : embed.start()])
        end = tag_end + 1
        closing, name = embed.groups()
        if closing:
            continue
        address = _embedded_address(name.lower(), read_attributes(html[embed.end() : tag_end]), base)
        if address and address not in seen:
            seen.add(address)
            kept.append(_link(address))
    return "".join(kept) + html[end:]


def _embedded_address(name: str, attributes: dict[str, str], base: str | None) -> str | None:
    if name == "amp-youtube":
        film = attributes.get("data-videoid", "")
        return f"https://www.youtube.com/watch?v={film}" if _FILM_ID.match(film) else None
    for key in _ADDRESS_NAMES:
        if (value := attributes.get(key)) and (address := web_address(value, base)):
            return address
    return None


def _link(address: str) -> str:
    host, path, query = _parts(address)
    if not host or _SILENT_HOST.search(host):
        return ""
    if film := _youtube_film(host, path, query):
        page, picture = (
            f"https://www.youtube.com/watch?v={film}",
            f"https://i.ytimg.com/vi/{film}/hqdefault.jpg",
        )
        return _anchor(page, "YouTube", picture)
    if film := _dailymotion_film(host, path):
        page = f"https://www.dailymotion.com/video/{film}"
        return _anchor(page, "Dailymotion", f"https://www.dailymotion.com/thumbnail/video/{film}")
    if host.endswith("vimeo.com") and _NUMBER.match(film := path.rsplit("/", 1)[-1]):
        return _anchor(f"https://vimeo.com/{film}", "Vimeo", f"https://vumbnail.com/{film}.jpg")
    return _anchor(address, host, None)


def _parts(address: str) -> tuple[str, str, str]:
    try:
        parts = urlsplit(address)
        return (parts.hostname or "").removeprefix("www."), parts.path, parts.query
    except ValueError:
        return "", "", ""


def _youtube_film(host: str, path: str, query: str) -> str | None:
    if not host.endswith(_YOUTUBE_HOSTS):
        return None
    named = parse_qs(query[:2_000], max_num_fields=None).get("v", [""])[0]
    film = named or path.rstrip("/").rsplit("/", 1)[-1]
    return film if _FILM_ID.match(film) and film != "videoseries" else None


def _dailymotion_film(host: str, path: str) -> str | None:
    film = path.rsplit("/", 1)[-1].split("_", 1)[0]
    return film if host.endswith("dailymotion.com") and "/video/" in path and film.isalnum() else None


def _anchor(page: str, label: str, picture: str | None) -> str:
    image = f'<img src="{escape(picture)}" alt=""> ' if picture else ""
    return f'<a href="{escape(page)}">{image}▶ {escape(label)}</a>'


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
