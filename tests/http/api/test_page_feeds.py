"""Feeds from pages through the API."""

from tests.clients import SignIn
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness

ROWS = "".join(
    f"<li class=entry><a href=/a/{n}>The board decides about lock {n}</a> <time datetime=2026-11-0{n}>x</time></li>"
    for n in range(1, 8)
)
API = "/api/v1/page-feeds"


def page(site: FeedSite) -> str:
    return site.page("/news", feeds=(), body=f"<ul class=river>{ROWS}</ul>")


async def test_a_page_is_previewed_followed_and_its_recipe_shown(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite
) -> None:
    client = await signed_in()
    preview = (await client.get(f"{API}/preview", params={"url": page(site)})).json()
    assert (preview["reason"], [one["total"] for one in preview["lists"]]) == (None, [7])
    assert preview["lists"][0]["entries"][0]["published_at"] == "2026-11-01T00:00:00Z"
    recipe = preview["lists"][0]["recipe"]
    made = await client.post(API, json={"url": page(site), "recipe": recipe, "title": "Locks"})
    assert (made.status_code, made.json()["title"]) == (201, "Locks")
    shown = (await client.get(f"{API}/{made.json()['id']}")).json()
    assert shown == {"recipe": recipe, "former_recipe": None, "rebuilt_at": None, "changes": []}
    assert len((await client.get("/api/v1/entries", params={"view": "unread"})).json()["items"]) == 5
    assert len(await harness.column("SELECT id FROM entries")) == 7


async def test_selectors_can_be_tried_and_wrong_ones_are_refused(signed_in: SignIn, site: FeedSite) -> None:
    client = await signed_in()
    chosen = {"url": page(site), "recipe": {"selectors": {"item": "//li[position() < 3]"}}}
    assert (await client.post(f"{API}/preview", json=chosen)).json()["lists"][0]["total"] == 2
    wrong = {"url": page(site), "recipe": {"selectors": {"item": "li["}}}
    refused = await client.post(f"{API}/preview", json=wrong)
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid")
    nothing = {"url": page(site), "recipe": {"selectors": {"item": "p.none"}}}
    assert "match no entry" in (await client.post(f"{API}/preview", json=nothing)).json()["reason"]
    assert (await client.post(API, json=nothing)).status_code == 400


async def test_the_recipe_of_somebody_else_is_not_shown(signed_in: SignIn, site: FeedSite) -> None:
    owner = await signed_in()
    made = (await owner.post(API, json={"url": page(site)})).json()
    other = await signed_in("other")
    assert (await other.get(f"{API}/{made['id']}")).status_code == 404


async def test_programs_learn_the_selectors_of_the_parts_of_a_list(signed_in: SignIn, site: FeedSite) -> None:
    client = await signed_in()
    asked = {"url": page(site)}
    found = (await client.post(f"{API}/parts", json=asked)).json()
    assert (found["item"], found["items"], found["reason"]) == ("li.entry", 7, None)
    assert [(part["selector"], part["matches"]) for part in found["parts"]] == [("li.entry", 7), ("a", 7), ("time", 7)]
    assert found["parts"][1]["example"] == "The board decides about lock 1"
    picked = {"item": "li.entry", "title": "time"}
    recipe = {"selectors": picked}
    tried = (await client.post(f"{API}/preview", json={**asked, "recipe": recipe})).json()
    assert tried["reason"] is not None or tried["lists"][0]["entries"][0]["title"] != "The board decides about lock 1"
    wrong = (await client.post(f"{API}/parts", json={**asked, "selectors": {"item": "p.none"}})).json()
    assert "match no entry" in wrong["reason"] and wrong["items"] == 7
