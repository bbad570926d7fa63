"""The order by interest on pages: off it costs and shows nothing; on, lists, articles and a page of beliefs have it."""

import re

from reedbed.domain.times import HOUR
from reedbed.store.engine.database import counting
from tests.clients import Client
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.http.web.forms import HTMX, texts


async def _learnt(reader: Client, site: FeedSite, harness: RuntimeHarness) -> dict[str, str]:
    """Ids of 60 entries by title; those by Ada are read, the others passed by."""
    for number in range(60):
        author = "Ada" if number % 4 == 0 else "Bob"
        site.publish(f"Number {number} by {author}", feed=f"f{number % 2}", key=str(number), author=author)
    for feed in ("f0", "f1"):
        await harness.follow(site.feed_url(feed), user_id=reader.user_id)
    await harness.check()
    items = (await reader.get("/api/v1/entries?limit=200")).json()["items"]
    await _switch(reader, on="true", marks="true")
    for part in range(4):
        harness.clock.ahead += 2 * HOUR
        some = items[part::4]
        read = [item["id"] for item in some if item["author"] == "Ada"]
        passed = [{"entry_id": item["id"], "ms": 2_000} for item in some if item["author"] == "Bob"]
        await reader.post("/api/v1/interest/seen", json={"read": read, "passed": passed})
    await _star_elsewhere(reader, items)
    return {item["title"]: item["id"] for item in items}


async def _star_elsewhere(reader: Client, items: list[dict[str, str]]) -> None:
    """One source alone is no taste."""
    other = next(item for item in items if item["author"] == "Bob" and item["title"].split()[1] in ("1", "3", "5"))
    await reader.patch(f"/api/v1/entries/{other['id']}", json={"starred": True})


async def _switch(reader: Client, **fields: str) -> None:
    assert (await reader.post("/interest", data=fields)).status_code == 303


def _titles(page: str) -> list[str]:
    return [text.removeprefix("Unread. ").split("\n")[0] for text in texts(page, 'class="row-text"')]


async def test_it_shows_and_costs_nothing_while_it_is_off(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    await _learnt(reader, site, harness)
    with counting() as on:
        shown = (await reader.get("/unread")).text
    assert "data-interest" in shown and 'href="/priority"' in shown and "data-learns" in shown
    await _switch(reader)
    await reader.post("/list-settings", data={"list": "everything", "order": "interest"})
    with counting() as off:
        page = (await reader.get("/unread")).text
    assert off.value == on.value - 1
    for trace in ("data-interest", "/priority", "data-learns", "For you", "order-note"):
        assert trace not in page
    answer = await reader.get("/priority")
    assert (answer.status_code, answer.headers["location"]) == (303, "/interest")


async def test_priority_goes_on_where_its_first_page_ended(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    await _learnt(reader, site, harness)
    page = (await reader.get("/priority")).text
    first = _titles(page)
    assert sum("Ada" in title for title in first[:12]) >= 10
    assert "Something else" in page and "Nothing is hidden" in page
    reasons = re.findall(r"<p class=row-why[^>]*>([^<]*)", page)
    assert len(reasons) == len(first)
    assert "Because you often read Ada" in "".join(reasons)
    more = re.findall(r'rel="next" href="([^"]+)"', page)[0].replace("&amp;", "&")
    await reader.post("/mark-read", data={"scope": "ids", "ids": re.findall(r'id="e(\d+)"', page)[0]})
    rest = _titles((await reader.get(more, headers={**HTMX, "HX-Target": "rows"})).text)
    assert len({*first, *rest}) == len(first) + len(rest) == 60


async def test_an_article_says_why_and_a_reason_can_be_changed(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    ada = (await _learnt(reader, site, harness))["Number 8 by Ada"]
    page = (await reader.get(f"/entry/{ada}")).text
    assert "Because you often read" in page and "More: Ada" in page
    fields = {"kind": "author", "label": "Ada", "pin": "less", "entry": ada}
    answer = await reader.post("/interest/pin", data=fields, headers=HTMX)
    assert "You will see less of Ada." in answer.text
    assert re.search(r'name="pin" value="" aria-pressed="true" aria-label="Less: Ada"', answer.text)
    beliefs = (await reader.get("/interest")).text
    assert "What you said" in beliefs
    assert (await reader.post("/interest/pin", data={**fields, "pin": "", "entry": ""})).status_code == 303
    assert "What you said" not in (await reader.get("/interest")).text
    await reader.post("/interest/reset")
    assert "Reedbed has learnt from 0 of 30 acts" in (await reader.get("/interest")).text


async def test_before_enough_is_learnt_lists_are_in_order_of_time_and_say_so(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    for number in range(3):
        site.publish(f"Number {number}", key=str(number))
    await harness.follow(site.feed_url(), user_id=reader.user_id)
    await harness.check()
    await _switch(reader, on="true")
    page = (await reader.get("/priority")).text
    assert "In order of time. Reedbed has learnt from 0 of 30 acts of yours." in page
    assert _titles(page) == _titles((await reader.get("/unread")).text)
