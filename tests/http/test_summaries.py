"""The endpoints of summaries: the API and the block above an article."""

from dataclasses import replace

import pytest

from reedbed.ai.model import MockModel
from reedbed.domain.ai import Breaker, Budget
from reedbed.roles.app import Application
from reedbed.services.runtime import AiPolicy
from reedbed.services.search.upkeep import repair_search
from reedbed.store import ai
from tests.clients import Client, SignIn
from tests.services.writing import STORY, Desk

HTMX = {"HX-Request": "true"}


async def test_a_summary_is_pending_first_and_ready_later(reader: Client, desk: Desk) -> None:
    entry = await desk.entry()
    first = await reader.get(f"/api/v1/entries/{entry}/summary")
    assert (first.status_code, first.json()["status"]) == (200, "pending")
    await desk.write()
    said = (await reader.get(f"/api/v1/entries/{entry}/summary")).json()
    assert said["status"] == "ready" and said["built_in"] is True and said["model"] == "extract"
    assert said["summary"].startswith("The council of Marrowby")
    assert (await reader.post(f"/api/v1/entries/{entry}/summary")).status_code == 202


async def test_lists_and_entries_carry_the_line(reader: Client, desk: Desk) -> None:
    entry = await desk.entry()
    other = await desk.entry(f"{STORY} Not asked for.")
    await desk.ask(entry)
    await desk.write()
    items = (await reader.get("/api/v1/entries")).json()["items"]
    lines = {item["id"]: item["one_line_summary"] for item in items}
    assert lines[str(other)] is None
    assert lines[str(entry)] == (await reader.get(f"/api/v1/entries/{entry}")).json()["one_line_summary"] != ""


async def test_the_page_shows_a_block_that_asks_by_itself_and_then_the_words(by_cookie: SignIn, desk: Desk) -> None:
    page = await by_cookie("reader@example.org")
    entry = await desk.entry()
    shown = (await page.get(f"/all/entry/{entry}")).text
    assert 'data-state="pending"' in shown and 'hx-trigger="load, every 1s' in shown
    assert "Generating summary…" in shown
    block = await page.get(f"/entry/{entry}/summary", headers=HTMX)
    assert 'data-state="pending"' in block.text and "<html" not in block.text
    await desk.write()
    ready = (await page.get(f"/entry/{entry}/summary", headers=HTMX)).text
    assert "Built-in extract" in ready and "The council of Marrowby" in ready
    whole = (await page.get(f"/all/entry/{entry}")).text
    assert 'data-state="ready"' in whole and "Generating summary" not in whole


async def test_a_short_entry_has_no_summary_and_shows_no_block(reader: Client, by_cookie: SignIn, desk: Desk) -> None:
    page = await by_cookie("reader@example.org")
    entry = await desk.entry(more="")
    answer = (await reader.get(f"/api/v1/entries/{entry}/summary")).json()
    assert (answer["status"], answer["needed"], answer["summary"]) == ("failed", False, None)
    assert 'id="summary"' not in (await page.get(f"/all/entry/{entry}")).text
    block = (await page.get(f"/entry/{entry}/summary", headers=HTMX)).text
    assert "hidden" in block and "Summary" not in block


async def test_the_line_stands_in_the_list_of_the_page(by_cookie: SignIn, desk: Desk) -> None:
    page = await by_cookie("reader@example.org")
    entry = await desk.entry()
    await desk.ask(entry)
    await desk.write()
    state = await desk.ask(entry)
    assert state.summary is not None
    assert state.summary.one_line in (await page.get("/all")).text


async def test_the_line_stands_in_what_a_search_finds(reader: Client, by_cookie: SignIn, desk: Desk) -> None:
    entry = await desk.entry()
    await desk.ask(entry)
    await desk.write()
    await repair_search(desk.runtime)
    state = await desk.ask(entry)
    assert state.summary is not None
    line = state.summary.one_line
    for endpoint in ("/api/v1/entries?q=bridge", f"{await _saved(reader)}/entries"):
        (found,) = (await reader.get(endpoint)).json()["items"]
        assert (found["one_line_summary"], found["matched"]["title"]) == (line, [[4, 10]])
    page = await by_cookie("reader@example.org")
    word = line.split()[2].strip(".,")
    shown = (await page.get("/search", params={"q": word})).text
    assert line.replace(word, f"<mark>{word}</mark>", 1) in shown
    deep = (await page.get("/search", params={"q": "twice"})).text
    assert "<mark>twice</mark>" in deep and line not in deep, "the place that matches is shown instead"


async def test_a_failed_one_says_why_and_offers_another_try(by_cookie: SignIn, desk: Desk) -> None:
    page = await by_cookie("reader@example.org")
    entry = await desk.entry("<img src='https://example.org/x.png'>", more="")
    block = (await page.get(f"/entry/{entry}/summary", headers=HTMX)).text
    assert "Summary unavailable" in block and "Try again" in block
    assert "There is nothing in this entry to summarise." in block


@pytest.mark.parametrize(
    ("budget", "breaker", "cause", "said"),
    [
        (Budget(), Breaker(), "paused", "paused by the operator"),
        (Budget(daily_tokens=0), Breaker(), "budget", "the budget for the model is used up"),
        (Budget(user_daily_tokens=0), Breaker(), "budget", "the budget for the model is used up"),
        (Budget(), Breaker("OPEN", failures=5, last_failure_at=1), "silence", "The model stopped answering"),
    ],
    ids=["paused", "spent", "spent by the user", "left alone"],
)
async def test_one_that_waits_for_a_model_nobody_asks_says_why(
    app: Application, by_cookie: SignIn, desk: Desk, budget: Budget, breaker: Breaker, cause: str, said: str
) -> None:
    page = await by_cookie("reader@example.org")
    entry = await desk.entry()
    runtime = replace(desk.runtime, ai=AiPolicy(model=MockModel(), budget=budget))
    app.state.runtime = runtime
    since = breaker.last_failure_at and runtime.now()
    async with runtime.db.write() as tx:
        await ai.lock_breakers(tx, ["mock"])
        await ai.save_breaker(tx, "mock", replace(breaker, last_failure_at=since))
        await ai.set_paused(tx, runtime.now(), paused=cause == "paused")
    shown = (await page.get(f"/entry/{entry}/summary", headers=HTMX)).text
    assert 'data-state="pending"' in shown and 'hx-trigger="every 1s' in shown, "the extract is being written"
    desk.harness.runtime = runtime
    await desk.write()
    block = (await page.get(f"/entry/{entry}/summary", headers=HTMX)).text
    assert said in block and "Reading is not affected" in block
    assert "The built-in extract stands in for the model." in block and "The council of Marrowby" in block
    assert 'hx-trigger="summaryReady from:body"' in block, "replaced as soon as the model has written"
    told = (await page.get(f"/api/v1/entries/{entry}/summary")).json()
    assert (told["status"], told["built_in"], told["fallback"]) == ("ready", True, True)
    assert told["summary"].startswith("The council of Marrowby")
    assert told["waiting"]["cause"] == cause
    assert (told["waiting"]["until"] is None) == (cause != "silence")


async def test_without_a_script_the_address_leads_to_the_article(by_cookie: SignIn, desk: Desk) -> None:
    page = await by_cookie("reader@example.org")
    entry = await desk.entry()
    answer = await page.get(f"/entry/{entry}/summary")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/entry/{entry}")


async def _saved(reader: Client) -> str:
    made = await reader.post("/api/v1/searches", json={"name": "Bridges", "query": "bridge"})
    return f"/api/v1/searches/{made.json()['id']}"
