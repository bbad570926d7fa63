"""Webhooks through the API: made with a secret, changed, tried, read back, deleted."""

import orjson

from reedbed.services import jobs
from reedbed.worker.jobs import HANDLERS
from tests.clients import SignIn
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness

HOOKS = "/api/v1/webhooks"


async def test_a_webhook_is_made_with_a_secret_that_is_shown_once(signed_in: SignIn) -> None:
    reader = await signed_in()
    made = await reader.post(HOOKS, json={"url": "https://example.org/hook", "events": ["digest"]})
    assert made.status_code == 201
    assert made.headers["cache-control"] == "no-store"
    assert made.json()["secret"].startswith("whsec_")
    assert (made.json()["name"], made.json()["events"]) == ("example.org/hook", ["digest"])
    (listed,) = (await reader.get(HOOKS)).json()["items"]
    assert "secret" not in listed
    renewed = await reader.post(f"{HOOKS}/{listed['id']}/secret")
    assert renewed.json()["secret"] != made.json()["secret"]


async def test_a_webhook_is_changed_and_deleted(signed_in: SignIn) -> None:
    reader = await signed_in()
    made = (await reader.post(HOOKS, json={"url": "https://example.org/hook"})).json()
    assert made["events"] == ["new_entries", "rule_match", "digest"]
    address = f"{HOOKS}/{made['id']}"
    changed = await reader.patch(address, json={"name": "Mine", "events": [], "enabled": False})
    assert changed.json() | {"name": "Mine", "events": [], "enabled": False} == changed.json()
    assert changed.json()["url"] == "https://example.org/hook"
    assert (await reader.post(f"{address}/test")).status_code == 409
    assert (await reader.delete(address)).status_code == 204
    assert (await reader.get(address)).status_code == 404


async def test_wrong_wishes_are_refused(signed_in: SignIn) -> None:
    reader = await signed_in()
    await reader.post(HOOKS, json={"url": "https://example.org/hook"})
    for body, status in (
        ({"url": "ftp://example.org"}, 400),
        ({"url": "https://a:b@example.org/"}, 400),
        ({"url": "https://example.org/hook"}, 409),
        ({"url": "https://example.org/x", "events": ["sunrise"]}, 400),
        ({"url": "https://example.org/x", "name": "n" * 200}, 400),
        ({}, 400),
    ):
        answer = await reader.post(HOOKS, json=body)
        assert answer.status_code in (status, 422), (body, answer.text)


async def test_a_test_is_called_and_its_answer_is_in_the_log(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite
) -> None:
    reader = await signed_in()
    site.put("/hook", "thanks")
    made = (await reader.post(HOOKS, json={"url": f"{site.url}/hook"})).json()
    address = f"{HOOKS}/{made['id']}"
    for _ in range(3):
        assert (await reader.post(f"{address}/test")).status_code == 202
    await _run_jobs(harness)
    assert {orjson.loads(call.body)["event"] for call in site.seen_at("/hook")} == {"test"}
    first = (await reader.get(f"{address}/deliveries", params={"limit": 2})).json()
    rest = (await reader.get(f"{address}/deliveries", params={"cursor": first["next_cursor"]})).json()
    assert [len(first["items"]), len(rest["items"]), rest["next_cursor"]] == [2, 1, None]
    assert {(one["state"], one["tries"], one["status"]) for one in first["items"]} == {("delivered", 1, 200)}


async def test_nobody_sees_or_tries_the_webhooks_of_others(signed_in: SignIn) -> None:
    mine, other = await signed_in(), await signed_in("other@example.org")
    made = (await mine.post(HOOKS, json={"url": "https://example.org/hook"})).json()
    address = f"{HOOKS}/{made['id']}"
    for answer in (
        await other.get(address),
        await other.patch(address, json={"enabled": False}),
        await other.post(f"{address}/test"),
        await other.post(f"{address}/secret"),
        await other.get(f"{address}/deliveries"),
        await other.delete(address),
    ):
        assert answer.status_code == 404
    assert (await other.get(HOOKS)).json()["items"] == []


async def _run_jobs(harness: RuntimeHarness) -> None:
    while (job := await jobs.claim(harness.runtime, list(HANDLERS))) is not None:
        await jobs.run(harness.runtime, job, HANDLERS[job.kind])
