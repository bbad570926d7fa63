"""Articles: extraction selectors, choosing between feed content and the fetched article, and saved pages."""

import re
from collections.abc import Iterator, Sequence
from html import unescape
from urllib.parse import unquote, urlsplit

from reedbed.domain.entries import Entry
from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.text import index_text, storable
from reedbed.domain.times import HOUR, MINUTE
from reedbed.domain.urls import normalize_url

MAX_SELECTORS = 20
MAX_SELECTOR_LENGTH = 200


@record
class ArticleSelectors:
    keep: tuple[str, ...] = ()
    """Together they form the article; if none matches, the default extraction is used."""
    drop: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.keep or self.drop)


def check_selectors(lines: Sequence[str], field: str) -> tuple[str, ...]:
    """Remove empty lines and duplicates. The CSS syntax is checked where the selectors are used."""
    selectors = tuple(dict.fromkeys(selector for line in lines if (selector := " ".join(storable(line).split()))))
    if len(selectors) > MAX_SELECTORS:
        raise Invalid("There can be at most %(limit)s selectors.", field=field, limit=MAX_SELECTORS)
    for selector in selectors:
        if len(selector) > MAX_SELECTOR_LENGTH:
            raise Invalid(
                "“%(selector)s…” is longer than %(limit)s characters.",
                field=field,
                selector=selector[:40],
                limit=MAX_SELECTOR_LENGTH,
            )
    return selectors


# --- Feed content or article

SHORT_TEXT = 200
"""Characters; a feed with shorter texts may only link to its articles."""
MAX_CAPTION_LENGTH = 100
"""Characters; a shorter text next to an image is its caption, and the image is the content."""
MIN_TEASER_WORDS = 6
SAME_TEXT = 0.8
"""The share of an entry's words that an article must contain; not all, because teasers are often reworded."""

# Exact on sanitized markup: the sanitizer escapes `<`, `>` and `"` in attribute values and `<` in text.
_TAG = re.compile(r"<[^>]*>")
_MEDIA = re.compile(r'<(?:img|source|video|audio) [^>]*?(?:src|data-http-src|poster)="([^"]*)"')
_LINK = re.compile(r'<a [^>]*?href="([^"]*)"[^>]*>(.*?)</a>', re.DOTALL)
_ELLIPSES = ("…", "…]", "...", "...]")
_SIZE_SUFFIX = re.compile(r"(?:[-_]\d+x\d+|@\dx|-scaled)?\.\w+$")


@record
class _Contents:
    words: frozenset[str]
    length: int
    """Number of words."""
    media: frozenset[str]
    links: frozenset[str]


def shown_content(entry: Entry, full_text: str) -> str:
    """The HTML to show to a user whose full-text mode for this feed is `full_text`.

    An article replaces the feed's content only if it contains all of it and more. In `always` mode, an
    article that is longer but lacks something is appended to the feed's content.
    """
    article = entry.full_content
    if not article or full_text == "never" or (full_text == "auto" and len(entry.row.summary) >= SHORT_TEXT):
        return entry.content
    own = {normalize_url(url) for url in (entry.row.url, entry.external_url, entry.comments_url) if url}
    from_feed, fetched = _measure(entry.content, own), _measure(article, own)
    is_picture = bool(from_feed.media) and len(entry.row.summary) < MAX_CAPTION_LENGTH
    if is_picture and not (full_text == "always" and _is_teaser(from_feed, fetched)):
        return entry.content
    if _contains(fetched, from_feed) and (fetched.length > from_feed.length or fetched.media > from_feed.media):
        return article
    if full_text == "always" and fetched.length > from_feed.length:
        return f"{entry.content}<hr>{article}"
    return entry.content


def content_for_programs(entry: Entry, full_text: str) -> str:
    """Apps cannot switch back to the feed's content, so they get articles only in `always` mode."""
    return shown_content(entry, full_text) if full_text == "always" else entry.content


def is_shorter(article: str, content: str) -> bool:
    """Whether a fetched article has fewer words than the feed's content: a login page, a notice, a stub."""
    return _measure(article, set()).length < _measure(content, set()).length


def _contains(article: _Contents, entry: _Contents) -> bool:
    return entry.media <= article.media and entry.links <= article.links and _repeats(article, entry)


def _repeats(article: _Contents, entry: _Contents) -> bool:
    return len(entry.words & article.words) >= SAME_TEXT * len(entry.words)


def _is_teaser(entry: _Contents, article: _Contents) -> bool:
    """A sentence beside a picture that the article repeats, rather than the caption of a comic."""
    return entry.length >= MIN_TEASER_WORDS and _repeats(article, entry)


def _measure(html: str, own: set[str | None]) -> _Contents:
    """`own` are URLs of the entry itself: "Read more" and "Comments" links are not part of its text."""
    links: set[str] = set()

    def without_own(link: re.Match[str]) -> str:
        url = normalize_url(unescape(link[1]))
        if url in own and "<img" not in link[2]:
            return " "
        if url is not None and url not in own:
            links.add(url)
        return link[0]

    text = unescape(_TAG.sub(" ", _LINK.sub(without_own, html))).rstrip()
    if text.endswith(_ELLIPSES):
        text = text.rstrip(".…[] ").rpartition(" ")[0]
    words = index_text(text).split()
    return _Contents(frozenset(words), len(words), frozenset(_media_names(html)), frozenset(links))


def _media_names(html: str) -> Iterator[str]:
    """Identified by file name without size, because sites serve the same image at several URLs."""
    for match in _MEDIA.finditer(html):
        url = unescape(match[1])
        file_name = url.partition("?")[0].rpartition("/")[2]
        name = _SIZE_SUFFIX.sub("", file_name)
        yield name if "." in file_name and name else url


# --- Saved pages

FEED_URL = "reedbed:saved"
"""The URL of every user's feed of saved pages; the owner distinguishes them."""
MAX_TITLE = 500
FIRST_WAIT, GIVE_UP_AFTER = 10 * MINUTE, HOUR
"""First delay and time limit for retrying a page whose site does not respond."""


@record
class SavedPage:
    entry_id: int
    new: bool
    """False: it was already an entry of the user and is now saved for later."""


def title_from_url(url: str) -> str:
    """A title for a page until it is fetched: `example.org/how-reeds-grow`."""
    parts = urlsplit(url)
    path = unquote(parts.path, errors="replace").rstrip("/")
    return f"{parts.netloc.rpartition('@')[2].removeprefix('www.')}{path}"[:MAX_TITLE] or url[:MAX_TITLE]


# --- Videos of other sites

_YOUTUBE = re.compile(
    r"https://(?:www\.|m\.)?(?:youtube\.com/(?:watch\?v=|shorts/|live/)|youtu\.be/)([\w-]{6,20})(?:[?&#].*)?\Z"
)
_VIMEO = re.compile(r"https://(?:www\.)?vimeo\.com/([0-9]{4,15})(?:[?#].*)?\Z")
_VIDEO_SITE = re.compile(
    r"(https?://(?:[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?)((?:/[\w.~-]+)*)/*\Z",
    re.ASCII | re.IGNORECASE,
)
_YOUTUBE_ID = re.compile(r"[\w-]{6,20}\Z", re.ASCII)
_VIMEO_ID = re.compile(r"[0-9]{4,15}\Z", re.ASCII)


MAX_VIDEO_SITE = 300


@record
class Video:
    """A video that may be framed: where it is, what to frame, and its picture."""

    site: str
    page_url: str
    frame_origin: str
    frame_url: str
    picture_url: str


def check_video_site(text: str) -> str:
    """The address of an Invidious or Piped that plays videos of YouTube; empty: YouTube itself.

    Nothing in it can end the attribute of a page or a directive of its policy.
    """
    url = text.strip()
    match = _VIDEO_SITE.match(url) if len(url) <= MAX_VIDEO_SITE else None
    if url and match is None:
        raise Invalid(
            "Give an address that begins with https:// or http://, without a question mark, such as"
            " https://invidious.example.org.",
            field="video_site",
        )
    return f"{match[1].lower()}{match[2]}" if match else ""


def video(site: str, video_id: str, *, own_site: str = "") -> Video | None:
    """The video of a known site; None for any other site, or what cannot be an id of it.

    With `own_site`, an address that `check_video_site` has allowed, videos of YouTube are framed from there.
    """
    if site == "youtube" and _YOUTUBE_ID.match(video_id):
        origin, parameters = "https://www.youtube-nocookie.com", "autoplay=1&rel=0"
        base = origin
        if own := _VIDEO_SITE.match(own_site.strip()):
            origin, base, parameters = own[1].lower(), f"{own[1].lower()}{own[2]}", "autoplay=1"
        page, picture = (
            f"https://www.youtube.com/watch?v={video_id}",
            f"https://i.ytimg.com/vi/{video_id}/hqdefault.jpg",
        )
        return Video("YouTube", page, origin, f"{base}/embed/{video_id}?{parameters}", picture)
    if site == "vimeo" and _VIMEO_ID.match(video_id):
        origin = "https://player.vimeo.com"
        page, picture = f"https://vimeo.com/{video_id}", f"https://vumbnail.com/{video_id}.jpg"
        return Video("Vimeo", page, origin, f"{origin}/video/{video_id}?autoplay=1&dnt=1", picture)
    return None


def video_at(url: str | None) -> Video | None:
    """The video that a page of a known site is about."""
    if match := _YOUTUBE.match(url or ""):
        return video("youtube", match[1])
    match = _VIMEO.match(url or "")
    return video("vimeo", match[1]) if match else None
