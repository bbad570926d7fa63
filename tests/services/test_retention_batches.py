"""Somebody keeps an entry at the very moment in which it is removed."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from reedbed.domain.entries import StateChange
from reedbed.domain.errors import NotFound
from reedbed.domain.highlights import Passage
from reedbed.services.bookmarks import bookmark_entry
from reedbed.services.entries import change_entry
from reedbed.services.highlights import create_highlight
from reedbed.services.read_state import change_entries
from reedbed.services.runtime import Runtime
from reedbed.store.read_state import rows as reading
from reedbed.store.read_state import stars as marks
from reedbed.store.retention import deletion
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness, open_harness

RetentionPolicy = Callable[[Runtime, int, int], Awaitable[Any]]

WAYS: dict[str, RetentionPolicy] = {
    "star": lambda runtime, user, entry: change_entry(runtime, user, entry, StateChange(starred=True)),
    "later": lambda runtime, user, entry: change_entry(runtime, user, entry, StateChange(later=True)),
    "tag": lambda runtime, user, entry: change_entry(runtime, user, entry, StateChange(tags=("kept",))),
    "bookmark": bookmark_entry,
    "highlight": lambda runtime, user, entry: create_highlight(runtime, user, entry, Passage("Hello")),
}


@pytest.fixture
async def read_entries(harness: RuntimeHarness, site: FeedSite) -> tuple[int, list[int]]:
    return await two_read(harness, site)


async def two_read(harness: RuntimeHarness, site: FeedSite) -> tuple[int, list[int]]:
    """A reader, and two entries that they have read."""
    for title in ("one", "two"):
        site.publish(title, content="<p>Hello there</p>")
    user = await harness.person()
    await harness.follow(site.feed_url(), user_id=user)
    await harness.check()
    ids = await harness.column("SELECT id FROM entries ORDER BY id")
    async with harness.runtime.db.write() as tx:
        await reading.mark_read(tx, user, ids)
    return user, ids


async def while_removed(harness: RuntimeHarness, entry_id: int, keeping: Awaitable[Any]) -> Any:
    """What comes of keeping an entry that begins while its removal is not yet committed."""
    async with harness.runtime.db.write() as tx:
        gone = await deletion.delete_entries(tx, [entry_id], "read")
        assert gone.entries == 1
        asked = asyncio.ensure_future(keeping)
        await asyncio.wait([asked], timeout=0.3)
    return (await asyncio.gather(asked, return_exceptions=True))[0]


@pytest.mark.parametrize("way", WAYS)
async def test_what_is_being_removed_is_not_there_any_more(
    harness: RuntimeHarness, read_entries: tuple[int, list[int]], way: str
) -> None:
    user, (one, _) = read_entries
    outcome = await while_removed(harness, one, WAYS[way](harness.runtime, user, one))
    assert isinstance(outcome, NotFound)
    assert await harness.column("SELECT title FROM entries") == ["two"]


async def test_of_many_those_that_stay_are_starred(
    harness: RuntimeHarness, read_entries: tuple[int, list[int]]
) -> None:
    user, (one, two) = read_entries
    starring = change_entries(harness.runtime, user, [one, two], StateChange(starred=True, tags=("kept",)))
    assert await while_removed(harness, one, starring) is None
    assert await harness.column("SELECT entry_id FROM starred") == [two]
    assert await harness.column("SELECT entry_id FROM entry_tags") == [two]


@pytest.mark.parametrize("way", WAYS)
async def test_what_was_kept_a_moment_before_stays(
    harness: RuntimeHarness, read_entries: tuple[int, list[int]], way: str
) -> None:
    user, (one, two) = read_entries
    await WAYS[way](harness.runtime, user, one)
    async with harness.runtime.db.write() as tx:
        await deletion.delete_entries(tx, [one, two], "read")
    assert await harness.column("SELECT id FROM entries") == [one]


async def test_a_star_that_is_being_put_on_holds_the_entry(postgres_url: str, site: FeedSite) -> None:
    """SQLite has one writer: there is no such moment."""
    async with open_harness(postgres_url) as harness:
        user, (one, _) = await two_read(harness, site)
        async with harness.runtime.db.write() as starring, harness.runtime.db.write() as removing:
            await marks.set_flag(starring, user, "starred", [one], 1)
            gone = await asyncio.wait_for(deletion.delete_entries(removing, [one], "read"), 30)
        assert gone.entries == 0
        assert await harness.column("SELECT entry_id FROM starred") == [one]
