"""Making a feed from a page without one."""

import re
from html import unescape

from tests.clients import Client
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.http.web.forms import HTMX

ROWS = "".join(f"<li class=entry><a href=/a/{n}>The board decides about lock {n}</a></li>" for n in range(7))


def put(site: FeedSite) -> str:
    return site.page("/news", feeds=(), body=f"<ul class=river>{ROWS}</ul>")


async def test_a_page_without_a_feed_offers_its_list_which_is_followed(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    address = put(site)
    looked = (await reader.get("/add", params={"url": address}, headers=HTMX)).text
    offered = re.search(r'href="(/make-a-feed[^"]*)">Follow the list on this page', looked)
    assert offered is not None
    part = (await reader.get(unescape(offered[1]), headers=HTMX)).text
    assert "<html" not in part
    assert "The board decides about lock 5" in part and "7 entries." in part and "li.entry" in part
    recipe = re.search(r'name="recipe" value="([^"]*)"', part)
    assert recipe is not None
    followed = await reader.post("/make-a-feed", data={"url": address, "recipe": unescape(recipe[1])})
    assert (followed.status_code, followed.headers["location"]) == (303, "/feed/1")
    listed = (await reader.get("/feed/1?view=all")).text
    assert "The board decides about lock 5" in listed and ">seen " in listed
    (first, *_) = (await reader.get("/api/v1/entries")).json()["items"]
    assert first["published_at"] is None and first["seen_at"] is not None
    assert ">seen " in (await reader.get(f"/entry/{first['id']}")).text
    again = await reader.post("/make-a-feed", data={"url": address, "recipe": unescape(recipe[1])})
    assert again.headers["location"] == "/feed/1"
    assert "li.entry" in (await reader.get("/feeds/1/edit")).text


async def test_the_whole_page_works_without_scripts_and_takes_selectors(reader: Client, site: FeedSite) -> None:
    address = put(site)
    asked = {"url": address, "item": "//li[position() < 3]"}
    shown = (await reader.get("/make-a-feed", params=asked)).text
    arriving = shown.partition('id="coming"')[2]
    assert "<html" in shown and "2 entries" in arriving and "lock 5" not in arriving
    wrong = (await reader.get("/make-a-feed", params={"url": address, "item": "li["})).text
    assert "neither a CSS selector nor XPath" in wrong
    nothing = (await reader.get("/make-a-feed", params={"url": address, "item": "p.x"})).text
    assert "match no entry" in nothing and 'name="recipe"' not in nothing


async def test_the_page_is_shown_as_blocks_to_pick_from_without_what_it_would_do(
    reader: Client, site: FeedSite
) -> None:
    rows = "".join(
        f"<li class=entry onclick=evil()><img src=/i/{n}.png><h3><a href=/a/{n}>The board opens lock {n}</a></h3>"
        f"<span class=when>{n} November 2026</span><script>evil()</script><iframe src=/x></iframe>"
        f"<p style='background:url(/spy)'>&lt;script&gt; is what it says</p>"
        for n in range(1, 8)
    )
    address = site.page("/news", feeds=(), body=f"<ul class=river>{rows}</ul>")
    shown = (await reader.get("/make-a-feed", params={"url": address})).text
    paper = re.search(r'<div class="paper"[^>]*>(.*?)</div>\s*<div class="pick-tip"', shown, re.DOTALL)
    assert paper is not None
    blocks = paper[1]
    assert "lock 5" in blocks and "&lt;script&gt; is what it says" in blocks
    assert not re.search(r"<script|<iframe|<a\b|href|style|onclick|evil", blocks)
    assert all(source.startswith("/images/") for source in re.findall(r'src="([^"]*)"', blocks))
    before = len(site.requests)
    picked = {"url": address, "item": "li.entry", "title": "span.when"}
    part = (await reader.get("/make-a-feed", params=picked, headers={**HTMX, "HX-Target": "maker"})).text
    assert len(site.requests) == before, "the page is fetched once for all picks"
    assert "<html" not in part and "<h3" in part and "1 November 2026" in part.partition('id="coming"')[2]
    assert "fingerprints" in unescape(part) and "li.entry" in part


async def test_a_damaged_recipe_is_refused_in_a_sentence(reader: Client, site: FeedSite) -> None:
    refused = await reader.post("/make-a-feed", data={"url": put(site), "recipe": "{}"})
    assert refused.status_code == 400 and "is damaged" in refused.text


async def test_a_password_does_not_stay_in_the_address_bar(reader: Client) -> None:
    moved = await reader.get("/make-a-feed", params={"url": "https://ann:secret@site.example/news"})
    assert moved.status_code == 303 and "secret" not in moved.headers["location"]


async def test_a_page_is_watched_by_form_and_says_when_an_element_is_missing(reader: Client, site: FeedSite) -> None:
    address = site.page("/shop", feeds=(), body="<p id=price>12 <b>euros</b></p><p>Shop</p>")
    asked = {"url": address, "mode": "watch", "item": "#price"}
    shown = (await reader.get("/make-a-feed", params=asked)).text
    assert "12 euros" in shown and ">Shop<" not in shown
    missing = (await reader.get("/make-a-feed", params={**asked, "item": "#cost"})).text
    assert "No element with text fits" in missing and 'name="recipe"' not in missing
    recipe = re.search(r'name="recipe" value="([^"]*)"', shown)
    assert recipe is not None
    followed = await reader.post("/make-a-feed", data={"url": address, "recipe": unescape(recipe[1])})
    assert followed.status_code == 303
    assert "#price" in (await reader.get("/feeds/1/edit")).text


async def test_a_page_without_a_list_is_offered_to_be_watched(reader: Client, site: FeedSite) -> None:
    address = site.page("/fees", feeds=(), body="<p>Locks: 12 euros</p>")
    part = (await reader.get("/make-a-feed", params={"url": address}, headers=HTMX)).text
    assert "No list of entries was found on this page." in part
    offered = re.search(r'href="(/make-a-feed[^"]*)">Watch this page for changes', part)
    assert offered is not None
    assert "Locks: 12 euros" in (await reader.get(unescape(offered[1]))).text


async def test_programs_watch_a_page(reader: Client, site: FeedSite) -> None:
    body = {"url": site.page("/shop", feeds=(), body="<p id=price>12 euros</p>")}
    watch = {**body, "recipe": {"source": "watch", "selectors": {"item": "#price"}}}
    tried = (await reader.post("/api/v1/page-feeds/preview", json=watch)).json()
    assert (tried["passages"], tried["lists"], tried["reason"]) == (["12 euros"], [], None)
    assert (await reader.post("/api/v1/page-feeds", json=watch)).status_code == 201
    watch["recipe"]["selectors"]["item"] = "#cost"
    assert (await reader.post("/api/v1/page-feeds", json=watch)).status_code == 400
