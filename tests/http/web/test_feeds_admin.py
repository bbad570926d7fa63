"""The operator's pages about feeds."""

import re
from html import unescape

import pytest

from reedbed.domain.times import MINUTE
from reedbed.services.feeds import FeedSettings, change_feed, disable_feed, find_feed
from tests.clients import Client, SignIn
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.http.web.forms import OWN_PAGE, texts

FEEDS = "/admin/feeds"
BROKEN_OFF = (
    b"<rss version='2.0'><channel><title>Half</title><item><guid>1</guid><title>Whole</title></item><item><title>Brok"
)
FORM = {
    **dict.fromkeys(("proxy", "user_agent", "username", "password", "interval", "max_failures"), ""),
    **dict.fromkeys(("polling", "allow_duplicate_urls"), "false"),
}


@pytest.fixture
async def operator(by_cookie: SignIn) -> Client:
    client = await by_cookie("o@example.org", role="admin")
    client.headers.update(OWN_PAGE)
    return client


async def test_every_shared_feed_is_listed_with_its_state_and_trouble(
    operator: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    site.feed("a", title="Herons")
    site.misbehave(feed="b", status=503)
    await harness.follow(site.feed_url("a"))
    await harness.follow(site.feed_url("a"), user_id=await harness.person())
    await harness.follow(site.feed_url("b"))
    site.misbehave(feed="d", body=BROKEN_OFF, content_type="application/rss+xml")
    await harness.follow(site.feed_url("d"))
    await disable_feed(harness.runtime, str(await harness.follow(site.feed_url("c"))))
    private = await harness.follow("https://reeds.example/mine")
    await harness.change("UPDATE feeds SET owner_id = 1 WHERE id = :id", id=private)
    await harness.check()
    page = (await operator.get(FEEDS)).text
    assert "Herons" in page and "2 readers follow it." in page and "reeds.example" not in page
    assert "503" in page and "No run is planned." in page and "Turned off" in page
    counts = dict(re.findall(r'data-status="(\w+)"[^>]*>[^<]*<span class="count">(\d+)', page))
    assert counts == {
        "all": "4",
        "working": "1",
        "damaged": "1",
        "pending": "0",
        "error": "1",
        "stopped": "0",
        "off": "1",
    }
    damaged = (await operator.get(FEEDS, params={"status": "damaged"})).text
    assert names(damaged) == ["Half"] and "Some of its entries may be missing." in damaged
    assert texts(damaged, 'class="chip"') == ["Damaged"]
    assert names((await operator.get(FEEDS, params={"status": "off"})).text) == [site.feed_url("c")]
    assert names((await operator.get(FEEDS, params={"search": "heron"})).text) == ["Herons"]
    found = (await operator.get(FEEDS, params={"search": "heron"})).text
    counts = dict(re.findall(r'data-status="(\w+)"[^>]*>[^<]*<span class="count">(\d+)', found))
    assert {name for name, count in counts.items() if count != "0"} == {"all", "working"}
    assert "No feed matches." in (await operator.get(FEEDS, params={"search": "stork"})).text
    assert (await operator.get(FEEDS, params={"status": "odd"})).status_code == 400
    assert 'href="/admin/feeds"' in (await operator.get("/admin")).text


async def test_a_feed_plots_its_success_rate_and_how_often_it_brings_something(
    operator: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    for number in range(6):
        site.publish(f"Heron {number}")
    feed_id = await harness.follow(site.feed_url())
    other = await harness.follow(site.feed_url("other"))
    await harness.check()
    site.misbehave(status=503)
    await harness.check_anyway(feed_id)
    await harness.check_anyway(other)
    page = (await operator.get(f"{FEEDS}/{feed_id}?span=day")).text
    plots = re.findall(r'<figure class="plot card">.*?</figure>', page, re.DOTALL)
    assert len(plots) == 2
    assert "Success rate" in plots[0] and "50.0\u00a0%" in plots[0] and 'class="p-line"' in plots[0]
    assert "Update frequency" in plots[1] and "6.0 a day" in plots[1] and 'class="p-bar"' in plots[1]
    assert "0.2 a day" in (await operator.get(f"{FEEDS}/{feed_id}")).text
    assert (await operator.get(f"{FEEDS}/{feed_id}?span=year")).status_code == 400


async def test_the_list_has_pages(operator: Client, harness: RuntimeHarness) -> None:
    for number in range(21):
        await harness.follow(f"https://reeds.example/{number:02}")
    first = (await operator.get(FEEDS, params={"status": "pending"})).text
    assert "1 to 20 of 21" in first
    following = unescape(re.findall(r'rel="next" href="([^"]+)"', first)[0])
    assert names((await operator.get(following)).text) == ["https://reeds.example/20"]


async def test_a_form_saves_what_was_typed_and_never_shows_the_password(
    operator: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    site.publish("Behind the endpoint")
    site.protect("heron", "grey-word")
    feed_id = await harness.follow(site.feed_url())
    await harness.check()
    address = f"{FEEDS}/{feed_id}"
    assert "Error" in (await operator.get(address)).text
    typed = FORM | {
        "username": "heron",
        "password": "grey-word",
        "user_agent": "Heron/1.0",
        "interval": str(30 * MINUTE),
        "max_failures": "3",
        "polling": ["false", "true"],
        "allow_duplicate_urls": ["false", "true"],
    }
    saved = await operator.post(address, data=typed)
    assert (saved.status_code, saved.headers["location"]) == (303, address)
    (report,) = await harness.check()
    assert report.new == 1
    page = (await operator.get(address)).text
    assert "grey-word" not in page and 'value="heron"' in page and 'value="3"' in page
    assert 'value="Heron/1.0"' in page and "Every 30 minutes" in page
    await operator.post(address, data=typed | {"password": ""})
    assert (await find_feed(harness.runtime, str(feed_id))).fetching.has_password, "empty leaves it"
    await operator.post(address, data=typed | {"password": "", "forget_password": "true"})
    assert not (await find_feed(harness.runtime, str(feed_id))).fetching.has_password


async def test_each_of_the_two_forms_leaves_what_is_in_the_other(operator: Client, harness: RuntimeHarness) -> None:
    feed_id = await harness.follow("https://reeds.example/feed")
    framing = {"root_domain": "reeds.example", "prompt": "Mind this.", "deframe": ["false", "true"]}
    await operator.post(f"{FEEDS}/{feed_id}", data=FORM | {"user_agent": "Heron", "max_failures": "4"})
    await operator.post(f"{FEEDS}/{feed_id}", data={**framing, "enforce_domain": "false"})
    await operator.post(f"{FEEDS}/{feed_id}", data=FORM | {"user_agent": "Stork"})
    feed = await find_feed(harness.runtime, str(feed_id))
    assert (feed.root_domain, feed.prompt, feed.deframe, feed.enforce_domain) == (
        "reeds.example",
        "Mind this.",
        True,
        False,
    )
    assert (feed.fetching.user_agent, feed.fetching.max_failures, feed.polling) == ("Stork", None, False)


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("proxy", "socks5://proxy.example", "A proxy has an address like"),
        ("proxy", "http://10.0.0.5:3128", "REEDBED_ALLOW_NETWORKS"),
        ("user_agent", "größer", "The user agent must be one line"),
        ("username", "a:b", "without a colon"),
        ("interval", "nonsense", "between 15 minutes and 24 hours"),
        ("max_failures", "many", "between 1 and 1000"),
        ("root_domain", "no name", "A root domain is a name"),
    ],
)
async def test_an_error_stands_beside_its_field_and_what_was_typed_stays(
    operator: Client, harness: RuntimeHarness, field: str, value: str, sentence: str
) -> None:
    address = f"{FEEDS}/{await harness.follow('https://reeds.example/feed')}"
    typed = {**FORM, "prompt": "Mind this.", "password": "grey-word", "username": "x", field: value}
    answer = await operator.post(address, data=typed)
    assert answer.status_code == 400
    (said,) = texts(answer.text)
    assert sentence in said and "Mind this." in answer.text and "grey-word" not in answer.text
    if field != "interval":
        assert f'value="{value}"' in answer.text
        assert f'aria-describedby="{field}-error' in answer.text


async def test_a_proxy_is_shown_without_its_password_and_stays_when_it_is_saved(
    operator: Client, harness: RuntimeHarness
) -> None:
    feed_id = await harness.follow("https://reeds.example/feed")
    await change_feed(harness.runtime, str(feed_id), FeedSettings(proxy="http://up:word@proxy.example:3128"))
    page = (await operator.get(f"{FEEDS}/{feed_id}")).text
    assert 'value="http://***@proxy.example:3128"' in page and "up:word" not in page
    await operator.post(f"{FEEDS}/{feed_id}", data=FORM | {"proxy": "http://***@proxy.example:3128"})
    assert (await find_feed(harness.runtime, str(feed_id))).fetching.proxy == "http://up:word@proxy.example:3128"


async def test_a_feed_is_turned_off_on_and_run_from_where_one_stands(
    operator: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    site.publish("One")
    address = f"{FEEDS}/{await harness.follow(site.feed_url())}"
    here = {"next": f"{FEEDS}?status=off"}
    off = await operator.post(f"{address}/disable", data=here)
    assert (off.status_code, off.headers["location"]) == (303, here["next"])
    assert await harness.check() == []
    assert (await operator.post(f"{address}/sync")).status_code == 409
    await operator.post(f"{address}/enable", data=here)
    await operator.post(f"{address}/sync", data=here)
    assert [report.new for report in await harness.check()] == [1]


async def test_only_operators_come_in_and_only_shared_feeds_are_there(
    reader: Client, operator: Client, harness: RuntimeHarness
) -> None:
    feed_id = await harness.follow("https://reeds.example/feed", user_id=reader.user_id)
    for address in (FEEDS, f"{FEEDS}/{feed_id}"):
        assert (await reader.get(address)).status_code == 403
    for act in ("", "/sync", "/enable", "/disable"):
        assert (await reader.post(f"{FEEDS}/{feed_id}{act}", data=FORM)).status_code == 403
    await harness.change("UPDATE feeds SET owner_id = :id WHERE id = :feed", id=reader.user_id, feed=feed_id)
    assert (await operator.get(f"{FEEDS}/{feed_id}")).status_code == 404
    assert (await operator.post(f"{FEEDS}/{feed_id}", data=FORM)).status_code == 404


def names(page: str) -> list[str]:
    return [unescape(name) for name in re.findall(r"<h2><a[^>]*><bdi[^>]*>([^<]+)</bdi>", page)]
