"""Framing: a model's analysis of an article's wording, its neutral rewrite, and the public RSS feed of it."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final, Literal, TypeVar

from reedbed.domain.errors import Invalid
from reedbed.domain.failures import Failure
from reedbed.domain.feed_writer import Category, FeedDocument, FeedItem, FeedSource, write_rss
from reedbed.domain.records import record
from reedbed.domain.summaries import Variant
from reedbed.domain.text import storable
from reedbed.domain.times import Instant
from reedbed.domain.urls import root_domain

SCORES: Final = ("framing", "clickbait", "persuasive", "hyper_stimulus", "speculative")
"""In display order."""
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
    """The passage that justifies the score, quoted exactly; empty if there is none."""


@record
class Analysis:
    title: str
    title_reason: str
    description: str
    description_reason: str
    text: str
    """The article in neutral words; paragraphs are separated by an empty line."""
    category: str
    scores: tuple[Score, ...]
    overall: Score
    model: str
    language: str


@record
class AnalysisState:
    status: Literal["ready", "pending", "failed", "none"]
    """`none`: not requested yet."""
    analysis: Analysis | None = None
    """While a new analysis is pending, the previous one."""
    error: Failure | None = None
    outdated: bool = False
    """The entry, the model or the feed's prompt has changed since."""
    made_at: Instant | None = None


@record
class FeedFraming:
    """The operator's framing settings for a feed."""

    deframe: bool = False
    root_domain: str | None = None
    enforce_domain: bool = True
    prompt: str | None = None


@record
class Average:
    """The average score of an outlet's articles in a period."""

    since: Instant
    overall: float
    articles: int


@record
class Treatment:
    """How an entry is shown to a user."""

    neutral: bool = False
    """Show the neutral title and text."""
    dim: bool = False
    hide: bool = False


def treatment(overall: float, *, wording: str, loud_entries: str, loud_limit: int) -> Treatment:
    """Apply the user's preferences (see `domain.users`) to an entry with this overall score."""
    above = round(overall * 100, 1) > loud_limit
    return Treatment(
        neutral=wording == "neutral" or (above and loud_entries == "rewrite"),
        dim=above and loud_entries == "dim",
        hide=above and loud_entries == "hide",
    )


def score_band(value: float) -> Band:
    if value < MIXED:
        return "calm"
    return "mixed" if value < LOUD else "loud"


def variant_for(model: str, language: str, prompt: str | None) -> Variant:
    """Entries with the same text, prompt, language and model share one analysis across feeds."""
    kind = KIND if not prompt else f"{KIND}-{hashlib.sha256(prompt.encode()).hexdigest()[:12]}"
    return Variant(model, language, kind, PROMPT_VERSION)


def is_framing(variant_name: str) -> bool:
    return variant_name.startswith(KIND)


def text_hash(title: str, content_hash: str) -> str:
    """Includes the title, because the model reads it too."""
    return hashlib.sha256(f"{title}\n{content_hash}".encode("utf-8", "replace")).hexdigest()


def url_hash(normalized_url: str | None) -> str | None:
    return None if normalized_url is None else hashlib.sha256(normalized_url.encode()).hexdigest()


def is_on_domain(item_url: str | None, feed_url: str, own_domain: str | None) -> bool:
    """Subdomains such as `feeds.` and `www.` match, and so does the domain that the operator has set."""
    if item_url is None:
        return True
    domain = root_domain(item_url)
    return domain is not None and domain in (root_domain(feed_url), own_domain)


def verified_quote(quote: str, text: str) -> str:
    """The cleaned quote if it occurs in `text` (already `comparable`), else an empty string."""
    cleaned = " ".join(quote.split()).strip("\"'“”„‘’«»… ")
    if not MIN_QUOTE <= len(cleaned) <= MAX_QUOTE_LENGTH:
        return ""
    return cleaned if comparable(cleaned) in text else ""


def comparable(text: str) -> str:
    """Normalize for comparison: models often straighten quotes and dashes."""
    return " ".join(text.translate(_STRAIGHTENED).casefold().split())


def first_words(text: str, limit: int) -> str:
    words = text.split()
    return " ".join(words[:limit]).rstrip(",;:") + "…" if len(words) > limit else " ".join(words)


def fair(queues: Iterable[Sequence[tuple[str, T]]], limit: int) -> list[T]:
    """Round-robin over the queues, so that none crowds out the others; each key is taken once."""
    taken: dict[str, T] = {}
    active = [iter(queue) for queue in queues]
    while active and len(taken) < limit:
        for queue in list(active):
            pair = next((pair for pair in queue if pair[0] not in taken), None)
            if pair is None:
                active.remove(queue)
            elif len(taken) < limit:
                taken[pair[0]] = pair[1]
    return list(taken.values())


def check_prompt(text: str | None) -> str | None:
    prompt = storable(text or "").strip()
    if len(prompt) > MAX_PROMPT_LENGTH:
        raise Invalid("A prompt has at most %(limit)s characters.", field="prompt", limit=MAX_PROMPT_LENGTH)
    return prompt or None


def check_root_domain(text: str, *, field: str = "root_domain") -> str:
    """A host name without scheme, path or port."""
    domain = text.strip().lower().rstrip(".")
    if not _HOST.fullmatch(domain):
        raise Invalid("A root domain is a name such as example.org.", field=field)
    return domain


_STRAIGHTENED = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "–": "-", "—": "-"}
)
_HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*")


# --- The public feed

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


def rss(feed: FramedFeed, items: Sequence[FramedItem], *, self_url: str, built_at: Instant) -> bytes:
    title = feed.title or feed.url
    document = FeedDocument(
        title=title,
        self_url=self_url,
        home_url=feed.site_url or feed.url,
        updated=built_at,
        description=feed.description or f"{title}, in neutral words.",
        language=feed.language,
        namespaces={"f": NAMESPACE},
    )
    return write_rss(document, (_item(feed, item) for item in items))


def _item(feed: FramedFeed, item: FramedItem) -> FeedItem:
    analysis = item.analysis
    return FeedItem(
        # The entry's own guid if it has one, so that readers of both feeds recognise the item.
        id=item.guid or item.url or f"{feed.url}#{item.id}",
        title=analysis.title,
        url=item.url,
        published=item.sort_at,
        author=item.author,
        categories=[Category(analysis.category)],
        content_html=_html(item),
        source=FeedSource(feed.title or feed.url, feed_url=feed.url),
        extensions=[
            ("f:title_original", item.title_original),
            ("f:description_original", item.description_original),
            ("f:title_correction_reason", analysis.title_reason),
            ("f:description_correction_reason", analysis.description_reason),
            *(part for score in (*analysis.scores, analysis.overall) for part in _score(score)),
            ("f:llm_model", analysis.model),
        ],
    )


def _html(item: FramedItem) -> str:
    analysis = item.analysis
    text = analysis.text or analysis.description or item.description_original
    paragraphs = [f"<p>{escape(part)}</p>" for part in text.split("\n\n") if part.strip()]
    scores = " · ".join(f"{name_of(score.name)} {score.value:.2f}" for score in analysis.scores)
    loudness = f"{analysis.overall.value:.2f} ({score_band(analysis.overall.value)})"
    return "".join(
        (
            *paragraphs,
            "<hr>",
            f"<p>Original title: {escape(item.title_original)}</p>",
            f"<p>Overall {loudness}: {escape(analysis.overall.reason)}</p>",
            f"<p>{scores}</p>",
            f"<p><small>{CAVEAT} Read by {escape(analysis.model)}.</small></p>",
        )
    )


def name_of(score: str) -> str:
    return score.replace("_", "-").capitalize()


def _score(score: Score) -> Iterator[tuple[str, str]]:
    """No attributes: many readers keep either the attributes or the text of an unknown element, not both."""
    name = f"f:{score.name}"
    yield name, f"{score.value:g}"
    yield f"{name}_reason", score.reason
    yield f"{name}_quote", score.quote
