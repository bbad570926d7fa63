"""The page of books: make, plan, mail and delete them, and confirm the address of an e-reader."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from selectolax.lexbor import LexborHTMLParser

from reedbed.services.runtime import Runtime
from tests.clients import Client, SignIn
from tests.epub_reader import read_epub
from tests.harness import RuntimeHarness
from tests.http.web.forms import texts
from tests.services.writing import HERON, Desk, new_desk
from tests.smtp_server import SmtpServer, open_smtp_server, words_of, work_off


@pytest.fixture
async def desk(reader: Client, harness: RuntimeHarness) -> Desk:
    return await new_desk(harness, reader.user_id)


@pytest.fixture
async def smtp(harness: RuntimeHarness, runtime: Runtime, app) -> AsyncIterator[SmtpServer]:
    with open_smtp_server() as server:
        app.state.runtime = harness.runtime = replace(runtime, mailer=server.mailer())
        yield server


async def test_a_book_is_made_read_and_deleted(reader: Client, desk: Desk, runtime: Runtime) -> None:
    await desk.entry(HERON, title="The heron of the canal")
    assert (await reader.post("/books", data={"of": "all"})).status_code == 303
    waiting = (await reader.get("/books")).text
    assert "<progress" in waiting and 'hx-get="/books"' in waiting
    await work_off(runtime)
    page = LexborHTMLParser((await reader.get("/books", headers={"HX-Request": "true"})).text)
    assert page.css_first("progress") is None and page.css_first("[hx-get]") is None
    link = page.css_first("a[download]")
    assert link is not None and "1 entry" in page.text()
    book = read_epub((await reader.get(str(link.attributes["href"]))).content)
    assert "The heron of the canal" in [title for title, _ in book.contents]
    form = page.css_first("form[action$='/delete']")
    assert form is not None
    assert (await reader.post(str(form.attributes["action"]))).status_code == 303
    assert "No book yet" in (await reader.get("/books")).text


@pytest.mark.parametrize(("of", "status"), [("starred", 404), ("tag:none", 404), ("folder:x", 400), ("nothing", 400)])
async def test_what_cannot_be_made_is_said_on_the_page(reader: Client, of: str, status: int) -> None:
    answer = await reader.post("/books", data={"of": of})
    assert answer.status_code == status and len(texts(answer.text)) == 1
    assert (await reader.get("/api/v1/books")).json()["items"] == []


async def test_books_are_planned_by_day_and_by_week(reader: Client, desk: Desk) -> None:
    folder = (await reader.post("/api/v1/folders", json={"name": "Morning"})).json()["id"]
    for form in ({"of": f"folder:{folder}", "time": "06:30"}, {"of": "later", "time": "18:00", "weekday": "5"}):
        assert (await reader.post("/books/plans", data=form)).status_code == 303
    text = LexborHTMLParser((await reader.get("/books")).text).css_first("main").text()
    assert "Folder: Morning" in text and "Every day at 06:30" in text and "Every week: Saturday, 18:00" in text
    for wrong in (
        {"time": "25:00"},
        {"time": "06:00", "weekday": "9"},
        {"time": ""},
        {"time": "06:00", "mail": "true"},
    ):
        assert (await reader.post("/books/plans", data={"of": "all", **wrong})).status_code in (400, 409)
    plans = (await reader.get("/api/v1/books/plans")).json()["items"]
    assert len(plans) == 2
    for plan in plans:
        await reader.post(f"/books/plans/{plan['id']}/delete")
    assert (await reader.get("/api/v1/books/plans")).json()["items"] == []


async def test_an_address_is_confirmed_by_its_link_and_gets_books(
    reader: Client, desk: Desk, smtp: SmtpServer, client: Client, harness: RuntimeHarness
) -> None:
    runtime = harness.runtime
    await desk.entry(HERON)
    assert (await reader.post("/books/address", data={"address": "nonsense"})).status_code == 400
    assert (await reader.post("/books/address", data={"address": "reader@tablet.example"})).status_code == 303
    early = await reader.post("/books", data={"of": "all", "mail": "true"})
    assert early.status_code == 409 and "confirms the address" in early.text
    await work_off(runtime)
    (letter,) = smtp.letters
    path = next(word for word in words_of(letter).split() if "/books/confirm/" in word).partition("8080")[2]
    asked = await client.get(path)
    assert "reader@tablet.example" in asked.text and "/books/confirm/" in asked.text
    assert (await reader.post("/books", data={"of": "all", "mail": "true"})).status_code == 409, "a look allows nothing"
    assert "Your address is confirmed" in (await client.post(path)).text
    assert (await reader.post("/books", data={"of": "all", "mail": "true"})).status_code == 303
    await work_off(runtime)
    assert len(smtp.letters) == 2
    assert "Sent to reader@tablet.example" in (await reader.get("/books")).text
    assert (await client.get(f"{path}x")).status_code == 404


async def test_books_of_others_are_out_of_reach(
    reader: Client, desk: Desk, by_cookie: SignIn, runtime: Runtime
) -> None:
    await desk.entry(HERON)
    await reader.post("/books", data={"of": "all"})
    await work_off(runtime)
    (book,) = (await reader.get("/api/v1/books")).json()["items"]
    other = await by_cookie("other@example.org")
    other.headers["Sec-Fetch-Site"] = "same-origin"
    for path in (f"/books/{book['id']}/delete", f"/books/{book['id']}/mail"):
        assert (await other.post(path)).status_code == 404
    assert (await other.get(f"/api/v1/books/{book['id']}/file")).status_code == 404
