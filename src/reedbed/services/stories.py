"""Stories: reports of several outlets about the same event.

A chore assigns new entries to stories; checking feeds does not. The process that runs the chore holds the
stories of the last days in memory. It reloads them when it starts, or when another process ran the chore.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import orjson

from reedbed.ai.prompts import pairs_prompt
from reedbed.ai.responses import read_verdicts
from reedbed.domain.entries import EntryRow, MarkResult, Selection
from reedbed.domain.errors import Invalid, NotFound
from reedbed.domain.live import ChangeEvent
from reedbed.domain.push import story_note
from reedbed.domain.stories.compare import (
    OutletText,
    SharedSentence,
    count_quotations,
    most_related,
    only_here,
    opening,
    related_search,
    shared_sentences,
)
from reedbed.domain.stories.corrections import MAX_WAITING, PAIRS_PER_REQUEST, WAITS, SplitEntry, Verdict, follow_splits
from reedbed.domain.stories.index import (
    MAX_AGE,
    MAX_STORIES,
    SPAN,
    Headline,
    Placed,
    ResolvedStory,
    StoryIndex,
    resolve,
)
from reedbed.domain.stories.story import RETENTION, Outlet, Story, StoryNews
from reedbed.domain.times import Instant
from reedbed.domain.users import read_preferences
from reedbed.ingest.text import clean_text
from reedbed.services.ai import ask_model
from reedbed.services.entries import NO_SUCH_ENTRY
from reedbed.services.push import enqueue_push_notes
from reedbed.services.read_state import MAX_IDS, mark
from reedbed.services.runtime import Runtime
from reedbed.services.search.find import search_entries
from reedbed.store import instance
from reedbed.store.engine.database import Tx
from reedbed.store.entries import read as entry_texts
from reedbed.store.entries.read import EntryText
from reedbed.store.framing import analyses
from reedbed.store.framing.analyses import VisibleAnalysis
from reedbed.store.stories import grouping
from reedbed.store.stories import read as stories
from reedbed.store.stories.grouping import WaitingPair

NO_SUCH_STORY = "There is no such story."
NOT_IN_STORY = "This entry is not in the story."
IN_NO_STORY = "This entry cannot be in a story."
MAX_MARKED_STORIES = 200
"""Stories that one request can mark read."""
MAX_TEXT_LENGTH = 20_000
MAX_COMPARED = 20
RELATED_CANDIDATES = 60
"""The newest entries with one of the telling words; the nearest of them are shown."""

Shared = tuple[SharedSentence, ...]


async def get_story(runtime: Runtime, user_id: int, story_id: int) -> Story:
    """A story with the sentences that its outlets share and those that only one has.

    The id of a merged story finds the new one.
    """
    async with runtime.db.read() as tx:
        now_id = await stories.find(tx, user_id, story_id)
        together, apart = await stories.outlets(tx, user_id, now_id) if now_id else ([], [])
        compared = [outlet.row.id for outlet in together[:MAX_COMPARED]]
        analysed = await analyses.shown(tx, [outlet.row.id for outlet in together])
        entry_list = await entry_texts.visible_texts(tx, user_id, compared) if len(compared) > 1 else []
        joined = await stories.joined(tx, user_id, now_id) if now_id else []
        followed = now_id is not None and await stories.is_followed(tx, user_id, now_id)
    if now_id is None or not (together or apart):
        raise NotFound(NO_SUCH_STORY)
    compared_outlets, shared = await asyncio.to_thread(compare_outlets, together, entry_list)
    outlets = (_with_analysis(outlet, analysed.get(outlet.row.id)) for outlet in compared_outlets)
    return Story(now_id, tuple(outlets), tuple(apart), tuple(joined), shared, followed=followed)


def _with_analysis(outlet: Outlet, stored: VisibleAnalysis | None) -> Outlet:
    return replace(outlet, analysis=stored and stored.analysis)


async def mark_story(runtime: Runtime, user_id: int, story_id: int, *, read: bool = True) -> MarkResult:
    """Mark all its entries read, or unread."""
    async with runtime.db.read() as tx:
        now_id = await stories.find(tx, user_id, story_id)
        together, apart = await stories.outlets(tx, user_id, now_id) if now_id else ([], [])
    if not (together or apart):
        raise NotFound(NO_SUCH_STORY)
    return await mark(runtime, user_id, Selection(ids=_ids(together)), read=read)


async def mark_all_stories(runtime: Runtime, user_id: int) -> MarkResult:
    """Mark the entries of all stories with unread entries, the newest stories first."""
    async with runtime.db.read() as tx:
        lines = await stories.page(
            tx, user_id, cursor=None, limit=MAX_MARKED_STORIES, now=runtime.now(), only_unread=True
        )
        ids = await stories.unread_in(tx, user_id, [line.id for line in lines])
    return await mark(runtime, user_id, Selection(ids=tuple(ids[:MAX_IDS])))


async def split_entry(runtime: Runtime, user_id: int, story_id: int, entry_id: int, *, apart: bool = True) -> None:
    """Take an entry out of a story, or back in with `apart` false, for this user only."""
    async with runtime.db.write() as tx:
        now_id = await stories.find(tx, user_id, story_id)
        if now_id is None or await stories.story_of(tx, user_id, entry_id) != now_id:
            raise NotFound(NOT_IN_STORY)
        if apart:
            await stories.split(tx, user_id, entry_id, runtime.now())
        else:
            await stories.unsplit(tx, user_id, entry_id)


async def join_stories(runtime: Runtime, user_id: int, story_id: int, other_id: int) -> int:
    """Make the other story part of this one, for this user only: the id of the story they are now."""
    async with runtime.db.write() as tx:
        target_id = await _visible_story(tx, user_id, story_id)
        joined_id = await _visible_story(tx, user_id, other_id)
        if joined_id != target_id:
            await stories.join(tx, user_id, joined_id, target_id, runtime.now())
    return target_id


async def join_entries(runtime: Runtime, user_id: int, entry_ids: Sequence[int]) -> int:
    """Make the stories of these entries one, for this user only. An entry that stands alone becomes a story."""
    async with runtime.db.write() as tx:
        target_id, *others = [await _story_of_entry(tx, user_id, entry_id) for entry_id in entry_ids]
        for story_id in dict.fromkeys(others):
            if story_id != target_id:
                await stories.join(tx, user_id, story_id, target_id, runtime.now())
        for entry_id in entry_ids:
            await stories.unsplit(tx, user_id, entry_id)
    return target_id


async def follow_story(runtime: Runtime, user_id: int, story_id: int, *, on: bool = True) -> int:
    """Notify the user when an entry joins the story; or no longer, with `on` false. The id of the story it is now."""
    async with runtime.db.write() as tx:
        now_id = await _visible_story(tx, user_id, story_id)
        if on:
            await stories.follow(tx, user_id, now_id, runtime.now())
        else:
            await stories.unfollow(tx, user_id, now_id)
    return now_id


async def separate_story(runtime: Runtime, user_id: int, story_id: int, joined_id: int) -> None:
    """Undo `join_stories`."""
    async with runtime.db.write() as tx:
        target_id = await _visible_story(tx, user_id, story_id)
        if joined_id not in {story.id for story in await stories.joined(tx, user_id, target_id)}:
            raise NotFound(NO_SUCH_STORY)
        await stories.unjoin(tx, user_id, joined_id)


async def _visible_story(tx: Tx, user_id: int, story_id: int) -> int:
    now_id = await stories.find(tx, user_id, story_id)
    if now_id is None or not any(await stories.outlets(tx, user_id, now_id)):
        raise NotFound(NO_SUCH_STORY)
    return now_id


async def _story_of_entry(tx: Tx, user_id: int, entry_id: int) -> int:
    story_id = await stories.story_of(tx, user_id, entry_id)
    if story_id is not None:
        return story_id
    entry = await entry_texts.get(tx, user_id, entry_id)
    if entry is None:
        raise NotFound(NO_SUCH_ENTRY)
    await grouping.ensure_story(tx, entry_id, entry.row.sort_at)
    story_id = await stories.story_of(tx, user_id, entry_id)
    if story_id is None:  # one that came with a merged feed, which not everyone may see
        raise Invalid(IN_NO_STORY)
    return story_id


def _ids(outlets: Sequence[Outlet]) -> tuple[int, ...]:
    return tuple(outlet.row.id for outlet in outlets)


def compare_outlets(outlets: Sequence[Outlet], entry_list: Sequence[EntryText]) -> tuple[list[Outlet], Shared]:
    plain = {entry.id: clean_text(entry.content[: 4 * MAX_TEXT_LENGTH])[:MAX_TEXT_LENGTH] for entry in entry_list}
    texts = [
        OutletText(entry.id, entry.language or "", entry.title, tuple(_sentences(plain[entry.id])))
        for entry in entry_list
    ]
    openings = {text.entry_id: opening(text.sentences) for text in texts}
    unique = only_here(texts)
    compared = [
        replace(
            outlet,
            only_here=unique.get(outlet.row.id, ()),
            opening=openings.get(outlet.row.id, ""),
            words=len(plain.get(outlet.row.id, "").split()),
            quotations=count_quotations(plain.get(outlet.row.id, "")),
        )
        for outlet in outlets
    ]
    return compared, shared_sentences(texts)


def _sentences(text: str) -> list[str]:
    from reedbed.ai.extractive import sentences  # imported late, because it compiles many patterns

    return [sentence for _, sentence in sentences(text)]


async def related_entries(runtime: Runtime, user_id: int, entry_id: int) -> list[EntryRow]:
    """Entries of this user that are about something similar, the nearest first; not of the story shown with it."""
    async with runtime.db.read() as tx:
        entry = await entry_texts.get(tx, user_id, entry_id)
    if entry is None:
        raise NotFound(NO_SUCH_ENTRY)
    text = related_search(entry.row)
    if not text:
        return []
    found = await search_entries(runtime, user_id, text, limit=RELATED_CANDIDATES, excerpts=False)
    async with runtime.db.read() as tx:
        story_of = await stories.neighbours(tx, user_id, [entry_id, *(row.id for row in found.rows)])
    own = story_of.get(entry_id)
    others = [row for row in found.rows if own is None or story_of.get(row.id) != own]
    return await asyncio.to_thread(most_related, entry.row, others)


# --- Grouping new entries

CURSOR = "stories"
BATCH_SIZE = 500
REMEMBERED = 3 * MAX_STORIES // 2
"""Entries reloaded at the start: most are single, some share a story."""
OVERLAP = 200
"""On PostgreSQL an entry may be committed after one with a higher id, so the last ones are read again."""
_PAUSE = 0.02


class StoryGrouper:
    def __init__(self) -> None:
        self._index: StoryIndex | None = None
        self._cursor = 0
        self._seen: set[int] = set()

    async def group_new(self, runtime: Runtime) -> int:
        """Chore: return how many entries were assigned to a story."""
        async with runtime.db.read() as tx:
            stored = await instance.get_setting(tx, CURSOR)
            newest = await grouping.newest_entry(tx)
            same = await grouping.same_pairs(tx, BATCH_SIZE) if runtime.ai.model is not None else []
        cursor = max(0, newest - REMEMBERED) if stored is None else int(stored)
        if newest <= cursor and not same:
            return 0
        index = self._index if cursor == self._cursor else None
        if index is None:
            index = await self._load_index(runtime, cursor)
        try:
            return await self._place_all(runtime, index) + await self._join_pairs(runtime, index, same)
        except BaseException:
            self._index = None  # it may contain changes that were not saved
            raise

    async def _place_all(self, runtime: Runtime, index: StoryIndex) -> int:
        together = 0
        while new := await self._unseen(runtime):
            together += await self._place(runtime, index, new)
            await asyncio.sleep(_PAUSE)
        return together

    async def _unseen(self, runtime: Runtime) -> list[Headline]:
        async with runtime.db.read() as tx:
            headlines = await grouping.new_headlines(tx, max(0, self._cursor - OVERLAP), BATCH_SIZE + OVERLAP)
        return [headline for headline in headlines if headline.entry_id not in self._seen]

    async def _place(self, runtime: Runtime, index: StoryIndex, new: Sequence[Headline]) -> int:
        now = runtime.now()
        recent = [headline for headline in new if headline.at >= now - MAX_AGE]
        placed = await asyncio.to_thread(_place_headlines, index, recent)
        result = resolve(placed)
        pairs = [(one.entry_id, to.doubtful) for one, to in placed if to.doubtful is not None]
        async with runtime.db.read() as tx:
            splits = await _follow_splits(tx, recent, result)
        cursor = max(self._cursor, new[-1].entry_id)
        async with runtime.db.write() as tx:
            joining = await grouping.ungrouped(tx, list(result.homes)) if result.homes else []
            await grouping.save(tx, result)
            await grouping.add_splits(tx, splits, now)
            if pairs and runtime.ai.model is not None:
                await grouping.add_pairs(tx, pairs, now, limit=MAX_WAITING)
            await instance.set_setting(tx, CURSOR, str(cursor), now)
            news = await _tell_followers(tx, joining, now)
        for one in news:
            await runtime.bus.publish(_notice_of(one))
        index.forget(now - SPAN)
        self._advance(cursor, [headline.entry_id for headline in new])
        return len(result.homes)

    async def _join_pairs(self, runtime: Runtime, index: StoryIndex, pairs: Sequence[tuple[int, int]]) -> int:
        """Merge the stories of pairs that the model has found to be the same."""
        joined = 0
        for pair in pairs:
            async with runtime.db.write() as tx:
                first_id, second_id = [await grouping.story_of_entry(tx, entry_id) for entry_id in pair]
                result = index.join(first_id, second_id) if first_id and second_id else None
                if result is not None:
                    splits = await _follow_splits(tx, [], result)
                    await grouping.save(tx, result)
                    await grouping.add_splits(tx, splits, runtime.now())
                    joined += 1
                await grouping.set_status(tx, [(*pair, "joined")])
        return joined

    async def _load_index(self, runtime: Runtime, cursor: int) -> StoryIndex:
        self._index = index = StoryIndex()
        self._seen.clear()
        after = max(0, cursor - REMEMBERED)
        self._advance(cursor, [])
        while True:
            async with runtime.db.read() as tx:
                rows = await grouping.placed(tx, after, cursor, BATCH_SIZE)
            if not rows:
                return index
            after = rows[-1][0].entry_id
            self._advance(cursor, [headline.entry_id for headline, _ in rows])
            await asyncio.to_thread(_restore, index, rows, runtime.now() - SPAN)

    def _advance(self, cursor: int, seen: Sequence[int]) -> None:
        self._cursor = cursor
        self._seen.update(seen)
        if len(self._seen) > 4 * (BATCH_SIZE + OVERLAP):
            self._seen = {entry_id for entry_id in self._seen if entry_id > cursor - OVERLAP}


async def _tell_followers(tx: Tx, joining: Sequence[Headline], now: Instant) -> Sequence[StoryNews]:
    """Enqueue push notifications for those who follow the stories of these entries."""
    news = await stories.news_for_followers(tx, [headline.entry_id for headline in joining]) if joining else []
    for one in news:
        await enqueue_push_notes(tx, one.user_id, story_note(one), now)
    return news


def _notice_of(news: StoryNews) -> ChangeEvent:
    data = {
        "event": "story",
        "story_id": str(news.story_id),
        "entry_id": str(news.entry_id),
        "title": news.title,
        "feed": news.feed,
    }
    return ChangeEvent("notice", user_id=news.user_id, data=data)


async def delete_old_stories(runtime: Runtime) -> int:
    """Chore: delete stories without recent entries; the entries stay."""
    async with runtime.db.write() as tx:
        await grouping.delete_old_pairs(tx, runtime.now() - MAX_AGE)
        return await grouping.delete_old(tx, runtime.now() - RETENTION)


MAX_MEMBERS = 500
"""Entries of stories with split entries that new ones are compared with."""


async def _follow_splits(tx: Tx, new: Sequence[Headline], result: ResolvedStory) -> list[SplitEntry]:
    """Entries that join a story for users who have split one from it that each is like.

    They are new, or have stood alone until now.
    """
    splits = await grouping.splits_in(tx, list({*result.homes.values(), *result.merges})) if result.homes else []
    if not splits:
        return []
    rows = await grouping.members(tx, list({story_id for _, story_id in splits}), MAX_MEMBERS)
    known = {headline.entry_id for headline in new}
    alone = await grouping.ungrouped(tx, [entry_id for entry_id in result.homes if entry_id not in known])
    return await asyncio.to_thread(_followed, [*alone, *new], result, rows, splits)


def _followed(
    new: Sequence[Headline],
    result: ResolvedStory,
    rows: Sequence[tuple[Headline, int]],
    splits: Sequence[tuple[SplitEntry, int]],
) -> list[SplitEntry]:
    followed: list[SplitEntry] = []
    for home in {result.merges.get(story_id, story_id) for _, story_id in splits}:
        newcomers = [headline for headline in new if result.homes.get(headline.entry_id) == home]
        members = [headline for headline, story_id in rows if result.merges.get(story_id, story_id) == home]
        of_home = [split for split, story_id in splits if result.merges.get(story_id, story_id) == home]
        followed += follow_splits(newcomers, members, of_home)
    return followed


# --- Doubtful pairs


async def decide_pairs(runtime: Runtime) -> int:
    """Chore: ask the model about doubtful pairs in one request; return how many it was asked about.

    The built-in decision stands until an answer comes, and for good if none does.
    """
    if runtime.ai.model is None:
        return 0
    async with runtime.db.read() as tx:
        waiting = await grouping.waiting_pairs(tx, runtime.now() - WAITS, PAIRS_PER_REQUEST)
        allowed = await _feeds_to_send(tx, runtime, waiting)
    pairs = [pair for pair in waiting if allowed.issuperset(pair.feed_ids)]
    kept_here = [pair for pair in waiting if not allowed.issuperset(pair.feed_ids)]
    verdicts = await _ask_about(runtime, pairs)
    statuses = [(pair.entry_id, pair.other_id, verdict) for pair, verdict in zip(pairs, verdicts, strict=False)]
    statuses += [(pair.entry_id, pair.other_id, "unsure") for pair in kept_here]
    if statuses:
        async with runtime.db.write() as tx:
            await grouping.set_status(tx, statuses)
    return len(verdicts)


async def _ask_about(runtime: Runtime, pairs: Sequence[WaitingPair]) -> Sequence[Verdict]:
    """Empty if the model could not be asked. If its answers cannot be read, nothing is sure."""
    if not pairs:
        return []
    answers: list[str] = []

    def read(answer: str) -> Sequence[Verdict] | None:
        answers.append(answer)
        return read_verdicts(answer, len(pairs))

    # All users share the stories, so the budget of the instance pays.
    verdicts = await ask_model(runtime, None, pairs_prompt([pair.texts for pair in pairs]), read)
    return verdicts or (["unsure" for _ in pairs] if answers else [])


async def _feeds_to_send(tx: Tx, runtime: Runtime, pairs: Sequence[WaitingPair]) -> frozenset[int]:
    """The feeds whose texts a follower allows to be sent to the model, and that no follower keeps on this server."""
    feed_ids = frozenset(feed_id for pair in pairs for feed_id in pair.feed_ids)
    model = runtime.ai.model
    if not feed_ids or model is None or not model.is_remote:
        return feed_ids
    followers = await grouping.followers(tx, sorted(feed_ids))
    local_only = {feed_id for feed_id, is_local, _ in followers if is_local}
    return frozenset(
        feed_id
        for feed_id, _, preferences in followers
        if feed_id not in local_only and read_preferences(orjson.loads(preferences)).remote_ai
    )


def _place_headlines(index: StoryIndex, new: Sequence[Headline]) -> list[tuple[Headline, Placed]]:
    return [(headline, index.place(headline)) for headline in new]


def _restore(index: StoryIndex, rows: Sequence[tuple[Headline, int]], since: int) -> None:
    for headline, story_id in rows:
        if headline.at >= since and not headline.is_private:
            index.restore(headline, story_id)
