"""From a digest to what the page shows of it."""

from datetime import tzinfo

from markupsafe import Markup, escape

from reedbed.domain import cited, digests
from reedbed.domain.digests import Digest
from reedbed.domain.summaries import EXTRACT
from reedbed.domain.times import Instant
from reedbed.web.moments import full_moment, short_moment
from reedbed.web.scope_choices import Scopes
from reedbed.web.sentences import retell
from reedbed.web.speech import ngettext, translate
from reedbed.web.views.digests import Cite, DigestLine, DigestPage, Paragraph, Sentence, Source
from reedbed.web.views.managing import LatestDigest

SHOWN_IN_SHORT = 3


def digest_page(digest: Digest, scopes: Scopes, now: Instant, zone: tzinfo) -> DigestPage:
    numbers = {source.entry_id: number for number, source in enumerate(digest.text.sources, 1)}
    feeds = {source.entry_id: source.feed for source in digest.text.sources}
    return DigestPage(
        id=digest.id,
        title=translate("Digest, %(when)s", when=full_moment(digest.until, now, zone).words),
        about=scopes.name(digest.scope),
        facts=facts_of(digest),
        status=digest.status,
        error=retell(digest.error or ""),
        by=writer_of(digest),
        built_in=digest.model == EXTRACT,
        fallback=digest.text.fallback,
        paragraphs=tuple(_paragraph(one, numbers, feeds) for one in digest.text.paragraphs),
        sources=tuple(
            source_view(number, one, now, zone) for number, one in enumerate(digest.text.sources, 1)
        ),
    )


def digest_line(digest: Digest, scopes: Scopes, now: Instant, zone: tzinfo) -> DigestLine:
    first = next((one.text for part in digest.text.paragraphs for one in part.sentences), "")
    return DigestLine(
        id=digest.id,
        url=f"/digests/{digest.id}",
        when=full_moment(digest.until, now, zone),
        about=scopes.name(digest.scope),
        facts=facts_of(digest),
        status=digest.status,
        beginning=first,
    )


def latest_view(digest: Digest | None, now: Instant, zone: tzinfo, *, error: str = "") -> LatestDigest:
    if digest is None:
        return LatestDigest(error=error)
    paragraphs = tuple(_linked(one) for one in digest.text.paragraphs[:SHOWN_IN_SHORT])
    failed = retell(digest.error or digests.FAILED) if digest.status == "failed" else ""
    return LatestDigest(
        paragraphs=paragraphs,
        when=full_moment(digest.until, now, zone),
        by=writer_of(digest) if digest.status == "ready" else "",
        url=f"/digests/{digest.id}" if digest.status == "ready" else "",
        pending=digest.status == "pending",
        error=error or failed,
    )


def writer_of(digest: Digest) -> str:
    return translate("Built-in extract") if digest.model == EXTRACT else digest.model


def facts_of(digest: Digest) -> str:
    """`87 entries from 31 feeds, told as 12 items.`"""
    if digest.status != "ready":
        return ""
    parts = [
        ngettext("%(num)s entry", "%(num)s entries", digest.entries),
        ngettext("%(num)s feed", "%(num)s feeds", digest.text.feeds),
        ngettext("%(num)s item", "%(num)s items", digest.text.items),
    ]
    said = translate(
        "%(entries)s from %(feeds)s, told as %(items)s.", entries=parts[0], feeds=parts[1], items=parts[2]
    )
    if not digest.text.dropped:
        return said
    left_out = ngettext(
        "%(num)s sentence was left out because no entry supported it.",
        "%(num)s sentences were left out because no entry supported them.",
        digest.text.dropped,
    )
    return f"{said} {left_out}"


def _paragraph(paragraph: digests.Paragraph, numbers: dict[int, int], feeds: dict[int, str]) -> Paragraph:
    sentences = (
        Sentence(
            one.text,
            tuple(Cite(numbers[id_], feeds[id_]) for id_ in one.entry_ids if id_ in numbers),
            one.language,
        )
        for one in paragraph.sentences
    )
    return Paragraph(paragraph.heading or translate("And more"), tuple(sentences))


def source_view(number: int, source: cited.Source, now: Instant, zone: tzinfo) -> Source:
    return Source(
        number=number,
        url=f"/entry/{source.entry_id}",
        title=source.title or translate("Without a title"),
        feed=source.feed,
        when=short_moment(source.at, now, zone),
        language=source.language,
    )


def _linked(paragraph: digests.Paragraph) -> Markup:
    """Every sentence is a link to the first entry that says it."""
    sentence = Markup('<a href="/entry/{}">{}</a>')
    heading = Markup("<b>{}</b> ").format(paragraph.heading) if paragraph.heading else escape("")
    links = (sentence.format(one.entry_ids[0], one.text) for one in paragraph.sentences if one.entry_ids)
    return heading + Markup(" ").join(links)
