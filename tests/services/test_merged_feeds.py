"""Nobody writes into a feed by redirecting another to it; those who move keep what they had."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from reedbed.domain.entries import EntryRow, StateChange, StreamQuery, ViewQuery
from reedbed.domain.errors import NotFound
from reedbed.domain.times import DAY, HOUR
from reedbed.domain.transfer import ImportedEntry
from reedbed.services.entries import change_entry, get_entry
from reedbed.services.read_state import change_entries
from reedbed.services.search.find import search_entries
from reedbed.services.stories import StoryGrouper
from reedbed.services.subscriptions.manage import unsubscribe
from reedbed.services.transfer.entries import Home, import_saved
from reedbed.store import instance, reader_apps
from reedbed.store.entries import lists as entry_lists
from reedbed.store.entries import read as entry_texts
from reedbed.store.entries import streams as entry_streams
from reedbed.store.feeds import merge as feed_merge
from reedbed.store.framing import documents as framed_documents
from reedbed.store.read_state import unread
from reedbed.store.retention import deletion
from reedbed.store.stories import read as stories
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness


async def listed(harness: RuntimeHarness, user_id: int, query: ViewQuery | None = None) -> list[EntryRow]:
    async with harness.runtime.db.read() as tx:
        page = await entry_lists.page(tx, user_id, query or ViewQuery("all"), None, 200)
    return [] if page is None else list(page.rows)


async def titles(harness: RuntimeHarness, user_id: int, query: ViewQuery | None = None) -> list[str]:
    return sorted(row.title for row in await listed(harness, user_id, query))


async def seen_everywhere(harness: RuntimeHarness, user_id: int, feed_id: int) -> list[set[str]]:
    """What a user finds of a feed, by every way to it."""
    runtime = harness.runtime
    names: dict[int, str] = {row[0]: row[1] for row in await harness.rows("SELECT id, title FROM entries")}
    async with runtime.db.read() as tx:
        streams = [
            await entry_streams.all_stream_ids(tx, user_id, query)
            for query in (
                StreamQuery(),
                StreamQuery(feed_ids=(feed_id,)),
                StreamQuery(read=True),
                StreamQuery(read=False),
                StreamQuery(since=0),
            )
        ]
        asked = [words.id for words in await entry_texts.visible_texts(tx, user_id, list(names))]
        newest = [id_ for id_, _ in (await reader_apps.newest_arrivals(tx, user_id)).values()]
        told = [
            source.entry_id
            for line in await stories.page(tx, user_id, cursor=None, limit=50, now=runtime.now())
            for source in line.sources
        ]
    lists = [
        await titles(harness, user_id, ViewQuery(view, feed_id=feed))
        for view in ("all", "unread", "starred", "later", "history")
        for feed in (None, feed_id)
    ]
    found = [row.title for row in (await search_entries(runtime, user_id, "news", limit=100)).rows]
    ids = (*streams, asked, newest, told)
    return [set(found), *map(set, lists), *({names[id_] for id_ in some} for some in ids)]


async def redirect(harness: RuntimeHarness, site: FeedSite, old: str, new: str) -> None:
    """Let one feed answer 301 to another until the move is believed."""
    site.redirect(site.feed_url(new), feed=old)
    (feed_id,) = await harness.column("SELECT id FROM feeds WHERE url = :url", url=site.feed_url(old))
    for _ in range(3):
        await harness.check_anyway(feed_id)


async def entry_id(harness: RuntimeHarness, title: str) -> int:
    (found,) = await harness.column("SELECT id FROM entries WHERE title = :title", title=title)
    return found


async def test_forged_entries_reach_nobody_else_by_any_way(site: FeedSite, harness: RuntimeHarness) -> None:
    attacker, victim = await harness.person(), await harness.person()
    for number in range(3):
        site.publish(f"True news {number}", key=f"t{number}", feed="good")
        site.publish(f"Forged news {number}", key=f"f{number}", feed="evil")
    good = await harness.follow(site.feed_url("good"), user_id=victim)
    await harness.follow(site.feed_url("evil"), user_id=attacker)
    await harness.check()
    forged = await entry_id(harness, "Forged news 1")
    await change_entry(harness.runtime, attacker, forged, StateChange(starred=True))
    before = await harness.rows("SELECT unread, newest_id, since_id FROM subscriptions WHERE feed_id = :id", id=good)
    await StoryGrouper().group_new(harness.runtime)

    await redirect(harness, site, "evil", "good")
    await StoryGrouper().group_new(harness.runtime)
    latecomer = await harness.person()
    await harness.follow(site.feed_url("good"), user_id=latecomer)

    assert await harness.column("SELECT id FROM feeds") == [good]
    for user_id in (victim, latecomer):
        ways = await seen_everywhere(harness, user_id, good)
        assert not [way for way in ways if any(title.startswith("Forged") for title in way)]
        assert await titles(harness, user_id) == [f"True news {number}" for number in range(3)]
        with pytest.raises(NotFound):
            await get_entry(harness.runtime, user_id, forged)
        with pytest.raises(NotFound):
            await change_entry(harness.runtime, user_id, forged, StateChange(starred=True))
        await change_entries(harness.runtime, user_id, [forged], StateChange(read=False, starred=True))
        await import_saved(
            harness.runtime,
            user_id,
            [ImportedEntry("good", "", "f1", f"{site.url}/evil/f1", "Mine", "")],
            {"good": Home(good, frozenset())},
        )
        assert "Forged news 1" not in await titles(harness, user_id)
        async with harness.runtime.db.read() as tx:
            assert (await instance.count_all(tx, user_id)).posts == len(await listed(harness, user_id))
            assert await entry_streams.how_many(tx, user_id) == len(await listed(harness, user_id))
            assert await entry_texts.count_texts(tx, user_id, 1000) == len(await listed(harness, user_id))
    after = await harness.rows(
        "SELECT unread, newest_id, since_id FROM subscriptions WHERE feed_id = :id AND user_id = :user",
        id=good,
        user=victim,
    )
    assert [tuple(row) for row in after] == [tuple(row) for row in before]
    told = {id_ for hint in harness.heard("new_entry") if hint.feed_id == good for id_ in hint.data["ids"]}
    assert str(forged) not in told
    async with harness.runtime.db.read() as tx:
        assert await framed_documents.newest(tx, good, limit=50) == []
    # Whoever had them keeps them.
    assert [row.title for row in await listed(harness, attacker) if row.title.startswith("Forged")] == [
        f"Forged news {number}" for number in (2, 1, 0)
    ]
    assert await titles(harness, attacker, ViewQuery("starred")) == ["Forged news 1"]


async def test_who_moves_sees_no_archive_of_the_other_feed(site: FeedSite, harness: RuntimeHarness) -> None:
    """Neither by an old subscription nor by claiming to have published an entry of the archive."""
    site.publish("Old treasure", key="treasure", feed="good")
    await harness.follow(site.feed_url("good"))
    attacker = await harness.person()
    site.publish("Claimed", key="treasure", feed="evil")
    await harness.follow(site.feed_url("evil"), user_id=attacker)
    await harness.check()
    site.withdraw("treasure", feed="good")
    site.publish("Current", key="current", feed="good")
    await harness.check(at_least=25 * HOUR)

    await redirect(harness, site, "evil", "good")

    assert await titles(harness, attacker) == ["Claimed", "Current"]


async def test_forged_keys_keep_no_true_entry_away(site: FeedSite, harness: RuntimeHarness) -> None:
    attacker, victim = await harness.person(), await harness.person()
    site.publish("True news", key="t1", feed="good")
    good = await harness.follow(site.feed_url("good"), user_id=victim)
    site.publish("Forged", key="tomorrow", feed="evil", url=f"{site.url}/good/tomorrow")
    site.publish("Removed", key="next week", feed="evil")
    evil = await harness.follow(site.feed_url("evil"), user_id=attacker)
    await harness.check()
    removed = await entry_id(harness, "Removed")
    await harness.change("DELETE FROM unread WHERE entry_id = :id", id=removed)
    async with harness.runtime.db.write() as tx:
        assert (await deletion.delete_entries(tx, [removed], "any")).entries == 1
    site.withdraw("next week", feed="evil")

    await redirect(harness, site, "evil", "good")
    aged = await entry_id(harness, "Forged")
    site.publish("True and new", key="tomorrow", feed="good")
    site.publish("True and newer", key="next week", feed="good")
    await harness.check_anyway(good)

    for user_id in (victim, attacker):
        assert await titles(harness, user_id) == ["True and new", "True and newer", "True news"]
    assert evil != good and aged not in [row.id for row in await listed(harness, attacker)]
    revisions = await harness.column("SELECT title FROM entry_versions")
    assert revisions == []


async def test_many_forged_entries_push_no_true_one_out(site: FeedSite, harness: RuntimeHarness) -> None:
    for number in range(3):
        site.publish(f"True {number}", feed="good")
    for number in range(9):
        site.publish(f"Forged {number}", feed="evil")
    good = await harness.follow(site.feed_url("good"))
    await harness.follow(site.feed_url("evil"))
    await harness.check()
    await redirect(harness, site, "evil", "good")

    async with harness.runtime.db.write() as tx:
        assert await deletion.crowded(tx, 3) == {}
        assert await deletion.newest_surplus_entry(tx, good, 3) is None
        forged = await entry_id(harness, "Forged 1")
        await deletion.delete_entries(tx, [forged], "any")
        assert await deletion.count_entries(tx) == 11
    assert await harness.column("SELECT key FROM removed_keys") == []


async def test_forged_entries_wait_for_nobody_at_an_address_not_followed_yet(
    site: FeedSite, harness: RuntimeHarness
) -> None:
    """The attacker's feed takes the address itself, before the first honest reader comes."""
    attacker = await harness.person()
    site.publish("True news", key="t", feed="good")
    site.publish("True news", key="t", feed="evil", url="http://phish.example/")
    for number in range(3):
        site.publish(f"Forged {number}", feed="evil")
    evil = await harness.follow(site.feed_url("evil"), user_id=attacker)
    await harness.check()
    await harness.change("UPDATE feeds SET hub_url = 'http://hub.example/' WHERE id = :id", id=evil)
    await change_entry(
        harness.runtime, attacker, await entry_id(harness, "True news"), StateChange(read=True, later=True)
    )

    await redirect(harness, site, "evil", "good")
    early = await harness.person()
    await harness.follow(site.feed_url("good"), user_id=early)
    await harness.check()
    late = await harness.person()
    await harness.follow(site.feed_url("good"), user_id=late)

    assert await harness.column("SELECT url FROM feeds") == [site.feed_url("good")]
    for user_id in (early, late):
        (row,) = await listed(harness, user_id)
        assert (row.title, row.url, row.states.read) == ("True news", f"{site.url}/good/t", False)
    assert await harness.column("SELECT hub_url FROM feeds") == [None]
    # The one who moved has everything, and the marks are on what the feed publishes.
    assert await titles(harness, attacker) == ["Forged 0", "Forged 1", "Forged 2", "True news"]
    (kept,) = await listed(harness, attacker, ViewQuery("later"))
    assert (kept.url, kept.states.read) == (f"{site.url}/good/t", True)
    counts = await harness.rows("SELECT user_id, unread FROM subscriptions ORDER BY user_id")
    assert [tuple(row) for row in counts] == [(attacker, 3), (early, 1), (late, 1)]


async def test_merges_of_merges_and_back_show_nothing_to_others(site: FeedSite, harness: RuntimeHarness) -> None:
    people = [await harness.person() for _ in range(3)]
    for name, user_id in zip("abc", people, strict=True):
        site.publish(f"only {name}", feed=name)
        await harness.follow(site.feed_url(name), user_id=user_id)
    await harness.check()
    await redirect(harness, site, "a", "b")
    await redirect(harness, site, "b", "c")
    assert [await titles(harness, user_id) for user_id in people] == [
        ["only a", "only b", "only c"],
        ["only b", "only c"],
        ["only c"],
    ]
    site.behave(feed="a")
    await redirect(harness, site, "c", "a")
    await harness.check()
    assert [await titles(harness, user_id) for user_id in people] == [
        ["only a", "only b", "only c"],
        ["only a", "only b", "only c"],
        ["only a", "only c"],
    ]


async def test_a_feed_that_merges_while_the_other_is_refreshed(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("Both", key="both", feed="old", url=f"{site.url}/both")
    mover, stays = await harness.person(), await harness.person()
    old = await harness.follow(site.feed_url("old"), user_id=mover)
    await harness.check()
    new = await harness.follow(site.feed_url("new"), user_id=stays)
    site.publish("Both", key="both", feed="new", url=f"{site.url}/both")
    async with harness.runtime.db.write() as tx:  # between the comparison of a document and its writing
        await feed_merge.merge(tx, old, new)
    await harness.check_anyway(new)

    for user_id in (mover, stays):
        assert await titles(harness, user_id) == ["Both"]
    assert await harness.column("SELECT unread FROM subscriptions ORDER BY user_id") == [1, 1]


State = tuple[str, bool, bool]
"""The publisher shown, read, starred."""


@dataclass
class World:
    """Readers, feeds that move, and what each reader must see at least."""

    harness: RuntimeHarness
    site: FeedSite
    chance: random.Random
    names: list[str] = field(default_factory=list)
    people: list[int] = field(default_factory=list)
    published: int = 0
    had: set[tuple[int, str, str]] = field(default_factory=set[tuple[int, str, str]])
    """User, publisher and key of whatever was once seen."""
    once_followed: set[tuple[int, str]] = field(default_factory=set[tuple[int, str]])
    """Whoever unsubscribes may come back, and then has what was published meanwhile, too."""

    async def step(self) -> None:
        acts = (self.publish, self.publish, self.follow, self.read, self.leave, self.check, self.move)
        await self.chance.choice(acts)()

    async def publish(self) -> None:
        """In one feed, or the same entry in two."""
        self.published += 1
        key = f"e{self.published}"
        for name in self.chance.sample(self.names, self.chance.choice((1, 1, 2))):
            # The title says who published it.
            self.site.publish(f"{name} {key}", key=key, feed=name, url=f"{self.site.url}/{key}")

    async def follow(self) -> None:
        user_id, name = self.chance.choice(self.people), self.chance.choice(self.names)
        self.once_followed.add((user_id, name))
        url = self.site.feed_url(name)
        known = await self.harness.rows(
            "SELECT s.id, s.feed_id, s.unsubscribed_at FROM subscriptions s JOIN feeds f ON f.id = s.feed_id"
            " WHERE s.user_id = :user AND f.url = :url",
            user=user_id,
            url=url,
        )
        if not known:
            await self.harness.follow(url, user_id=user_id)
        elif known[0][2] is not None:
            await self.harness.change("UPDATE subscriptions SET unsubscribed_at = NULL WHERE id = :id", id=known[0][0])
            async with self.harness.runtime.db.write() as tx:
                await unread.restore_unread(tx, user_id, known[0][1])

    async def leave(self) -> None:
        active = await self.harness.rows("SELECT id, user_id FROM subscriptions WHERE unsubscribed_at IS NULL")
        if active and self.chance.random() < 0.5:
            id_, user_id = self.chance.choice(active)
            await unsubscribe(self.harness.runtime, user_id, id_)

    async def read(self) -> None:
        user_id = self.chance.choice(self.people)
        if rows := await listed(self.harness, user_id):
            change = StateChange(read=self.chance.random() < 0.7, starred=self.chance.choice((None, None, True)))
            await change_entry(self.harness.runtime, user_id, self.chance.choice(rows).id, change)

    async def check(self) -> None:
        await self.harness.check(at_least=3 * DAY)

    async def move(self) -> None:
        old, new = self.chance.sample(self.names, 2)
        known = await self.harness.column("SELECT id FROM feeds WHERE url = :url", url=self.site.feed_url(old))
        if not known:
            return
        for name in self.names:  # else a feed publishes what another one wrote
            self.site.behave(feed=name)
        await self.check()
        before = {user_id: await self.states(user_id) for user_id in self.people}
        await redirect(self.harness, self.site, old, new)
        self.site.behave(feed=old)
        await self.harness.check()
        for user_id in self.people:
            had = {(publisher, key) for who, publisher, key in self.had if who == user_id}
            after = await self.states(user_id)
            followed = {name for who, name in self.once_followed if who == user_id} | await self.followed(user_id)
            assert not before[user_id].keys() - after.keys(), "a merge lost an entry"
            for key, (publisher, _, starred) in after.items():
                assert publisher in followed or (publisher, key) in had, "an entry of another feed appeared"
                assert starred >= before[user_id].get(key, ("", True, False))[2], "a merge lost a star"

    async def states(self, user_id: int) -> Mapping[str, State]:
        found: dict[str, State] = {}
        for row in await listed(self.harness, user_id):
            publisher, key = row.title.split()
            self.had.add((user_id, publisher, key))
            was = found.get(key, ("", True, False))
            found[key] = (publisher, row.states.read and was[1], row.states.starred or was[2])
        return found

    async def followed(self, user_id: int) -> set[str]:
        urls = await self.harness.column(
            "SELECT f.url FROM subscriptions s JOIN feeds f ON f.id = s.feed_id"
            " WHERE s.user_id = :id AND s.unsubscribed_at IS NULL",
            id=user_id,
        )
        return {name for name in self.names if self.site.feed_url(name) in urls}

    async def check_counts(self) -> None:
        for user_id in self.people:
            rows = await self.harness.rows(
                "SELECT feed_id, unread FROM subscriptions WHERE user_id = :id AND unsubscribed_at IS NULL", id=user_id
            )
            for feed_id, counted in rows:
                shown = await titles(self.harness, user_id, ViewQuery("unread", feed_id=feed_id))
                assert counted == len(shown)
                assert set(shown) <= set(await titles(self.harness, user_id, ViewQuery("all", feed_id=feed_id)))


@pytest.mark.parametrize("seed", range(6))
async def test_whatever_moves_nothing_is_lost_and_nothing_slips_in(
    site: FeedSite, harness: RuntimeHarness, seed: int
) -> None:
    world = World(harness, site, random.Random(seed), names=list("abcd"))
    world.people = [await harness.person() for _ in range(3)]
    for _ in range(3):
        await world.publish()
        await world.follow()
    for _ in range(40):
        await world.step()
        await world.check_counts()
