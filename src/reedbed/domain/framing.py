"""Deframed entries as strangers see them: in which feed, in which order, and written as RSS 2.0."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from email.utils import format_datetime
from html import escape
from typing import Final, Literal, TypeVar

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.summaries import Variant
from reedbed.domain.text import storable, writable
from reedbed.domain.times import Instant, to_datetime
from reedbed.domain.urls import root_domain

SCORES: Final = ("framing", "clickbait", "persuasive", "hyper_stimulus", "speculative")
"""In the order in which they are always shown."""
CATEGORIES: Final = (
    "politics",
    "world",
    "business",
    "sport",
    "culture",
    "technology",
    "health",
    "finance",
    "science",
    "environment",
    "travel",
    "lifestyle",
    "games",
    "history",
    "opinion",
    "other",
)
OTHER: Final = "other"
KIND: Final = "framing"
PROMPT_VERSION: Final = 1

REASON_WORDS: Final = 10
OVERALL_WORDS: Final = 20
CORRECTION_WORDS: Final = 15
MAX_QUOTE_LENGTH: Final = 300
MIN_QUOTE: Final = 3
MAX_PROMPT_LENGTH: Final = 2_000
MIXED: Final = 0.34
LOUD: Final = 0.67

Band = Literal["calm", "mixed", "loud"]
T = TypeVar("T")


@record
class Score:
    name: str
    value: float
    reason: str
    quote: str = ""
    """The passage that earned it, word for word; empty where there is none."""


@record
class Analysis:
    title: str
    title_reason: str
    description: str
    description_reason: str
    text: str
    """What happened, calmly; paragraphs apart by an empty line."""
    category: str
    scores: tuple[Score, ...]
    overall: Score
    model: str
    language: str


@record
class AnalysisState:
    status: Literal["ready", "pending", "failed", "none"]
    """`none`: nobody has asked for it."""
    analysis: Analysis | None = None
    """Of an earlier reading, while another is under way."""
    error: str | None = None
    outdated: bool = False
    """The entry, the model or the feed's prompt is another one now."""
    made_at: Instant | None = None


@record
class FeedFraming:
    """The operator's settings of a feed."""

    deframe: bool = False
    root_domain: str | None = None
    enforce_domain: bool = True
    prompt: str | None = None


@record
class Average:
    """A span of an outlet's articles."""

    since: Instant
    overall: float
    articles: int


@record
class Treatment:
    """How an entry is shown to a user."""

    neutral: bool = False
    """In neutral words."""
    dim: bool = False
    hide: bool = False


def treatment(overall: float, *, wording: str, loud_entries: str, loud_limit: int) -> Treatment:
    """What the user's choices (see `domain.preferences`) mean for an entry this loud."""
    above = round(overall * 100, 1) > loud_limit
    return Treatment(
        neutral=wording == "neutral" or (above and loud_entries == "rewrite"),
        dim=above and loud_entries == "dim",
        hide=above and loud_entries == "hide",
    )


def band_of(value: float) -> Band:
    if value < MIXED:
        return "calm"
    return "mixed" if value < LOUD else "loud"


def variant_for(model: str, language: str, prompt: str | None) -> Variant:
    """Texts with one prompt, language and model are read once, in however many feeds they stand."""
    kind = KIND if not prompt else f"{KIND}-{hashlib.sha256(prompt.encode()).hexdigest()[:12]}"
    return Variant(model, language, kind, PROMPT_VERSION)


def is_framing(variant_name: str) -> bool:
    return variant_name.startswith(KIND)


def text_hash(title: str, content_hash: str) -> str:
    """The title is read as well, so another title is another text."""
    return hashlib.sha256(f"{title}\n{content_hash}".encode("utf-8", "replace")).hexdigest()


def url_hash(normalized_url: str | None) -> str | None:
    return None if normalized_url is None else hashlib.sha256(normalized_url.encode()).hexdigest()


def is_on_domain(item_url: str | None, feed_url: str, own_domain: str | None) -> bool:
    """`feeds.` and `www.` of one outlet are one domain, and so is the one the operator has set."""
    if item_url is None:
        return True
    domain = root_domain(item_url)
    return domain is not None and domain in (root_domain(feed_url), own_domain)


def found_quote(quote: str, words: str) -> str:
    """The quote if it stands in these words (see `comparable`), else nothing."""
    tidy = " ".join(quote.split()).strip("\"'“”„‘’«»… ")
    if not MIN_QUOTE <= len(tidy) <= MAX_QUOTE_LENGTH:
        return ""
    return tidy if comparable(tidy) in words else ""


def comparable(text: str) -> str:
    """Models straighten quotes and dashes; that alone makes no other text."""
    return " ".join(text.translate(_STRAIGHT).casefold().split())


def first_words(text: str, most: int) -> str:
    words = text.split()
    return " ".join(words[:most]).rstrip(",;:") + "…" if len(words) > most else " ".join(words)


def fair(queues: Iterable[Sequence[tuple[str, T]]], most: int) -> list[T]:
    """One of each queue in turn, so that none crowds the others out; what has the same key comes once."""
    taken: dict[str, T] = {}
    waiting = [iter(queue) for queue in queues]
    while waiting and len(taken) < most:
        still = list(waiting)
        for queue in still:
            found = next((pair for pair in queue if pair[0] not in taken), None)
            if found is None:
                waiting.remove(queue)
            elif len(taken) < most:
                taken[found[0]] = found[1]
    return list(taken.values())


def check_prompt(text: str | None) -> str | None:
    tidy = storable(text or "").strip()
    if len(tidy) > MAX_PROMPT_LENGTH:
        raise Invalid(f"A prompt has at most {MAX_PROMPT_LENGTH} characters.", field="prompt")
    return tidy or None


def check_root_domain(text: str, *, field: str = "root_domain") -> str:
    """A host name as people write it: without scheme, path or port."""
    tidy = text.strip().lower().rstrip(".")
    if not _HOST.fullmatch(tidy):
        raise Invalid("A root domain is a name such as example.org.", field=field)
    return tidy


_STRAIGHT = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "–": "-", "—": "-"}
)
_HOST = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*"
)


NAMESPACE = "urn:reedbed:framing"
CAVEAT = "A model’s reading of the wording, not a check of the facts."


@record
class FramedFeed:
    id: int
    url: str
    title: str
    description: str | None
    site_url: str | None
    language: str | None
    framing: FeedFraming


@record
class FramedItem:
    id: int
    feed_id: int
    guid: str | None
    url: str | None
    normalized_url: str | None
    title_original: str
    description_original: str
    author: str | None
    image: str | None
    published_at: Instant | None
    sort_at: Instant
    made_at: Instant
    analysis: Analysis

    def is_shown_in(self, feed: FramedFeed) -> bool:
        framing = feed.framing
        return not framing.enforce_domain or is_on_domain(self.url, feed.url, framing.root_domain)


def rss(feed: FramedFeed, items: Sequence[FramedItem], *, self_url: str, built_at: Instant) -> str:
    """RSS 2.0, well-formed whatever the feed holds."""
    title = feed.title or feed.url
    channel = [
        _say("title", title),
        _say("link", feed.site_url or feed.url),
        _say("description", feed.description or f"{title}, in neutral words."),
        _say("language", feed.language),
        _say("lastBuildDate", _date(built_at)),
        _say("generator", "Reedbed"),
        _say("docs", "https://www.rssboard.org/rss-specification"),
        f'<atom:link href="{_text(self_url)}" rel="self" type="application/rss+xml"/>',
        *(_item(feed, item) for item in items),
    ]
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:f="{NAMESPACE}">'
        f"<channel>{''.join(channel)}</channel></rss>\n"
    )


def _item(feed: FramedFeed, item: FramedItem) -> str:
    found = item.analysis
    said = [
        _say("title", found.title),
        _say("link", item.url),
        _guid(feed, item),
        _say("pubDate", _date(item.sort_at)),
        _say("dc:creator", item.author),
        _say("category", found.category),
        _say("description", _html(item)),
        f'<source url="{_text(feed.url)}">{_text(feed.title or feed.url)}</source>',
        _say("f:title_original", item.title_original),
        _say("f:description_original", item.description_original),
        _say("f:title_correction_reason", found.title_reason),
        _say("f:description_correction_reason", found.description_reason),
        *(_score(score) for score in (*found.scores, found.overall)),
        _say("f:llm_model", found.model),
    ]
    return f"<item>{''.join(said)}</item>"


def _guid(feed: FramedFeed, item: FramedItem) -> str:
    """The entry's own where it has one, so that a reader of both knows the item again."""
    guid = item.guid or item.url
    if guid is None:
        return f'<guid isPermaLink="false">{_text(f"{feed.url}#{item.id}")}</guid>'
    return f'<guid isPermaLink="{"true" if guid == item.url else "false"}">{_text(guid)}</guid>'


def _html(item: FramedItem) -> str:
    found = item.analysis
    told = found.text or found.description or item.description_original
    paragraphs = [f"<p>{escape(part)}</p>" for part in told.split("\n\n") if part.strip()]
    marks = " · ".join(f"{name_of(score.name)} {score.value:.2f}" for score in found.scores)
    loudness = f"{found.overall.value:.2f} ({band_of(found.overall.value)})"
    return "".join(
        (
            *paragraphs,
            "<hr>",
            f"<p>Original title: {escape(item.title_original)}</p>",
            f"<p>Overall {loudness}: {escape(found.overall.reason)}</p>",
            f"<p>{marks}</p>",
            f"<p><small>{CAVEAT} Read by {escape(found.model)}.</small></p>",
        )
    )


def name_of(score: str) -> str:
    return score.replace("_", "-").capitalize()


def _score(score: Score) -> str:
    """Without attributes: many readers keep either those of a foreign element or its text."""
    name = f"f:{score.name}"
    said = _say(f"{name}_reason", score.reason) + _say(f"{name}_quote", score.quote)
    return f"<{name}>{score.value:g}</{name}>{said}"


def _say(name: str, text: str | None) -> str:
    return f"<{name}>{_text(text)}</{name}>" if text and text.strip() else ""


def _text(text: str) -> str:
    return escape(writable(text))


def _date(moment: Instant) -> str:
    return format_datetime(to_datetime(moment), usegmt=True)
