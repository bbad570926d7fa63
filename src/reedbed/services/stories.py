"""Stories for one user: read side by side, marked read together, and set right where the grouping erred."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from reedbed.domain.entries import Marked, Selection
from reedbed.domain.errors import NotFound
from reedbed.domain.stories import Outlet, Story, only_here
from reedbed.ingest.text import clean_text
from reedbed.services.framing import analyses_of
from reedbed.services.marking import MOST_IDS, mark
from reedbed.services.runtime import Runtime
from reedbed.store import entry_texts, stories
from reedbed.store.entry_texts import EntryWords

NO_SUCH_STORY = "There is no such story."
NOT_IN_STORY = "This entry is not in the story."
MOST_STORIES = 200
"""Marked read in one go."""
MOST_TEXT = 20_000
MOST_COMPARED = 20


async def get_story(runtime: Runtime, user_id: int, story_id: int) -> Story:
    """With what only one of the outlets says; an address from before a merge finds the story it is now."""
    async with runtime.db.read() as tx:
        now_id = await stories.find(tx, story_id)
        together, apart = await stories.outlets(tx, user_id, now_id) if now_id else ([], [])
        compared = [one.row.id for one in together[:MOST_COMPARED]]
        read = await analyses_of(tx, [one.row.id for one in together])
        words = await entry_texts.seen_by(tx, user_id, compared) if len(compared) > 1 else []
    if now_id is None or not (together or apart):
        raise NotFound(NO_SUCH_STORY)
    said = await asyncio.to_thread(_only_here, words)
    told = (
        replace(one, only_here=said.get(one.row.id, ()), analysis=read.get(one.row.id)) for one in together
    )
    return Story(now_id, tuple(told), tuple(apart))


async def mark_story(runtime: Runtime, user_id: int, story_id: int, *, read: bool = True) -> Marked:
    """All of its entries; or back to unread."""
    async with runtime.db.read() as tx:
        now_id = await stories.find(tx, story_id)
        together, apart = await stories.outlets(tx, user_id, now_id) if now_id else ([], [])
    if not (together or apart):
        raise NotFound(NO_SUCH_STORY)
    return await mark(runtime, user_id, Selection(ids=_ids(together)), read=read)


async def mark_all_stories(runtime: Runtime, user_id: int) -> Marked:
    """Every entry of the stories that have something unread, the newest stories first."""
    async with runtime.db.read() as tx:
        lines = await stories.page(
            tx, user_id, cursor=None, limit=MOST_STORIES, now=runtime.now(), only_unread=True
        )
        ids = await stories.unread_in(tx, user_id, [one.id for one in lines])
    return await mark(runtime, user_id, Selection(ids=tuple(ids[:MOST_IDS])))


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
    from reedbed.ai.sentences import sentences  # its patterns are compiled once they are needed

    text = clean_text(words.content[: 4 * MOST_TEXT])[:MOST_TEXT]
    return [sentence for _, sentence in sentences(text)]
