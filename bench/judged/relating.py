"""Whether the entries shown under an article are about something similar, and not its own story again."""

import statistics

from bench.judged.data import labelled_entries, related_pairs
from bench.judged.figures import Judged
from bench.judged.library import end_of, open_library
from reedbed.services.stories import StoryGrouper, related_entries


async def judge_related(half: str) -> list[Judged]:
    entries, pairs = labelled_entries(half), related_pairs(half)
    stories = {entry.id: entry.story for entry in entries}
    async with open_library() as library:
        library.set_clock(end_of(entries))
        await library.receive(entries)
        await StoryGrouper().group_new(library.runtime)
        homes = await library.stories()
        labels = {id_: label for label, id_ in library.ids.items()}
        shown = {
            article: [labels[row.id] for row in await related_entries(library.runtime, library.user.id, id_)]
            for article, id_ in library.ids.items()
        }
    related = [
        pair.other in shown[pair.article] or homes[pair.other] == homes[pair.article]
        for pair in pairs
        if pair.is_related
    ]
    unrelated = [pair.other in shown[pair.article] for pair in pairs if not pair.is_related]
    own = [stories[other] == stories[article] for article, others in shown.items() for other in others]
    return [
        Judged(half, "related: shown here or in the story, of those that are", statistics.mean(related)),
        Judged(half, "related: shown, of those that are not", statistics.mean(unrelated)),
        Judged(half, "related: from the article's own story", statistics.mean(own) if own else 0.0),
        Judged(half, "related: entries under an article", statistics.mean(map(len, shown.values()))),
    ]
