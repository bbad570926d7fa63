"""Pages a user saves by their address, to read later."""

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

MOST = 20
LONGEST = 200


@record
class ArticleSelectors:
    keep: tuple[str, ...] = ()
    """Together they are the article; where none of them fits, it is looked for as on any page."""
    drop: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.keep or self.drop)


def tidy_selectors(lines: Sequence[str], field: str) -> tuple[str, ...]:
    """Without empty lines and repetitions; whether each is CSS is for the one who reads CSS to say."""
    tidy = tuple(dict.fromkeys(words for line in lines if (words := " ".join(storable(line).split()))))
    if len(tidy) > MOST:
        raise Invalid(f"There can be at most {MOST} selectors.", field=field)
    for one in tidy:
        if len(one) > LONGEST:
            raise Invalid(f"“{one[:40]}…” is longer than {LONGEST} characters.", field=field)
    return tidy


SHORT_TEXT = 200
"""Characters; a feed that gives less may only point to its articles."""
PICTURE_CAPTION = 100
"""Characters; beside a picture, a text of fewer is its caption: the picture is what the entry is about."""
SAME_TEXT = 0.8
"""The share of an entry's words that an article must have to hold its text: teasers are often reworded."""

# Exact on clean markup: the cleaner escapes `<`, `>` and `"` inside attribute values and `<` in text.
_TAG = re.compile(r"<[^>]*>")
_PICTURE = re.compile(r'<(?:img|source|video|audio) [^>]*?(?:src|data-http-src|poster)="([^"]*)"')
_LINK = re.compile(r'<a [^>]*?href="([^"]*)"[^>]*>(.*?)</a>', re.DOTALL)
_CUT_OFF = ("…", "…]", "...", "...]")
_SIZE = re.compile(r"(?:[-_]\d+x\d+|@\dx|-scaled)?\.\w+$")


@record
class _Contents:
    words: frozenset[str]
    length: int
    """Of the text, in words."""
    pictures: frozenset[str]
    links: frozenset[str]


def shown_content(entry: Entry, full_text: str) -> str:
    """The HTML to show to a reader whose full-text mode for this feed is `full_text`.

    An article replaces what the feed gives only if it holds all of that and more. For readers who chose
    `always`, an article that is longer but lacks something follows what the feed gives.
    """
    article = entry.full_content
    if not article or full_text == "never" or (full_text == "auto" and len(entry.row.summary) >= SHORT_TEXT):
        return entry.content
    own = {normalize_url(url) for url in (entry.row.url, entry.external_url, entry.comments_url) if url}
    given, fetched = _contents(entry.content, own), _contents(article, own)
    if given.pictures and len(entry.row.summary) < PICTURE_CAPTION:
        return entry.content
    if _holds(fetched, given) and (fetched.length > given.length or fetched.pictures > given.pictures):
        return article
    if full_text == "always" and fetched.length > given.length:
        return f"{entry.content}<hr>{article}"
    return entry.content


def content_for_programs(entry: Entry, full_text: str) -> str:
    """Apps cannot switch back to what the feed gives, so they get articles only where `always` was chosen."""
    return shown_content(entry, full_text) if full_text == "always" else entry.content


def is_shorter(article: str, content: str) -> bool:
    """Whether a fetched article has fewer words than the feed gives: a log-in page, a notice, a stub."""
    return _contents(article, set()).length < _contents(content, set()).length


def _holds(article: _Contents, entry: _Contents) -> bool:
    return (
        entry.pictures <= article.pictures
        and entry.links <= article.links
        and len(entry.words & article.words) >= SAME_TEXT * len(entry.words)
    )


def _contents(html: str, own: set[str | None]) -> _Contents:
    """`own` are addresses of the entry itself: "Read more" and "Comments" links are no part of its text."""
    links: set[str] = set()

    def without_own(link: re.Match[str]) -> str:
        address = normalize_url(unescape(link[1]))
        if address in own and "<img" not in link[2]:
            return " "
        if address is not None and address not in own:
            links.add(address)
        return link[0]

    text = unescape(_TAG.sub(" ", _LINK.sub(without_own, html))).rstrip()
    if text.endswith(_CUT_OFF):
        text = text.rstrip(".…[] ").rpartition(" ")[0]
    words = index_text(text).split()
    return _Contents(frozenset(words), len(words), frozenset(_pictures(html)), frozenset(links))


def _pictures(html: str) -> Iterator[str]:
    """By file name without its size: sites send the same picture at several addresses."""
    for found in _PICTURE.finditer(html):
        address = unescape(found[1])
        name = _SIZE.sub("", address.partition("?")[0].rpartition("/")[2])
        yield name if "." in address.partition("?")[0].rpartition("/")[2] and name else address


FEED_URL = "reedbed:saved"
"""The address of everybody's own feed of saved pages; what tells them apart is their owner."""
FEED_TITLE = "Saved pages"
MAX_TITLE = 500
FIRST_WAIT, GIVE_UP_AFTER = 10 * MINUTE, HOUR
"""Between the tries to read a page whose site does not answer."""


@record
class SavedPage:
    entry_id: int
    new: bool
    """False: it was among the user's entries already, and is now marked for later."""


def title_from_address(url: str) -> str:
    """Something to call a page by until it has been read: `example.org/how-reeds-grow`."""
    parts = urlsplit(url)
    path = unquote(parts.path, errors="replace").rstrip("/")
    return f"{parts.netloc.rpartition('@')[2].removeprefix('www.')}{path}"[:MAX_TITLE] or url[:MAX_TITLE]
