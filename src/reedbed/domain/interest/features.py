"""What the model sees of an entry: its feed, author, words of the title, part of the site, language and length.

A feature is a kind and a value; the model knows it by a hash of 32 bits.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from math import sqrt
from typing import NamedTuple
from zlib import crc32

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.stopwords import SMALL
from reedbed.domain.text import fold, index_text, is_cjk
from reedbed.domain.times import Instant

KINDS = ("source", "author", "word", "phrase", "section", "language", "length")

MAX_WORDS = 14
MAX_TITLE = 200
MAX_LABEL = 80
STEM_LENGTH = 7

SHORT, LONG = 150, 900
"""An entry with fewer words is short, one with more is long."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)?")
_STOPWORDS = frozenset(word for common in SMALL for word in fold(common).split())
_SECTION = re.compile(r"[a-z][a-z-]{2,29}\Z")
_NO_SECTIONS = frozenset(
    ("amp", "archive", "archives", "article", "articles", "blog", "entry", "index", "post", "posts")
)


class Candidate(NamedTuple):
    """What lists know of an entry; a tuple, because hundreds are ranked for a page."""

    id: int
    feed_id: int
    title: str
    url: str | None
    author: str | None
    language: str | None
    words: int
    sort_at: Instant


@record
class Feature:
    kind: str
    value: str
    """What is hashed: the id of a feed, the stem of a word."""
    label: str
    """As written in the entry."""

    @property
    def key(self) -> int:
        return _key(self.kind, self.value)


class Features(NamedTuple):
    source: int
    others: tuple[int, ...]
    topics: tuple[int, ...]
    """Words and phrases of the title; there are many of them, so each counts `share`."""
    share: float


def features_of(entry: Candidate) -> Features:
    others = tuple(_key(kind, value) for kind, value, _ in _others(entry))
    topics = _topic_keys(entry.title)
    return Features(source_key(entry.feed_id), others, topics, 1 / sqrt(len(topics)) if topics else 0.0)


def named_features(entry: Candidate, source: str) -> list[Feature]:
    """The same features with their names; `source` is the title of the feed."""
    named = [Feature("source", str(entry.feed_id), source[:MAX_LABEL])]
    named += [Feature(kind, value, label[:MAX_LABEL]) for kind, value, label in _others(entry)]
    return named + [Feature(kind, value, label[:MAX_LABEL]) for kind, value, label in _topics(entry.title)]


def source_key(feed_id: int) -> int:
    return _key("source", str(feed_id))


def read_feature(kind: str, label: str) -> Feature:
    """The feature that a user names by what the page shows; that of a source is the id of the feed."""
    clean = " ".join(label.split())[:MAX_LABEL]
    value = clean
    if kind in ("word", "phrase"):
        value = " ".join(stem for word in _WORD.findall(clean) for stem in _stems(word))
    elif kind == "author":
        value = _author(clean)
    if kind not in KINDS or not value or (kind == "source" and not _is_id(value)):
        raise Invalid("There is no such reason.", field="kind")
    return Feature(kind, value, clean)


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 16


def _key(kind: str, value: str) -> int:
    return crc32(f"{kind}:{value}".encode("utf-8", "replace"))


def _others(entry: Candidate) -> Iterator[tuple[str, str, str]]:
    if entry.author and (author := _author(entry.author)):
        yield "author", author, " ".join(entry.author.split())
    if entry.url and (section := _section(entry.url)):
        yield "section", section, section
    if entry.language:
        yield "language", entry.language[:2], entry.language[:2]
    if entry.words:
        length = "short" if entry.words < SHORT else "long" if entry.words > LONG else "medium"
        yield "length", length, length


def _author(text: str) -> str:
    return fold(" ".join(text[:MAX_TITLE].split()))


@lru_cache(maxsize=2_000)
def _section_of(folder: str) -> str:
    """The first part of a folder that is a word: `/news/tech/2026` is `news`."""
    parts = (part for part in folder.lower().split("/") if _SECTION.match(part) and part not in _NO_SECTIONS)
    return next(parts, "")


def _section(url: str) -> str:
    start = url.find("/", 8)
    end = url.rfind("/")
    return _section_of(url[start + 1 : end]) if 0 < start < end else ""


def _topic_keys(title: str) -> tuple[int, ...]:
    """Like `_topics`, without names: it runs for each of the entries that are ranked."""
    stems: list[str] = []
    for word in _WORD.findall(title[:MAX_TITLE]):
        stems += _stems(word)
    del stems[MAX_WORDS:]
    keys = [_stem_key(stem) for stem in stems]
    keys += [crc32(f"phrase:{first} {second}".encode()) for first, second in pairwise(stems)]
    return tuple(dict.fromkeys(keys))


def _topics(title: str) -> Iterator[tuple[str, str, str]]:
    written = [(stem, word) for word in _WORD.findall(title[:MAX_TITLE]) for stem in _stems(word)][:MAX_WORDS]
    for stem, word in written:
        yield "word", stem, stem if is_cjk(stem) else word
    for (first, word), (second, following) in pairwise(written):
        label = f"{first} {second}" if is_cjk(first) else f"{word} {following}"
        yield "phrase", f"{first} {second}", label


@lru_cache(maxsize=20_000)
def _stems(word: str) -> tuple[str, ...]:
    """The beginning of a word, the pairs of a run of CJK; nothing for words that say nothing."""
    parts = index_text(word).split()
    if not parts:
        return ()
    if is_cjk(parts[0]):
        return tuple(part for part in parts if len(part) > 1)
    part = parts[-1] if len(parts[0]) == 1 else parts[0]
    if len(part) < 3 or part in _STOPWORDS or part.isdecimal():
        return ()
    return (part[:STEM_LENGTH],)


@lru_cache(maxsize=20_000)
def _stem_key(stem: str) -> int:
    return _key("word", stem)
