"""The endpoints for moving in."""

import json
from pathlib import Path
from typing import Any

import pytest

from reedbed.domain.errors import Unavailable
from reedbed.services import jobs
from reedbed.services.maintenance import delete_old_jobs
from reedbed.services.transfer import jobs as library_jobs
from reedbed.worker.jobs import HANDLERS
from tests.clients import Client, SignIn
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.http.web.forms import OWN_PAGE
from tests.services.test_transfer import freshrss

STARRED = json.dumps({"items": [{"title": "Kept", "canonicalUrl": "https://x.org/1"}]}).encode()


def many(count: int) -> bytes:
    items = [{"title": f"Kept {number}\x00", "canonicalUrl": f"https://x.org/{number}"} for number in range(count)]
    return json.dumps({"items": items}).encode()


async def work(harness: RuntimeHarness) -> None:
    """What a worker does with the jobs that wait."""
    while job := await jobs.claim(harness.runtime, [library_jobs.JOB_KIND]):
        await jobs.run(harness.runtime, job, HANDLERS[job.kind])


async def bring(client: Client, harness: RuntimeHarness, content: bytes) -> dict[str, Any]:
    begun = await client.post("/api/v1/import", content=content)
    assert begun.status_code == 202, begun.text
    await work(harness)
    return (await client.get(f"/api/v1/import/{begun.json()['id']}")).json()


async def test_a_file_is_brought_in_through_the_api(
    signed_in: SignIn, site: FeedSite, harness: RuntimeHarness, tmp_path: Path
) -> None:
    reader = await signed_in("a@example.org")
    file = freshrss(tmp_path / "db.sqlite", site.feed_url(), f"{site.url}/main/main-1").read_bytes()

    begun = (await reader.post("/api/v1/import", files={"file": ("db.sqlite", file)})).json()
    assert (begun["status"], begun["name"], begun["done"], begun["total"]) == ("pending", "db.sqlite", 0, 4)
    await work(harness)
    done = (await reader.get(f"/api/v1/import/{begun['id']}")).json()

    assert (done["status"], done["done"], done["error"]) == ("done", 4, None)
    report = done["report"]
    assert (report["source"], report["imported"], report["starred"], report["read"]) == ("FreshRSS", 1, 1, 2)
    assert [hint.data["kind"] for hint in harness.heard("progress")][-1] == "import"
    await delete_old_jobs(harness.runtime)
    assert await harness.column("SELECT count(*) FROM job_pieces") == [0]


async def test_opml_comes_the_same_way(signed_in: SignIn, site: FeedSite, harness: RuntimeHarness) -> None:
    reader = await signed_in("a@example.org")
    lines = f"<outline text='F'><outline xmlUrl='{site.feed_url()}' mine='kept'/></outline><outline xmlUrl='no'/>"
    done = await bring(reader, harness, f"<opml version='2.0'><body>{lines}</body></opml>".encode())
    assert (done["report"]["imported"], done["problems"]) == (1, 1)
    assert done["report"]["errors"][0]["url"] == "no"
    taken_out = (await reader.get("/api/v1/opml")).text
    assert 'mine="kept"' in taken_out
    assert 'text="F"' in taken_out


async def test_an_import_that_was_broken_off_goes_on_where_it_was(
    signed_in: SignIn, harness: RuntimeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = await signed_in("a@example.org")
    begun = (await reader.post("/api/v1/import", content=many(120))).json()
    monkeypatch.setattr(library_jobs, "PROGRESS_SECONDS", -1.0)
    job = await jobs.claim(harness.runtime, [library_jobs.JOB_KIND])
    assert job is not None
    import_batch, brought = library_jobs.import_batch, []

    async def break_off(*given: Any) -> Any:
        if len(brought) == 2:
            raise Unavailable("The machine is switched off.")
        brought.append(given)
        return await import_batch(*given)

    monkeypatch.setattr(library_jobs, "import_batch", break_off)
    with pytest.raises(Unavailable):
        await jobs.run(harness.runtime, job, HANDLERS[job.kind])
    half = (await reader.get(f"/api/v1/import/{begun['id']}")).json()
    assert (half["done"], half["total"], half["report"]["starred"]) == (100, 120, 100)

    monkeypatch.setattr(library_jobs, "import_batch", import_batch)
    harness.clock.ahead += 2 * jobs.LEASE
    await work(harness)
    done = (await reader.get(f"/api/v1/import/{begun['id']}")).json()
    assert (done["status"], done["done"], done["report"]["starred"]) == ("done", 120, 120)
    assert await harness.column("SELECT count(*) FROM starred") == [120]


async def test_what_was_not_written_whole_is_said_to_be_so(signed_in: SignIn, harness: RuntimeHarness) -> None:
    reader = await signed_in("a@example.org")
    begun = (await reader.post("/api/v1/import", content=many(120))).json()
    await harness.change("DELETE FROM job_pieces WHERE number = 2")
    await work(harness)
    failed = (await reader.get(f"/api/v1/import/{begun['id']}")).json()
    assert failed["status"] == "failed"
    assert "Upload it again" in failed["error"]


async def test_only_so_many_wait_at_once(signed_in: SignIn, by_cookie: SignIn, harness: RuntimeHarness) -> None:
    reader, other = await signed_in("a@example.org"), await signed_in("b@example.org")
    answers = [(await reader.post("/api/v1/import", content=STARRED)).status_code for _ in range(4)]
    assert answers == [202, 202, 202, 409]
    assert (await other.post("/api/v1/import", content=STARRED)).status_code == 202
    page = await by_cookie("a@example.org")
    page.headers.update(OWN_PAGE)
    refused = await page.post("/import", files={"file": ("starred.json", STARRED)})
    assert refused.status_code == 409
    assert "under way" in refused.text
    await work(harness)
    assert (await reader.post("/api/v1/import", content=STARRED)).status_code == 202


async def test_an_import_is_its_owner_s_alone(signed_in: SignIn, by_cookie: SignIn) -> None:
    reader, other = await signed_in("a@example.org"), await signed_in("b@example.org")
    begun = (await reader.post("/api/v1/import", content=STARRED)).json()
    assert (await other.get(f"/api/v1/import/{begun['id']}")).status_code == 404
    assert (await (await by_cookie("b@example.org")).get(f"/import/{begun['id']}")).status_code == 404
    assert (await reader.get("/api/v1/import/999")).status_code == 404


async def test_what_is_no_library_is_refused_in_words(signed_in: SignIn, harness: RuntimeHarness) -> None:
    reader = await signed_in("a@example.org")
    refused = await reader.post("/api/v1/import", content=b"Dear reader")
    assert refused.status_code == 400
    assert "no file that Reedbed knows" in refused.json()["error"]["message"]
    unreadable = await reader.post("/api/v1/import/miniflux", json={"url": "http://[", "token": "t"})
    assert unreadable.status_code == 400
    wrong = await reader.post("/api/v1/import/miniflux", json={"url": "ftp://x", "token": "t"})
    assert (wrong.status_code, wrong.json()["error"]["details"]) == (400, {"field": "url"})
    assert await harness.column("SELECT kind FROM jobs") == []


async def test_the_page_brings_a_file_in_and_reports(by_cookie: SignIn, harness: RuntimeHarness) -> None:
    page = await by_cookie("a@example.org")
    shown = (await page.get("/settings/data")).text
    assert 'action="/import"' in shown
    page.headers.update(OWN_PAGE)
    begun = await page.post("/import", files={"file": ("starred.json", STARRED)})
    assert begun.status_code == 303
    address = begun.headers["location"]
    waiting = (await page.get(address)).text
    assert f'hx-get="{address}"' in waiting
    assert "0 of 1" in waiting
    await work(harness)
    report = (await page.get(address)).text
    assert "1 entry starred" in report
    assert f'hx-get="{address}"' not in report


async def test_the_page_refuses_what_is_no_library(by_cookie: SignIn) -> None:
    page = await by_cookie("a@example.org")
    page.headers.update(OWN_PAGE)
    refused = await page.post("/import", files={"file": ("x.txt", b"Dear reader")})
    assert refused.status_code == 400
    assert "no file that Reedbed knows" in refused.text
    for endpoint in ("/import", "/opml", "/api/v1/opml"):
        empty = await page.post(endpoint, files={"file": ("x.opml", b"<opml><body/></opml>")})
        assert empty.status_code == 400, endpoint
        assert "lists no feeds" in empty.text
    nowhere = await page.post("/import/miniflux", data={"url": "http://127.0.0.1:9", "token": "t"})
    assert nowhere.status_code == 400
    assert "could not be reached" in nowhere.text
    for address in ("/import", "/import/miniflux"):
        assert (await page.get(address)).headers["location"] == "/add"
