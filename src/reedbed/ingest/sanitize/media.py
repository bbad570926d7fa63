"""Tags, embeds and images before and after cleaning.

Before: embedded players become links, lazy images get their real URL, tracking pixels are dropped. Plain http
images are stored as `<img data-http-src="http://…">` without a `src`, so that no page loads them directly;
`route_images` later gives them a `src` through the image proxy.
"""

import re
from collections.abc import Callable
from html import escape, unescape
from urllib.parse import parse_qs, urlsplit

from reedbed.domain.images import MAIL_PATH
from reedbed.ingest.sanitize.attributes import ANCHOR_PREFIX
from reedbed.ingest.sanitize.rules import absolute_web_url, data_image, drawing_image, largest

# --- Tags and attributes

NAME_ENDS = r"(?=[ \t\n\f\r/>])"
_SPACE = r"[ \t\n\f\r]"
_NAME = r"[^ \t\n\f\r/>][^ \t\n\f\r/>=]*"
# Nothing follows the last part of these patterns, so even a hostile tag is read once, without backtracking.
_ATTRIBUTE = re.compile(
    rf"({_NAME})(?:{_SPACE}*={_SPACE}*(?:\"([^\"]*)\"|'([^']*)'|([^ \t\n\f\r>\"'][^ \t\n\f\r>]*)))?"
)
_END_OR_ATTRIBUTE = re.compile(
    rf"[ \t\n\f\r/]*(?:(>)|{_NAME}(?:{_SPACE}*={_SPACE}*"
    r"(?:\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z)|[^ \t\n\f\r>]*))?)"
)
MAX_ATTRIBUTES = 64


def find_tag_end(html: str, start: int) -> int:
    """Position of the `>` that ends a tag, searched from the end of the tag's name; -1 if there is none.

    A `>` in a quoted value does not end a tag.
    """
    end = html.find(">", start)
    if end == -1:
        return -1
    if html.find('"', start, end) == -1 and html.find("'", start, end) == -1:
        return end
    while match := _END_OR_ATTRIBUTE.match(html, start):
        if match[1]:
            return match.end() - 1
        start = match.end()
    return -1


def read_attributes(source: str) -> dict[str, str]:
    """The attributes of one tag by lower-case name; of duplicates the first wins, as in a browser."""
    attributes: dict[str, str] = {}
    for attribute in _ATTRIBUTE.finditer(source):
        name, double, single, bare = attribute.groups("")
        name = name.lower()
        if name not in attributes:
            value = double or single or bare
            attributes[name] = unescape(value) if "&" in value else value
            if len(attributes) == MAX_ATTRIBUTES:
                break
    return attributes


def write_tag(name: str, attributes: dict[str, str]) -> str:
    written = "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())
    return f"<{name}{written}>"


# --- Embedded players

_EMBED = re.compile(rf"<(/?)(iframe|embed|object|amp-youtube){NAME_ENDS}", re.IGNORECASE)
_URL_ATTRIBUTES = ("src", "data-src", "data-lazy-src", "data-litespeed-src", "data")
_VIDEO_ID = re.compile(r"[A-Za-z0-9_\-]{6,20}\Z")
_NUMBER = re.compile(r"[0-9]{4,15}\Z")
_YOUTUBE_HOSTS = ("youtube.com", "youtube-nocookie.com", "youtu.be")
# Frames without content: advertising, tracking, consent, share buttons.
_IGNORED_HOST = re.compile(
    r"(?:^|\.)(?:doubleclick\.net|googlesyndication\.com|googletagmanager\.com|google-analytics\.com|"
    r"amazon-adsystem\.com|facebook\.com|addthis\.com|sharethis\.com|recaptcha\.net|disqus\.com|outbrain\.com|"
    r"taboola\.com)\Z"
)


def embeds_to_links(html: str, base: str | None) -> str:
    seen: set[str] = set()
    parts: list[str] = []
    end = 0
    while embed := _EMBED.search(html, end):
        tag_end = find_tag_end(html, embed.end())
        if tag_end == -1:
            break
        parts.append(html[end : embed.start()])
        end = tag_end + 1
        closing, name = embed.groups()
        if closing:
            continue
        url = _embedded_url(name.lower(), read_attributes(html[embed.end() : tag_end]), base)
        if url and url not in seen:
            seen.add(url)
            parts.append(_link(url))
    return "".join(parts) + html[end:]


def _embedded_url(name: str, attributes: dict[str, str], base: str | None) -> str | None:
    if name == "amp-youtube":
        video_id = attributes.get("data-videoid", "")
        return f"https://www.youtube.com/watch?v={video_id}" if _VIDEO_ID.match(video_id) else None
    for key in _URL_ATTRIBUTES:
        if (value := attributes.get(key)) and (url := absolute_web_url(value, base)):
            return url
    return None


def _link(url: str) -> str:
    host, path, query = _split_url(url)
    if not host or _IGNORED_HOST.search(host):
        return ""
    if video_id := _youtube_id(host, path, query):
        page, thumbnail = (
            f"https://www.youtube.com/watch?v={video_id}",
            f"https://i.ytimg.com/vi/{video_id}/hqdefault.jpg",
        )
        return _anchor(page, "YouTube", thumbnail)
    if video_id := _dailymotion_id(host, path):
        page = f"https://www.dailymotion.com/video/{video_id}"
        return _anchor(page, "Dailymotion", f"https://www.dailymotion.com/thumbnail/video/{video_id}")
    if host.endswith("vimeo.com") and _NUMBER.match(video_id := path.rsplit("/", 1)[-1]):
        return _anchor(f"https://vimeo.com/{video_id}", "Vimeo", f"https://vumbnail.com/{video_id}.jpg")
    return _anchor(url, host, None)


def _split_url(url: str) -> tuple[str, str, str]:
    try:
        parts = urlsplit(url)
        return (parts.hostname or "").removeprefix("www."), parts.path, parts.query
    except ValueError:
        return "", "", ""


def _youtube_id(host: str, path: str, query: str) -> str | None:
    if not host.endswith(_YOUTUBE_HOSTS):
        return None
    from_query = parse_qs(query[:2_000], max_num_fields=None).get("v", [""])[0]
    video_id = from_query or path.rstrip("/").rsplit("/", 1)[-1]
    return video_id if _VIDEO_ID.match(video_id) and video_id != "videoseries" else None


def _dailymotion_id(host: str, path: str) -> str | None:
    video_id = path.rsplit("/", 1)[-1].split("_", 1)[0]
    return video_id if host.endswith("dailymotion.com") and "/video/" in path and video_id.isalnum() else None


def _anchor(page: str, label: str, thumbnail: str | None) -> str:
    image = f'<img src="{escape(thumbnail)}" alt=""> ' if thumbnail else ""
    return f'<a href="{escape(page)}">{image}▶ {escape(label)}</a>'


# --- Drawings

_SVG_TAG = re.compile(rf"<(/?)svg{NAME_ENDS}", re.IGNORECASE)
_DRAWING_SIZE = re.compile(r"\s*([0-9]{1,5})(?:\.[0-9]*)?\s*(?:px)?\s*\Z")
_SVG_TITLE = re.compile(r"<title[^<>]*>([^<]{1,300})</title>", re.IGNORECASE)
MIN_DRAWING = 64
"""Pixels; smaller ones are icons of the site's own controls."""
MAX_DRAWINGS = 50


def drawings_to_images(html: str) -> str:
    """Replace inline SVG that draws a picture by an image of it. Any other is left, and dropped later."""
    parts: list[str] = []
    end = 0
    for _ in range(MAX_DRAWINGS):
        start = _SVG_TAG.search(html, end)
        if start is None:
            break
        tag_end = find_tag_end(html, start.end())
        closing = _SVG_TAG.search(html, tag_end + 1) if tag_end != -1 else None
        after = find_tag_end(html, closing.end()) + 1 if closing else 0
        if closing is None or not after:
            break
        parts.append(html[end : start.start()])
        if closing[1] and not start[1]:
            attributes = read_attributes(html[start.end() : tag_end])
            parts.append(_drawing(attributes, html[start.start() : after]))
            end = after
        else:  # a drawing in a drawing
            parts.append(html[start.start() : tag_end + 1])
            end = tag_end + 1
    return "".join(parts) + html[end:]


def _drawing(attributes: dict[str, str], svg: str) -> str:
    width, height = _drawing_size(attributes)
    if min(width, height) < MIN_DRAWING or attributes.get("aria-hidden") == "true":
        return svg
    declarations = "".join(
        f' {name}="{value}"'
        for name, value in (("xmlns", "http://www.w3.org/2000/svg"), ("xmlns:xlink", "http://www.w3.org/1999/xlink"))
        if name not in attributes
    )
    url = drawing_image(f"<svg{declarations}{svg[4:]}")
    title = _SVG_TITLE.search(svg)
    label = attributes.get("aria-label") or (unescape(title[1]) if title else "")
    return f'<img src="{url}" alt="{escape(label)}" width="{width}" height="{height}">' if url else svg


def _drawing_size(attributes: dict[str, str]) -> tuple[int, int]:
    """Width and height in pixels; for a width in percent those of the view box."""
    width, height = (_DRAWING_SIZE.match(attributes.get(name, "")) for name in ("width", "height"))
    if width and height:
        return int(width[1]), int(height[1])
    box = attributes.get("viewbox", "").replace(",", " ").split()
    sides = [_DRAWING_SIZE.match(side) for side in box[2:4]]
    if "width" not in attributes or len(sides) != 2 or sides[0] is None or sides[1] is None:
        return 0, 0
    across, down = int(sides[0][1]), int(sides[1][1])
    return (int(width[1]), down * int(width[1]) // max(1, across)) if width else (across, down)


# --- Images

_NOSCRIPT = re.compile(r"<noscript[^<>]*>([^<]*(?:<(?!/?noscript)[^<]*)*)</noscript\s*>", re.IGNORECASE)
_MAX_NOSCRIPTS = 200
_SOURCE_VALUE = re.compile(r"""\ssrc\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)

_LAZY_SOURCES = (
    "data-src", "data-original", "data-lazy-src", "data-original-src", "data-actualsrc", "data-orig-file",
    "data-full-src", "data-hi-res-src", "data-echo", "data-url", "data-lazy", "data-image", "data-img-src",
)  # fmt: skip
_LAZY_SRCSETS = ("data-srcset", "data-lazy-srcset", "data-original-set")
LAZY_ATTRIBUTES = frozenset((*_LAZY_SOURCES, *_LAZY_SRCSETS))
_LOOKS_LIKE_IMAGE = re.compile(r"^(?:https?:)?//|\.(?:jpe?g|png|gif|webp|avif)\b|^/", re.IGNORECASE)

_HIDDEN_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|(?:^|[;\s])(?:max-)?(?:width|height)\s*:\s*[01](?:px)?\s*(?:;|!|$)",
    re.IGNORECASE,
)
_NO_SIZE = re.compile(r"\s*0*[01](?:\.0*)?\s*(?:px)?\s*\Z")
_TRACKING_URL = re.compile(
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


def resolve_image_attributes(attributes: dict[str, str], base: str | None) -> dict[str, str] | None:
    """The attributes of the real image, or None for tracking pixels and images without a usable source."""
    if _is_pixel(attributes):
        return None
    source = _real_source(attributes, base)
    if source is None or _TRACKING_URL.match(source):
        return None
    others = dict(attributes)
    others.pop("src", None)
    others.pop("data-http-src", None)
    kind = "data-http-src" if source.startswith("http:") else "src"
    return {kind: source, **_with_srcset(others)}


def resolve_source_attributes(attributes: dict[str, str]) -> dict[str, str]:
    return _with_srcset(attributes)


def unwrap_noscript(html: str) -> str:
    """Replace `<noscript>` by its content, unless the same image is also elsewhere in the markup."""
    return _NOSCRIPT.sub(lambda match: _noscript_content(match, html), html, count=_MAX_NOSCRIPTS)


def route_images(html: str, through: Callable[[str], str], *, everything: bool) -> str:
    """Send images of clean markup through the proxy: all, or only plain http ones and those of video sites."""

    def routed(match: re.Match[str]) -> str:
        every = everything or _VIDEO_PICTURE.search(match[0]) is not None
        tag = _SRCSET_OR_SIZES.sub("", match[0]) if every else match[0]
        pattern = _ANY_SRC if every else _HTTP_SRC
        return pattern.sub(lambda source: f' src="{escape(through(unescape(source[1])))}"', tag)

    if not everything and "data-http-src" not in html and not _VIDEO_PICTURE.search(html):
        return html
    return _CLEAN_IMAGE.sub(routed, _CLEAN_SOURCE.sub("", html) if everything else html)


def standalone_html(html: str) -> str:
    """Clean markup for use outside Reedbed: original anchor names, and http images loaded directly."""
    routed = route_images(html, lambda url: url, everything=False)
    return routed.replace(f' href="#{ANCHOR_PREFIX}', ' href="#').replace(f' id="{ANCHOR_PREFIX}', ' id="')


def route_mail_images(html: str, through: Callable[[str], str]) -> str:
    """Replace the URLs of images attached to a mail; `through` gets the hash of each image."""
    if MAIL_PATH not in html:
        return html
    return _MAIL_SRC.sub(lambda source: f' src="{escape(through(source[1]))}"', html)


def without_video_pictures(html: str) -> str:
    """Without the pictures that `embeds_to_links` has added: their sites hear of a reader only from a press on play."""
    return _CLEAN_IMAGE.sub(lambda tag: "" if _VIDEO_PICTURE.search(tag[0]) else tag[0], html)


def is_video_picture(url: str) -> bool:
    return _VIDEO_PICTURE.match(f' src="{url}"') is not None


_VIDEO_PICTURE = re.compile(
    r' src="https://(?:i\.ytimg\.com/vi/|vumbnail\.com/|www\.dailymotion\.com/thumbnail/video/)'
)
# Exact on clean markup: nh3 escapes `<`, `>` and `"` inside attribute values and `<` in text.
_CLEAN_IMAGE = re.compile(r"<img [^>]*>")
_CLEAN_SOURCE = re.compile(r"<source [^>]*srcset=[^>]*>")
_HTTP_SRC = re.compile(r' data-http-src="([^"]*)"')
_MAIL_SRC = re.compile(rf' src="{re.escape(MAIL_PATH)}([0-9a-f]{{64}})"')
_ANY_SRC = re.compile(r' (?:src|data-http-src)="(https?:[^"]*)"')
_SRCSET_OR_SIZES = re.compile(r' (?:srcset|sizes)="[^"]*"')


def _noscript_content(noscript: re.Match[str], html: str) -> str:
    content = noscript[1]
    source = _SOURCE_VALUE.search(content)
    return "" if source and html.count(source[1]) > 1 else content


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
        if value and _LOOKS_LIKE_IMAGE.search(value[:2_000]) and (url := absolute_web_url(value, base)):
            return url
    for key in ("src", "data-http-src"):
        if (value := attributes.get(key)) and (url := absolute_web_url(value, base)):
            return url
    for key in (*_LAZY_SRCSETS, "srcset"):
        if (value := attributes.get(key)) and (url := largest(value, base)):
            return url
    return data_image(attributes.get("src", ""))
