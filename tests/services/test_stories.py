"""Stories grow by a chore, are seen through what a user follows, and can be set right."""

import random
from collections.abc import AsyncIterator

import pytest

from reedbed.domain.entries import StateChange, ViewQuery
from reedbed.domain.errors import NotFound
from reedbed.domain.live import ChangeEvent
from reedbed.domain.search.indexing import search_words
from reedbed.domain.stories.index import ResolvedStory
from reedbed.domain.times import DAY
from reedbed.services.entries import change_entry
from reedbed.services.read_state import undo_last
from reedbed.services.runtime import Runtime
from reedbed.services.stories import (
    StoryGrouper,
    delete_old_stories,
    follow_story,
    get_story,
    join_entries,
    mark_all_stories,
    mark_story,
    related_entries,
    separate_story,
    split_entry,
)
from reedbed.store import search
from reedbed.store.entries import read as entries
from reedbed.store.feeds import merge as feed_merge
from reedbed.store.read_state import unread
from reedbed.store.read_state.unread import Arrival
from reedbed.store.stories import grouping
from reedbed.store.stories import read as stories
from tests.harness import RuntimeHarness, open_harness, run

BRIDGE = (
    "Council votes to close the Marrowby swing bridge to cars",
    "Marrowby swing bridge closes to cars after council vote",
    "Swing bridge in Marrowby: council vote shuts out cars",
)
LONELY = (
    "A beginner's guide to sourdough starters",
    "Why octopuses dream in colour",
    "Notes on writing a parser by hand",
    "The last lighthouse keeper retires",
)


class Press:
    """One reader, some feeds and what they print."""

    def __init__(self, harness: RuntimeHarness, user_id: int, feeds: list[int]) -> None:
        self.harness = harness
        self.user_id = user_id
        self.feeds = feeds
        self.grouper = StoryGrouper()
        self._printed = 0

    @property
    def runtime(self) -> Runtime:
        return self.harness.runtime

    async def print(self, title: str, feed: int = 0, *, text: str = "", age: int = 0, lead: str = "") -> int:
        self._printed += 1
        at = self.runtime.now() - age
        async with self.runtime.db.write() as tx:
            rows = await run(
                tx,
                "INSERT INTO entries (feed_id, guid, title, change_hash, fetched_at, sort_at, summary) "
                "VALUES (:feed, :guid, :title, 'x', :at, :at, :lead) RETURNING id",
                feed=self.feeds[feed],
                guid=f"g{self._printed}",
                title=title,
                at=at,
                lead=lead,
            )
            entry_id = rows[0][0]
            await run(
                tx,
                "INSERT INTO entry_bodies (entry_id, content) VALUES (:id, :text) RETURNING entry_id",
                id=entry_id,
                text=f"<p>{text}</p>",
            )
            await unread.fan_out(tx, [Arrival(self.feeds[feed], [entry_id])])
        return entry_id

    async def print_bridge(self) -> list[int]:
        """The same event in three feeds, among what stands alone."""
        for place, title in enumerate(LONELY):
            await self.print(title, place % 3)
        ids = [await self.print(title, feed) for feed, title in enumerate(BRIDGE)]
        await self.group()
        return ids

    async def group(self) -> int:
        return await self.grouper.group_new(self.runtime)

    async def lines(self, user_id: int | None = None, **more: bool) -> list[stories.StorySummary]:
        async with self.runtime.db.read() as tx:
            return await stories.page(
                tx, user_id or self.user_id, cursor=None, limit=50, now=self.runtime.now(), **more
            )

    async def only_story(self) -> stories.StorySummary:
        (line,) = await self.lines()
        return line


@pytest.fixture
async def press(database_url: str) -> AsyncIterator[Press]:
    async with open_harness(database_url) as harness:
        user_id = await harness.person()
        feeds = [await harness.follow(f"http://127.0.0.1:9/{n}.xml", user_id=user_id) for n in range(3)]
        yield Press(harness, user_id, feeds)


async def test_entries_of_one_event_are_one_story_and_the_others_none(press: Press) -> None:
    ids = await press.print_bridge()
    line = await press.only_story()
    assert (line.feeds, line.entries, line.unread) == (3, 3, 3)
    assert [one.entry_id for one in line.sources] == ids
    assert line.headline.title in BRIDGE


async def test_a_recording_of_an_article_is_no_other_source(press: Press) -> None:
    async with press.runtime.db.write() as tx:
        await run(tx, "UPDATE feeds SET kind = 'listening' WHERE id = :feed", feed=press.feeds[2])
    await press.print_bridge()
    assert (await press.only_story()).entries == 2
    assert await press.group() == 0


async def test_what_arrives_later_joins_even_after_a_restart(press: Press) -> None:
    await press.print_bridge()
    press.grouper = StoryGrouper()
    await press.print("Cars must leave Marrowby swing bridge, council vote says", 1)
    assert await press.group() > 0
    assert (await press.only_story()).entries == 4
    assert await press.group() == 0


async def test_another_process_takes_over_where_the_first_left(press: Press) -> None:
    await press.print_bridge()
    other = StoryGrouper()
    await press.print("Marrowby council vote: the swing bridge and its cars", 2)
    await other.group_new(press.runtime)
    await press.print("After the council vote, Marrowby swing bridge loses its cars", 0)
    await press.group()
    assert (await press.only_story()).entries == 5


async def test_an_old_entry_does_not_join_the_news(press: Press) -> None:
    await press.print_bridge()
    await press.print("Marrowby council vote closes swing bridge to cars", 1, age=8 * DAY)
    await press.group()
    assert (await press.only_story()).entries == 3


async def test_a_story_is_only_what_a_user_follows(press: Press) -> None:
    await press.print_bridge()
    stranger = await press.harness.person()
    assert await press.lines(stranger) == []
    story_id = (await press.only_story()).id
    with pytest.raises(NotFound):
        await get_story(press.runtime, stranger, story_id)
    with pytest.raises(NotFound):
        await mark_story(press.runtime, stranger, story_id)


async def test_one_feed_alone_is_no_story(press: Press) -> None:
    for title in BRIDGE:
        await press.print(title, 0)
    await press.group()
    assert await press.lines() == []


async def test_a_private_feed_joins_but_teaches_nothing(press: Press) -> None:
    await press.harness.change(
        "UPDATE feeds SET owner_id = :user WHERE id = :id", user=press.user_id, id=press.feeds[0]
    )
    await press.print(BRIDGE[0], 0)
    await press.print(BRIDGE[1], 1)
    await press.group()
    assert await press.lines() == []
    await press.print(BRIDGE[2], 2)
    await press.print(BRIDGE[0], 0)
    await press.group()
    assert (await press.only_story()).entries == 3


async def test_a_story_marked_read_can_be_taken_back(press: Press) -> None:
    await press.print_bridge()
    line = await press.only_story()
    marked = await mark_story(press.runtime, press.user_id, line.id)
    assert marked.count == 3 and (await press.only_story()).unread == 0
    assert await press.lines(only_unread=True) == []
    await undo_last(press.runtime, press.user_id, marked.undo)
    assert (await press.only_story()).unread == 3
    assert (await mark_all_stories(press.runtime, press.user_id)).count == 3


async def test_not_the_same_story_is_said_for_oneself_and_taken_back(press: Press) -> None:
    ids = await press.print_bridge()
    other = await press.harness.person()
    for number in range(3):
        await press.harness.follow(f"http://127.0.0.1:9/{number}.xml", user_id=other)
    line = await press.only_story()
    await split_entry(press.runtime, press.user_id, line.id, ids[2])
    await split_entry(press.runtime, press.user_id, line.id, ids[2])
    story = await get_story(press.runtime, press.user_id, line.id)
    assert [one.row.id for one in story.outlets] == ids[:2]
    assert [one.row.id for one in story.apart] == [ids[2]]
    assert (await press.only_story()).entries == 2
    assert [one.entries for one in await press.lines(other)] == [3]
    await split_entry(press.runtime, press.user_id, line.id, ids[2], apart=False)
    assert (await press.only_story()).entries == 3
    lonely = await press.print("Nothing of the kind happened in Trondheim")
    with pytest.raises(NotFound):
        await split_entry(press.runtime, press.user_id, line.id, lonely)


async def test_related_entries_share_names_and_words(press: Press) -> None:
    ids = await press.print_bridge()
    async with press.runtime.db.write() as tx:
        for id_, title in zip(ids, BRIDGE, strict=True):
            await search.index(tx, [(id_, search_words(title, "", ""))])
    assert await related_entries(press.runtime, press.user_id, ids[0]) == []  # the article shows its story
    story = await press.only_story()
    await split_entry(press.runtime, press.user_id, story.id, ids[1])
    assert [row.id for row in await related_entries(press.runtime, press.user_id, ids[0])] == [ids[1]]
    stranger = await press.harness.person()
    with pytest.raises(NotFound):
        await related_entries(press.runtime, stranger, ids[0])


async def second_reader(press: Press) -> int:
    other = await press.harness.person()
    for number in range(3):
        await press.harness.follow(f"http://127.0.0.1:9/{number}.xml", user_id=other)
    return other


async def test_entries_that_a_user_joins_are_one_story_for_them_alone(press: Press) -> None:
    other = await second_reader(press)
    ids = await press.print_bridge()
    lone = await press.print("Fishermen worry about herring deliveries", 1)
    await press.group()
    story_id = await join_entries(press.runtime, press.user_id, [ids[0], lone])
    line = await press.only_story()
    assert (line.id, line.entries) == (story_id, 4)
    story = await get_story(press.runtime, press.user_id, lone)
    assert story.id == story_id and [joined.id for joined in story.joined] == [lone]
    async with press.runtime.db.read() as tx:
        assert (await stories.neighbours(tx, press.user_id, [lone]))[lone].story_id == story_id
        assert sorted(await stories.unread_in(tx, press.user_id, [story_id])) == sorted([*ids, lone])
    assert [one.entries for one in await press.lines(other)] == [3]

    await separate_story(press.runtime, press.user_id, story_id, lone)
    assert (await press.only_story()).entries == 3
    with pytest.raises(NotFound):
        await separate_story(press.runtime, press.user_id, story_id, lone)


async def test_whoever_follows_a_story_hears_of_what_joins_it(press: Press) -> None:
    await press.print_bridge()
    other = await second_reader(press)
    story_id = (await press.only_story()).id
    with pytest.raises(NotFound):
        await follow_story(press.runtime, await press.harness.person(), story_id)
    await follow_story(press.runtime, press.user_id, story_id)
    await follow_story(press.runtime, press.user_id, story_id)
    assert (await get_story(press.runtime, press.user_id, story_id)).followed
    assert await notices(press, "Cars must leave Marrowby swing bridge, council vote says") == [
        (press.user_id, str(story_id), "Cars must leave Marrowby swing bridge, council vote says")
    ]
    assert not (await get_story(press.runtime, press.user_id, story_id)).apart
    await follow_story(press.runtime, other, story_id)
    await follow_story(press.runtime, press.user_id, story_id, on=False)
    assert not (await get_story(press.runtime, press.user_id, story_id)).followed
    await press.harness.change("UPDATE subscriptions SET unsubscribed_at = 1 WHERE user_id = :user", user=other)
    assert await notices(press, "Marrowby council vote: the swing bridge and its cars") == []


async def notices(press: Press, title: str) -> list[tuple[int | None, str, str]]:
    heard: list[ChangeEvent] = []
    with press.runtime.bus.listen() as ear:
        await press.print(title, 1)
        await press.group()
        while (hint := await ear.next(0.01)) is not None:
            heard.append(hint)
    return [(one.user_id, one.data["story_id"], one.data["title"]) for one in heard if one.topic == "notice"]


async def test_a_followed_story_stays_followed_when_it_is_joined_or_merged(press: Press) -> None:
    ids = await press.print_bridge()
    lone = await press.print("Fishermen worry about herring deliveries", 1)
    await press.group()
    story_id = await join_entries(press.runtime, press.user_id, [ids[0], lone])
    await separate_story(press.runtime, press.user_id, story_id, lone)
    await follow_story(press.runtime, press.user_id, lone)
    await join_entries(press.runtime, press.user_id, [ids[0], lone])
    assert (await get_story(press.runtime, press.user_id, story_id)).followed
    async with press.runtime.db.write() as tx:
        await grouping.save(tx, ResolvedStory({}, {lone: story_id}, {}))
    assert (await get_story(press.runtime, press.user_id, story_id)).followed
    await follow_story(press.runtime, press.user_id, story_id, on=False)
    assert not (await get_story(press.runtime, press.user_id, story_id)).followed


async def test_what_joins_a_joined_story_later_comes_with_it(press: Press) -> None:
    await press.print_bridge()
    story = await press.only_story()
    first = await press.print("Herring market of Ostmere moves to the quay", 0)
    await press.group()
    await join_entries(press.runtime, press.user_id, [story.sources[0].entry_id, first])
    await press.print("Ostmere herring market moves to new quay", 1)
    await press.group()
    line = await press.only_story()
    assert (line.id, line.entries) == (story.id, 5)


async def test_joins_follow_stories_that_are_merged(press: Press) -> None:
    first = await press.print("Marrowby bridge shut", 0)
    await press.print("Marrowby bridge shut today", 1)
    second = await press.print("Council vote bans cars", 2)
    await press.print("Council vote bans cars outright", 0)
    herring = await press.print("Herring market of Ostmere moves", 1)
    await press.group()
    await join_entries(press.runtime, press.user_id, [second, herring])
    for feed, title in enumerate(("Marrowby bridge shut: council vote bans cars",) * 3):
        await press.print(title, feed)
    await press.group()
    line = await press.only_story()
    assert line.entries == 8
    for story_id in (first, second, herring):
        assert (await get_story(press.runtime, press.user_id, story_id)).id == line.id


async def test_it_shows_what_only_one_outlet_says(press: Press) -> None:
    shared = "The council of Marrowby voted to close the swing bridge to cars for fourteen months."
    own = "Fishermen along the quay fear that herring deliveries will arrive spoiled in summer."
    await press.print(BRIDGE[0], 0, text=f"{shared} {own}")
    await press.print(BRIDGE[1], 1, text=shared)
    await press.group()
    story = await get_story(press.runtime, press.user_id, (await press.only_story()).id)
    assert [one.only_here for one in story.outlets] == [(own,), ()]


async def test_two_stories_that_turn_out_to_be_one_keep_both_addresses(press: Press) -> None:
    first = await press.print("Marrowby bridge shut", 0)
    await press.print("Marrowby bridge shut today", 1)
    second = await press.print("Council vote bans cars", 2)
    await press.print("Council vote bans cars outright", 0)
    await press.group()
    assert len(await press.lines()) == 2
    for feed, title in enumerate(("Marrowby bridge shut: council vote bans cars",) * 3):
        await press.print(title, feed)
    await press.group()
    line = await press.only_story()
    assert line.entries == 7
    for old in (first, second):
        assert (await get_story(press.runtime, press.user_id, old)).id == line.id


async def test_a_story_long_without_news_dissolves_and_its_entries_stay(press: Press) -> None:
    ids = await press.print_bridge()
    press.harness.clock.ahead += 31 * DAY
    assert await delete_old_stories(press.runtime) == 1
    assert await press.lines() == []
    async with press.runtime.db.read() as tx:
        assert await entries.get(tx, press.user_id, ids[0]) is not None


async def test_entries_that_came_with_a_merged_feed_are_in_no_story(press: Press) -> None:
    ids = await press.print_bridge()
    async with press.runtime.db.write() as tx:
        await feed_merge.merge(tx, press.feeds[2], press.feeds[1])
    line = await press.only_story()
    assert (line.entries, line.feeds) == (2, 2)
    async with press.runtime.db.read() as tx:
        assert await stories.story_of(tx, press.user_id, ids[2]) is None
    await press.print(BRIDGE[0], 0)
    await press.group()
    assert (await press.only_story()).entries == 3


async def test_pages_follow_each_other_without_gap_or_double(press: Press) -> None:
    for number in range(7):
        for feed in (0, 1):
            await press.print(f"q{number}alpha q{number}beta q{number}gamma report", feed)
            press.harness.clock.ahead += 1000
        press.harness.clock.ahead += DAY
        await press.group()
    whole = [one.id for one in await press.lines()]
    assert len(whole) == 7
    walked: list[int] = []
    cursor = None
    while True:
        async with press.runtime.db.read() as tx:
            lines = await stories.page(tx, press.user_id, cursor=cursor, limit=2, now=press.runtime.now())
        if not lines:
            break
        walked += [one.id for one in lines]
        cursor = stories.Cursor(lines[-1].newest_at, lines[-1].id)
    assert walked == whole


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_happens_every_entry_is_reachable_and_counts_agree(press: Press, seed: int) -> None:
    chance = random.Random(seed)
    events = [[f"e{number}w{word}" for word in range(6)] for number in range(4)]
    ids: list[int] = []
    for _ in range(30):
        words = chance.sample(chance.choice(events), 4) if chance.random() < 0.6 else [f"x{chance.random()}"]
        ids.append(await press.print(" ".join(words), chance.randrange(3)))
        if chance.random() < 0.3:
            await press.group()
    await press.group()
    for _ in range(12):
        await _do_something(press, chance, ids)
    await _check(press, ids)


async def _do_something(press: Press, chance: random.Random, ids: list[int]) -> None:
    lines = await press.lines()
    if not lines:
        return
    line = chance.choice(lines)
    entry_id = chance.choice(line.sources).entry_id
    act = chance.randrange(6)
    if act == 0:
        await split_entry(press.runtime, press.user_id, line.id, entry_id)
    elif act == 1:
        await mark_story(press.runtime, press.user_id, line.id, read=chance.random() < 0.6)
    elif act == 2:
        await change_entry(press.runtime, press.user_id, entry_id, StateChange(read=True))
    elif act == 3:
        await join_entries(press.runtime, press.user_id, [entry_id, chance.choice(ids)])
    elif act == 4:
        joined = (await get_story(press.runtime, press.user_id, line.id)).joined
        if joined:
            await separate_story(press.runtime, press.user_id, line.id, joined[0].id)
    else:
        ids.append(await press.print(chance.choice(line.sources).title, chance.randrange(3)))
        await press.group()


async def _check(press: Press, ids: list[int]) -> None:
    async with press.runtime.db.read() as tx:
        everything = await entries.page(tx, press.user_id, ViewQuery(view="all"), None, 200)
        waiting = await entries.page(tx, press.user_id, ViewQuery(view="unread"), None, 200)
    assert everything is not None and waiting is not None
    assert {row.id for row in everything.rows} == set(ids)
    told: list[int] = []
    for line in await press.lines():
        story = await get_story(press.runtime, press.user_id, line.id)
        inside = [one.row for one in story.outlets]
        assert (line.entries, line.feeds) == (len(inside), len({row.feed_id for row in inside}))
        assert line.unread == story.unread == len({row.id for row in inside} & {r.id for r in waiting.rows})
        assert line.feeds >= 2 and not {one.row.id for one in story.apart} & {row.id for row in inside}
        told += [row.id for row in inside]
    assert len(told) == len(set(told)) and set(told) <= set(ids)
