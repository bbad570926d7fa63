"""A worker has an endpoint for those who watch over it, where one was asked for."""

import os
from pathlib import Path

import httpx

from reedbed.roles.run import WORKER_NICENESS
from tests.processes import PATIENCE, reedbed, run_once, wait_for


def test_a_worker_answers_probes_and_counts_what_it_does(tmp_path: Path, free_port: int) -> None:
    assert run_once("admin", "db", "migrate", cwd=tmp_path).returncode == 0
    with reedbed("worker", cwd=tmp_path, metrics_port=str(free_port)) as worker:
        worker.port = free_port
        worker.wait_until_ready()
        with httpx.Client(base_url=worker.url, timeout=PATIENCE) as watcher:
            metrics = watcher.get("/metrics").text
            assert "# TYPE feed_fetch_total counter" in metrics and "job_queue_depth" in metrics
            assert watcher.get("/healthz").json() == {"status": "ok"}
            assert watcher.get("/api/v1/status").status_code == 404
            from_outside = watcher.get("/metrics", headers={"X-Forwarded-For": "203.0.113.9"})
            assert from_outside.status_code == 403
        assert worker.stop() == 0


def test_a_worker_leaves_the_processor_to_pages(tmp_path: Path, free_port: int) -> None:
    assert run_once("admin", "db", "migrate", cwd=tmp_path).returncode == 0
    with reedbed("worker", cwd=tmp_path, metrics_port=str(free_port)) as worker:
        worker.port = free_port
        worker.wait_until_ready()
        assert _niceness(worker.process.pid) == _niceness(os.getpid()) + WORKER_NICENESS


def _niceness(pid: int) -> int:
    return os.getpriority(os.PRIO_PROCESS, pid)


def test_a_process_that_stops_is_not_ready_and_answers_until_it_has_drained(tmp_path: Path, free_port: int) -> None:
    assert run_once("admin", "db", "migrate", cwd=tmp_path).returncode == 0
    with reedbed("worker", cwd=tmp_path, metrics_port=str(free_port), drain_seconds="3") as worker:
        worker.port = free_port
        worker.wait_until_ready()
        worker.process.terminate()
        wait_for("/readyz to say no", lambda: httpx.get(f"{worker.url}/readyz", timeout=PATIENCE).status_code == 503)
        assert httpx.get(f"{worker.url}/healthz", timeout=PATIENCE).status_code == 200
        assert worker.process.wait(PATIENCE) == 0


def test_a_port_that_is_taken_is_said_with_its_setting(tmp_path: Path, free_port: int) -> None:
    assert run_once("admin", "db", "migrate", cwd=tmp_path).returncode == 0
    with reedbed("worker", cwd=tmp_path, metrics_port=str(free_port)) as worker:
        worker.port = free_port
        worker.wait_until_ready()
        second = run_once("worker", cwd=tmp_path, metrics_port=str(free_port))
    assert second.returncode == 1 and "REEDBED_METRICS_PORT" in second.stderr
