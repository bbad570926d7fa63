"""Many subscriptions change at once, and of a feed only the newest entries can stay unread."""

import pytest

from reedbed.domain.entries import ViewQuery
from reedbed.domain.errors import Invalid
from reedbed.domain.subscriptions import SubscriptionFilter
from reedbed.domain.times import HOUR
from reedbed.services.folders import create_folder
from reedbed.services.read_state import recount_everyone
from reedbed.services.subscriptions.bulk import DEFAULTS, BulkChange, change_many, list_ids
from reedbed.services.subscriptions.manage import SubscribeOptions, SubscriptionChange, change_subscription, subscribe
from reedbed.store import subscriptions
from reedbed.store.entries import lists
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness


async def _unread(harness: RuntimeHarness, user: int) -> list[str]:
    async with harness.runtime.db.read() as tx:
        page = await lists.page(tx, user, ViewQuery("unread"), None, 50)
    assert page is not None
    assert await recount_everyone(harness.runtime) == 0
    return [row.title for row in page.rows]


async def test_only_the_newest_entries_stay_unread(harness: RuntimeHarness, site: FeedSite) -> None:
    user, other = await harness.person(), await harness.person()
    for title in ("One", "Two", "Three"):
        site.publish(title)
    made = await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url()))
    await subscribe(harness.runtime, other, SubscribeOptions(site.feed_url()))
    changed = await change_subscription(harness.runtime, user, made.id, SubscriptionChange(unread_limit=2))
    assert (changed.unread, changed.unread_limit) == (2, 2)
    assert await _unread(harness, user) == ["Three", "Two"]
    site.publish("Four")
    await harness.check_anyway(made.feed.id)
    assert await _unread(harness, user) == ["Four", "Three"]
    assert len(await _unread(harness, other)) == 4
    with pytest.raises(Invalid):
        await change_subscription(harness.runtime, user, made.id, SubscriptionChange(unread_limit=0))


async def test_feeds_that_differ_are_listed_and_set_back(harness: RuntimeHarness) -> None:
    runtime, user, stranger = harness.runtime, await harness.person(), await harness.person()
    made = [
        (await subscribe(runtime, user, SubscribeOptions(f"http://127.0.0.1:9/{name}", looked=True))).id
        for name in ("a", "b", "c")
    ]
    theirs = (await subscribe(runtime, stranger, SubscribeOptions("http://127.0.0.1:9/a", looked=True))).id
    differ = SubscriptionFilter(status="changed")
    assert await list_ids(runtime, user, differ) == []
    change = BulkChange(SubscriptionChange(interval=HOUR, notify=True))
    assert await change_many(runtime, user, [*made[:2], made[0], theirs], change) == 2
    assert await list_ids(runtime, user, differ) == made[:2]
    assert await list_ids(runtime, stranger, differ) == []
    folder = (await create_folder(runtime, user, "Odd")).id
    assert await change_many(runtime, user, made, BulkChange(SubscriptionChange(), add_folder=folder)) == 3
    assert await change_many(runtime, user, made, BulkChange(DEFAULTS)) == 3
    async with runtime.db.read() as tx:
        assert [one.folder_ids for one in await subscriptions.every(tx, user)] == [(folder,)] * 3
    assert await list_ids(runtime, user, differ) == []


async def test_shorts_of_a_channel_are_left_out(harness: RuntimeHarness, site: FeedSite) -> None:
    user, other = await harness.person(), await harness.person()
    site.publish("A long film", url="https://www.youtube.com/watch?v=aaaaaaaaaaa")
    made = await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url()))
    await subscribe(harness.runtime, other, SubscribeOptions(site.feed_url()))
    await change_subscription(harness.runtime, user, made.id, SubscriptionChange(without_shorts=True))
    site.publish("A short one", url="https://www.youtube.com/shorts/bbbbbbbbbbb")
    await harness.check_anyway(made.feed.id)
    assert await _unread(harness, user) == ["A long film"]
    assert await _unread(harness, other) == ["A short one", "A long film"]
