"""A digest as text and as markup: for a letter and for a file."""

from collections.abc import Mapping
from html import escape

from reedbed.domain.cited import Sentence
from reedbed.domain.digests import Digest
from reedbed.domain.letters import Letter
from reedbed.domain.times import to_datetime


def digest_letter(to: str, digest: Digest, base_url: str, unsubscribe_url: str = "") -> Letter:
    return Letter(
        to,
        digest_title(digest),
        _plain(digest, base_url, unsubscribe_url),
        _markup(digest, base_url, unsubscribe_url),
        unsubscribe_url,
    )


def digest_title(digest: Digest) -> str:
    day = to_datetime(digest.until)
    return f"The day in short, {day.day}.{day.month}.{day.year}"


def digest_html(digest: Digest, base_url: str) -> str:
    """Plain markup without pictures or styles from elsewhere: nothing in it tells that it was opened."""
    parts = [f"<p>{escape(_facts(digest))}</p>"]
    numbers = {source.entry_id: number for number, source in enumerate(digest.text.sources, 1)}
    for paragraph in digest.text.paragraphs:
        if paragraph.heading:
            parts.append(f"<h2>{escape(_line(paragraph.heading))}</h2>")
        parts.append(f"<p>{' '.join(_cited(one, numbers, base_url) for one in paragraph.sentences)}</p>")
    sources = (
        f'<li><a href="{escape(base_url)}/entry/{one.entry_id}">{escape(_line(one.title))}</a>, '
        f"{escape(_line(one.feed))}</li>"
        for one in digest.text.sources
    )
    parts.append(f"<ol>{''.join(sources)}</ol>")
    return "\n".join(parts)


def _plain(digest: Digest, base_url: str, unsubscribe_url: str) -> str:
    lines = [_facts(digest), ""]
    numbers = {source.entry_id: number for number, source in enumerate(digest.text.sources, 1)}
    for paragraph in digest.text.paragraphs:
        if paragraph.heading:
            lines += [_line(paragraph.heading).upper(), ""]
        for sentence in paragraph.sentences:
            cited = "".join(f" [{numbers[id_]}]" for id_ in sentence.entry_ids if id_ in numbers)
            lines.append(f"{_line(sentence.text)}{cited}")
        lines.append("")
    for source in digest.text.sources:
        where = f"{base_url}/entry/{source.entry_id}"
        lines.append(f"[{numbers[source.entry_id]}] {_line(source.title)}, {_line(source.feed)}\n    {where}")
    lines += ["", f"On the page: {base_url}/digests/{digest.id}"]
    if unsubscribe_url:
        lines.append(f"No more digests by mail: {unsubscribe_url}")
    return "\n".join([*lines, ""])


def _markup(digest: Digest, base_url: str, unsubscribe_url: str) -> str:
    parts = [
        digest_html(digest, base_url),
        f'<p><a href="{escape(base_url)}/digests/{digest.id}">On the page</a></p>',
    ]
    if unsubscribe_url:
        parts.append(f'<p><a href="{escape(unsubscribe_url)}">No more digests by mail</a></p>')
    return "<!doctype html>\n<html><body>\n" + "\n".join(parts) + "\n</body></html>\n"


def _cited(sentence: Sentence, numbers: Mapping[int, int], base_url: str) -> str:
    links = (
        f' <a href="{escape(base_url)}/entry/{id_}">[{numbers[id_]}]</a>'
        for id_ in sentence.entry_ids
        if id_ in numbers
    )
    return escape(_line(sentence.text)) + "".join(links)


def digest_markdown(digest: Digest, base_url: str) -> str:
    day = to_datetime(digest.until).date().isoformat()
    parts = [f"# Digest, {day}", _facts(digest)]
    numbers = {source.entry_id: number for number, source in enumerate(digest.text.sources, 1)}
    for paragraph in digest.text.paragraphs:
        if paragraph.heading:
            parts.append(f"## {_escaped(paragraph.heading)}")
        sentences = (
            _escaped(one.text) + "".join(f" [^{numbers[id_]}]" for id_ in one.entry_ids if id_ in numbers)
            for one in paragraph.sentences
        )
        parts.append(" ".join(sentences))
    notes = [
        f"[^{number}]: [{_escaped(one.title)}]({base_url}/entry/{one.entry_id}), {_escaped(one.feed)}"
        for number, one in enumerate(digest.text.sources, 1)
    ]
    return "\n\n".join([*parts, "\n".join(notes)]) + "\n"


def _facts(digest: Digest) -> str:
    text = digest.text
    facts = f"{digest.entries} entries from {text.feeds} feeds, told as {text.items} items."
    return f"{facts} The model did not answer: these are lines of the entries." if text.fallback else facts


def _line(text: str) -> str:
    return " ".join(text.split())


def _escaped(text: str) -> str:
    return "".join(f"\\{sign}" if sign in "\\`*_[]<>#|" else sign for sign in _line(text))
