"""Framing in the page: the meter, the two wordings, the switch of a feed, one's own limit."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from reedbed.http.auth import SESSION_COOKIE
from reedbed.roles.app import create_app
from tests.clients import Client, new_client, session_of
from tests.feedsite import FeedSite
from tests.framing_harness import LONG, FramingHarness, open_framing_harness
from tests.harness import RuntimeHarness
from tests.http.web.forms import HTMX, OWN_PAGE
from tests.modelserver import Reply, framing

CAVEAT = "A model’s reading of the wording, not a check of the facts."


@pytest.fixture
async def room(harness: RuntimeHarness, site: FeedSite) -> AsyncIterator[FramingHarness]:
    async with open_framing_harness(harness, site) as room:
        yield room


@pytest.fixture
async def reader(room: FramingHarness, site: FeedSite) -> AsyncIterator[Client]:
    """Follows a feed with a loud entry and a calm one, which are read."""
    user_id, token = await session_of(room.runtime, "reader@example.org", "user")
    async with new_client(create_app(room.runtime), cookies={SESSION_COOKIE: token}) as client:
        client.user_id = user_id
        client.headers.update(OWN_PAGE)
        site.publish("Herons count", key="calm", content=LONG)
        site.publish("SHOCK: herons GONE", key="loud", content=LONG + "<p>Now.</p>")
        await room.harness.follow(site.feed_url(), user_id=user_id)
        await room.harness.check()
        yield client


async def switch_on(reader: Client, room: FramingHarness) -> None:
    loud = framing("Herons move away", overall=0.9, quote="the vote was close")
    room.model.say(Reply(text=loud), Reply(text=framing("Herons counted", overall=0.1)))
    answer = await reader.post("/feeds/1/framing", data={"value": "true", "remote_ai": "true"})
    assert answer.status_code == 303
    await room.run_jobs()
    await room.write()


async def test_a_feed_is_switched_on_only_with_a_word_about_sending(reader: Client, room: FramingHarness) -> None:
    page = (await reader.get("/feeds/1/edit")).text
    assert CAVEAT in page and "leave this server and are sent there" in page and "Switch on" in page
    await reader.post("/feeds/1/framing", data={"value": "true"})
    await room.work()
    assert room.model.calls == 0 and "Switch on" in (await reader.get("/feeds/1/edit")).text
    await switch_on(reader, room)
    assert room.model.calls == 2
    page = (await reader.get("/feeds/1/edit")).text
    assert "Switch off" in page and "2 articles" in page and "On average 0.50 (mixed) over 2 articles." in page
    await reader.post("/feeds/1/framing", data={"value": "false"})
    assert "Switch on" in (await reader.get("/feeds/1/edit")).text


async def test_an_article_shows_the_meter_its_reasons_and_both_wordings(reader: Client, room: FramingHarness) -> None:
    await switch_on(reader, room)
    entry = (await room.entries())[-1]
    page = (await reader.get(f"/all/entry/{entry}")).text
    assert "<strong>loud</strong>" in page and ">0.90<" in page and CAVEAT in page
    assert "<q>the vote was close</q>" in page and "Words that push" in page and "Read by scripted" in page
    assert f'href="/all/entry/{entry}?wording=neutral"' in page
    assert '<h1 lang="en" dir="auto">SHOCK: herons GONE</h1>' in page
    neutral = (await reader.get(f"/all/entry/{entry}?wording=neutral")).text
    assert "Herons move away</h1>" in neutral and "Herons move away, calmly told." in neutral
    assert "the outlet’s own title is “SHOCK: herons GONE”" in neutral and "Alarm taken out" in neutral
    part = await reader.get(f"/all/entry/{entry}?wording=neutral", headers={**HTMX, "HX-Target": "article"})
    assert part.text.lstrip().startswith("<div") and "Herons move away</h1>" in part.text


@pytest.mark.parametrize(
    ("wishes", "expected"),
    [
        ({}, ["SHOCK: herons GONE", "Herons count"]),
        ({"loud_entries": "rewrite"}, ["Herons move away", "Herons count"]),
        ({"wording": "neutral"}, ["Herons move away", "Herons counted"]),
        ({"loud_entries": "hide"}, ["Herons count"]),
        ({"loud_entries": "hide", "loud_limit": "95"}, ["SHOCK: herons GONE", "Herons count"]),
        ({"loud_entries": "dim"}, ["SHOCK: herons GONE", "Herons count"]),
    ],
)
async def test_a_list_heeds_the_reader_s_limit(
    reader: Client, room: FramingHarness, wishes: dict[str, Any], expected: list[str]
) -> None:
    await switch_on(reader, room)
    if wishes:
        saved = await reader.post("/settings/framing", data={**wishes, "remote_ai": "true"})
        assert saved.status_code == 303
    page = (await reader.get("/unread")).text
    titles = ("SHOCK: herons GONE", "Herons move away", "Herons counted", "Herons count")
    shown = [title for title in titles if f"{title}</a>" in page]
    assert sorted(shown) == sorted(expected)
    assert ("data-dim" in page) is (wishes.get("loud_entries") == "dim")
    assert page.count('class="reeds"') == len(expected)
    if "Herons count" not in expected or len(expected) == 2:
        return
    assert "1 entry is above your limit and hidden." in page
    everything = (await reader.get("/unread?loud=show")).text
    assert "SHOCK: herons GONE</a>" in everything


async def test_the_settings_keep_what_was_chosen(reader: Client) -> None:
    page = (await reader.get("/settings/framing")).text
    assert CAVEAT in page and 'value="67" selected' in page and "may be sent to the model scripted" in page
    form = {"wording": "neutral", "loud_entries": "dim", "loud_limit": "50"}
    await reader.post("/settings/framing", data=form)
    page = (await reader.get("/settings/framing")).text
    assert all(f'value="{value}" selected' in page for value in form.values())
    assert (await reader.post("/settings/framing", data={**form, "loud_limit": "500"})).status_code == 400


async def test_a_failed_reading_can_be_tried_again_from_the_article(reader: Client, room: FramingHarness) -> None:
    room.model.say(*[Reply(text="nonsense")] * 2)
    await reader.post("/feeds/1/framing", data={"value": "true", "remote_ai": "true"})
    await room.run_jobs()
    entry = (await room.entries())[-1]
    assert "A model is reading this entry…" in (await reader.get(f"/all/entry/{entry}")).text
    await room.write()
    assert "Try again" in (await reader.get(f"/entry/{entry}/framing", headers=HTMX)).text
    asked = await reader.post(f"/entry/{entry}/framing", headers=HTMX)
    assert "hx-get" in asked.text and "A model is reading this entry…" in asked.text
    await room.write()
    block = (await reader.get(f"/entry/{entry}/framing", headers=HTMX)).text
    assert 'id="framing"' in block and "hx-get" not in block
    assert (await reader.get(f"/entry/{entry}/framing")).status_code == 303
