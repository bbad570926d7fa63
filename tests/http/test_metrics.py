"""What Prometheus reads, and who may."""

import re
from dataclasses import replace

from reedbed.http.middleware import MetricsMiddleware
from reedbed.roles.app import create_app
from reedbed.services.runtime import HttpPolicy, Metrics
from tests.clients import new_client
from tests.feedsite import FeedSite

LINE = re.compile(r'^[a-z_]+(\{([a-z]+="[^"\n]*",?)+\})? -?[0-9.e+-]+$')
TOKEN = "t" * 32
NAMED = (
    "feed_fetch_total",
    "feed_fetch_duration_seconds",
    "feed_fetch_entries_count",
    "http_request_total",
    "http_request_duration_seconds",
    "job_total",
    "job_duration_seconds",
    "job_queue_depth",
    "sse_connections_active",
    "sse_events_sent_total",
    "active_users_daily",
    "entries_fetched_total",
    "subscriptions_created_total",
)


async def test_every_line_is_in_the_form_of_prometheus_and_every_name_is_there(client):
    await client.get("/healthz")
    answer = await client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert [line for line in answer.text.splitlines() if not line.startswith("#") and not LINE.match(line)] == []
    for name in NAMED:
        assert f"# TYPE {name} " in answer.text


async def test_requests_are_counted_by_route_and_never_by_what_callers_write(client, signed_in):
    reader = await signed_in()
    for entry in ("1", "2", "3"):
        await reader.get(f"/api/v1/entries/{entry}")
    for address in ("/nowhere", "/nowhere/else", "/api/v1/none"):
        await client.get(address)
    text = (await client.get("/metrics")).text
    assert 'http_request_total{method="GET",path="/api/v1/entries/{entry_id}",status="404"} 3' in text
    assert 'http_request_total{method="GET",path="unknown",status="404"} 3' in text
    assert 'http_request_duration_seconds_bucket{method="GET",path="/api/v1/entries/{entry_id}",le="+Inf"} 3' in text
    assert "nowhere" not in text


async def test_checks_are_counted_by_how_they_ended(client, harness, site: FeedSite):
    for key in ("a", "b", "c"):
        site.publish(key)
    await harness.follow(site.feed_url())
    await harness.follow(f"{site.url}/missing")
    await harness.check()
    text = (await client.get("/metrics")).text
    assert 'feed_fetch_total{status="success"} 1' in text
    assert 'feed_fetch_total{status="error"} 1' in text
    assert "entries_fetched_total 3" in text
    assert "feed_fetch_duration_seconds_count 2" in text


async def test_strangers_and_whoever_a_proxy_speaks_for_are_refused(client):
    assert (await client.get("/metrics", headers={"X-Forwarded-For": "203.0.113.9"})).status_code == 403
    assert (await client.get("/metrics", headers={"Authorization": "Bearer "})).status_code == 200
    stranger = {"X-Real-IP": "203.0.113.9", "Authorization": "Bearer "}
    assert (await client.get("/metrics", headers=stranger)).status_code == 403


async def test_the_token_opens_it_from_anywhere(runtime):
    app = create_app(replace(runtime, http=HttpPolicy(metrics_token=TOKEN)))
    async with new_client(app) as client:
        away = {"X-Forwarded-For": "203.0.113.9"}
        wrong = await client.get("/metrics", headers={**away, "Authorization": f"Bearer {TOKEN[1:]}"})
        right = await client.get("/metrics", headers={**away, "Authorization": f"Bearer {TOKEN}"})
    assert (wrong.status_code, right.status_code) == (403, 200)


async def test_every_answer_names_its_request(client):
    first, second = await client.get("/healthz"), await client.get("/api/v1/none")
    assert re.fullmatch("[0-9a-f]{16}", first.headers["x-request-id"])
    assert first.headers["x-request-id"] != second.headers["x-request-id"]


async def test_nobody_is_waited_for_once_answered(client, runtime):
    for path in ("/healthz", "/none", "/login"):
        await client.get(path)
        assert runtime.metrics.requests_in_progress == 0


async def test_nobody_is_waited_for_once_a_stream_has_begun():
    metrics, seen = Metrics(), list[int]()

    async def stream(scope, receive, send):
        seen.append(metrics.requests_in_progress)
        kind = (b"content-type", b"text/event-stream")
        await send({"type": "http.response.start", "status": 200, "headers": [kind]})
        seen.append(metrics.requests_in_progress)

    async def nobody(message=None):
        return {"type": "http.disconnect"}

    await MetricsMiddleware(stream, metrics)({"type": "http", "method": "GET"}, nobody, nobody)
    assert [*seen, metrics.requests_in_progress] == [1, 0, 0]
