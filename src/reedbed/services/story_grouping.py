"""Stories grow by themselves: a chore places what has arrived since it last looked.

The crawl does nothing for it. The stories of the last days are held in memory by the one process that does
the chore, and read back from the database when it begins or when another has done it in between.
"""

import asyncio
from collections.abc import Sequence

from reedbed.domain.stories import KEPT, settle
from reedbed.domain.story_index import LONGEST, MOST_STORIES, SPAN, Headline, Placed, StoryIndex
from reedbed.services.runtime import Runtime
from reedbed.store import app_settings, story_groups

CURSOR = "stories"
AT_ONCE = 500
REMEMBERED = 3 * MOST_STORIES // 2
"""Entries read back: most are alone, some are of one story."""
OVERLAP = 200
"""On PostgreSQL an entry may be committed after one with a higher id: the last ones are looked at again."""
_PAUSE = 0.02


class StoryGrouper:
    def __init__(self) -> None:
        self._index: StoryIndex | None = None
        self._cursor = 0
        self._seen: set[int] = set()

    async def group_new(self, runtime: Runtime) -> int:
        """A chore: how many entries found company."""
        async with runtime.db.read() as tx:
            kept = await app_settings.get(tx, CURSOR)
            newest = await story_groups.newest_entry(tx)
        cursor = max(0, newest - REMEMBERED) if kept is None else int(kept)
        if newest <= cursor:
            return 0
        index = self._index if cursor == self._cursor else None
        if index is None:
            index = await self._remember(runtime, cursor)
        try:
            return await self._place_all(runtime, index)
        except BaseException:
            self._index = None  # it may know more than was kept
            raise

    async def _place_all(self, runtime: Runtime, index: StoryIndex) -> int:
        together = 0
        while new := await self._unseen(runtime):
            together += await self._place(runtime, index, new)
            await asyncio.sleep(_PAUSE)
        return together

    async def _unseen(self, runtime: Runtime) -> list[Headline]:
        async with runtime.db.read() as tx:
            found = await story_groups.new_headlines(tx, max(0, self._cursor - OVERLAP), AT_ONCE + OVERLAP)
        return [one for one in found if one.entry_id not in self._seen]

    async def _place(self, runtime: Runtime, index: StoryIndex, new: Sequence[Headline]) -> int:
        now = runtime.now()
        recent = [one for one in new if one.at >= now - LONGEST]
        settled = settle(await asyncio.to_thread(_placed, index, recent))
        cursor = max(self._cursor, new[-1].entry_id)
        async with runtime.db.write() as tx:
            await story_groups.keep(tx, settled)
            await app_settings.put(tx, CURSOR, str(cursor), now)
        index.forget(now - SPAN)
        self._note(cursor, [one.entry_id for one in new])
        return len(settled.homes)

    async def _remember(self, runtime: Runtime, cursor: int) -> StoryIndex:
        self._index = index = StoryIndex()
        self._seen.clear()
        after = max(0, cursor - REMEMBERED)
        self._note(cursor, [])
        while True:
            async with runtime.db.read() as tx:
                found = await story_groups.placed(tx, after, cursor, AT_ONCE)
            if not found:
                return index
            after = found[-1][0].entry_id
            self._note(cursor, [one.entry_id for one, _ in found])
            await asyncio.to_thread(_restore, index, found, runtime.now() - SPAN)

    def _note(self, cursor: int, seen: Sequence[int]) -> None:
        self._cursor = cursor
        self._seen.update(seen)
        if len(self._seen) > 4 * (AT_ONCE + OVERLAP):
            self._seen = {entry_id for entry_id in self._seen if entry_id > cursor - OVERLAP}


async def forget_stories(runtime: Runtime) -> int:
    """A chore: stories long without news; their entries stay."""
    async with runtime.db.write() as tx:
        return await story_groups.forget(tx, runtime.now() - KEPT)


def _placed(index: StoryIndex, new: Sequence[Headline]) -> list[tuple[Headline, Placed]]:
    return [(one, index.place(one)) for one in new]


def _restore(index: StoryIndex, found: Sequence[tuple[Headline, int]], since: int) -> None:
    for headline, story_id in found:
        if headline.at >= since and not headline.is_private:
            index.restore(headline, story_id)
