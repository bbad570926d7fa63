"""Stories grow by themselves: a chore places what has arrived since it last looked.

The crawl does nothing for it. The stories of the last days are held in memory by the one process that does
the chore, and read back from the database when it begins or when another has done it in between.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from reedbed.domain.entries import MarkResult, Selection
from reedbed.domain.errors import NotFound
from reedbed.domain.stories import (
    KEPT,
    LONGEST,
    MAX_STORIES,
    SPAN,
    Headline,
    Outlet,
    Placed,
    Story,
    StoryIndex,
    only_here,
    settle,
)
from reedbed.ingest.text import clean_text
from reedbed.services.framing.manage import analyses_of
from reedbed.services.read_state import MAX_IDS, mark
from reedbed.services.runtime import Runtime
from reedbed.store import instance, stories
from reedbed.store.entries import read as entry_texts
from reedbed.store.entries.read import EntryWords

NO_SUCH_STORY = "There is no such story."
NOT_IN_STORY = "This entry is not in the story."
MAX_MARKED_STORIES = 200
"""Marked read in one go."""
MAX_TEXT_LENGTH = 20_000
MAX_COMPARED = 20


async def get_story(runtime: Runtime, user_id: int, story_id: int) -> Story:
    """With what only one of the outlets says; an address from before a merge finds the story it is now."""
    async with runtime.db.read() as tx:
        now_id = await stories.find(tx, story_id)
        together, apart = await stories.outlets(tx, user_id, now_id) if now_id else ([], [])
        compared = [one.row.id for one in together[:MAX_COMPARED]]
        read = await analyses_of(tx, [one.row.id for one in together])
        words = await entry_texts.seen_by(tx, user_id, compared) if len(compared) > 1 else []
    if now_id is None or not (together or apart):
        raise NotFound(NO_SUCH_STORY)
    said = await asyncio.to_thread(_only_here, words)
    told = (
        replace(one, only_here=said.get(one.row.id, ()), analysis=read.get(one.row.id)) for one in together
    )
    return Story(now_id, tuple(told), tuple(apart))


async def mark_story(runtime: Runtime, user_id: int, story_id: int, *, read: bool = True) -> MarkResult:
    """All of its entries; or back to unread."""
    async with runtime.db.read() as tx:
        now_id = await stories.find(tx, story_id)
        together, apart = await stories.outlets(tx, user_id, now_id) if now_id else ([], [])
    if not (together or apart):
        raise NotFound(NO_SUCH_STORY)
    return await mark(runtime, user_id, Selection(ids=_ids(together)), read=read)


async def mark_all_stories(runtime: Runtime, user_id: int) -> MarkResult:
    """Every entry of the stories that have something unread, the newest stories first."""
    async with runtime.db.read() as tx:
        lines = await stories.page(
            tx, user_id, cursor=None, limit=MAX_MARKED_STORIES, now=runtime.now(), only_unread=True
        )
        ids = await stories.unread_in(tx, user_id, [one.id for one in lines])
    return await mark(runtime, user_id, Selection(ids=tuple(ids[:MAX_IDS])))


async def split_entry(
    runtime: Runtime, user_id: int, story_id: int, entry_id: int, *, apart: bool = True
) -> None:
    """Not the same story, says this user; or, with `apart` false, it is after all. Others see no change."""
    async with runtime.db.write() as tx:
        now_id = await stories.find(tx, story_id)
        if now_id is None or await stories.story_of(tx, user_id, entry_id) != now_id:
            raise NotFound(NOT_IN_STORY)
        if apart:
            await stories.split(tx, user_id, entry_id, runtime.now())
        else:
            await stories.unsplit(tx, user_id, entry_id)


def _ids(outlets: Sequence[Outlet]) -> tuple[int, ...]:
    return tuple(one.row.id for one in outlets)


def _only_here(found: Sequence[EntryWords]) -> dict[int, tuple[str, ...]]:
    return only_here({one.id: _told(one) for one in found})


def _told(words: EntryWords) -> list[str]:
    from reedbed.ai.extractive import sentences  # its patterns are compiled once they are needed

    text = clean_text(words.content[: 4 * MAX_TEXT_LENGTH])[:MAX_TEXT_LENGTH]
    return [sentence for _, sentence in sentences(text)]


CURSOR = "stories"
AT_ONCE = 500
REMEMBERED = 3 * MAX_STORIES // 2
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
            kept = await instance.get_setting(tx, CURSOR)
            newest = await stories.newest_entry(tx)
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
            found = await stories.new_headlines(tx, max(0, self._cursor - OVERLAP), AT_ONCE + OVERLAP)
        return [one for one in found if one.entry_id not in self._seen]

    async def _place(self, runtime: Runtime, index: StoryIndex, new: Sequence[Headline]) -> int:
        now = runtime.now()
        recent = [one for one in new if one.at >= now - LONGEST]
        settled = settle(await asyncio.to_thread(_placed, index, recent))
        cursor = max(self._cursor, new[-1].entry_id)
        async with runtime.db.write() as tx:
            await stories.save(tx, settled)
            await instance.set_setting(tx, CURSOR, str(cursor), now)
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
                found = await stories.placed(tx, after, cursor, AT_ONCE)
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
        return await stories.delete_old(tx, runtime.now() - KEPT)


def _placed(index: StoryIndex, new: Sequence[Headline]) -> list[tuple[Headline, Placed]]:
    return [(one, index.place(one)) for one in new]


def _restore(index: StoryIndex, found: Sequence[tuple[Headline, int]], since: int) -> None:
    for headline, story_id in found:
        if headline.at >= since and not headline.is_private:
            index.restore(headline, story_id)
