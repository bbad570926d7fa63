"""Shared stories: copy one for the public, take the copy back, and show it to anyone who has its URL."""

import asyncio
from dataclasses import replace

from reedbed.domain.errors import Conflict, NotFound, TooMany
from reedbed.domain.records import record
from reedbed.domain.shared_stories import MAX_REPORTS, SharedStory, StoryCopy, copy_story
from reedbed.domain.stories.story import Story
from reedbed.domain.times import HOUR
from reedbed.domain.users import Allowance
from reedbed.services.live import publish_change
from reedbed.services.runtime import Runtime
from reedbed.services.security import new_token, token_hash
from reedbed.services.stories import MAX_COMPARED, NO_SUCH_STORY, compare_outlets
from reedbed.store import shared_stories
from reedbed.store.entries import read as entry_texts
from reedbed.store.stories import read as stories

MAX_SHARED_STORIES = 100
NO_SUCH_COPY = "There is no such shared story"
NOTHING_HERE = "There is nothing at this address."
PER_PAGE = Allowance(120, 2)
TOUCH_EVERY = HOUR


@record
class NewSharedStory:
    """A shared story and its token, which is shown only once."""

    story: SharedStory
    token: str


async def share_story(runtime: Runtime, user_id: int, story_id: int) -> NewSharedStory:
    """Copy the story as it is now. Nothing that changes later reaches the copy."""
    copy, token = copy_story(await _public_part(runtime, user_id, story_id)), new_token()
    async with runtime.db.write() as tx:
        if await shared_stories.count(tx, user_id) >= MAX_SHARED_STORIES:
            raise Conflict(
                "There can be at most %(limit)s shared stories. Remove some first.", limit=MAX_SHARED_STORIES
            )
        story = await shared_stories.add(tx, user_id, copy, token_hash=token_hash(token), now=runtime.now())
    await publish_change(runtime, user_id, "published_feeds")
    return NewSharedStory(story, token)


async def _public_part(runtime: Runtime, user_id: int, story_id: int) -> Story:
    """The story as if only its public entries were there: private ones leave no sentence and no headline in it."""
    async with runtime.db.read() as tx:
        now_id = await stories.find(tx, user_id, story_id)
        together, _ = await stories.outlets(tx, user_id, now_id) if now_id else ([], [])
        titles = await shared_stories.public_feeds(tx, [outlet.row.id for outlet in together])
        public = [replace(one, feed=titles[one.row.id]) for one in together if one.row.id in titles][:MAX_REPORTS]
        texts = await entry_texts.visible_texts(tx, user_id, [outlet.row.id for outlet in public[:MAX_COMPARED]])
    if now_id is None or not together:
        raise NotFound(NO_SUCH_STORY)
    if not public:
        raise Conflict("All entries of this story are from private feeds.")
    compared, shared = await asyncio.to_thread(compare_outlets, public, texts)
    return Story(now_id, tuple(compared), shared=shared)


async def take_back(runtime: Runtime, user_id: int, shared_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await shared_stories.remove(tx, user_id, shared_id):
            raise NotFound(NO_SUCH_COPY)
    await publish_change(runtime, user_id, "published_feeds")


async def read_shared(runtime: Runtime, token: str) -> tuple[SharedStory, StoryCopy]:
    """The token in the URL is the only authentication."""
    hashed = token_hash(token)
    wait = await runtime.limiter.wait_for(f"shared:{hashed[:32]}", PER_PAGE)
    if wait > 0:
        raise TooMany("This page is asked for too often. Come back a little later.", int(wait) + 1)
    async with runtime.db.read() as tx:
        found = await shared_stories.by_token(tx, hashed)
    if found is None:
        raise NotFound(NOTHING_HERE)
    await _touch(runtime, found[0])
    return found


async def _touch(runtime: Runtime, story: SharedStory) -> None:
    now = runtime.now()
    if story.last_used_at is None or story.last_used_at <= now - TOUCH_EVERY:
        async with runtime.db.write() as tx:
            await shared_stories.touch(tx, story.id, now)
