"""The endpoints of digests and of the operator's view of the model."""

from dataclasses import replace

import feedparser
import pytest
from selectolax.lexbor import LexborHTMLParser

from reedbed.ai.model import MockModel
from reedbed.domain.ai import Breaker, Budget, Usage
from reedbed.domain.failures import untranslated
from reedbed.roles.app import Application
from reedbed.services.digests import DIGEST_JOB as JOB_KIND
from reedbed.services.digests import JOB_KIND as DIGEST_MAIL
from reedbed.services.jobs import claim, run
from reedbed.services.runtime import AiPolicy, Runtime
from reedbed.store import ai, summaries
from reedbed.worker.jobs import HANDLERS
from tests.clients import Client, SignIn
from tests.services.test_digests import Post
from tests.services.writing import STORY, Desk

HTMX = {"HX-Request": "true"}
FORM = {"Origin": "http://127.0.0.1:8080", "Sec-Fetch-Site": "same-origin"}


async def test_a_digest_is_pending_first_and_ready_later(reader: Client, desk: Desk) -> None:
    entry = await desk.entry()
    asked = await reader.post("/api/v1/digests")
    assert (asked.status_code, asked.json()["status"]) == (202, "pending")
    await work(desk.runtime)
    said = (await reader.get(f"/api/v1/digests/{asked.json()['id']}")).json()
    assert said["status"] == "ready" and said["built_in"] is True and said["entries"] == 1
    assert said["paragraphs"][0]["sentences"][0]["entry_ids"] == [str(entry)]
    assert said["sources"][0]["title"] == "The bridge"
    assert [one["id"] for one in (await reader.get("/api/v1/digests")).json()["items"]] == [said["id"]]
    file = await reader.get(f"/api/v1/digests/{said['id']}/markdown")
    assert file.headers["content-type"].startswith("text/markdown") and "[^1]" in file.text
    shown = (await reader.get(f"/digests/{said['id']}")).text
    assert '<a href="/summaries" aria-current="page">' in shown, "the sidebar tells where one is"
    assert (await reader.delete(f"/api/v1/digests/{said['id']}")).status_code == 204
    assert (await reader.get(f"/api/v1/digests/{said['id']}")).status_code == 404


async def test_a_digest_is_mailed_when_its_reader_asks(app: Application, by_cookie: SignIn, desk: Desk) -> None:
    client = await by_cookie()
    await desk.entry()
    made = (await client.post("/api/v1/digests", headers=FORM)).json()["id"]
    refused = await client.post(f"/api/v1/digests/{made}/mail", headers=FORM)
    assert refused.status_code == 409 and refused.json()["error"]["message"] == "This digest is not ready yet."
    await work(app.state.runtime)
    refused = await client.post(f"/api/v1/digests/{made}/mail", headers=FORM)
    assert refused.status_code == 409 and "cannot send mail" in refused.json()["error"]["message"]
    post = Post()
    app.state.runtime = desk.harness.runtime = replace(desk.runtime, mailer=post)
    await client.put("/api/v1/digests/schedule", json={"time": "07:30", "mail": False}, headers=FORM)
    assert (await client.post(f"/api/v1/digests/{made}/mail", headers=FORM)).status_code == 202
    await work(app.state.runtime)
    page = LexborHTMLParser((await client.get(f"/digests/{made}")).text)
    assert page.css_first(f'form[action="/digests/{made}/mail"] button').text(strip=True) == "E-mail it to me"
    assert (await client.post(f"/digests/{made}/mail", headers=FORM)).status_code == 303
    await work(app.state.runtime)
    assert [letter.to for letter in post.letters] == ["reader@example.org"] * 2
    assert (await client.post("/api/v1/digests/999/mail", headers=FORM)).status_code == 404


async def test_a_digest_tells_how_long_it_is_and_why_it_is_in_this_order(by_cookie: SignIn, desk: Desk) -> None:
    client = await by_cookie()
    liked = await desk.entry()
    for key in ("1", "2", "3"):
        other = await desk.entry(STORY.replace("bridge", key), title=f"Another story {key}")
        await client.patch(f"/api/v1/entries/{other}", json={"starred": True}, headers=FORM)
    made = (await client.post("/api/v1/digests", headers=FORM)).json()["id"]
    await work(desk.runtime)
    said = (await client.get(f"/api/v1/digests/{made}")).json()
    assert said["minutes_to_read"] == 1 and said["left_out"] == 0
    assert str(liked) in said["liked_ids"]
    page = LexborHTMLParser((await client.get(f"/digests/{made}")).text)
    assert "1 min to read" in page.css_first(".mast-head").text()
    why = page.css_first(".order-why")
    assert why.css_first("summary").text() == "How this order was made"
    assert "1 outlet" in why.css_first("li").text() and "You like to read this" in why.css_first("li").text()


async def test_nothing_to_tell_is_404_in_the_words_of_the_contract(reader: Client, desk: Desk) -> None:
    answer = await reader.post("/api/v1/digests", json={})
    assert answer.status_code == 404
    assert answer.json()["error"]["message"] == "No articles found from the last 24 hours"


@pytest.mark.parametrize("spent", [False, True])
async def test_the_extract_stands_in_while_the_model_is_away(
    app: Application, reader: Client, desk: Desk, spent: bool
) -> None:
    await desk.entry()
    if spent:
        budget = Budget(user_daily_tokens=0)
        app.state.runtime = replace(desk.runtime, ai=AiPolicy(model=MockModel(), budget=budget))
    else:
        await _left_alone(app, desk)
    made = (await reader.post("/api/v1/digests")).json()
    await work(app.state.runtime)
    said = (await reader.get(f"/api/v1/digests/{made['id']}")).json()
    assert (said["status"], said["built_in"], said["fallback"]) == ("ready", True, True)
    assert said["paragraphs"]
    assert "The model did not answer" in (await reader.get(f"/digests/{made['id']}")).text
    assert (await reader.get(f"/summaries/{made['id']}")).headers["location"] == f"/digests/{made['id']}"


async def test_a_daily_digest_can_be_planned_and_ended(reader: Client, desk: Desk) -> None:
    assert (await reader.get("/api/v1/digests/schedule")).status_code == 404
    plan = {"time": "07:30", "time_zone": "Asia/Tokyo", "mail": False}
    planned = (await reader.put("/api/v1/digests/schedule", json=plan)).json()
    assert planned["next_at"].endswith("T22:30:00Z")
    assert (await reader.get("/api/v1/digests/schedule")).json() == planned
    for wrong in ({"time": "25:00"}, {"time": "07:30", "time_zone": "Mars/Olympus"}):
        assert (await reader.put("/api/v1/digests/schedule", json=wrong)).status_code == 400
    assert (await reader.delete("/api/v1/digests/schedule")).status_code == 204


async def test_the_partial_keeps_the_contract_of_the_dashboard(by_cookie: SignIn, desk: Desk) -> None:
    page = await by_cookie("reader@example.org")
    empty = await page.get("/summaries/latest", headers=HTMX)
    assert empty.status_code == 200 and "Generate" in empty.text and "<html" not in empty.text
    nothing = await page.post("/summaries", headers={**HTMX, **FORM})
    assert nothing.status_code == 404 and "No articles found from the last 24 hours" in nothing.text
    entry = await desk.entry()
    pending = await page.post("/summaries", headers={**HTMX, **FORM})
    assert pending.status_code == 200 and "Generating summary…" in pending.text
    await work(desk.runtime)
    ready = await page.get("/summaries/latest", headers=HTMX)
    assert f'href="/entry/{entry}"' in ready.text and "Built-in extract" in ready.text


async def test_a_digest_has_a_page_with_its_sources(by_cookie: SignIn, desk: Desk) -> None:
    page = await by_cookie("reader@example.org")
    entry = await desk.entry(title="A <b>bold</b> bridge")
    asked = await page.post("/summaries", headers=FORM)
    assert asked.status_code == 303
    address = asked.headers["location"]
    assert "Generating summary…" in (await page.get(address)).text
    await work(desk.runtime)
    part = (await page.get(address, headers=HTMX)).text
    assert "<html" not in part and f'href="/entry/{entry}"' in part
    shown = (await page.get(address)).text
    mark = LexborHTMLParser(shown).css_first(".marks-line a").attributes
    assert mark["href"] == f"/entry/{entry}" and (mark["aria-label"] or "").endswith(" – A <b>bold</b> bridge")
    assert "A &lt;b&gt;bold&lt;/b&gt; bridge" in shown and "Nothing left this machine" in shown
    assert 'role="region" aria-label="Digests"' in shown
    fields = LexborHTMLParser(shown).css("form[action='/mark-read'] input")
    marked = {str(field.attributes["name"]): field.attributes["value"] for field in fields}
    assert (await page.post("/mark-read", data=marked, headers=FORM)).headers["location"] == address
    assert (await page.get(f"/api/v1/entries/{entry}")).json()["read"] is True
    assert address in (await page.get("/summaries")).text
    assert (await page.post(f"{address}/delete", headers=FORM)).status_code == 303
    assert (await page.get(address)).status_code == 404


async def test_the_page_tells_of_a_folder_a_tag_or_a_saved_search(by_cookie: SignIn, desk: Desk) -> None:
    page = await by_cookie("reader@example.org")
    entry = await desk.entry()
    await desk.entry(title="Another thing")
    await page.patch(f"/api/v1/entries/{entry}", json={"tags": ["bridges & more"]}, headers=FORM)
    folder = await page.post("/api/v1/folders", json={"name": "Town"}, headers=FORM)
    await page.post("/api/v1/searches", json={"name": "Water", "query": "bridge"}, headers=FORM)
    offered = (await page.get("/summaries")).text
    for value, name in (
        (f"folder_id={folder.json()['id']}", "Folder: Town"),
        ("tag=bridges+%26+more", "Tag: bridges &amp; more"),
        ("q=bridge", "Search: Water"),
    ):
        assert f'<option value="{value}">{name}</option>' in offered
    empty = await page.post("/summaries", data={"about": f"folder_id={folder.json()['id']}"}, headers=FORM)
    assert empty.status_code == 404
    tagged = {"about": "tag=bridges+%26+more"}
    address = (await page.post("/summaries", data=tagged, headers=FORM)).headers["location"]
    await work(desk.runtime)
    shown = (await page.get(address)).text
    assert "Tag: bridges &amp; more" in shown and "1 entry from 1 feed" in shown
    again = await page.post("/summaries", data={**tagged, "since": "last"}, headers=FORM)
    assert again.status_code == 404 and "There is nothing new since the last digest." in again.text
    assert (await page.post("/summaries", data={"about": "folder_id=x"}, headers=FORM)).status_code == 404


async def test_a_plan_keeps_what_it_is_about(by_cookie: SignIn, desk: Desk) -> None:
    page = await by_cookie("reader@example.org")
    plan = {"time": "07:30", "tag": "sea", "q": "heron"}
    await page.put("/api/v1/digests/schedule", json=plan, headers=FORM)
    offered = (await page.get("/summaries")).text
    assert '<option value="tag=sea&amp;q=heron" selected>Tag: sea, Search: heron</option>' in offered
    again = {"time": "08:00", "about": "tag=sea&q=heron"}
    await page.post("/summaries/schedule", data=again, headers=FORM)
    planned = (await page.get("/api/v1/digests/schedule")).json()
    assert (planned["time"], planned["tag"], planned["q"]) == ("08:00", "sea", "heron")


async def test_plans_and_the_writer_are_chosen_on_the_page(by_cookie: SignIn, desk: Desk) -> None:
    page = await by_cookie("reader@example.org")
    assert (await page.post("/summaries/schedule", data={"time": "06:15"}, headers=FORM)).status_code == 303
    assert 'value="06:15"' in (await page.get("/summaries")).text
    await page.post("/summaries/schedule", data={"time": ""}, headers=FORM)
    assert await desk.value("SELECT count(*) FROM digest_schedules") == 0
    await page.post("/summaries/automatic", data={"automatic": "true", "words": "350"}, headers=FORM)
    assert 'value="350"' in (await page.get("/summaries")).text
    for endpoint, typed, said in (
        ("automatic", {"words": "many"}, "The number of words must be a whole number."),
        ("automatic", {"words": "999999"}, "auto_summary_words must be"),
        ("schedule", {"time": "noon"}, "The time must look like 07:30."),
    ):
        refused = await page.post(f"/summaries/{endpoint}", data=typed, headers=FORM)
        assert refused.status_code == 400 and said in refused.text
        assert 'action="/summaries/automatic"' in refused.text, "the form is shown again"
    await page.post("/summaries/writer", data={"remote_ai": "true"}, headers=FORM)
    me = (await page.get("/api/v1/users/me")).json()
    assert me["preferences"]["remote_ai"] is True


async def test_digests_are_a_private_feed_of_their_own(
    reader: Client, by_cookie: SignIn, client: Client, desk: Desk
) -> None:
    entry = await desk.entry(title="A <b>bold</b> bridge")
    made = (await reader.post("/api/v1/published-feeds", json={"name": "Days", "view": "digests"})).json()
    assert made["view"] == "digests"
    assert (await client.get(made["json_url"])).json()["items"] == []
    asked = (await reader.post("/api/v1/digests")).json()
    assert (await client.get(made["json_url"])).json()["items"] == [], "what is not written is not shown"
    await work(desk.runtime)
    (item,) = (await client.get(made["json_url"])).json()["items"]
    assert item["url"].endswith(f"/digests/{asked['id']}") and item["id"].endswith(f":digest-{asked['id']}")
    assert f"/entry/{entry}" in item["content_html"] and "<b>" not in item["content_html"]
    told = feedparser.parse((await client.get(made["atom_url"])).content)
    assert (told.bozo, len(told.entries)) == (False, 1)
    both = {"name": "Days", "view": "digests", "tag": "x"}
    assert (await reader.post("/api/v1/published-feeds", json=both)).status_code == 400
    page = await by_cookie("reader@example.org")
    assert 'name="view" value="digests"' in (await page.get("/summaries")).text
    shown = await page.post("/settings/published", data={"view": "digests"}, headers=FORM)
    assert shown.status_code == 200 and ".atom" in shown.text
    assert (await reader.delete(f"/api/v1/published-feeds/{made['id']}")).status_code == 204
    assert (await client.get(made["json_url"])).status_code == 404


async def test_the_operator_sees_and_steers_the_model(signed_in: SignIn, desk: Desk) -> None:
    operator = await signed_in("owner@example.org", role="owner")
    await desk.ask(await desk.entry(f"{STORY} It waits."))
    said = (await operator.get("/api/v1/admin/ai")).json()
    assert said["queue"] == {"waiting": 1, "running": 0, "cooling": 0, "failures": 0}
    assert (said["circuit_breaker"], said["paused"], said["model"]) == ("CLOSED", False, "extract")
    (line,) = (await operator.get("/api/v1/admin/ai/queue")).json()["items"]
    assert line["priority"] == 10
    paused = await operator.put("/api/v1/admin/ai/paused", json={"paused": True})
    assert paused.json()["paused"] is True
    assert (await operator.post("/api/v1/admin/ai/retry")).json()["queued"] == 1
    await desk.write()
    again = await operator.post("/api/v1/admin/ai/reprocess", json={"content_hash": line["content_hash"]})
    assert again.json() == {"ok": True, "forgotten": True}


async def test_the_operator_sees_why_texts_were_given_up(by_cookie: SignIn, desk: Desk) -> None:
    operator = await by_cookie("owner@example.org", role="owner")
    page = (await operator.get("/admin/ai")).text
    assert "Given up</h2>" not in page
    assert "REEDBED_AI_BASE_URL" in page, "without a model it says how to have one"
    async with desk.runtime.db.write() as tx:
        for number, why in enumerate(("It <b>broke</b>.", "It <b>broke</b>.", "")):
            await summaries.record_failure(tx, f"key-{number}", str(number) * 64, untranslated(why), desk.runtime.now())
    listed = (await operator.get("/api/v1/admin/ai/failures")).json()["items"]
    assert [one["last_error"] for one in listed] == ["", "It <b>broke</b>.", "It <b>broke</b>."]
    shown = (await operator.get("/admin/ai")).text
    assert "It &lt;b&gt;broke&lt;/b&gt;." in shown and "2 texts" in shown and "For no known reason." in shown
    forget = {"content_hash": listed[0]["content_hash"]}
    await operator.post("/api/v1/admin/ai/reprocess", json=forget, headers=FORM)
    assert len((await operator.get("/api/v1/admin/ai/failures")).json()["items"]) == 2


async def test_the_operator_has_a_page_of_the_model(by_cookie: SignIn, desk: Desk) -> None:
    operator = await by_cookie("owner@example.org", role="owner")
    async with desk.runtime.db.write() as tx:
        await ai.add_usage(tx, Usage(3, 900, 100, 250_000), None, desk.runtime.now())
    shown = (await operator.get("/admin/ai")).text
    assert "Built-in extract" in shown and 'class="p-bar"' in shown and "0.25" in shown and "Working" in shown
    assert (await operator.post("/admin/ai/pause", headers=FORM)).status_code == 303
    assert 'action="/admin/ai/resume"' in (await operator.get("/admin/ai")).text
    for endpoint in ("resume", "retry"):
        assert (await operator.post(f"/admin/ai/{endpoint}", headers=FORM)).status_code == 303
    reader = await by_cookie("reader@example.org")
    assert (await reader.get("/admin/ai")).status_code == 403


async def _left_alone(app: Application, desk: Desk) -> None:
    runtime = replace(desk.runtime, ai=AiPolicy(model=MockModel()))
    app.state.runtime = runtime
    async with runtime.db.write() as tx:
        await ai.lock_breakers(tx, ["mock"])
        await ai.save_breaker(tx, "mock", Breaker("OPEN", failures=5, last_failure_at=runtime.now()))


async def work(runtime: Runtime) -> None:
    while (job := await claim(runtime, [JOB_KIND, DIGEST_MAIL])) is not None:
        await run(runtime, job, HANDLERS[job.kind])
