"""Following, changing, leaving and coming back."""

import pytest

from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.subscriptions import SubscriptionFilter
from reedbed.services.folders import create_folder
from reedbed.services.subscriptions import (
    Change,
    Wish,
    change_subscription,
    refresh_all,
    subscribe,
    unsubscribe,
)
from reedbed.store import subscriptions
from tests.crawling import Crawl
from tests.feedsite import FeedSite


async def test_a_followed_feed_is_fetched_at_once_and_its_entries_are_unread(
    crawl: Crawl, site: FeedSite
) -> None:
    site.publish("Hello", key="a")
    user = await crawl.person()
    made = await subscribe(crawl.runtime, user, Wish(site.feed_url()))
    await crawl.check()
    seen = await _get(crawl, user, made.id)
    assert (seen.unread, seen.feed.state.status) == (1, "success")


async def test_a_page_leads_to_its_feed(crawl: Crawl, site: FeedSite) -> None:
    site.publish("Hello", key="a")
    user = await crawl.person()
    made = await subscribe(crawl.runtime, user, Wish(site.page("/home")))
    assert made.feed.url == site.feed_url()
    assert made.url == site.url + "/home"


async def test_a_page_without_a_feed_is_said_plainly(crawl: Crawl, site: FeedSite) -> None:
    page = site.page("/home", feeds=())
    with pytest.raises(Invalid, match="No feed was found"):
        await subscribe(crawl.runtime, await crawl.person(), Wish(page))


async def test_a_site_that_is_down_can_still_be_followed(crawl: Crawl, site: FeedSite) -> None:
    site.misbehave(status=503)
    user = await crawl.person()
    made = await subscribe(crawl.runtime, user, Wish(site.feed_url()))
    await crawl.check()
    assert (await _get(crawl, user, made.id)).feed.state.status == "temporary_error"


async def test_the_same_feed_twice_is_refused_with_the_contract_s_words(crawl: Crawl, site: FeedSite) -> None:
    site.publish("Hello", key="a")
    user = await crawl.person()
    await subscribe(crawl.runtime, user, Wish(site.feed_url()))
    with pytest.raises(Conflict, match=r"^You have already added this feed$"):
        await subscribe(crawl.runtime, user, Wish(site.feed_url()))


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        (Wish(""), "^Feed URL is required$"),
        (Wish("ftp://example.org/x"), "^Invalid URL format. Must start with http:// or https://$"),
        (Wish("http://example.org/x", title="  "), "^Feed name is required$"),
        (Wish("http://example.org/x", title="n" * 256), "^Feed name must be less than 255 characters$"),
    ],
)
async def test_wrong_wishes_are_refused_with_the_contract_s_words(
    crawl: Crawl, wish: Wish, message: str
) -> None:
    with pytest.raises(Invalid, match=message):
        await subscribe(crawl.runtime, await crawl.person(), wish)


async def test_two_people_share_one_feed(crawl: Crawl, site: FeedSite) -> None:
    site.publish("Hello", key="a")
    one = await subscribe(crawl.runtime, await crawl.person(), Wish(site.feed_url()))
    other = await subscribe(crawl.runtime, await crawl.person(), Wish(site.feed_url()))
    assert one.feed.id == other.feed.id


async def test_a_feed_with_credentials_is_private_and_they_are_not_in_its_address(
    crawl: Crawl, site: FeedSite
) -> None:
    site.protect("ann", "s3cret")
    site.publish("Hello", key="a")
    user = await crawl.person()
    address = site.feed_url().replace("://", "://ann:s3cret@")
    made = await subscribe(crawl.runtime, user, Wish(address, looked=True))
    await crawl.check()
    seen = await _get(crawl, user, made.id)
    assert seen.feed.private
    assert "s3cret" not in seen.feed.url
    assert "s3cret" not in seen.url
    assert seen.unread == 1


async def test_coming_back_brings_the_read_state_back(crawl: Crawl, site: FeedSite) -> None:
    site.publish("One", key="a")
    site.publish("Two", key="b")
    user = await crawl.person()
    made = await subscribe(crawl.runtime, user, Wish(site.feed_url()))
    await crawl.check()
    await unsubscribe(crawl.runtime, user, made.id)
    async with crawl.runtime.db.read() as tx:
        assert await subscriptions.every(tx, user) == []
    again = await subscribe(crawl.runtime, user, Wish(site.feed_url()))
    assert (again.id, again.unread) == (made.id, 2)


async def test_another_address_moves_the_subscription_with_its_settings(crawl: Crawl, site: FeedSite) -> None:
    site.publish("Hello", key="a")
    site.publish("Elsewhere", key="b", feed="other")
    user = await crawl.person()
    made = await subscribe(crawl.runtime, user, Wish(site.feed_url(), title="Mine"))
    moved = await change_subscription(
        crawl.runtime, user, made.id, Change(url=site.feed_url("other"), full_text="always")
    )
    assert (moved.feed.url, moved.title, moved.full_text) == (site.feed_url("other"), "Mine", "always")
    async with crawl.runtime.db.read() as tx:
        assert [one.id for one in await subscriptions.every(tx, user)] == [moved.id]


async def test_a_moved_subscription_keeps_its_id_there_and_back(crawl: Crawl, site: FeedSite) -> None:
    site.publish("One", key="a")
    site.publish("Two", key="b")
    site.publish("Elsewhere", key="c", feed="other")
    user = await crawl.person()
    made = await subscribe(crawl.runtime, user, Wish(site.feed_url()))
    await crawl.check()
    there = await change_subscription(crawl.runtime, user, made.id, Change(url=site.feed_url("other")))
    await crawl.check()
    assert (there.id, (await _get(crawl, user, made.id)).unread) == (made.id, 1)
    back = await change_subscription(crawl.runtime, user, made.id, Change(url=site.feed_url()))
    assert (back.id, back.feed.url, back.unread) == (made.id, site.feed_url(), 2)


async def test_moving_to_a_followed_address_is_a_conflict_and_changes_nothing(
    crawl: Crawl, site: FeedSite
) -> None:
    user = await crawl.person()
    made = await subscribe(crawl.runtime, user, Wish(site.feed_url(), looked=True))
    await subscribe(crawl.runtime, user, Wish(site.feed_url("other"), looked=True))
    with pytest.raises(Conflict, match=r"^A feed with this URL already exists$"):
        await change_subscription(
            crawl.runtime, user, made.id, Change(url=site.feed_url("other"), title="Changed")
        )
    assert (await _get(crawl, user, made.id)).own_title is None


async def test_nobody_changes_another_s_subscription_or_uses_their_folder(
    crawl: Crawl, site: FeedSite
) -> None:
    mine, theirs = await crawl.person(), await crawl.person()
    folder = await create_folder(crawl.runtime, theirs, "Theirs")
    made = await subscribe(crawl.runtime, mine, Wish(site.feed_url(), looked=True))
    with pytest.raises(NotFound):
        await change_subscription(crawl.runtime, theirs, made.id, Change(title="Stolen"))
    with pytest.raises(NotFound):
        await unsubscribe(crawl.runtime, theirs, made.id)
    with pytest.raises(NotFound):
        await change_subscription(crawl.runtime, mine, made.id, Change(folder_id=folder.id))


async def test_the_list_is_filtered_by_name_status_and_folder(crawl: Crawl, site: FeedSite) -> None:
    site.publish("Hello", key="a", feed="good")
    site.misbehave(feed="bad", status=404)
    user = await crawl.person()
    folder = await create_folder(crawl.runtime, user, "News")
    await subscribe(crawl.runtime, user, Wish(site.feed_url("good"), folder.id, "Good 100%", looked=True))
    await subscribe(crawl.runtime, user, Wish(site.feed_url("bad"), None, "Bad", looked=True))
    await crawl.check()
    await subscribe(crawl.runtime, user, Wish(site.feed_url("new"), None, "New", looked=True))
    assert await _titles(crawl, user, SubscriptionFilter()) == ["Bad", "Good 100%", "New"]
    assert await _titles(crawl, user, SubscriptionFilter(status="working")) == ["Good 100%"]
    assert await _titles(crawl, user, SubscriptionFilter(status="error")) == ["Bad"]
    assert await _titles(crawl, user, SubscriptionFilter(status="pending")) == ["New"]
    assert await _titles(crawl, user, SubscriptionFilter(search="oo")) == ["Good 100%"]
    assert await _titles(crawl, user, SubscriptionFilter(search="0%")) == ["Good 100%"]
    assert await _titles(crawl, user, SubscriptionFilter(search="_ad")) == []
    assert await _titles(crawl, user, SubscriptionFilter(folder_id=folder.id)) == ["Good 100%"]


async def test_refreshing_all_leaves_out_what_is_paused(crawl: Crawl, site: FeedSite) -> None:
    site.publish("Hello", key="a")
    user = await crawl.person()
    await subscribe(crawl.runtime, user, Wish(site.feed_url(), looked=True))
    paused = await subscribe(crawl.runtime, user, Wish(site.feed_url("other"), looked=True))
    await change_subscription(crawl.runtime, user, paused.id, Change(paused=True))
    assert await refresh_all(crawl.runtime, user) == 1


async def _get(crawl: Crawl, user: int, subscription_id: int):
    async with crawl.runtime.db.read() as tx:
        found = await subscriptions.get(tx, user, subscription_id)
    assert found is not None
    return found


async def _titles(crawl: Crawl, user: int, wanted: SubscriptionFilter) -> list[str]:
    async with crawl.runtime.db.read() as tx:
        return [one.title for one in await subscriptions.page(tx, user, wanted, limit=20, offset=0)]
