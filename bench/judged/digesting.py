"""Whether a digest of a day tells its biggest events, first, once each and in whole sentences."""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence

from bench.judged.data import LabelledEntry, changed_facts, labelled_entries, retimed, sample_by_story, within_a_day
from bench.judged.figures import Judged
from bench.judged.library import Library, end_of, open_library
from reedbed.domain.digests import MAX_ENTRIES, SPAN, Sentence, group, headlines_of
from reedbed.domain.stories.repeats import find_repeats
from reedbed.domain.summaries import BUILT_IN
from reedbed.services import jobs
from reedbed.services.digests import DIGEST_JOB, EVERYTHING, ask_digest, find_entries, gather, get_digest, write_digest
from reedbed.services.stories import StoryGrouper
from reedbed.store.stories.read import known_stories

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
    "digest: entries dropped as repeats wrongly, per digest",
    "digest: single reports told above events of four outlets",
)
MANY_OUTLETS = 4


async def judge_digests(half: str) -> list[Judged]:
    """Days of 100 entries: every second one in English only, the others in all languages."""
    entries = labelled_entries(half)
    english = [entry for entry in entries if entry.language == "en"]
    end = end_of(entries)
    days = [retimed(sample_by_story(english if day % 2 else entries, MAX_ENTRIES, day), end, day) for day in DAYS]
    scores = [await _score(day) for day in days]
    return [
        *(
            Judged(half, name, statistics.mean(values))
            for name, values in zip(FIGURES, zip(*scores, strict=True), strict=True)
        ),
        *await _judge_facts(half, entries),
    ]


async def _judge_facts(half: str, entries: Sequence[LabelledEntry]) -> list[Judged]:
    """Of the stories whose facts changed in a day, those that a digest tells by the older ones."""
    changed = changed_facts(half)
    if not changed:
        return []
    stories = {facts.story for facts in changed}
    chosen = sorted(entries, key=lambda entry: (entry.story not in stories, entry.id))[:MAX_ENTRIES]
    day = within_a_day(chosen, end_of(entries))
    async with open_library() as library:
        lines, labels = await _told(library, day)
    by_id = {entry.id: entry for entry in day}
    told = [
        (facts, line.text)
        for facts in changed
        for line in lines
        if any(_is_about(by_id[labels[id_]], facts.story, facts.language) for id_ in line.entry_ids)
        and line.language[:2] == facts.language
    ]
    superseded = statistics.mean(facts.are_superseded_in(text) for facts, text in told) if told else 0.0
    return [Judged(half, "digest: changed facts told as they were before", superseded)]


def _is_about(entry: LabelledEntry, story: str, language: str) -> bool:
    return (entry.story, entry.language) == (story, language)


async def _told(library: Library, entries: Sequence[LabelledEntry]) -> tuple[list[Sentence], Mapping[int, str]]:
    """The lines of a digest of these entries, and the label of each entry's id."""
    library.set_clock(end_of(entries))
    await library.receive(sorted(entries, key=lambda entry: entry.at))
    await StoryGrouper().group_new(library.runtime)
    return await lines_of(library), {id_: label for label, id_ in library.ids.items()}


async def _score(entries: Sequence[LabelledEntry]) -> tuple[float, ...]:
    async with open_library() as library:
        lines, labels = await _told(library, entries)
        repeats = await _repeats(library)
    events = {entry.id: (entry.story, entry.language) for entry in entries}
    cited = {entry.id: entry for entry in entries}
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
        sum(
            events[labels[entry_id]] not in {events[labels[other_id]] for other_id in told_ids}
            for told_ids, repeated_ids in repeats
            for entry_id in repeated_ids
        ),
        _single_above_many([len({cited[labels[id_]].outlet for id_ in line.entry_ids}) for line in lines]),
    )


def _single_above_many(outlets: Sequence[int]) -> int:
    """The lines of one outlet above the last line of many, by the number of outlets that each line cites."""
    last = max((place for place, number in enumerate(outlets) if number >= MANY_OUTLETS), default=0)
    return sum(number == 1 for number in outlets[:last])


async def _repeats(library: Library) -> list[tuple[list[int], list[int]]]:
    """The ids of the entries of items that are told, and of later ones that are taken for repeats of them."""
    runtime, user = library.runtime, library.user
    rows = await find_entries(runtime, user.id, EVERYTHING, runtime.now() - SPAN)
    contexts = await gather(runtime, user.id, rows, BUILT_IN)
    async with runtime.db.read() as tx:
        known = await known_stories(tx, user.id, [row.id for row in rows])
    items = group(contexts, known=known)
    return [
        ([entry.entry_id for entry in items[earlier]], [entry.entry_id for entry in item])
        for item, earlier in zip(items, find_repeats(headlines_of(items)), strict=True)
        if earlier is not None
    ]


def _place(first: Sequence[tuple[str, str]], event: tuple[str, str]) -> int:
    """Beyond the last line if it is not told. Of events with as many outlets, those told first count as the biggest."""
    return first.index(event) + 1 if event in first else len(first) + 1


async def lines_of(library: Library) -> list[Sentence]:
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
