"""An article that several feeds link to counts once for those who want that, and is read in all of them."""

from dataclasses import asdict

import orjson
import pytest

from reedbed.domain.entries import EntryRow, Selection, StateChange, View, ViewQuery
from reedbed.domain.records import record
from reedbed.domain.users import Preferences
from reedbed.services.entries import change_entry
from reedbed.services.read_state import mark, recount_everyone
from reedbed.services.subscriptions.manage import SubscribeOptions, subscribe, unsubscribe
from reedbed.store import users
from reedbed.store.entries import lists
from reedbed.store.read_state import counts
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness

ARTICLE = "http://127.0.0.1:9/2026/11/herons.html"


@record
class Reader:
    harness: RuntimeHarness
    site: FeedSite
    user: int

    async def follow(self, feed: str) -> int:
        made = await subscribe(self.harness.runtime, self.user, SubscribeOptions(self.site.feed_url(feed)))
        return made.feed.id

    async def rows(self, view: View = "unread", feed_id: int | None = None) -> list[EntryRow]:
        async with self.harness.runtime.db.read() as tx:
            page = await lists.page(tx, self.user, ViewQuery(view, feed_id=feed_id), None, 50)
        assert page is not None
        return list(page.rows)

    async def unread(self) -> tuple[int, dict[int, int]]:
        async with self.harness.runtime.db.read() as tx:
            counted = await counts.counts(tx, self.user)
        assert await recount_everyone(self.harness.runtime) == 0
        return counted.unread, {one.feed_id: one.unread for one in counted.subscriptions}


async def new_reader(harness: RuntimeHarness, site: FeedSite, *, once: bool = True) -> Reader:
    user = await harness.person()
    async with harness.runtime.db.write() as tx:
        await users.set_preferences(tx, user, orjson.dumps(asdict(Preferences(same_address_once=once))).decode())
    return Reader(harness, site, user)


@pytest.fixture
async def reader(harness: RuntimeHarness, site: FeedSite) -> Reader:
    """Follows a blog, and a planet that has linked to its newest article and to something else."""
    site.publish("Herons", feed="blog", url=ARTICLE)
    site.publish("Herons, seen elsewhere", feed="planet", url=f"{ARTICLE}?utm_source=planet")
    site.publish("Something else", feed="planet")
    return await new_reader(harness, site)


async def test_lists_and_counts_have_it_once_and_say_where_else_it_is(reader: Reader) -> None:
    blog, planet = await reader.follow("blog"), await reader.follow("planet")
    assert await reader.unread() == (2, {blog: 1, planet: 1})
    for view in ("unread", "all"):
        assert [row.title for row in await reader.rows(view)] == ["Something else", "Herons"]
    herons = (await reader.rows())[1]
    assert [(one.feed_id, one.feed_title) for one in herons.also_in] == [(planet, "Feed planet")]
    assert [row.title for row in await reader.rows("all", planet)] == ["Something else", "Herons, seen elsewhere"]


async def test_reading_the_one_reads_the_other(reader: Reader) -> None:
    blog, planet = await reader.follow("blog"), await reader.follow("planet")
    repeated = (await reader.rows("all", planet))[1]
    await change_entry(reader.harness.runtime, reader.user, repeated.id, StateChange(read=True))
    assert await reader.unread() == (1, {blog: 0, planet: 1})


async def test_marking_it_in_a_selection_reads_the_other_and_can_be_undone(reader: Reader) -> None:
    blog, planet = await reader.follow("blog"), await reader.follow("planet")
    repeated = (await reader.rows("all", planet))[1]
    done = await mark(reader.harness.runtime, reader.user, Selection(ids=(repeated.id,)))
    assert done.count == 1
    assert await reader.unread() == (1, {blog: 0, planet: 1})


async def test_marked_unread_it_stands_for_itself(reader: Reader) -> None:
    blog, planet = await reader.follow("blog"), await reader.follow("planet")
    repeated = (await reader.rows("all", planet))[1]
    await change_entry(reader.harness.runtime, reader.user, repeated.id, StateChange(read=False))
    assert await reader.unread() == (3, {blog: 1, planet: 2})
    assert len(await reader.rows("all")) == 3


async def test_what_arrives_later_is_read_for_those_who_want_it_once(reader: Reader) -> None:
    other = await new_reader(reader.harness, reader.site, once=False)
    for one in (reader, other):
        blog, planet = await one.follow("blog"), await one.follow("planet")
    reader.site.publish("Reeds", feed="planet", url="http://127.0.0.1:9/reeds")
    await reader.harness.check_anyway(planet)
    reader.site.publish("Reeds by ourselves", feed="blog", url="http://127.0.0.1:9/reeds")
    await reader.harness.check_anyway(blog)
    assert await reader.unread() == (3, {blog: 1, planet: 2})
    assert (await other.unread())[1] == {blog: 2, planet: 3}
    assert [row.title for row in await reader.rows()] == ["Reeds", "Something else", "Herons"]


async def test_leaving_the_first_feed_brings_the_other_back(reader: Reader) -> None:
    made = await subscribe(reader.harness.runtime, reader.user, SubscribeOptions(reader.site.feed_url("blog")))
    planet = await reader.follow("planet")
    await unsubscribe(reader.harness.runtime, reader.user, made.id)
    assert await reader.unread() == (2, {planet: 2})
    assert [row.title for row in await reader.rows("all")] == ["Something else", "Herons, seen elsewhere"]


async def test_an_address_that_a_feed_uses_twice_says_nothing(reader: Reader) -> None:
    home = "http://127.0.0.1:9/changes"
    reader.site.publish("One", feed="changes", url=home)
    reader.site.publish("Two", feed="changes")
    reader.site.publish("About the changes", feed="other", url=home)
    changes = await reader.follow("changes")
    await reader.harness.change(
        "UPDATE entries SET normalized_url = one.url FROM (SELECT normalized_url AS url FROM entries "
        "WHERE title = 'One') AS one WHERE title = 'Two'"
    )
    other = await reader.follow("other")
    assert (await reader.unread())[1] == {changes: 2, other: 1}


async def move(reader: Reader, old: str, new: str, old_id: int) -> None:
    """Redirect a feed until it is believed to have moved."""
    reader.site.redirect(reader.site.feed_url(new), feed=old)
    for _ in range(3):
        await reader.harness.check_anyway(old_id)


async def test_what_came_second_is_unread_when_the_first_feed_merges_into_its_own(reader: Reader) -> None:
    blog, planet = await reader.follow("blog"), await reader.follow("planet")
    assert await reader.unread() == (2, {blog: 1, planet: 1})
    await move(reader, "blog", "planet", blog)
    assert await reader.unread() == (2, {planet: 2})
    assert [row.title for row in await reader.rows()] == ["Something else", "Herons, seen elsewhere"]


async def test_a_merge_into_a_third_feed_keeps_what_repeats_what(reader: Reader) -> None:
    blog, planet = await reader.follow("blog"), await reader.follow("planet")
    reader.site.publish("Herons of the new planet", feed="new", url=ARTICLE)
    await (await new_reader(reader.harness, reader.site)).follow("new")
    await move(reader, "planet", "new", planet)
    new = await reader.harness.column("SELECT feed_id FROM subscriptions WHERE user_id = :id", id=reader.user)
    assert set(new) == {blog, *new} - {planet} and len(new) == 2
    assert [row.title for row in await reader.rows("all")] == ["Something else", "Herons"]
    assert [one.feed_id for one in (await reader.rows("all"))[1].also_in] == [id_ for id_ in new if id_ != blog]


async def test_following_a_feed_says_nothing_about_other_peoples_entries(reader: Reader) -> None:
    other = await new_reader(reader.harness, reader.site)
    for one in (reader, other):
        await one.follow("blog")
    await reader.follow("planet")
    pairs = await reader.harness.column("SELECT user_id FROM repeated_entries")
    assert pairs == [reader.user]
