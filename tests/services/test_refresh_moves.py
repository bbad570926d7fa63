"""Permanent redirects: believed after three sightings, and a merge that loses nobody's marks."""

from reedbed.domain.articles import ArticleSelectors
from reedbed.domain.entries import View, ViewQuery
from reedbed.domain.times import HOUR
from reedbed.store import articles
from reedbed.store.entries import lists as entry_lists
from reedbed.store.feeds import merge as feed_merge
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness


async def test_a_permanent_redirect_is_adopted_when_seen_three_times_in_a_row(
    site: FeedSite, harness: RuntimeHarness
) -> None:
    site.publish("One", feed="new")
    site.redirect(site.feed_url("new"), feed="old", status=301)
    feed_id = await harness.follow(site.feed_url("old"))
    addresses = []
    for _ in range(3):
        await harness.check_anyway(feed_id)
        addresses += await harness.column("SELECT url FROM feeds")

    assert addresses == [site.feed_url("old"), site.feed_url("old"), site.feed_url("new")]
    await harness.check_anyway(feed_id)
    assert site.count("old") == 3
    assert await harness.titles(feed_id) == ["One"]
    assert (await harness.state(feed_id)).redirect_count == 0


async def test_a_temporary_redirect_is_followed_and_never_adopted(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("One", feed="new")
    site.redirect(site.feed_url("new"), feed="old", status=302)
    feed_id = await harness.follow(site.feed_url("old"))
    for _ in range(5):
        await harness.check_anyway(feed_id)

    assert await harness.column("SELECT url FROM feeds") == [site.feed_url("old")]
    assert await harness.titles(feed_id) == ["One"]


async def test_sightings_must_follow_each_other(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("One", feed="new")
    site.publish("One", feed="old")
    feed_id = await harness.follow(site.feed_url("old"))
    for status in (301, 301, 302, 301, 301):
        site.redirect(site.feed_url("new"), feed="old", status=status)
        await harness.check_anyway(feed_id)

    assert await harness.column("SELECT url FROM feeds") == [site.feed_url("old")]


async def test_a_merge_keeps_every_subscription_and_state(site: FeedSite, harness: RuntimeHarness) -> None:
    moves, stays, both = [await harness.person() for _ in range(3)]
    for name in ("old", "new"):
        for key in ("shared-read", "shared-unread", "shared-starred"):
            site.publish(key, key=key, feed=name, url=f"{site.url}/{key}")
    site.publish("only in old", key="own", feed="old")
    old = await harness.follow(site.feed_url("old"), user_id=moves)
    await harness.follow(site.feed_url("old"), user_id=both)
    new = await harness.follow(site.feed_url("new"), user_id=stays)
    await harness.follow(site.feed_url("new"), user_id=both)
    await harness.check()
    await _read(harness, moves, old, "shared-read")
    await _star(harness, moves, old, "shared-starred")
    await _read(harness, both, new, "shared-unread")
    await harness.change("UPDATE subscriptions SET title = 'My own' WHERE user_id = :moves", moves=moves)

    site.redirect(site.feed_url("new"), feed="old", status=308)
    for _ in range(3):
        await harness.check_anyway(old)

    assert await harness.column("SELECT id FROM feeds") == [new]
    assert sorted(await harness.titles(new)) == ["only in old", "shared-read", "shared-starred", "shared-unread"]
    assert sorted(await harness.column("SELECT user_id FROM subscriptions WHERE feed_id = :new", new=new)) == [
        moves,
        stays,
        both,
    ]
    assert await _unread(harness, moves) == ["only in old", "shared-starred", "shared-unread"]
    assert await _unread(harness, stays) == ["shared-read", "shared-starred", "shared-unread"]
    assert await _unread(harness, both) == ["only in old", "shared-read", "shared-starred"]
    counts = await harness.rows("SELECT user_id, unread FROM subscriptions ORDER BY user_id")
    assert [tuple(row) for row in counts] == [(moves, 3), (stays, 3), (both, 3)]
    assert await harness.column("SELECT title FROM subscriptions WHERE user_id = :moves", moves=moves) == ["My own"]
    starred = await harness.rows("SELECT s.user_id, e.title FROM starred s JOIN entries e ON e.id = s.entry_id")
    assert [tuple(row) for row in starred] == [(moves, "shared-starred")]
    assert {hint.user_id for hint in harness.heard("subscriptions")} == {moves, both}


async def test_a_merged_feed_goes_on_without_doubling(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("Same", key="same", feed="new")
    site.publish("Same", key="same", feed="old", url=f"{site.url}/new/same")
    old, new = [await harness.follow(site.feed_url(name)) for name in ("old", "new")]
    await harness.check()
    site.redirect(site.feed_url("new"), feed="old")
    for _ in range(3):
        await harness.check_anyway(old)
    site.publish("Next", feed="new")

    (report,) = await harness.check(at_least=25 * HOUR)

    assert (report.feed_id, report.new) == (new, 1)
    assert await harness.titles(new) == ["Same", "Next"]
    assert await harness.column("SELECT unread FROM subscriptions ORDER BY id") == [2, 2]


async def test_a_merged_feed_takes_its_selectors_along(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("One", feed="old")
    site.publish("One", feed="new")
    old, new = await harness.follow(site.feed_url("old")), await harness.follow(site.feed_url("new"))
    async with harness.runtime.db.write() as tx:
        await articles.set_selectors(tx, old, ArticleSelectors(("article",)), 1)
        await feed_merge.merge(tx, old, new)
        assert await articles.get_selectors(tx, new) == ArticleSelectors(("article",))


async def test_a_private_feed_never_joins_a_shared_one(site: FeedSite, harness: RuntimeHarness) -> None:
    owner = await harness.person()
    site.publish("One", feed="new")
    site.redirect(site.feed_url("new"), feed="old")
    shared = await harness.follow(site.feed_url("new"))
    private = await harness.follow(site.feed_url("old"), user_id=owner)
    await harness.change("UPDATE feeds SET owner_id = :owner WHERE id = :id", owner=owner, id=private)
    await harness.check()
    for _ in range(3):
        await harness.check_anyway(private)

    rows = await harness.rows("SELECT id, url, owner_id FROM feeds ORDER BY id")
    assert [tuple(row) for row in rows] == [
        (shared, site.feed_url("new"), None),
        (private, site.feed_url("new"), owner),
    ]


async def _entry(harness: RuntimeHarness, feed_id: int, title: str) -> int:
    (id_,) = await harness.column(
        "SELECT id FROM entries WHERE feed_id = :feed AND title = :title", feed=feed_id, title=title
    )
    return id_


async def _read(harness: RuntimeHarness, user_id: int, feed_id: int, title: str) -> None:
    entry_id = await _entry(harness, feed_id, title)
    await harness.change("DELETE FROM unread WHERE user_id = :u AND entry_id = :e", u=user_id, e=entry_id)
    await harness.change(
        "UPDATE subscriptions SET unread = unread - 1 WHERE user_id = :u AND feed_id = :f", u=user_id, f=feed_id
    )


async def _star(harness: RuntimeHarness, user_id: int, feed_id: int, title: str) -> None:
    await harness.change(
        "INSERT INTO starred (user_id, sort_at, entry_id, marked_at)"
        " SELECT :u, sort_at, id, 1 FROM entries WHERE id = :e",
        u=user_id,
        e=await _entry(harness, feed_id, title),
    )


async def _unread(harness: RuntimeHarness, user_id: int) -> list[str]:
    return await _listed(harness, user_id, view="unread")


async def _listed(harness: RuntimeHarness, user_id: int, view: View = "all", feed_id: int | None = None) -> list[str]:
    async with harness.runtime.db.read() as tx:
        page = await entry_lists.page(tx, user_id, ViewQuery(view, feed_id=feed_id), None, 200)
    return [] if page is None else sorted(row.title for row in page.rows)
