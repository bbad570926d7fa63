"""A digest as text: for a letter and for a file."""

from reedbed.domain.digests import Digest
from reedbed.domain.letters import Letter
from reedbed.domain.times import to_datetime


def digest_letter(to: str, digest: Digest, base_url: str) -> Letter:
    day = to_datetime(digest.until)
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
    lines += ["", f"On the page: {base_url}/digests/{digest.id}", ""]
    return Letter(to, f"The day in short, {day.day}.{day.month}.{day.year}", "\n".join(lines))


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
    return f"{digest.entries} entries from {text.feeds} feeds, told as {text.items} items."


def _line(text: str) -> str:
    return " ".join(text.split())


def _escaped(text: str) -> str:
    return "".join(f"\\{sign}" if sign in "\\`*_[]<>#|" else sign for sign in _line(text))
