"""Reading aloud over HTTP: pages, API, the sound in ranges, and the podcast for apps that only know its address."""

import re
from dataclasses import replace
from typing import Any

import pytest
from lxml import etree

from reedbed.ai.speech import Sound
from reedbed.domain.digests import DigestScope, DigestText, Paragraph, Sentence, Source
from reedbed.roles.app import Application
from reedbed.services import jobs
from reedbed.services.runtime import SpeechPolicy
from reedbed.store import digests, users
from reedbed.worker.jobs import HANDLERS
from tests.clients import Client, SignIn
from tests.http.web.forms import HTMX, OWN_PAGE
from tests.services.writing import Desk

API = "/api/v1/listening"


class Hum:
    """Speaks without a program: a tone whose length is that of the text."""

    name = "hum"
    is_remote = False

    async def speak(self, text: str, language: str, voice: str) -> Sound:
        return Sound(8_000, b"\1\2" * (len(text) * 400))

    async def close(self) -> None:
        """Nothing to close."""


@pytest.fixture
def spoken_desk(desk: Desk, app: Application) -> Desk:
    _use(desk, app)
    return desk


def _use(desk: Desk, app: Application, **limits: int) -> None:
    desk.harness.runtime = replace(desk.runtime, speech=SpeechPolicy(Hum(), **limits))
    app.state.runtime = desk.runtime


@pytest.fixture
def listener(spoken_desk: Desk, reader: Client) -> Client:
    """The owner of the desk, who has a speaker."""
    assert spoken_desk.user.id == reader.user_id
    return reader


async def _work(desk: Desk) -> None:
    while (job := await jobs.claim(desk.runtime, ["listening"])) is not None:
        await jobs.run(desk.runtime, job, HANDLERS[job.kind])


async def _spoken(desk: Desk, listener: Client) -> dict[str, Any]:
    entry_id = await desk.entry("The ferry is late again. It will be mended in May.", title="The ferry", more="")
    answer = await listener.post(API, json={"kind": "entry", "id": str(entry_id)})
    assert (answer.status_code, answer.json()["status"]) == (202, "pending")
    await _work(desk)
    spoken = (await listener.get(f"{API}/{answer.json()['id']}")).json()
    assert (spoken["status"], spoken["title"], spoken["source_id"]) == ("ready", "The ferry", str(entry_id))
    return spoken


async def _podcast(listener: Client, name: str = "Mine") -> str:
    answer = await listener.post(f"{API}/podcast", json={"name": name})
    assert answer.status_code == 201
    url = answer.json()["url"]
    assert url.endswith("/feed.rss")
    return url


async def test_an_article_is_asked_for_listed_and_played(spoken_desk: Desk, listener: Client) -> None:
    spoken = await _spoken(spoken_desk, listener)
    listed = (await listener.get(API)).json()["items"]
    assert [one["id"] for one in listed] == [spoken["id"]]
    answer = await listener.get(f"{API}/{spoken['id']}/sound")
    assert answer.status_code == 200 and answer.headers["content-type"] == spoken["media_type"]
    assert len(answer.content) == spoken["length"] == int(answer.headers["content-length"])
    assert answer.headers["accept-ranges"] == "bytes" and "private" in answer.headers["cache-control"]
    transcript = await listener.get(f"{API}/{spoken['id']}/transcript.vtt")
    assert transcript.text.startswith("WEBVTT\n\n00:00:00.000 --> ") and "mended in May" in transcript.text
    progress = [event for event in spoken_desk.harness.bus.sent if event.topic == "progress"]
    assert (progress[-1].user_id, progress[-1].data["status"]) == (listener.user_id, "ready")
    assert progress[-1].data["entry_id"] == spoken["entry_id"] and progress[-1].data["title"] == "The ferry"


async def test_the_sound_is_sent_in_ranges_and_known_by_its_etag(spoken_desk: Desk, listener: Client) -> None:
    spoken = await _spoken(spoken_desk, listener)
    url, length = f"{API}/{spoken['id']}/sound", spoken["length"]
    whole = await listener.get(url)
    tag = whole.headers["etag"]
    for wanted, first, last in (
        ("bytes=0-", 0, length - 1),
        ("bytes=10-19", 10, 19),
        ("bytes=-5", length - 5, length - 1),
        (f"bytes=100-{length * 2}", 100, length - 1),
        (f"bytes=-{length * 2}", 0, length - 1),
    ):
        answer = await listener.get(url, headers={"Range": wanted})
        assert (answer.status_code, answer.content) == (206, whole.content[first : last + 1]), wanted
        assert answer.headers["content-range"] == f"bytes {first}-{last}/{length}"
        assert int(answer.headers["content-length"]) == last - first + 1
    for wanted in ("bytes=19-10", "bytes=-", "bytes=0-1,4-5", "herons=1-2", "bytes=x-y"):
        answer = await listener.get(url, headers={"Range": wanted})
        assert (answer.status_code, len(answer.content)) == (200, length), wanted
    for wanted in (f"bytes={length}-", "bytes=-0", f"bytes={10**14}-"):
        answer = await listener.get(url, headers={"Range": wanted})
        assert (answer.status_code, answer.content) == (416, b""), wanted
        assert answer.headers["content-range"] == f"bytes */{length}"
    assert (await listener.get(url, headers={"If-None-Match": tag})).status_code == 304
    assert (await listener.get(url, headers={"If-None-Match": '"other"'})).status_code == 200
    part = {"Range": "bytes=10-19"}
    assert (await listener.get(url, headers={**part, "If-Range": tag})).status_code == 206
    assert (await listener.get(url, headers={**part, "If-Range": '"other"'})).content == whole.content


async def test_strangers_and_others_hear_nothing(
    spoken_desk: Desk, listener: Client, signed_in: SignIn, client: Client
) -> None:
    spoken = await _spoken(spoken_desk, listener)
    other = await signed_in("other@example.org")
    for path in ("", "/sound", "/transcript.vtt"):
        assert (await client.get(f"{API}/{spoken['id']}{path}")).status_code == 401
        assert (await other.get(f"{API}/{spoken['id']}{path}")).status_code == 404
        assert (await listener.get(f"{API}/999999{path}")).status_code == 404
    assert (await client.get(API)).status_code == 401
    assert (await other.get(API)).json()["items"] == []
    for kind in ("entry", "digest"):
        asked = {"kind": kind, "id": spoken["source_id"]}
        assert (await other.post(API, json=asked)).status_code == 404
        assert (await client.post(API, json=asked)).status_code == 401
        assert (await listener.post(API, json={"kind": kind, "id": "999999"})).status_code == 404
    assert (await listener.post(API, json={"kind": "feed", "id": "1"})).status_code == 400


async def test_the_podcast_is_whole_for_apps_without_an_account(
    spoken_desk: Desk, listener: Client, client: Client
) -> None:
    spoken = await _spoken(spoken_desk, listener)
    answer = await client.get(await _podcast(listener))
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("application/rss+xml")
    assert "noindex" in answer.headers["x-robots-tag"]
    item = etree.fromstring(answer.content).find("channel/item")
    assert item is not None and item.findtext("title") == "The ferry"
    enclosure = item.find("enclosure")
    assert enclosure is not None
    sound = await client.get(enclosure.get("url") or "")
    assert len(sound.content) == int(enclosure.get("length") or 0) == spoken["length"]
    assert sound.headers["content-type"] == enclosure.get("type")
    part = await client.get(enclosure.get("url") or "", headers={"Range": "bytes=0-99"})
    assert (part.status_code, part.content) == (206, sound.content[:100])
    named = {etree.QName(one).localname: one.get("url") or "" for one in item if one.get("url")}
    chapters = (await client.get(named["chapters"])).json()
    assert chapters["chapters"][0]["title"] == "The ferry" and chapters["chapters"][0]["startTime"] == 0
    assert (await client.get(named["transcript"])).text.startswith("WEBVTT")


async def test_a_podcast_shows_only_what_is_its_owners(
    spoken_desk: Desk, listener: Client, signed_in: SignIn, client: Client
) -> None:
    spoken = await _spoken(spoken_desk, listener)
    other = await signed_in("other@example.org")
    theirs = await _podcast(other)
    assert b"The ferry" not in (await client.get(theirs)).content
    for file in ("sound", "chapters.json", "transcript.vtt"):
        address = theirs.replace("feed.rss", f"{spoken['id']}/{file}")
        assert (await client.get(address)).status_code == 404
        assert (await client.get(f"/podcast/wrong/{spoken['id']}/{file}")).status_code == 404
    assert (await client.get("/podcast/wrong/feed.rss")).status_code == 404
    made = (await listener.post("/api/v1/published-feeds", json={"name": "All", "view": "all"})).json()
    token = made["atom_url"].rpartition("/")[2].removesuffix(".atom")
    assert (await client.get(f"/podcast/{token}/feed.rss")).status_code == 404
    assert (await client.get(f"/podcast/{token}/{spoken['id']}/sound")).status_code == 404


async def test_a_revoked_address_and_a_disabled_owner_are_silent(
    spoken_desk: Desk, listener: Client, client: Client
) -> None:
    spoken = await _spoken(spoken_desk, listener)
    url = await _podcast(listener)
    sound = url.replace("feed.rss", f"{spoken['id']}/sound")
    (published,) = (await listener.get("/api/v1/published-feeds")).json()["items"]
    renewed = (await listener.post(f"/api/v1/published-feeds/{published['id']}/renew")).json()
    assert published["view"] == renewed["view"] == "spoken"
    assert [(await client.get(one)).status_code for one in (url, sound)] == [404, 404]
    url = await _podcast(listener)
    assert (await client.get(url)).status_code == 200
    assert len((await listener.get("/api/v1/published-feeds")).json()["items"]) == 1
    async with spoken_desk.runtime.db.write() as tx:
        await users.set_disabled(tx, listener.user_id, spoken_desk.runtime.now())
    assert (await client.get(url)).status_code == 404


async def test_an_address_is_not_asked_too_often(listener: Client, client: Client) -> None:
    url = await _podcast(listener)
    answers = [(await client.get(url)).status_code for _ in range(40)]
    assert answers[0] == 200 and answers[-1] == 429


async def test_a_day_has_a_limit_and_the_page_says_that_it_failed(
    spoken_desk: Desk, listener: Client, app: Application
) -> None:
    _use(spoken_desk, app, daily_characters=500)
    entry_id = await spoken_desk.entry("This is a sentence of some words. " * 40, more="")
    answer = await listener.post(API, json={"kind": "entry", "id": str(entry_id)})
    await _work(spoken_desk)
    failed = (await listener.get(f"{API}/{answer.json()['id']}")).json()
    assert failed["status"] == "failed" and "today" in failed["error"]
    assert (await listener.get(f"{API}/{failed['id']}/sound")).status_code == 404
    assert spoken_desk.harness.bus.sent[-1].data["status"] == "failed"


async def test_a_server_without_a_voice_offers_nothing(desk: Desk, reader: Client, by_cookie: SignIn) -> None:
    entry_id = await desk.entry()
    answer = await reader.post(API, json={"kind": "entry", "id": str(entry_id)})
    assert answer.status_code == 409
    browser = await by_cookie("reader@example.org")
    assert "/listen" not in (await browser.get(f"/entry/{entry_id}")).text
    assert "podcast" not in (await browser.get("/settings/reading")).text.lower()
    answer = await browser.post(f"/entry/{entry_id}/listen", headers=OWN_PAGE, follow_redirects=True)
    assert "This server cannot read aloud" in answer.text


# --- Pages


async def test_a_page_asks_and_says_how_it_goes_on(spoken_desk: Desk, listener: Client, by_cookie: SignIn) -> None:
    browser = await by_cookie("reader@example.org")
    entry_id = await spoken_desk.entry("The ferry is late again.", title="The ferry", more="")
    assert f'action="/entry/{entry_id}/listen"' in (await browser.get(f"/entry/{entry_id}")).text
    answer = await browser.post(f"/entry/{entry_id}/listen", headers=HTMX)
    assert answer.status_code == 200 and "It is being read aloud." in answer.text
    await _work(spoken_desk)
    answer = await browser.post(f"/entry/{entry_id}/listen", headers=HTMX)
    (spoken,) = (await listener.get(API)).json()["items"]
    assert (answer.status_code, answer.headers["reedbed-recording"]) == (204, spoken["entry_id"])
    assert (await listener.get("/api/v1/playback/queue")).json()["items"] == []
    # Without scripts it goes into the queue.
    answer = await browser.post(f"/entry/{entry_id}/listen", headers=OWN_PAGE, follow_redirects=True)
    assert answer.url.path == "/recordings" and "The ferry" in answer.text
    (queued,) = (await listener.get("/api/v1/playback/queue")).json()["items"]
    assert queued["play_url"] == f"{API}/{spoken['id']}/sound"
    assert (await browser.post("/entry/999999/listen", headers=HTMX)).status_code == 404


async def test_a_digest_is_read_aloud_from_its_page(spoken_desk: Desk, listener: Client, by_cookie: SignIn) -> None:
    browser, now = await by_cookie("reader@example.org"), spoken_desk.runtime.now()
    text = DigestText(
        (Paragraph("The day", (Sentence("The council has voted.", (1,), "en"),)),),
        (Source(1, "The vote", "The Courier", now, "en"),),
    )
    async with spoken_desk.runtime.db.write() as tx:
        digest_id = await digests.add(
            tx, listener.user_id, DigestScope(), model="", language="en", since=now - 1, now=now
        )
        await digests.finish(tx, digest_id, text, model="extract", language="en", entries=1, now=now)
    shown = (await browser.get(f"/digests/{digest_id}")).text
    assert f'action="/digests/{digest_id}/listen"' in shown and "Listen · 1 min" in shown
    answer = await browser.post(f"/digests/{digest_id}/listen", headers=OWN_PAGE, follow_redirects=True)
    assert answer.url.path == f"/digests/{digest_id}" and "It is being read aloud." in answer.text
    await _work(spoken_desk)
    (spoken,) = (await listener.get(API)).json()["items"]
    assert (spoken["kind"], spoken["status"]) == ("digest", "ready")
    assert [chapter["title"] for chapter in spoken["chapters"]] == ["The vote"]


async def test_the_podcast_has_a_place_of_its_own(
    spoken_desk: Desk, by_cookie: SignIn, client: Client, listener: Client
) -> None:
    browser = await by_cookie("reader@example.org")
    shown = (await browser.get("/settings/reading")).text
    assert "Make an address" in shown and "/podcast/" not in shown
    made = (await browser.post("/settings/podcast", headers=OWN_PAGE)).text
    (url,) = set(re.findall(r"http://[^\s\"<]+/podcast/[^\s\"<]+/feed\.rss", made))
    assert f'data-copy="{url}"' in made and "not read yet" in made
    assert (await client.get(url)).status_code == 200
    shown = (await browser.get("/settings/reading")).text
    assert url not in shown and "Last read" in shown and "New address" in shown
    renewed = (await browser.post("/settings/podcast", headers=OWN_PAGE)).text
    (newer,) = set(re.findall(r"http://[^\s\"<]+/podcast/[^\s\"<]+/feed\.rss", renewed))
    assert [(await client.get(one)).status_code for one in (url, newer)] == [404, 200]
    await browser.post("/settings/podcast/delete", headers=OWN_PAGE)
    assert (await client.get(newer)).status_code == 404
    assert "Make an address" in (await browser.get("/settings/reading")).text
    assert (await browser.post("/settings/podcast/delete", headers=OWN_PAGE)).status_code == 303


async def test_published_feeds_name_no_empty_address_of_the_podcast(
    spoken_desk: Desk, by_cookie: SignIn, client: Client, listener: Client
) -> None:
    browser = await by_cookie("reader@example.org")
    token = (await _podcast(listener)).split("/")[-2]
    for form in ("atom", "json"):
        assert (await client.get(f"/published/{token}.{form}")).status_code == 404
    (published,) = (await listener.get("/api/v1/published-feeds")).json()["items"]
    renewed = (await browser.post(f"/settings/published/{published['id']}/renew", headers=OWN_PAGE)).text
    assert (
        "/podcast/" in renewed
        and ".atom" not in renewed
        and "/published/" not in re.sub("/settings/published", "", renewed)
    )
    answer = (await listener.post(f"/api/v1/published-feeds/{published['id']}/renew")).json()
    assert (answer["atom_url"], answer["json_url"]) == ("", "")
    assert (await client.get(answer["podcast_url"])).status_code == 200
