"""Deframed entries as strangers see them: in which feed, in which order, and written as RSS 2.0."""

from collections.abc import Sequence
from email.utils import format_datetime
from html import escape

from reedbed.domain.framing import Analysis, FeedFraming, Score, band_of, is_on_domain
from reedbed.domain.records import record
from reedbed.domain.texts import writable
from reedbed.domain.times import Instant, to_datetime

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
