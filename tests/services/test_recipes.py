"""What the operator's files change: services to send entries to, articles and lists of sites."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from reedbed.domain.errors import Invalid
from reedbed.domain.times import DAY
from reedbed.ingest.recipes import RecipeFolder
from reedbed.services import jobs
from reedbed.services.articles import read_full_article, read_saved_page, save_page
from reedbed.services.jobs import Done
from reedbed.services.page_feeds import follow_page, page_feed, preview_page
from reedbed.services.recipes import current_recipes
from reedbed.services.sharing import SHARE_JOB, add_target, list_targets, send_link, share_entry, try_target
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.serving import close

CONNECTOR = """kind = "connector"
name = "Box"
purpose = "save"
[[fields]]
name = "username"
label = "User"
secret = false
[[fields]]
name = "password"
label = "Key"
[[steps]]
address = "{address}/session"
is_login = true
[steps.json]
user = "{username}"
[steps.reads]
session = ["data", "id"]
[[steps]]
method = "PUT"
address = "{address}/add?u={url}"
[steps.headers]
Authorization = "Basic {basic}"
X-Title = "{title}"
X-Session = "{session}"
[steps.json]
url = "{url}"
title = "{title}"
"""
SITE = """kind = "site"
name = "Valley"
hosts = ["127.0.0.1"]
[article]
keep = ["div.words"]
drop = [".ad"]
[[lists]]
path = "/news*"
item = "div.item"
title = "b"
link = "a"
"""
WORDS = "The otters came back to the lower lake, and the warden counted them twice before breakfast. "


@pytest.fixture
def folder(harness: RuntimeHarness, tmp_path: Path) -> Path:
    path = tmp_path / "recipes"
    path.mkdir()
    harness.runtime = replace(harness.runtime, recipes=RecipeFolder(path))
    return path


@pytest.fixture
async def box() -> AsyncIterator[tuple[str, list[tuple[str, str, str]]]]:
    """A service that takes what the connector sends."""
    kept: list[tuple[str, str, str]] = []

    async def log_in(_: web.Request) -> web.Response:
        return web.json_response({"data": {"id": "s-1"}})

    async def keep(request: web.Request) -> web.Response:
        assert request.headers["X-Session"] == "s-1" and request.headers["X-Title"]
        kept.append((request.headers["Authorization"], request.query["u"], (await request.json())["title"]))
        return web.json_response({}, status=201)

    app = web.Application()
    app.router.add_post("/session", log_in)
    app.router.add_put("/add", keep)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}", kept
    await close(runner)


async def test_entries_are_sent_by_a_connector_of_a_file_and_wait_while_it_is_gone(
    harness: RuntimeHarness, site: FeedSite, folder: Path, box: tuple[str, list[tuple[str, str, str]]]
) -> None:
    runtime, (address, kept) = harness.runtime, box
    user = await harness.person()
    site.publish("Hérons & reeds\u2028", content="<p>Grey</p>")
    await harness.follow(site.feed_url(), user_id=user)
    await harness.check()
    secrets = {"username": "reader", "password": "key"}
    with pytest.raises(Invalid, match="Choose one of"):
        await add_target(runtime, user, kind="file:box", url=address, secrets=secrets)
    (folder / "box.toml").write_text(CONNECTOR)
    await current_recipes(runtime)
    target = await add_target(runtime, user, kind="file:box", url=address, secrets=secrets)
    assert (target.name, target.service.name) == ("Box", "Box")
    assert (await try_target(runtime, user, target.id)).accepted
    (entry_id,) = await harness.column("SELECT id FROM entries")
    await share_entry(runtime, user, entry_id, target.id)
    (folder / "box.toml").write_text(CONNECTOR.replace("save", "swallow"))
    await current_recipes(runtime)
    job = await jobs.claim(runtime, [SHARE_JOB])
    assert job is not None
    waiting = await send_link(runtime, job)
    assert not isinstance(waiting, Done)
    (shown,) = await list_targets(runtime, user)
    assert shown.problem is not None and "Box" in shown.problem.message
    (folder / "box.toml").write_text(CONNECTOR)
    await current_recipes(runtime)
    assert await send_link(runtime, job) == Done({"shared": "file:box"})
    assert kept[-1][0] == "Basic cmVhZGVyOmtleQ==" and kept[-1][2].startswith("Hérons")
    assert kept[-1][1] == (await harness.column("SELECT url FROM entries"))[0]


async def test_articles_of_a_site_are_read_with_its_selectors(
    harness: RuntimeHarness, site: FeedSite, folder: Path
) -> None:
    (folder / "valley.toml").write_text(SITE)
    await current_recipes(harness.runtime)
    user = await harness.person()
    page = f"<html><body><p>{WORDS * 9}</p><div class=words>{WORDS}<p class=ad>Buy!</p></div></body></html>"
    site.put("/otters", page, content_type="text/html")
    saved = await save_page(harness.runtime, user, f"{site.url}/otters")
    job = await jobs.claim(harness.runtime, ["saved_page"])
    assert job is not None
    await read_saved_page(harness.runtime, job)
    (content,) = await harness.column("SELECT content FROM entry_bodies WHERE entry_id = :id", id=saved.entry_id)
    assert content.count("otters came back") == 1 and "Buy" not in content
    site.publish("Otters", key="o", content="Short")
    await harness.follow(site.feed_url(), user_id=user)
    await harness.check()
    (entry_id, url) = (await harness.rows("SELECT id, url FROM entries WHERE title = 'Otters'"))[0]
    site.put(url.removeprefix(site.url), page, content_type="text/html")
    article = await read_full_article(harness.runtime, user, entry_id)
    assert article.content is not None and article.content.count("otters came back") == 1


async def test_the_list_of_a_site_is_the_first_choice_and_finds_a_rebuilt_page(
    harness: RuntimeHarness, site: FeedSite, folder: Path
) -> None:
    decoy = "".join(f"<li class=entry><a href=/a/{n}>The river board decides about lock {n}</a></li>" for n in range(9))
    own = "".join(f"<div class=item><a href=/o/{n}><b>Otter {n}</b> seen</a></div>" for n in range(4))
    address = site.page("/news", feeds=(), body=f"<ul>{decoy}</ul>{own}")
    user = await harness.person()
    assert (await preview_page(harness.runtime, address)).lists.lists[0].entries[0].title.startswith("The river")
    (folder / "valley.toml").write_text(SITE)
    await current_recipes(harness.runtime)
    made = await follow_page(harness.runtime, user, address)
    assert set(await harness.column("SELECT title FROM entries")) == {f"Otter {n}" for n in range(4)}
    (folder / "valley.toml").write_text(SITE.replace("div.item", "p.new"))
    await current_recipes(harness.runtime)
    rebuilt = "".join(f"<p class=new><a href=/o/{n}><b>Otter {n}</b></a></p>" for n in range(2, 7))
    site.page("/news", feeds=(), body=f"<ul>{decoy}</ul>{rebuilt}")
    await harness.check(at_least=DAY)
    assert len(await harness.column("SELECT title FROM entries")) == 7
    assert (await page_feed(harness.runtime, user, made.id)).recipe.selectors.item == "p.new"
