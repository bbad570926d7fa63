"""The queue, positions and recordings through the API, on both engines."""

from typing import Any

from reedbed.domain.times import DAY, HOUR, rfc3339
from reedbed.services.playback.media import MAX_STREAMS
from reedbed.store.retention import deletion
from tests.clients import Client, SignIn
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness

QUEUE = "/api/v1/playback/queue"
POSITIONS = "/api/v1/playback/positions"
RECORDINGS = "/api/v1/playback/recordings"


async def episodes(harness: RuntimeHarness, client: Client, site: FeedSite, *titles: str) -> list[str]:
    """Ids of the entries, in the order of the titles."""
    for title in titles:
        site.publish_episode(title)
    site.publish("Without sound")
    await harness.follow(site.feed_url(), user_id=client.user_id)
    await harness.check()
    rows = {title: str(id_) for id_, title in await harness.rows("SELECT id, title FROM entries")}
    return [rows[title] for title in titles]


def names(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [item["title"] for item in answer.json()["items"]]


async def test_a_recording_that_cannot_be_is_not_found(reader: Client, harness: RuntimeHarness, site: FeedSite) -> None:
    (one,) = await episodes(harness, reader, site, "One")
    for name in (f"{one}:{'9' * 4400}", f"{one}:{2**40}", f"{'9' * 4400}:0", "x"):
        for path, value in (("queue", "now"), ("played", "true")):
            answer = await reader.post(f"/playback/{path}", data={"recording": name, "value": value})
            assert answer.status_code < 500, name


async def test_the_queue_is_kept_in_order(reader: Client, harness: RuntimeHarness, site: FeedSite) -> None:
    one, two, three = await episodes(harness, reader, site, "One", "Two", "Three")
    await reader.post(QUEUE, json={"entry_id": one})
    await reader.post(QUEUE, json={"entry_id": two})
    assert names(await reader.post(QUEUE, json={"entry_id": three, "place": "next"})) == ["One", "Three", "Two"]
    assert names(await reader.post(QUEUE, json={"entry_id": two, "place": "now"})) == ["Two", "One", "Three"]
    assert names(await reader.delete(f"{QUEUE}/{one}")) == ["Two", "Three"]
    assert (await reader.delete(f"{QUEUE}/{one}")).status_code == 404
    undone = {"items": [{"entry_id": id_} for id_ in (two, one, three, two)]}
    assert names(await reader.put(QUEUE, json=undone)) == ["Two", "One", "Three"]
    assert names(await reader.get(QUEUE)) == ["Two", "One", "Three"]
    assert names(await reader.put(QUEUE, json={"items": []})) == []


async def test_other_devices_hear_of_the_queue_and_of_positions(
    reader: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    (one,) = await episodes(harness, reader, site, "One")
    await reader.post(f"{QUEUE}?source=desk", json={"entry_id": one})
    await reader.put(f"{POSITIONS}/{one}?source=desk", json={"position": 61, "total": 1800})
    heard = [event.data for event in harness.heard("state_changed") if event.user_id == reader.user_id]
    assert heard[-2] == {"what": "queue", "source": "desk"}
    assert heard[-1] == {
        "what": "position",
        "entry_id": one,
        "number": 0,
        "position": 61,
        "total": 1800,
        "done": False,
        "source": "desk",
    }


async def test_positions_are_kept_to_the_second(reader: Client, harness: RuntimeHarness, site: FeedSite) -> None:
    one, two = await episodes(harness, reader, site, "One", "Two")
    stored = (await reader.put(f"{POSITIONS}/{one}", json={"position": 754, "total": 1800})).json()
    assert (stored["position"], stored["resume_at"], stored["done"], stored["applied"]) == (754, 751, False, True)
    recording = (await reader.get(f"{RECORDINGS}/{one}")).json()
    assert recording["position"]["position"] == 754
    ended = (await reader.put(f"{POSITIONS}/{two}", json={"position": 1790, "total": 1800})).json()
    assert (ended["done"], ended["resume_at"]) == (True, 0)
    listed = (await reader.get(POSITIONS)).json()["items"]
    assert [(item["entry_id"], item["position"]) for item in listed] == [(one, 754), (two, 1790)]
    assert (await reader.delete(f"{POSITIONS}/{one}")).status_code == 204
    assert (await reader.get(f"{RECORDINGS}/{one}")).json()["position"] is None


async def test_only_what_was_stored_since_is_listed(reader: Client, harness: RuntimeHarness, site: FeedSite) -> None:
    one, two = await episodes(harness, reader, site, "One", "Two")
    await reader.put(f"{POSITIONS}/{one}", json={"position": 10})
    harness.clock.ahead += HOUR
    since = rfc3339(harness.runtime.now())
    await reader.put(f"{POSITIONS}/{two}", json={"position": 20})
    listed = (await reader.get(POSITIONS, params={"since": since})).json()["items"]
    assert [item["entry_id"] for item in listed] == [two]


async def test_a_wrong_clock_never_beats_a_newer_position(
    reader: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    (one,) = await episodes(harness, reader, site, "One")
    now = harness.runtime.now()
    await reader.put(f"{POSITIONS}/{one}", json={"position": 600, "total": 1800})
    future = {"position": 5, "played_at": rfc3339(now + DAY)}
    refused = (await reader.put(f"{POSITIONS}/{one}", json=future)).json()
    assert (refused["applied"], refused["position"]) == (False, 600)
    past = {"position": 5, "age_ms": HOUR}
    assert (await reader.put(f"{POSITIONS}/{one}", json=past)).json()["applied"] is False
    harness.clock.ahead += HOUR
    assert (await reader.put(f"{POSITIONS}/{one}", json={"position": 700, "age_ms": 5})).json()["applied"] is True


async def test_played_is_not_the_same_as_read(reader: Client, harness: RuntimeHarness, site: FeedSite) -> None:
    one, two, _ = await episodes(harness, reader, site, "One", "Two", "Three")
    await reader.put(f"{POSITIONS}/{one}", json={"position": 1800, "total": 1800, "done": True})
    await reader.put(f"{POSITIONS}/{two}", json={"position": 30, "total": 1800})
    assert names(await reader.get(RECORDINGS)) == ["Three", "Two", "One"]
    assert names(await reader.get(RECORDINGS, params={"show": "unplayed"})) == ["Three", "Two"]
    assert names(await reader.get(RECORDINGS, params={"show": "started"})) == ["Two"]
    assert names(await reader.get(RECORDINGS, params={"show": "played"})) == ["One"]
    assert len((await reader.get("/api/v1/entries?view=unread")).json()["items"]) == 4
    page = (await reader.get(RECORDINGS, params={"limit": 2})).json()
    assert [item["title"] for item in page["items"]] == ["Three", "Two"]
    assert names(await reader.get(RECORDINGS, params={"limit": 2, "cursor": page["next_cursor"]})) == ["One"]


async def test_nobody_queues_or_plays_what_is_anothers(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite
) -> None:
    alice, bob = await signed_in("alice@example.org"), await signed_in("bob@example.org")
    (one,) = await episodes(harness, alice, site, "One")
    assert (await bob.post(QUEUE, json={"entry_id": one})).status_code == 404
    assert (await bob.put(f"{POSITIONS}/{one}", json={"position": 1})).status_code == 404
    assert (await bob.get(f"{RECORDINGS}/{one}/media")).status_code == 404
    assert names(await bob.put(QUEUE, json={"items": [{"entry_id": one}]})) == []
    assert names(await bob.get(RECORDINGS)) == []


async def test_a_file_over_plain_http_comes_through_this_server(
    reader: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    site.put("files/One.mp3", bytes(range(256)) * 1000, content_type="audio/mpeg")
    (one,) = await episodes(harness, reader, site, "One")
    recording = (await reader.get(f"{RECORDINGS}/{one}")).json()
    assert recording["play_url"] == f"{RECORDINGS}/{one}/media?number=0"
    answer = await reader.get(recording["play_url"], headers={"Range": "bytes=0-"})
    assert answer.content == bytes(range(256)) * 1000
    assert answer.headers["content-type"] == "audio/mpeg"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert site.seen_at("/files/One.mp3")[0].headers["Range"] == "bytes=0-"
    part = await reader.get(recording["play_url"], headers={"Range": "bytes=1000-1255"})
    assert (part.status_code, part.headers["content-range"]) == (206, "bytes 1000-1255/256000")
    assert part.content == (bytes(range(256)) * 5)[1000:1256]
    assert harness.runtime.metrics.media_by_user == {}


async def test_what_is_not_media_or_too_much_is_refused(
    reader: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    site.put("files/One.mp3", "<h1>Log in</h1>")
    site.publish_episode("Inside", url="http://169.254.169.254/latest.mp3")
    site.publish_episode("Secure", url="https://example.org/a.mp3")
    (one,) = await episodes(harness, reader, site, "One")
    ids = dict(await harness.rows("SELECT title, id FROM entries"))
    assert (await reader.get(f"{RECORDINGS}/{one}/media")).status_code == 404
    assert (await reader.get(f"{RECORDINGS}/{ids['Inside']}/media")).status_code == 503
    assert (await reader.get(f"{RECORDINGS}/{ids['Secure']}/media")).status_code == 404
    harness.runtime.metrics.media_by_user[reader.user_id] = MAX_STREAMS
    assert (await reader.get(f"{RECORDINGS}/{one}/media")).status_code == 429


async def test_a_changed_file_keeps_its_position(reader: Client, harness: RuntimeHarness, site: FeedSite) -> None:
    site.publish_episode("One", key="one", url="https://example.org/first.mp3", content="<p>First</p>")
    feed = await harness.follow(site.feed_url(), user_id=reader.user_id)
    await harness.check()
    (one,) = await harness.column("SELECT id FROM entries")
    await reader.put(f"{POSITIONS}/{one}", json={"position": 99})
    site.publish_episode("One", key="one", url="https://example.org/second.mp3", content="<p>Second</p>")
    await harness.check_anyway(feed)
    recording = (await reader.get(f"{RECORDINGS}/{one}")).json()
    assert (recording["url"], recording["position"]["position"]) == ("https://example.org/second.mp3", 99)


async def test_what_is_queued_is_kept_when_entries_are_deleted(
    reader: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    (one, _) = await episodes(harness, reader, site, "One", "Two")
    await reader.post(QUEUE, json={"entry_id": one})
    async with harness.runtime.db.read() as tx:
        aged = await deletion.aged(tx, "any", harness.runtime.now() + DAY, deletion.START, limit=10)
    assert int(one) not in [id_ for _, id_ in aged] and len(aged) == 2


PODLOVE = (
    '<psc:chapters version="1.2"><psc:chapter start="00:00:00.000" title="A bench"/>'
    '<psc:chapter start="04:12" title="Gas light"/></psc:chapters>'
)


async def test_chapters_of_the_feed_and_of_a_file(reader: Client, harness: RuntimeHarness, site: FeedSite) -> None:
    site.put("chapters.json", '{"chapters": [{"startTime": 7.5, "title": "One"}]}', content_type="application/json")
    link = f'<podcast:chapters url="{site.url}/chapters.json" type="application/json+chapters"/>'
    site.publish_episode("Inline", more=PODLOVE)
    site.publish_episode("Linked", more=link)
    await harness.follow(site.feed_url(), user_id=reader.user_id)
    await harness.check()
    ids = {title: id_ for id_, title in await harness.rows("SELECT id, title FROM entries")}

    inline = (await reader.get(f"{RECORDINGS}/{ids['Inline']}/chapters")).json()["items"]
    assert inline == [{"start": 0.0, "title": "A bench"}, {"start": 252.0, "title": "Gas light"}]
    for _ in range(2):
        linked = (await reader.get(f"{RECORDINGS}/{ids['Linked']}/chapters")).json()["items"]
        assert linked == [{"start": 7.5, "title": "One"}]
    assert len(site.seen_at("/chapters.json")) == 1


async def test_a_transcript_is_fetched_when_it_is_asked_for(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite
) -> None:
    reader, other = await signed_in(), await signed_in("other@example.org")
    site.put("t.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n<b>Ninety</b> lamps", content_type="text/vtt")
    links = "".join(
        f'<podcast:transcript url="{url}" type="{kind}" language="en"/>'
        for url, kind in ((f"{site.url}/t.html", "text/html"), (f"{site.url}/t.vtt", "text/vtt"))
    )
    site.publish_episode("One", more=links)
    site.publish_episode("Inside", more='<podcast:transcript url="http://10.0.0.1/t.vtt" type="text/vtt"/>')
    await harness.follow(site.feed_url(), user_id=reader.user_id)
    await harness.check()
    ids = {title: id_ for id_, title in await harness.rows("SELECT id, title FROM entries")}
    assert site.seen_at("/t.vtt") == []

    transcript = (await reader.get(f"{RECORDINGS}/{ids['One']}/transcript")).json()
    assert transcript == {"items": [{"start": 1.0, "text": "Ninety lamps", "speaker": ""}], "language": "en"}
    assert (await reader.get(f"{RECORDINGS}/{ids['Inside']}/transcript")).json()["items"] == []
    assert (await other.get(f"{RECORDINGS}/{ids['One']}/transcript")).status_code == 404
