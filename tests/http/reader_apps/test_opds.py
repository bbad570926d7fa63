"""The OPDS catalogue: every page of it as a strict reader sees it, and the books behind it."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from reedbed.api.reader_apps import opds
from reedbed.services.runtime import Runtime
from tests.clients import Client, SignIn
from tests.epub_reader import read_epub
from tests.harness import RuntimeHarness
from tests.opds_reader import Catalogue, read_catalogue
from tests.services.writing import HERON, Desk, new_desk
from tests.smtp_server import work_off

PAGES = ("books", "lists", "digests", "folders", "tags", "searches")


class EReader:
    """Logs in as e-readers do."""

    def __init__(self, client: Client, secret: str) -> None:
        token = b64encode(f"reader@example.org:{secret}".encode()).decode()
        self.client, self.headers = client, {"Authorization": f"Basic {token}"}

    async def open(self, url: str) -> Catalogue:
        answer = await self.client.get(url, headers=self.headers)
        assert answer.status_code == 200, answer.text
        return read_catalogue(answer.headers["content-type"], answer.content, str(answer.url))

    async def load(self, url: str, **headers: str):
        return await self.client.get(url, headers={**self.headers, **headers})


@pytest.fixture
async def desk(reader: Client, harness: RuntimeHarness) -> Desk:
    return await new_desk(harness, reader.user_id)


@pytest.fixture
async def ereader(client: Client, reader: Client) -> EReader:
    made = await reader.post("/api/v1/users/me/tokens", json={"name": "Kobo", "kind": "app_password"})
    return EReader(client, made.json()["secret"])


@asynccontextmanager
async def working(runtime: Runtime) -> AsyncIterator[None]:
    """A worker beside the request."""

    async def work() -> None:
        while True:
            await work_off(runtime)
            await asyncio.sleep(0.05)

    worker = asyncio.create_task(work())
    try:
        yield
    finally:
        worker.cancel()


async def test_every_page_is_a_catalogue_that_a_strict_reader_takes(
    ereader: EReader, desk: Desk, reader: Client, runtime: Runtime
) -> None:
    entry_id = await desk.entry(HERON)
    await reader.patch(f"/api/v1/entries/{entry_id}", json={"tags": ['birds & "reeds"', "später/über"]})
    await reader.post("/api/v1/folders", json={"name": "<Morning>"})
    await reader.post("/api/v1/searches", json={"name": "Herons", "query": "heron"})
    start = await ereader.open("/opds")
    assert start.kind == "navigation"
    found = {page: await ereader.open(f"/opds/{page}") for page in PAGES}
    assert [offer.url.rpartition("/")[2] for offer in start.offers] == list(PAGES)
    assert {page.kind for page in found.values()} == {"acquisition"}
    assert found["tags"].titles == ['Tag: birds & "reeds"', "Tag: später/über"]
    assert found["folders"].titles == ["Folder: <Morning>"]
    assert found["searches"].titles == ["Search: Herons"]
    assert len(found["lists"].titles) == 5 and found["books"].titles == []


async def test_a_book_of_a_list_is_made_when_it_is_loaded(
    ereader: EReader, desk: Desk, reader: Client, runtime: Runtime
) -> None:
    entry_id = await desk.entry(HERON, title="The heron of the canal")
    await reader.patch(f"/api/v1/entries/{entry_id}", json={"tags": ["birds"]})
    url = (await ereader.open("/opds/tags")).url("Tag: birds")
    head = await ereader.client.head(url, headers=ereader.headers)
    assert (head.status_code, head.headers["content-type"]) == (200, "application/epub+zip")
    assert (await ereader.open("/opds/books")).titles == [], "looking makes nothing"
    async with working(runtime):
        loaded = await ereader.load(url)
    assert loaded.status_code == 200, loaded.text
    assert "The heron of the canal" in [title for title, _ in read_epub(loaded.content).contents]
    (offer,) = (await ereader.open("/opds/books")).offers
    assert offer.length == len(loaded.content) and offer.language
    part = await ereader.load(offer.url, Range="bytes=0-9")
    assert (part.status_code, part.content) == (206, loaded.content[:10])


async def test_a_reader_that_gives_up_gets_the_book_at_the_next_try(
    ereader: EReader, desk: Desk, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opds, "PATIENCE", 0.1)
    await desk.entry(HERON)
    url = (await ereader.open("/opds/lists")).url("All entries")
    early = await ereader.load(url)
    assert early.status_code == 503 and int(early.headers["retry-after"]) > 0
    await work_off(runtime)
    again = await ereader.load(url)
    assert again.status_code == 200 and read_epub(again.content).contents
    assert len((await ereader.open("/opds/books")).titles) == 1


@pytest.mark.parametrize("of", ["", "nothing", "tag:unknown", "folder:99", "search:x", "digest:1", "feed:" + "9" * 30])
async def test_what_is_not_there_is_refused_in_a_sentence(ereader: EReader, of: str) -> None:
    answer = await ereader.client.get("/opds/make/book.epub", params={"of": of}, headers=ereader.headers)
    assert answer.status_code in (400, 404) and answer.json()["error"]["message"]


async def test_only_the_owner_with_a_password_sees_the_catalogue(
    ereader: EReader, desk: Desk, client: Client, signed_in: SignIn, runtime: Runtime
) -> None:
    await desk.entry(HERON)
    async with working(runtime):
        url = (await ereader.open("/opds/lists")).url("All entries")
        assert (await ereader.load(url)).status_code == 200
    (own,) = (await ereader.open("/opds/books")).offers
    for address in ("/opds", *(f"/opds/{page}" for page in PAGES), own.url):
        refused = await client.get(address)
        assert refused.status_code == 401 and refused.headers["www-authenticate"].startswith("Basic ")
    other = await signed_in("other@example.org")
    assert (await other.get(own.url)).status_code == 404
    page = await other.get("/opds/books")
    assert read_catalogue(page.headers["content-type"], page.content, str(page.url)).titles == []


async def test_many_tags_come_in_pages(ereader: EReader, desk: Desk, reader: Client) -> None:
    names = [f"tag {number:03}" for number in range(opds.PAGE + 3)]
    for some in (names[:20], names[20:]):
        entry_id = await desk.entry(HERON)
        await reader.patch(f"/api/v1/entries/{entry_id}", json={"tags": some})
    first = await ereader.open("/opds/tags")
    second = await ereader.open(first.links["next"])
    assert [*first.titles, *second.titles] == [f"Tag: {name}" for name in names]
    assert "next" not in second.links
