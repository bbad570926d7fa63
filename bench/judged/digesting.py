"""Whether a digest of a day tells its biggest events, first, once each and in whole sentences."""

import statistics
from collections import Counter
from collections.abc import Sequence

from bench.judged.data import LabelledEntry, labelled_entries, retimed, sample_by_story
from bench.judged.figures import Judged
from bench.judged.library import Library, end_of, open_library
from reedbed.domain.digests import MAX_ENTRIES, Sentence
from reedbed.services import jobs
from reedbed.services.digests import DIGEST_JOB, ask_digest, get_digest, write_digest
from reedbed.services.stories import StoryGrouper

DAYS = range(8)
BIGGEST = 5
FIGURES = (
    "digest: lines",
    "digest: five biggest events told",
    "digest: their mean place",
    "digest: lines cut with …",
    "digest: neither whole sentence nor headline",
    "digest: events told twice, per digest",
    "digest: lines mixing events",
)


async def judge_digests(half: str) -> list[Judged]:
    """Days of 100 entries: every second one in English only, the others in all languages."""
    entries = labelled_entries(half)
    english = [entry for entry in entries if entry.language == "en"]
    end = end_of(entries)
    days = [retimed(sample_by_story(english if day % 2 else entries, MAX_ENTRIES, day), end, day) for day in DAYS]
    scores = [await _score(day) for day in days]
    return [
        Judged(half, name, statistics.mean(values))
        for name, values in zip(FIGURES, zip(*scores, strict=True), strict=True)
    ]


async def _score(entries: Sequence[LabelledEntry]) -> tuple[float, ...]:
    async with open_library() as library:
        library.set_clock(end_of(entries))
        await library.receive(sorted(entries, key=lambda entry: entry.at))
        await StoryGrouper().group_new(library.runtime)
        lines = await _lines(library)
        labels = {id_: label for label, id_ in library.ids.items()}
    events = {entry.id: (entry.story, entry.language) for entry in entries}
    told = [Counter(events[labels[id_]] for id_ in line.entry_ids) for line in lines if line.entry_ids]
    first = [events.most_common(1)[0][0] for events in told]
    outlets = Counter(event for event, _ in {(events[entry.id], entry.outlet) for entry in entries})
    places = sorted((-number, _place(first, event)) for event, number in outlets.items())[:BIGGEST]
    titles = {entry.title for entry in entries}
    return (
        len(lines),
        statistics.mean(place <= len(first) for _, place in places),
        statistics.mean(place for _, place in places),
        statistics.mean(line.text.rstrip().endswith(("…", "...")) for line in lines),
        statistics.mean(not _is_whole(line.text, titles) for line in lines),
        len(first) - len(set(first)),
        statistics.mean(len({story for story, _ in events}) > 1 for events in told),
    )


def _place(first: Sequence[tuple[str, str]], event: tuple[str, str]) -> int:
    """Beyond the last line if it is not told. Of events with as many outlets, those told first count as the biggest."""
    return first.index(event) + 1 if event in first else len(first) + 1


async def _lines(library: Library) -> list[Sentence]:
    """The sentences of the digest in their order."""
    runtime = library.runtime
    pending = await ask_digest(runtime, library.user)
    job = await jobs.claim(runtime, [DIGEST_JOB])
    assert job is not None
    await jobs.run(runtime, job, write_digest)
    digest = await get_digest(runtime, library.user.id, pending.id)
    assert digest.status == "ready", digest.error
    return [sentence for paragraph in digest.text.paragraphs for sentence in paragraph.sentences]


def _is_whole(text: str, titles: set[str]) -> bool:
    return text in titles or text.removesuffix(".") in titles or text.rstrip("\"'”’»“").endswith((".", "!", "?"))
