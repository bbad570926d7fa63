"""The operator's pages."""

import re
from dataclasses import replace
from pathlib import Path

import reedbed
from reedbed.domain.instance import BackupPolicy
from reedbed.roles.app import create_app
from reedbed.services.jobs import acquire, enqueue
from reedbed.services.retention import LEASE
from reedbed.store import jobs
from reedbed.web.instance import JOB_LABELS
from reedbed.worker.jobs import HANDLERS
from tests.clients import new_client
from tests.feedsite import FeedSite


async def test_the_overview_tells_of_checks_processes_and_work_under_way(harness, runtime, by_cookie, site: FeedSite):
    site.publish("One")
    feed_id = await harness.follow(site.feed_url())
    await harness.check()
    await harness.check_anyway(feed_id)
    job_id = await enqueue(runtime, "opml", {})
    await harness.change("UPDATE jobs SET state = 'running', progress = 0.4 WHERE id = :id", id=job_id)
    async with runtime.db.write() as tx:
        await jobs.record_heartbeat(tx, "house:1", role="worker", version="1", started_at=runtime.now())
    page = (await (await by_cookie("o@example.org", role="owner")).get("/admin")).text
    assert "50.0\u00a0% of all fetches found nothing changed." in page
    assert "house:1" in page and "Slowest feeds" in page
    assert 'max="100" value="40"' in page
    assert "/admin/ai" in page and "/admin/database" in page and "/admin/people" in page


async def test_jobs_and_leases_have_names_for_people(runtime, by_cookie):
    for kind in HANDLERS:
        await enqueue(runtime, kind, {})
    started = r'(?:_every\([A-Z_]+, runtime, stop, |run_exclusively\(runtime, )"([\w ]+)"'
    leases = re.findall(started, _worker_sources())
    assert {"sweeping", "stories", "hubs", "health"} <= set(leases)
    for name in (*leases, LEASE):
        assert await acquire(runtime, name)
    page = (await (await by_cookie("o@example.org", role="owner")).get("/admin")).text
    for name in (*HANDLERS, *leases, LEASE):
        assert JOB_LABELS[name] in page
    assert "digest_mail" not in page and "saved_page" not in page


def _worker_sources() -> str:
    sources = Path(reedbed.__file__).parent
    files = [file for part in ("worker", "services") for file in (sources / part).rglob("*.py")]
    return "".join(file.read_text() for file in files)


async def test_the_database_page_names_the_largest_tables_and_the_copies(runtime, by_cookie, tmp_path):
    (tmp_path / "daily-20260102-030405.db").write_bytes(b"x" * 2_000_000)
    (tmp_path / "mine.db").write_bytes(b"x")
    operator = await by_cookie("o@example.org", role="owner")
    app = create_app(replace(runtime, backups=BackupPolicy("unused.db", str(tmp_path))))
    async with new_client(app, cookies=operator.cookies) as client:
        page = (await client.get("/admin/database")).text
    assert "daily-20260102-030405.db" in page and "2.0 MB" in page and "mine.db" not in page
    assert page.count("<tr>") > 20


async def test_only_operators_see_the_database(by_cookie):
    assert (await (await by_cookie()).get("/admin/database")).status_code == 403
