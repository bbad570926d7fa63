"""Reading entries for their framing: which, for whom, how often, and what becomes of bad answers."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from reedbed.domain.errors import Conflict, Forbidden, Invalid, NotFound
from reedbed.domain.times import HOUR
from reedbed.services.feeds import (
    FeedSettings,
    add_feed,
    change_feed,
    delete_feed,
    disable_feed,
    enable_feed,
    list_feeds,
    sync_feed,
)
from reedbed.services.framing.manage import read_document, read_item, read_site
from reedbed.services.subscriptions.manage import SubscribeOptions, subscribe
from tests.feedsite import FeedSite
from tests.framing_harness import LONG, FramingHarness, open_framing_harness
from tests.harness import open_harness
from tests.modelserver import Reply, framing


@pytest.fixture
async def room(database_url: str, site: FeedSite) -> AsyncIterator[FramingHarness]:
    async with open_harness(database_url) as harness, open_framing_harness(harness, site) as room:
        yield room


async def test_add_enable_sync_built_served_error_sync_again(room: FramingHarness, site: FeedSite) -> None:
    site.publish("SHOCK in town", key="a", content=LONG)
    url = site.feed_url()
    added = await add_feed(room.runtime, url)
    assert (added.enabled, added.polling, added.root_domain) == (False, False, "127.0.0.1")
    with pytest.raises(Forbidden):
        await read_document(room.runtime, url)
    with pytest.raises(Conflict, match="disabled"):
        await sync_feed(room.runtime, url)
    enabled = await enable_feed(room.runtime, url)
    assert enabled.enabled and enabled.next_run_at is None
    await room.work()
    assert site.count() == 0, "enabling alone schedules nothing"
    with pytest.raises(NotFound, match="yet"):
        await read_document(room.runtime, url)

    await room.run(url)
    assert b"Calm: SHOCK in town" in (await read_document(room.runtime, url)).content
    assert (await list_feeds(room.runtime))[0].next_run_at is None, "not polled: run once"

    site.misbehave(status=503)
    await room.run(url)
    (listed,) = await list_feeds(room.runtime)
    assert listed.last_error and listed.next_run_at is None
    assert (await read_document(room.runtime, url)).content, "what was built is served on"

    site.behave()
    site.publish("PANIC in town", key="b", content=LONG)
    synced = await sync_feed(room.runtime, url)
    assert synced.last_error is None and synced.next_run_at is not None
    await room.work()
    assert await room.titles() == ["Calm: SHOCK in town", "Calm: PANIC in town"]
    await disable_feed(room.runtime, url)
    with pytest.raises(Forbidden):
        await read_document(room.runtime, url)


async def test_one_strike_ends_a_feed_until_it_is_synced(room: FramingHarness, site: FeedSite) -> None:
    site.misbehave(status=503)
    feed_id = await room.open_feed(settings=FeedSettings(max_failures=1))
    await change_feed(room.runtime, str(feed_id), FeedSettings(polling=True))
    (listed,) = await list_feeds(room.runtime)
    assert listed.stop_reason and listed.next_run_at is None
    site.behave()
    await room.run(str(feed_id))
    (listed,) = await list_feeds(room.runtime)
    assert listed.stop_reason is None and listed.next_run_at is not None, "polled: armed again"


async def test_a_schedule_is_inert_while_disabled_and_goes_on_after(room: FramingHarness, site: FeedSite) -> None:
    feed_id = str(await room.open_feed())
    await change_feed(room.runtime, feed_id, FeedSettings(polling=True))
    await room.run(feed_id)
    await disable_feed(room.runtime, feed_id)
    fetched = site.count()
    await room.harness.check(at_least=50 * HOUR)
    assert site.count() == fetched
    await enable_feed(room.runtime, feed_id)
    await room.harness.check()
    assert site.count() == fetched + 1


async def test_a_deleted_feed_is_gone_and_can_be_added_or_followed_again(room: FramingHarness, site: FeedSite) -> None:
    site.publish("A", content=LONG)
    url = site.feed_url()
    await room.open_feed()
    assert (await delete_feed(room.runtime, url)).deleted
    assert await list_feeds(room.runtime) == []
    with pytest.raises(NotFound):
        await read_document(room.runtime, url)
    for refused in (sync_feed, enable_feed, delete_feed):
        with pytest.raises(Conflict, match="deleted"):
            await refused(room.runtime, url)
    again = await add_feed(room.runtime, url)
    assert (again.enabled, again.polling) == (False, False)
    await delete_feed(room.runtime, url)
    await subscribe(room.runtime, await room.harness.person(), SubscribeOptions(url, looked=True))
    (listed,) = await list_feeds(room.runtime)
    assert (listed.enabled, listed.polling, listed.deframe) == (True, True, False)


async def test_deleting_a_feed_that_people_follow_takes_nothing_from_them(room: FramingHarness, site: FeedSite) -> None:
    user_id = await room.harness.person()
    await subscribe(room.runtime, user_id, SubscribeOptions(site.feed_url(), looked=True))
    await room.open_feed()
    gone = await delete_feed(room.runtime, site.feed_url())
    assert not gone.deleted and gone.enabled and gone.followers == 1 and not gone.deframe


async def test_what_is_there_already_or_private_or_nonsense_is_not_added(room: FramingHarness, site: FeedSite) -> None:
    await add_feed(room.runtime, site.feed_url())
    with pytest.raises(Conflict):
        await add_feed(room.runtime, site.feed_url())
    for bad in ("", "ftp://example.org/", "https://u:p@example.org/f", "https://example.org/f?token=abcdef"):
        with pytest.raises(Invalid):
            await add_feed(room.runtime, bad)
    with pytest.raises(NotFound):
        await enable_feed(room.runtime, "999")
    with pytest.raises(Invalid):
        await change_feed(room.runtime, "1", FeedSettings(max_failures=0))


async def test_feeds_of_private_people_and_mail_stay_behind_closed_endpoints(
    room: FramingHarness, site: FeedSite
) -> None:
    site.publish("A", content=LONG)
    feed_id = await room.open_feed()
    url = site.feed_url()
    owner = await room.harness.person()
    item = f"{site.url}/main/main-1"
    assert (await read_item(room.runtime, item))[1].url == item
    for closed in ("owner_id = :owner", "kind = 'mail'", "username = 'u'"):
        kept = "owner_id = NULL" if "owner" in closed else closed.replace("'mail'", "'web'").replace("'u'", "NULL")
        given = {"owner": owner} if "owner" in closed else {}
        await room.harness.change(f"UPDATE feeds SET {closed} WHERE id = {feed_id} RETURNING 1", **given)
        for look in (
            read_document(room.runtime, url),
            read_item(room.runtime, item),
            read_site(room.runtime, "127.0.0.1"),
        ):
            with pytest.raises(NotFound):
                await look
        await room.harness.change(f"UPDATE feeds SET {kept} WHERE id = {feed_id} RETURNING 1")
    assert await read_document(room.runtime, url)


async def test_items_of_other_sites_are_neither_read_nor_served(room: FramingHarness, site: FeedSite) -> None:
    site.publish("Elsewhere", key="a", url="https://elsewhere.example/a", content=LONG)
    feed_id = str(await room.open_feed())
    assert room.model.calls == 0
    with pytest.raises(NotFound, match="yet"):
        await read_document(room.runtime, site.feed_url())
    await change_feed(room.runtime, feed_id, FeedSettings(root_domain="elsewhere.example"))
    await room.run(feed_id)
    assert b"Elsewhere" in (await read_document(room.runtime, site.feed_url())).content
    await change_feed(room.runtime, feed_id, FeedSettings(root_domain=None))
    with pytest.raises(NotFound, match="yet"):
        await read_document(room.runtime, site.feed_url())
    await change_feed(room.runtime, feed_id, FeedSettings(enforce_domain=False))
    assert b"Elsewhere" in (await read_document(room.runtime, site.feed_url())).content


async def test_a_bad_answer_counts_as_an_attempt_and_an_odd_category_ends_as_other(
    room: FramingHarness, site: FeedSite
) -> None:
    site.publish("A", content=LONG)
    odd = Reply(text=framing("Calm", category="gossip"))
    room.model.say(Reply(text=framing(overall=7)), odd, odd, odd, odd)
    await room.open_feed()
    assert room.model.calls == 5
    assert (await read_item(room.runtime, f"{site.url}/main/main-1"))[1].analysis.category == "other"


async def test_scores_out_of_range_to_the_end_give_no_analysis(room: FramingHarness, site: FeedSite) -> None:
    site.publish("A", content=LONG)
    room.model.say(*[Reply(text=framing(overall=1.5))] * 5)
    await room.open_feed()
    assert room.model.calls == 5 and await room.titles() == []
    await room.run(site.feed_url())
    assert room.model.calls == 5, "it is not asked again by itself"


async def test_equal_texts_are_read_once_and_once_more_for_another_prompt(room: FramingHarness, site: FeedSite) -> None:
    for name in ("one", "two", "three"):
        site.publish("The same", key="a", feed=name, url=f"{site.url}/same", content=LONG)
    await room.open_feed("one")
    await room.open_feed("two")
    assert room.model.calls == 1
    await room.open_feed("three", FeedSettings(prompt="Mind the adjectives."))
    assert room.model.calls == 2
    assert "Mind the adjectives." in room.model.questions[1]["messages"][0]["content"]
    assert [await room.titles(name) for name in ("one", "two", "three")] == [["Calm: The same"]] * 3


async def test_an_entry_that_changes_is_read_again(room: FramingHarness, site: FeedSite) -> None:
    site.publish("First", key="a", content=LONG)
    feed_id = await room.open_feed()
    site.publish("Second", key="a", content=LONG)
    await sync_feed(room.runtime, str(feed_id))
    await room.harness.check()
    assert await room.titles() == ["Calm: First"], "shown until the other is there"
    await room.work()
    assert await room.titles() == ["Calm: Second"]


async def test_a_teaser_is_read_with_its_whole_article(room: FramingHarness, site: FeedSite) -> None:
    site.publish("Teaser", key="a", content="<p>Read on.</p>")
    article = "".join(f"<p>Paragraph {n} tells what the council decided about the bridge.</p>" for n in range(40))
    site.put("/main/a", f"<html><body><article><h1>Teaser</h1>{article}</article></body></html>")
    await room.open_feed()
    assert "Paragraph 17" in room.model.questions[0]["messages"][1]["content"]


async def test_the_question_is_in_the_language_of_the_feed(room: FramingHarness, site: FeedSite) -> None:
    site.publish("Titel", content=LONG)
    await add_feed(room.runtime, site.feed_url())
    await room.harness.change("UPDATE feeds SET language = 'de' WHERE id = 1 RETURNING 1")
    await enable_feed(room.runtime, "1")
    await room.run("1")
    assert "Write in German." in room.model.questions[0]["messages"][0]["content"]


async def test_two_workers_that_finish_at_once_build_one_document_with_both(
    room: FramingHarness, site: FeedSite
) -> None:
    for number in range(8):
        site.publish(f"Number {number}", content=LONG + f"<p>{number}</p>")
    feed = await add_feed(room.runtime, site.feed_url())
    await enable_feed(room.runtime, str(feed.id))
    await sync_feed(room.runtime, str(feed.id))
    await room.harness.check()
    await room.run_jobs()
    workers = [replace(room.runtime, name=f"worker {number}") for number in (1, 2)]
    await asyncio.gather(*(room.write(worker) for worker in workers))
    assert room.model.calls == 8
    content = (await read_document(room.runtime, site.feed_url())).content
    assert [f"Calm: Number {number}".encode() in content for number in range(8)] == [True] * 8


async def test_without_a_model_nothing_is_asked_and_a_later_one_catches_up(
    room: FramingHarness, site: FeedSite
) -> None:
    site.publish("A", content=LONG)
    with_model = room.runtime.ai
    room.harness.runtime = replace(room.runtime, ai=replace(with_model, model=None))
    feed_id = str(await room.open_feed())
    assert room.model.calls == 0
    room.harness.runtime = replace(room.runtime, ai=with_model)
    await room.run(feed_id)
    assert await room.titles() == ["Calm: A"]
