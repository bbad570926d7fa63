"""Following, changing, leaving and coming back."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.subscriptions import SubscriptionFilter
from reedbed.domain.times import DAY, HOUR, MINUTE, Millis
from reedbed.services.folders import create_folder
from reedbed.services.subscriptions.bulk import refresh_all
from reedbed.services.subscriptions.discover import preview_feed
from reedbed.services.subscriptions.manage import (
    SubscribeOptions,
    SubscriptionChange,
    change_subscription,
    subscribe,
    unsubscribe,
)
from reedbed.store import subscriptions
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness


async def test_a_followed_feed_is_fetched_at_once_and_its_entries_are_unread(
    harness: RuntimeHarness, site: FeedSite
) -> None:
    site.publish("Hello", key="a")
    user = await harness.person()
    made = await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url()))
    await harness.check()
    seen = await _get(harness, user, made.id)
    assert (seen.unread, seen.feed.state.status) == (1, "success")


async def test_a_page_leads_to_its_feed(harness: RuntimeHarness, site: FeedSite) -> None:
    site.publish("Hello", key="a")
    user = await harness.person()
    made = await subscribe(harness.runtime, user, SubscribeOptions(site.page("/home")))
    assert made.url == made.feed.url == site.feed_url()
    assert made.asked_url == site.url + "/home"


async def test_a_page_without_a_feed_is_said_plainly(harness: RuntimeHarness, site: FeedSite) -> None:
    page = site.page("/home", feeds=())
    with pytest.raises(Invalid, match="No feed was found"):
        await subscribe(harness.runtime, await harness.person(), SubscribeOptions(page))


async def test_a_site_that_is_down_can_still_be_followed(harness: RuntimeHarness, site: FeedSite) -> None:
    site.misbehave(status=503)
    user = await harness.person()
    made = await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url()))
    await harness.check()
    assert (await _get(harness, user, made.id)).feed.state.status == "temporary_error"


async def test_the_same_feed_twice_is_refused_with_the_contract_s_words(
    harness: RuntimeHarness, site: FeedSite
) -> None:
    site.publish("Hello", key="a")
    user = await harness.person()
    await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url()))
    with pytest.raises(Conflict, match=r"^You have already added this feed$"):
        await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url()))


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        (SubscribeOptions(""), "^Feed URL is required$"),
        (SubscribeOptions("ftp://example.org/x"), "^Invalid URL format. Must start with http:// or https://$"),
        (SubscribeOptions("http://example.org/x", title="  "), "^Feed name is required$"),
        (SubscribeOptions("http://example.org/x", title="n" * 256), "^Feed name must be less than 255 characters$"),
    ],
)
async def test_wrong_wishes_are_refused_with_the_contract_s_words(
    harness: RuntimeHarness, wish: SubscribeOptions, message: str
) -> None:
    with pytest.raises(Invalid, match=message):
        await subscribe(harness.runtime, await harness.person(), wish)


async def test_two_people_share_one_feed(harness: RuntimeHarness, site: FeedSite) -> None:
    site.publish("Hello", key="a")
    one = await subscribe(harness.runtime, await harness.person(), SubscribeOptions(site.feed_url()))
    other = await subscribe(harness.runtime, await harness.person(), SubscribeOptions(site.feed_url()))
    assert one.feed.id == other.feed.id


async def test_a_feed_with_credentials_is_private_and_they_are_not_in_its_address(
    harness: RuntimeHarness, site: FeedSite
) -> None:
    site.protect("ann", "s3cret")
    site.publish("Hello", key="a")
    user = await harness.person()
    address = site.feed_url().replace("://", "://ann:s3cret@")
    made = await subscribe(harness.runtime, user, SubscribeOptions(address, looked=True))
    await harness.check()
    seen = await _get(harness, user, made.id)
    assert seen.feed.private
    assert "s3cret" not in seen.feed.url
    assert "s3cret" not in seen.url
    assert seen.unread == 1


@pytest.mark.parametrize("by_page", [False, True], ids=["feed", "page"])
async def test_credentials_in_an_address_that_is_looked_at_are_kept(
    harness: RuntimeHarness, site: FeedSite, by_page: bool
) -> None:
    site.protect("ann", "s3cret/&")
    site.publish("Hello", key="a")
    user = await harness.person()
    address = (site.page("/home") if by_page else site.feed_url()).replace("://", "://ann:s3cret%2F%26@")
    made = await subscribe(harness.runtime, user, SubscribeOptions(address))
    assert (made.feed.private, made.feed.username, made.feed.has_password) == (True, "ann", True)
    assert (made.url, made.unread, site.count()) == (site.feed_url(), 1, 1)
    site.publish("Again", key="b")
    await harness.check(at_least=DAY)
    assert ((await _get(harness, user, made.id)).unread, site.count(status=200)) == (2, 2)


async def test_credentials_go_to_no_other_origin(harness: RuntimeHarness, site: FeedSite) -> None:
    async with FeedSite() as other:
        other.publish("Hello", key="a")
        page = site.put("/home", f'<link rel=alternate type=application/rss+xml href="{other.feed_url()}">')
        made = await subscribe(
            harness.runtime, await harness.person(), SubscribeOptions(page.replace("://", "://ann:s3cret@"))
        )
        assert (made.url, made.feed.private) == (other.feed_url(), False)
        assert all("Authorization" not in request.headers for request in other.requests)


async def test_a_feed_with_credentials_never_joins_the_shared_one(harness: RuntimeHarness, site: FeedSite) -> None:
    site.publish("Hello", key="a")
    shared = await subscribe(harness.runtime, await harness.person(), SubscribeOptions(site.feed_url()))
    user = await harness.person()
    mine = await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url(), username="ann", password="s3cret"))
    assert (mine.feed.id != shared.feed.id, mine.feed.private) == (True, True)
    with pytest.raises(Conflict):
        await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url()))


async def test_a_password_may_come_apart_from_the_name_in_the_address(harness: RuntimeHarness, site: FeedSite) -> None:
    site.protect("ann", "s3cret")
    site.publish("One")
    url = site.feed_url().replace("://", "://ann@")
    made = await subscribe(harness.runtime, await harness.person(), SubscribeOptions(url, password="s3cret"))
    assert (made.feed.username, made.feed.has_password, made.feed.state.status) == ("ann", True, "success")


async def test_name_and_password_are_changed_and_taken_away(harness: RuntimeHarness, site: FeedSite) -> None:
    site.publish("Hello", key="a")
    user = await harness.person()
    made = await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url()))
    site.protect("ann", "s3cret")
    changed = await change_subscription(
        harness.runtime, user, made.id, SubscriptionChange(username="ann", password="s3cret")
    )
    assert (changed.id, changed.feed.private, changed.feed.username) == (made.id, True, "ann")
    await harness.check()
    seen = await _get(harness, user, made.id)
    assert (seen.unread, seen.feed.state.status) == (1, "success")
    site.protect("ann", "other")
    await change_subscription(harness.runtime, user, made.id, SubscriptionChange(password="other"))
    await harness.check()
    assert (await _get(harness, user, made.id)).feed.state.status == "success"
    without = await change_subscription(harness.runtime, user, made.id, SubscriptionChange(username=None))
    assert (without.feed.private, without.feed.username, without.feed.has_password) == (True, None, False)
    with pytest.raises(Invalid, match="needs a user name"):
        await change_subscription(harness.runtime, user, made.id, SubscriptionChange(password="x"))


async def test_another_address_takes_the_password_along_on_its_own_site_only(
    harness: RuntimeHarness, site: FeedSite
) -> None:
    site.publish("Hello", key="a")
    user = await harness.person()
    wish = SubscribeOptions(site.feed_url(), username="ann", password="s3cret")
    made = await subscribe(harness.runtime, user, wish)
    near = await change_subscription(harness.runtime, user, made.id, SubscriptionChange(url=site.feed_url("other")))
    assert (near.feed.username, near.feed.has_password) == ("ann", True)
    far = await change_subscription(harness.runtime, user, made.id, SubscriptionChange(url="http://localhost:9/feed"))
    assert (far.feed.username, far.feed.private) == (None, False)


async def test_following_asks_the_server_once(harness: RuntimeHarness, site: FeedSite) -> None:
    site.publish("Hello", key="a")
    user = await harness.person()
    made = await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url()))
    assert (made.title, made.unread, made.feed.state.status) == ("Feed main", 1, "success")
    assert made.feed.state.etag
    topics = [hint.topic for hint in harness.bus.sent if hint.topic in ("subscriptions", "new_entry")]
    assert topics == ["subscriptions", "new_entry", "subscriptions"], "a stream hears of the feed first"
    await harness.check()
    assert site.count() == 1
    assert await harness.column("SELECT lease_holder FROM feed_fetch_state") == [None]
    await harness.check(at_least=DAY)
    assert [request.status for request in site.seen()] == [200, 304]


async def test_a_preview_and_following_it_ask_the_server_once(harness: RuntimeHarness, site: FeedSite) -> None:
    site.publish("Hello", key="a")
    page, user = site.page("/home"), await harness.person()
    shown = await preview_feed(harness.runtime, user, page)
    await subscribe(harness.runtime, user, SubscribeOptions(shown.url))
    await harness.check()
    assert (len(site.seen_at("/home")), site.count()) == (1, 1)


async def test_what_one_user_previewed_is_not_what_another_follows(harness: RuntimeHarness, site: FeedSite) -> None:
    site.publish("Hello", key="a")
    await preview_feed(harness.runtime, await harness.person(), site.feed_url())
    await subscribe(harness.runtime, await harness.person(), SubscribeOptions(site.feed_url()))
    assert site.count() == 2


async def test_a_server_that_asks_for_peace_is_not_asked_again(harness: RuntimeHarness, site: FeedSite) -> None:
    site.misbehave(status=429, headers={"Retry-After": "3600"})
    user = await harness.person()
    made = await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url()))
    await harness.check()
    assert (site.count(), made.feed.state.status) == (1, "temporary_error")


async def test_a_permanent_redirect_is_followed_to_the_feed_s_own_address(
    harness: RuntimeHarness, site: FeedSite
) -> None:
    site.publish("Hello", key="a", feed="new")
    site.redirect(site.feed_url("new"))
    made = await subscribe(harness.runtime, await harness.person(), SubscribeOptions(site.feed_url()))
    assert (made.url, made.unread, made.feed.state.redirect_url) == (site.feed_url("new"), 1, None)
    assert (site.count(), site.count("new")) == (1, 1)


async def test_the_address_shown_is_the_one_that_a_redirect_led_to(harness: RuntimeHarness, site: FeedSite) -> None:
    site.publish("Hello", key="a")
    user = await harness.person()
    made = await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url()))
    site.publish("Hello", key="a", feed="new")
    site.redirect(site.feed_url("new"))
    for _ in range(3):
        await harness.check_anyway(made.feed.id)
    seen = await _get(harness, user, made.id)
    assert (seen.url, seen.asked_url) == (site.feed_url("new"), site.feed_url())
    same = await change_subscription(harness.runtime, user, made.id, SubscriptionChange(url=site.feed_url()))
    assert same.feed.id == made.feed.id


async def test_an_address_that_is_private_now_and_was_shared_is_not_followed_twice(
    harness: RuntimeHarness, site: FeedSite
) -> None:
    site.publish("Hello", key="a")
    user, address = await harness.person(), f"{site.feed_url()}?sid=1234"
    await harness.follow(address, user_id=user)
    with pytest.raises(Conflict):
        await subscribe(harness.runtime, user, SubscribeOptions(address))


async def test_coming_back_brings_the_read_state_back(harness: RuntimeHarness, site: FeedSite) -> None:
    site.publish("One", key="a")
    site.publish("Two", key="b")
    user = await harness.person()
    made = await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url()))
    await harness.check()
    await unsubscribe(harness.runtime, user, made.id)
    async with harness.runtime.db.read() as tx:
        assert await subscriptions.every(tx, user) == []
    again = await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url()))
    assert (again.id, again.unread) == (made.id, 2)


async def test_another_address_moves_the_subscription_with_its_settings(
    harness: RuntimeHarness, site: FeedSite
) -> None:
    site.publish("Hello", key="a")
    site.publish("Elsewhere", key="b", feed="other")
    user = await harness.person()
    made = await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url(), title="Mine"))
    moved = await change_subscription(
        harness.runtime, user, made.id, SubscriptionChange(url=site.feed_url("other"), full_text="always")
    )
    assert (moved.feed.url, moved.title, moved.full_text) == (site.feed_url("other"), "Mine", "always")
    async with harness.runtime.db.read() as tx:
        assert [one.id for one in await subscriptions.every(tx, user)] == [moved.id]


async def test_a_moved_subscription_keeps_its_id_there_and_back(harness: RuntimeHarness, site: FeedSite) -> None:
    site.publish("One", key="a")
    site.publish("Two", key="b")
    site.publish("Elsewhere", key="c", feed="other")
    user = await harness.person()
    made = await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url()))
    await harness.check()
    there = await change_subscription(harness.runtime, user, made.id, SubscriptionChange(url=site.feed_url("other")))
    await harness.check()
    assert (there.id, (await _get(harness, user, made.id)).unread) == (made.id, 1)
    back = await change_subscription(harness.runtime, user, made.id, SubscriptionChange(url=site.feed_url()))
    assert (back.id, back.feed.url, back.unread) == (made.id, site.feed_url(), 2)


async def test_moving_to_a_followed_address_is_a_conflict_and_changes_nothing(
    harness: RuntimeHarness, site: FeedSite
) -> None:
    user = await harness.person()
    made = await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url(), looked=True))
    await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url("other"), looked=True))
    with pytest.raises(Conflict, match=r"^A feed with this URL already exists$"):
        await change_subscription(
            harness.runtime, user, made.id, SubscriptionChange(url=site.feed_url("other"), title="Changed")
        )
    assert (await _get(harness, user, made.id)).own_title is None


async def test_nobody_changes_another_s_subscription_or_uses_their_folder(
    harness: RuntimeHarness, site: FeedSite
) -> None:
    mine, theirs = await harness.person(), await harness.person()
    folder = await create_folder(harness.runtime, theirs, "Theirs")
    made = await subscribe(harness.runtime, mine, SubscribeOptions(site.feed_url(), looked=True))
    with pytest.raises(NotFound):
        await change_subscription(harness.runtime, theirs, made.id, SubscriptionChange(title="Stolen"))
    with pytest.raises(NotFound):
        await unsubscribe(harness.runtime, theirs, made.id)
    with pytest.raises(NotFound):
        await change_subscription(harness.runtime, mine, made.id, SubscriptionChange(folder_id=folder.id))


async def test_the_list_is_filtered_by_name_status_and_folder(harness: RuntimeHarness, site: FeedSite) -> None:
    site.publish("Hello", key="a", feed="good")
    site.misbehave(feed="bad", status=404)
    user = await harness.person()
    folder = await create_folder(harness.runtime, user, "News")
    await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url("good"), folder.id, "Good 100%", looked=True))
    await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url("bad"), None, "Bad", looked=True))
    await harness.check()
    await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url("new"), None, "New", looked=True))
    assert await _titles(harness, user, SubscriptionFilter()) == ["Bad", "Good 100%", "New"]
    assert await _titles(harness, user, SubscriptionFilter(status="working")) == ["Good 100%"]
    assert await _titles(harness, user, SubscriptionFilter(status="error")) == ["Bad"]
    assert await _titles(harness, user, SubscriptionFilter(status="pending")) == ["New"]
    assert await _titles(harness, user, SubscriptionFilter(search="oo")) == ["Good 100%"]
    assert await _titles(harness, user, SubscriptionFilter(search="0%")) == ["Good 100%"]
    assert await _titles(harness, user, SubscriptionFilter(search="_ad")) == []
    assert await _titles(harness, user, SubscriptionFilter(folder_id=folder.id)) == ["Good 100%"]


async def test_refreshing_all_leaves_out_what_is_paused(harness: RuntimeHarness, site: FeedSite) -> None:
    site.publish("Hello", key="a")
    user = await harness.person()
    await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url(), looked=True))
    paused = await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url("other"), looked=True))
    await change_subscription(harness.runtime, user, paused.id, SubscriptionChange(paused=True))
    assert await refresh_all(harness.runtime, user) == (1, [])


async def test_a_new_interval_moves_the_next_check_at_once(harness: RuntimeHarness, site: FeedSite) -> None:
    for days in range(3):  # a rare feed: checked once a day
        site.publish(f"{days}", published=datetime.now(UTC) - timedelta(days=100 * (days + 1)))
    user, other = await harness.person(), await harness.person()
    made = await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url()))
    feed_id = await harness.follow(site.feed_url(), user_id=other)
    await harness.check()
    before = await harness.state(feed_id)
    assert before.next_check_at and before.last_checked_at
    assert before.next_check_at - before.last_checked_at > 20 * HOUR

    async def wait_with(**change: Any) -> tuple[Millis, str | None]:
        await change_subscription(harness.runtime, user, made.id, SubscriptionChange(**change))
        state = await harness.state(feed_id)
        assert state.next_check_at and state.last_checked_at
        return state.next_check_at - state.last_checked_at, state.next_check_rule

    wait, rule = await wait_with(interval=HOUR)
    assert 54 * MINUTE <= wait <= 66 * MINUTE and rule == "wish"
    assert harness.heard("wake")
    wait, rule = await wait_with(interval=3 * HOUR)
    assert 2.7 * HOUR <= wait <= 3.3 * HOUR and rule == "wish"
    wait, rule = await wait_with(paused=True)
    assert wait > 20 * HOUR and rule == "slow"
    wait, rule = await wait_with(paused=False)
    assert 2.7 * HOUR <= wait <= 3.3 * HOUR
    wait, rule = await wait_with(interval=None)
    assert wait > 20 * HOUR and rule == "slow"


async def test_a_new_interval_heeds_failures_and_what_the_server_asked_for(
    harness: RuntimeHarness, site: FeedSite
) -> None:
    user = await harness.person()
    made = await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url(), looked=True))
    site.misbehave(status=503, retry_after=7200)
    await harness.check()
    await change_subscription(harness.runtime, user, made.id, SubscriptionChange(interval=15 * MINUTE))
    state = await harness.state(made.feed.id)
    assert state.next_check_at is not None and state.next_check_at >= (state.retry_after_until or 0) > 0


async def test_a_new_interval_holds_for_a_feed_that_is_being_checked(harness: RuntimeHarness, site: FeedSite) -> None:
    for days in range(3):
        site.publish(f"{days}", published=datetime.now(UTC) - timedelta(days=100 * (days + 1)))
    user = await harness.person()
    made = await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url(), looked=True))
    answer = asyncio.Event()
    site.misbehave(until=answer)
    checking = asyncio.create_task(harness.check())
    while site.arrived.count("/main.feed") < 1:  # noqa: ASYNC110  the site has no event for it
        await asyncio.sleep(0.01)
    await change_subscription(harness.runtime, user, made.id, SubscriptionChange(interval=HOUR))
    answer.set()
    await checking
    site.behave()
    await harness.check()
    assert (await harness.state(made.feed.id)).next_check_rule == "wish"


async def _get(harness: RuntimeHarness, user: int, subscription_id: int):
    async with harness.runtime.db.read() as tx:
        found = await subscriptions.get(tx, user, subscription_id)
    assert found is not None
    return found


async def _titles(harness: RuntimeHarness, user: int, wanted: SubscriptionFilter) -> list[str]:
    async with harness.runtime.db.read() as tx:
        return [one.title for one in await subscriptions.page(tx, user, wanted, limit=20, offset=0)]


async def test_a_new_address_without_a_scheme_gets_http_where_only_that_answers(
    harness: RuntimeHarness, site: FeedSite
) -> None:
    user = await harness.person()
    made = await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url()))
    other = site.feed_url("other")
    moved = await change_subscription(
        harness.runtime, user, made.id, SubscriptionChange(url=other.removeprefix("http://"))
    )
    assert (moved.id, moved.feed.url) == (made.id, other)
    requests = len(site.requests)
    same = await change_subscription(
        harness.runtime, user, made.id, SubscriptionChange(url=other.removeprefix("http://"))
    )
    assert (same.feed.url, len(site.requests)) == (other, requests), "its own address is not asked for"
    silent = await change_subscription(harness.runtime, user, made.id, SubscriptionChange(url="127.0.0.1:9/feed.xml"))
    assert silent.feed.url == "https://127.0.0.1:9/feed.xml"


async def test_programs_are_told_the_address_that_answered(harness: RuntimeHarness, site: FeedSite) -> None:
    site.publish("Hello")
    user = await harness.person()
    await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url().removeprefix("http://")))
    page = site.page("/home", feeds=("other",)).removeprefix("http://")
    await subscribe(harness.runtime, user, SubscribeOptions(page))
    asked = await harness.column("SELECT asked_url FROM subscriptions ORDER BY id")
    assert asked == [site.feed_url(), f"http://{page}"]
