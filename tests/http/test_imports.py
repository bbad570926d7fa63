"""The doors for moving in."""

import json
from pathlib import Path

from tests.clients import SignIn
from tests.crawling import Crawl
from tests.feedsite import FeedSite
from tests.http.web.forms import OWN_PAGE
from tests.services.test_libraries import freshrss

STARRED = json.dumps({"items": [{"title": "Kept", "canonicalUrl": "https://x.org/1"}]}).encode()


async def test_a_file_is_brought_in_through_the_api(
    signed_in: SignIn, site: FeedSite, crawl: Crawl, tmp_path: Path
) -> None:
    reader = await signed_in("a@example.org")
    file = freshrss(tmp_path / "db.sqlite", site.feed_url(), f"{site.url}/main/main-1").read_bytes()

    report = (await reader.post("/api/v1/import", files={"file": ("db.sqlite", file)})).json()

    assert (report["source"], report["imported"], report["starred"]) == ("FreshRSS", 1, 1)
    raw = await reader.post("/api/v1/import", content=STARRED)
    assert raw.json()["starred"] == 1


async def test_what_is_no_library_is_refused_in_words(signed_in: SignIn) -> None:
    reader = await signed_in("a@example.org")
    refused = await reader.post("/api/v1/import", content=b"Dear reader")
    assert refused.status_code == 400
    assert "no file that Reedbed knows" in refused.json()["error"]["message"]
    wrong = await reader.post("/api/v1/import/miniflux", json={"url": "ftp://x", "token": "t"})
    assert (wrong.status_code, wrong.json()["error"]["details"]) == (400, {"field": "url"})


async def test_the_page_brings_a_file_in_and_reports(by_cookie: SignIn) -> None:
    page = await by_cookie("a@example.org")
    shown = (await page.get("/settings/data")).text
    assert 'action="/import"' in shown
    page.headers.update(OWN_PAGE)
    report = await page.post("/import", files={"file": ("starred.json", STARRED)})
    assert report.status_code == 200
    assert "1 star" in report.text
    refused = await page.post("/import", files={"file": ("x.txt", b"Dear reader")})
    assert refused.status_code == 400
    assert "no file that Reedbed knows" in refused.text
    nowhere = await page.post("/import/miniflux", data={"url": "http://127.0.0.1:9", "token": "t"})
    assert nowhere.status_code == 400
    assert "could not be asked" in nowhere.text
