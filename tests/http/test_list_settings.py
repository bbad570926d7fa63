"""Unread or all, order and layout are kept for each list and user, through the page and the API."""

import re

from tests.clients import Client
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.http.web.forms import texts

SETTINGS = "/api/v1/list-settings"
HEADING = '<h2 class="day">'


async def _follow(reader: Client, site: FeedSite, harness: RuntimeHarness) -> str:
    for words, title in ((30, "Long"), (3, "Short"), (12, "Middling")):
        site.publish(title, key=title, content=f"<p>{'word ' * words}</p>")
    feed = await harness.follow(site.feed_url(), user_id=reader.user_id)
    await harness.check()
    items = (await reader.get("/api/v1/subscriptions")).json()["items"]
    assert [item["feed_id"] for item in items] == [str(feed)] or items
    return items[0]["id"]


def _titles(page: str) -> list[str]:
    return [text.removeprefix("Unread. ").split("\n")[0] for text in texts(page, 'class="row-text"')]


async def test_a_list_is_shown_as_it_was_left(reader: Client, site: FeedSite, harness: RuntimeHarness) -> None:
    feed = await _follow(reader, site, harness)
    assert _titles((await reader.get(f"/feed/{feed}")).text) == ["Middling", "Short", "Long"]
    for fields in ({"order": "shortest"}, {"layout": "titles"}, {"show": "unread"}):
        answer = await reader.post(
            "/list-settings", data={"list": f"feed:{feed}", **fields, "next": f"/feed/{feed}?order=oldest"}
        )
        assert answer.headers["location"] == f"/feed/{feed}"
    page = (await reader.get(f"/feed/{feed}")).text
    assert _titles(page) == ["Short", "Middling", "Long"]
    assert 'data-density="titles"' in page and re.search(r'name="show" value="unread" aria-pressed="true"', page)
    assert 'data-density="cards"' in (await reader.get("/all")).text
    kept = (await reader.get(SETTINGS)).json()["items"]
    assert kept == [{"list": f"feed:{feed}", "show": "unread", "order": "shortest", "layout": "titles", "days": ""}]


async def test_a_list_has_headings_of_days_until_one_takes_them_away(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    feed = await _follow(reader, site, harness)
    address, name = f"/feed/{feed}", f"feed:{feed}"
    assert HEADING in (await reader.get(address)).text
    await reader.post("/list-settings", data={"list": name, "days": "together"})
    page = (await reader.get(address)).text
    assert HEADING not in page and _titles(page) == ["Middling", "Short", "Long"]
    assert re.search(r'role="?menuitemcheckbox"? [^>]*name="?days"?\s+aria-checked="?false"?\s+value="?grouped', page)
    assert HEADING in (await reader.get("/all")).text
    await reader.post("/list-settings", data={"list": name, "layout": "magazine"})
    assert "menuitemcheckbox" not in (await reader.get(address)).text
    wrong = await reader.put(SETTINGS, json={"list": name, "days": "sometimes"})
    assert wrong.status_code == 400 and "grouped, together" in wrong.text


async def test_repeats_are_folded_from_the_menu_of_the_unread_list(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    await _follow(reader, site, harness)
    for stories, wanted in (("one_row", True), ("apart", False)):
        await reader.post("/list-settings", data={"list": "everything", "stories": stories})
        user = (await reader.get("/api/v1/users/me")).json()
        assert user["preferences"]["group_stories"] is wanted
        page = (await reader.get("/unread")).text
        assert re.search(rf'name="?stories"?\s+aria-checked="?{str(wanted).lower()}', page)
    assert 'name="stories"' not in (await reader.get("/all")).text


async def test_unread_and_all_are_two_sides_of_everything(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    await _follow(reader, site, harness)
    fields = {"list": "everything", "show": "all", "next": "/unread?order=oldest"}
    assert (await reader.post("/list-settings", data=fields)).headers["location"] == "/all"
    await reader.post("/list-settings", data={"list": "everything", "order": "oldest"})
    for address in ("/unread", "/all"):
        page = (await reader.get(address)).text
        assert _titles(page) == ["Long", "Short", "Middling"]
        assert texts(page, 'id="list-title"') == ["Everything"]


async def test_settings_for_every_list_replace_those_of_single_lists(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    feed = await _follow(reader, site, harness)
    await reader.put(SETTINGS, json={"list": f"feed:{feed}", "layout": "titles"})
    fields = {"list": "everything", "show": "all", "order": "oldest", "layout": "magazine", "for_every_list": "true"}
    await reader.post("/list-settings", data=fields)
    kept = (await reader.get(SETTINGS)).json()["items"]
    assert kept == [{"list": "*", "show": "all", "order": "oldest", "layout": "magazine", "days": ""}]
    assert 'data-density="magazine"' in (await reader.get(f"/feed/{feed}")).text


async def test_only_lists_and_choices_that_exist_are_kept(reader: Client) -> None:
    for body, status in (
        ({"list": "feed:999999", "layout": "cards"}, 404),
        ({"list": "tag:none", "layout": "cards"}, 404),
        ({"list": "nothing", "layout": "cards"}, 422),
        ({"list": "everything", "layout": "columns"}, 422),
    ):
        answer = await reader.put(SETTINGS, json=body)
        assert answer.status_code == status or (status == 422 and answer.status_code == 400), answer.text


async def test_recently_read_is_dated_by_when_it_was_read(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    await _follow(reader, site, harness)
    harness.clock.ahead += 3 * 86_400_000
    ids = {item["title"]: item["id"] for item in (await reader.get("/api/v1/entries")).json()["items"]}
    for title in ("Middling", "Long"):
        harness.clock.ahead += 60_000
        await reader.patch(f"/api/v1/entries/{ids[title]}", json={"read": True})
    page = (await reader.get("/history")).text
    assert _titles(page) == ["Long", "Middling"]
    assert texts(page, 'class="day"') == ["Today"]
