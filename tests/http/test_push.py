"""Web Push: asked for by a browser, sealed for it alone, sent by the worker."""

from collections.abc import AsyncIterator

import pytest

from reedbed.domain.push import PushAddress
from reedbed.domain.times import HOUR, MINUTE
from reedbed.ingest.webpush import seal
from reedbed.services.jobs import claim, run
from reedbed.worker.jobs import HANDLERS
from tests.clients import Client
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.pushservice import PushService, decoded, encoded


@pytest.fixture
async def service() -> AsyncIterator[PushService]:
    async with PushService() as service:
        yield service


def test_a_note_is_sealed_as_the_standard_shows_it() -> None:
    """The example of RFC 8291, section 5."""
    address = PushAddress(
        "https://push.example.org/",
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        "BTBZMqHH6r4Tts7J_aSIgg",
    )
    sealed = seal(
        b"When I grow up, I want to be a watermelon",
        address,
        own_key="yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw",
        salt=decoded("DGv6ra1nlYgDCS1FRnbzlw"),
    )
    assert encoded(sealed) == (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6"
        "PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )


async def test_a_feed_that_was_asked_for_is_told_once(
    reader: Client, harness: RuntimeHarness, site: FeedSite, service: PushService
) -> None:
    site.publish("Old", key="old")
    feed_id = await harness.follow(site.feed_url(), user_id=reader.user_id)
    await harness.change("UPDATE subscriptions SET notify = TRUE")
    await harness.check()
    assert (await reader.post("/api/v1/push/devices", json=service.subscription())).status_code == 201
    await work(harness)
    assert service.notes == []  # what was there before is no news

    site.publish("The reeds are back", key="a")
    await harness.check_anyway(feed_id)
    await work(harness)
    (note,) = service.notes
    assert note["body"] == "The reeds are back" and note["url"].startswith("/entry/")
    assert service.claims[0]["aud"] == service.origin
    (device,) = (await reader.get("/api/v1/push/devices")).json()["items"]
    assert device["reached_at"] is not None


async def test_what_was_read_meanwhile_is_no_news(
    reader: Client, harness: RuntimeHarness, site: FeedSite, service: PushService
) -> None:
    feed_id = await harness.follow(site.feed_url(), user_id=reader.user_id)
    await harness.change("UPDATE subscriptions SET notify = TRUE")
    site.publish("First", key="first")
    await harness.check()
    await reader.post("/api/v1/push/devices", json=service.subscription())
    site.publish("Read at once", key="a")
    await harness.check_anyway(feed_id)
    await reader.post("/api/v1/entries/mark-read", json={"view": "all"})
    await work(harness)
    assert service.notes == []


async def test_a_rule_and_a_test_reach_the_device(
    reader: Client, harness: RuntimeHarness, site: FeedSite, service: PushService
) -> None:
    feed_id = await harness.follow(site.feed_url(), user_id=reader.user_id)
    site.publish("First", key="first")
    await harness.check()
    device = (await reader.post("/api/v1/push/devices", json=service.subscription())).json()
    rule = {
        "name": "Herons",
        "conditions": [{"field": "title", "operator": "contains", "value": "heron"}],
        "actions": [{"action": "notify", "value": "push"}],
    }
    (await reader.post("/api/v1/rules", json=rule)).raise_for_status()
    site.publish("A heron on the roof", key="a")
    await harness.check_anyway(feed_id)
    await work(harness)
    assert [note["title"] for note in service.notes] == ["Herons"]
    assert (await reader.post(f"/api/v1/push/devices/{device['id']}/test")).status_code == 202
    await work(harness)
    assert service.notes[-1]["title"] == "Reedbed"


async def test_a_browser_that_has_left_is_forgotten(
    reader: Client, harness: RuntimeHarness, service: PushService
) -> None:
    device = (await reader.post("/api/v1/push/devices", json=service.subscription())).json()
    service.status = 410
    await reader.post(f"/api/v1/push/devices/{device['id']}/test")
    await work(harness)
    assert (await reader.get("/api/v1/push/devices")).json()["items"] == []


async def test_a_service_that_is_busy_is_asked_again(
    reader: Client, harness: RuntimeHarness, service: PushService
) -> None:
    device = (await reader.post("/api/v1/push/devices", json=service.subscription())).json()
    service.status = 503
    await reader.post(f"/api/v1/push/devices/{device['id']}/test")
    await work(harness)
    service.status = 201
    harness.clock.ahead += 2 * MINUTE
    await work(harness)
    assert len(service.notes) == 1
    service.status = 503
    await reader.post(f"/api/v1/push/devices/{device['id']}/test")
    harness.clock.ahead += 7 * HOUR
    await work(harness)
    assert await harness.column("SELECT state FROM jobs WHERE state = 'pending'") == []


async def test_the_same_browser_is_one_device_and_goes_with_its_session(
    reader: Client, harness: RuntimeHarness, service: PushService
) -> None:
    for _ in range(2):
        await reader.post("/api/v1/push/devices", json=service.subscription())
    assert len((await reader.get("/api/v1/push/devices")).json()["items"]) == 1
    await reader.post("/api/v1/auth/logout")
    assert await harness.column("SELECT id FROM push_devices") == []


@pytest.mark.parametrize("wrong", ["endpoint", "p256dh", "auth"])
async def test_what_no_browser_hands_out_is_refused(reader: Client, service: PushService, wrong: str) -> None:
    body = service.subscription()
    if wrong == "endpoint":
        body["endpoint"] = "ftp://push.example.org"
    else:
        body["keys"][wrong] = "AAAA"
    answer = await reader.post("/api/v1/push/devices", json=body)
    assert (answer.status_code, answer.json()["error"]["details"]["field"]) == (400, wrong)


async def test_the_key_is_made_once(reader: Client) -> None:
    first, second = [(await reader.get("/api/v1/push/key")).json()["key"] for _ in range(2)]
    assert first == second and len(first) == 87


async def work(harness: RuntimeHarness) -> None:
    while (job := await claim(harness.runtime, list(HANDLERS))) is not None:
        await run(harness.runtime, job, HANDLERS[job.kind])
