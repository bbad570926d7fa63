"""The endpoints of questions."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from reedbed.services.jobs import claim, run
from reedbed.services.questions import JOB_KIND
from reedbed.services.runtime import Runtime
from reedbed.services.search.upkeep import repair_search
from reedbed.worker.jobs import HANDLERS
from tests.clients import Client, SignIn
from tests.services.writing import Desk

FORM = {"Origin": "http://127.0.0.1:8080", "Sec-Fetch-Site": "same-origin"}
HTMX = {"HX-Request": "true"}
COST = "How much does the repair cost?"


async def test_a_question_is_pending_first_and_answered_later(reader: Client, desk: Desk) -> None:
    entry = await desk.entry()
    asked = await reader.post("/api/v1/questions", json={"question": COST})
    assert (asked.status_code, asked.json()["status"], asked.json()["answered"]) == (202, "pending", None)
    await work(desk.runtime)
    said = (await reader.get(f"/api/v1/questions/{asked.json()['id']}")).json()
    assert (said["status"], said["told"], said["built_in"], said["fallback"]) == ("ready", True, True, False)
    assert said["claims"][0]["entry_ids"] == [str(entry)]
    assert said["sources"][0]["title"] == "The bridge"
    listed = (await reader.get("/api/v1/questions")).json()
    assert [one["id"] for one in listed["items"]] == [said["id"]] and listed["next_cursor"] is None
    assert (await reader.delete(f"/api/v1/questions/{said['id']}")).status_code == 204
    assert (await reader.get(f"/api/v1/questions/{said['id']}")).status_code == 404


async def test_what_is_not_told_is_said_plainly(reader: Client, desk: Desk) -> None:
    await desk.entry()
    asked = (await reader.post("/api/v1/questions", json={"question": "Who won in Reykjavik?"})).json()
    await work(desk.runtime)
    said = (await reader.get(f"/api/v1/questions/{asked['id']}")).json()
    assert (said["status"], said["told"], said["claims"]) == ("ready", False, [])


async def test_a_question_without_an_answer_waits_for_one(reader: Client, by_cookie: SignIn, desk: Desk) -> None:
    await desk.entry()
    asked = (await reader.post("/api/v1/questions", json={"question": "Who won in Reykjavik?"})).json()
    assert (await reader.put(f"/api/v1/questions/{asked['id']}/watch")).status_code == 400  # it is not answered yet
    await work(desk.runtime)
    assert (await reader.put(f"/api/v1/questions/{asked['id']}/watch")).json()["watched_at"] is not None
    page = await by_cookie("reader@example.org")
    assert "No longer wait for an answer" in (await page.get(f"/ask/{asked['id']}")).text
    await page.post(f"/ask/{asked['id']}/watch", data={"value": "false"}, headers=FORM)
    assert "Tell me when an entry answers this" in (await page.get(f"/ask/{asked['id']}")).text
    await page.post(f"/ask/{asked['id']}/watch", data={"value": "true"}, headers=FORM)
    assert (await reader.get(f"/api/v1/questions/{asked['id']}")).json()["watched_at"] is not None
    assert (await reader.delete(f"/api/v1/questions/{asked['id']}/watch")).status_code == 204
    assert (await reader.get(f"/api/v1/questions/{asked['id']}")).json()["watched_at"] is None


async def test_what_is_no_question_is_refused(reader: Client, desk: Desk) -> None:
    for wrong in ({}, {"question": " "}, {"question": "x" * 501}, {"question": 7}):
        assert (await reader.post("/api/v1/questions", json=wrong)).status_code == 400
    lost = {"question": COST, "folder_id": "4711"}
    assert (await reader.post("/api/v1/questions", json=lost)).status_code == 404


async def test_the_page_asks_within_a_saved_search(by_cookie: SignIn, desk: Desk) -> None:
    page = await by_cookie("reader@example.org")
    await desk.entry()
    await page.post("/api/v1/searches", json={"name": "Birds", "query": "heron"}, headers=FORM)
    assert '<option value="q=heron">Search: Birds</option>' in (await page.get("/ask")).text
    asked = await page.post("/ask", data={"question": COST, "about": "q=heron"}, headers=FORM)
    await work(desk.runtime)
    assert "Nothing in your entries answers this." in (await page.get(asked.headers["location"])).text


async def test_names_in_the_answer_are_asked_about_next_within_the_same_scope(by_cookie: SignIn, desk: Desk) -> None:
    page = await by_cookie("reader@example.org")
    await desk.entry("The repair of the bridge costs eighteen million, said Ada Quill of the harbour office on Sunday.")
    asked = await page.post("/ask", data={"question": COST, "about": "q=bridge"}, headers=FORM)
    await work(desk.runtime)
    shown = LexborHTMLParser((await page.get(asked.headers["location"])).text)
    follow_up = shown.css_first(".ask-next")
    assert follow_up.css_first("button").attributes["value"] == "Ada Quill"
    assert [one.attributes["value"] for one in shown.css('#answer input[name="about"]')] == ["q=bridge"] * 2
    said = (await page.get(f"/api/v1/questions/{asked.headers['location'].rpartition('/')[2]}")).json()
    assert said["ask_next"] == ["Ada Quill"]
    quotes, sources = shown.css(".quotes blockquote"), shown.css(".quotes p")
    assert len(sources) == len({one["entry_ids"][0] for one in said["claims"]}) <= len(quotes)


async def test_asking_has_a_page_with_its_history(by_cookie: SignIn, desk: Desk) -> None:
    page = await by_cookie("reader@example.org")
    entry = await desk.entry(title="A <b>bold</b> bridge")
    empty = (await page.get("/ask")).text
    assert "No question yet." in empty and "Nothing leaves this machine." in empty
    assert 'href="/ask"' in (await page.get("/unread")).text
    refused = await page.post("/ask", data={"question": ""}, headers=FORM)
    assert refused.status_code == 400 and "Type a question." in refused.text
    asked = await page.post("/ask", data={"question": f"{COST} <i>"}, headers=FORM)
    assert asked.status_code == 303
    address = asked.headers["location"]
    assert "Looking for an answer…" in (await page.get(address)).text
    await work(desk.runtime)
    part = (await page.get(address, headers=HTMX)).text
    assert "<html" not in part and "eighteen million" in part
    shown = (await page.get(address)).text
    assert '<li id="s1">' in shown and f'href="/entry/{entry}"' in shown
    assert "A &lt;b&gt;bold&lt;/b&gt; bridge" in shown and "&lt;i&gt;" in shown and "<i>" not in shown
    assert "picked without a model" in shown
    assert address in (await page.get("/ask")).text
    assert (await page.post(f"{address}/delete", headers=FORM)).status_code == 303
    assert (await page.get(address)).status_code == 404


async def test_only_the_newest_questions_are_kept(reader: Client, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reedbed.services.questions.MAX_KEPT", 2)
    ids = [(await reader.post("/api/v1/questions", json={"question": COST})).json()["id"] for _ in range(3)]
    listed = (await reader.get("/api/v1/questions")).json()["items"]
    assert [one["id"] for one in listed] == [ids[2], ids[1]]


async def work(runtime: Runtime) -> None:
    await repair_search(runtime)
    while (job := await claim(runtime, [JOB_KIND])) is not None:
        await run(runtime, job, HANDLERS[job.kind])
