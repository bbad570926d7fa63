"""Import jobs: a request reads the file, a worker imports it in batches and reports progress.

The file is read during the request, so that an unsupported file is rejected immediately. The batches wait in
the database, where a worker on another machine can find them.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from time import monotonic
from typing import Any

import orjson

from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.failures import Failure, dump_failure, load_failure
from reedbed.domain.records import record
from reedbed.domain.times import HOUR
from reedbed.domain.transfer import ImportedFeed, ImportLine, Library, LibraryReport
from reedbed.ingest.transfer import check_miniflux, read_miniflux
from reedbed.services.jobs import Done, publish_events, report_job_progress, wake_jobs
from reedbed.services.runtime import Runtime
from reedbed.services.transfer.entries import Home
from reedbed.services.transfer.library import (
    FeedBatch,
    ImportBatch,
    empty_report,
    finish_import,
    import_batch,
    packed,
    read_library,
    split_library,
    subscribed_feeds_by_key,
    unpacked,
)
from reedbed.store import jobs
from reedbed.store.jobs import Job

JOB_KIND = "import"
MAX_CONCURRENT = 3
"""Open imports per user: waiting batches take space in the database."""
MAX_LINES = 10_000
"""Lines in a report, as many as a user can have subscriptions. Further problems are only counted."""
NO_SUCH_IMPORT = "There is no such import."
_INCOMPLETE = "The file did not arrive completely. Upload it again."
_MINIFLUX = "miniflux"
PROGRESS_SECONDS = 0.5


@record
class Import:
    id: int
    name: str
    """The name of the file or of the other reader."""
    status: str
    """pending, running, done or failed."""
    done: int
    total: int
    """0 while unknown."""
    report: LibraryReport
    """So far."""
    problems: int
    error: Failure | None


async def start_file(runtime: Runtime, user_id: int, name: str, path: Path) -> Import:
    library = await asyncio.to_thread(read_library, path)
    job_id = await _add_job(runtime, user_id)
    count = await _write_batches(runtime, job_id, library, first=0)
    return await _start(runtime, user_id, job_id, _payload(library, name, count))


async def start_miniflux(runtime: Runtime, user_id: int, url: str, token: str) -> Import:
    """The API key is stored with the job until it has been used."""
    await check_miniflux(runtime.fetcher, url, token)
    job_id = await _add_job(runtime, user_id)
    async with runtime.db.write() as tx:
        await jobs.add_secret(tx, job_id, 0, _MINIFLUX, orjson.dumps([url, token]).decode())
    return await _start(runtime, user_id, job_id, {"source": "Miniflux", "name": "Miniflux"})


async def get_import(runtime: Runtime, user_id: int, import_id: int) -> Import:
    async with runtime.db.read() as tx:
        job = await jobs.get(tx, user_id, JOB_KIND, import_id)
    if job is None:
        raise NotFound(NO_SUCH_IMPORT)
    return _import_from_job(job)


async def run_import(runtime: Runtime, job: Job) -> Done:
    """Job handler: import batch by batch, resuming where an earlier run stopped."""
    payload = job.payload if "pieces" in job.payload else await _read_from_miniflux(runtime, job)
    return await _ImportRun(runtime, job, payload).run()


async def _add_job(runtime: Runtime, user_id: int) -> int:
    """Add a job that no worker takes for an hour, which leaves time to write its batches."""
    now = runtime.now()
    async with runtime.db.write() as tx:
        if await jobs.count_open(tx, user_id, JOB_KIND) >= MAX_CONCURRENT:
            raise Conflict("Several of your imports are under way. Wait until one of them has ended.")
        return await jobs.add(tx, JOB_KIND, {}, now=now, user_id=user_id, run_at=now + HOUR)


async def _write_batches(runtime: Runtime, job_id: int, library: Library, *, first: int) -> int:
    """Write the batches, each in its own transaction; return the next batch number."""
    number = first
    for batch in split_library(library):
        kind, data = await asyncio.to_thread(packed, batch)
        async with runtime.db.write() as tx:
            await jobs.add_batch(tx, job_id, number, kind, data)
        number += 1
    return number


async def _start(runtime: Runtime, user_id: int, job_id: int, payload: Mapping[str, Any]) -> Import:
    async with runtime.db.write() as tx:
        await jobs.start(tx, job_id, payload, runtime.now())
    await wake_jobs(runtime)
    return await get_import(runtime, user_id, job_id)


def _payload(library: Library, name: str, batch_count: int) -> dict[str, object]:
    names = {"source": library.source, "name": name or library.source}
    lines = [_line_json(line) for line in library.lines[:MAX_LINES]]
    return {**names, "pieces": batch_count, "total": library.size, "lines": lines}


async def _read_from_miniflux(runtime: Runtime, job: Job) -> Mapping[str, Any]:
    async with runtime.db.read() as tx:
        secret = await jobs.get_secret(tx, job.id, 0, _MINIFLUX)
    if secret is None:
        raise Invalid(_INCOMPLETE)
    await publish_events(runtime, job, 0, 0)
    url, token = orjson.loads(secret)
    library = await read_miniflux(runtime.fetcher, url, token)
    count = await _write_batches(runtime, job.id, library, first=1)
    payload = {**_payload(library, "Miniflux", count), "first": 1}
    async with runtime.db.write() as tx:
        await jobs.start(tx, job.id, payload, job.created_at)
        await jobs.delete_batches(tx, job.id, 0)
    return payload


class _ImportRun:
    def __init__(self, runtime: Runtime, job: Job, payload: Mapping[str, Any]) -> None:
        assert job.user_id is not None
        self._runtime, self._job, self._user_id = runtime, job, job.user_id
        self._payload = payload
        self._next: int = job.report.get("next", payload.get("first", 0))
        self._done: int = job.report.get("done", 0)
        self._report = _report(job.report, payload)
        self._problems: int = job.report.get("problems", len(self._report.errors))
        self._feeds: list[ImportedFeed] = []
        self._homes: dict[str, Home] | None = None

    async def run(self) -> Done:
        published_at = 0.0
        for number in range(self._payload.get("first", 0), self._payload["pieces"]):
            await self._import_batch(number, await self._load_batch(number))
            if monotonic() - published_at > PROGRESS_SECONDS:
                await report_job_progress(
                    self._runtime, self._job, self._done, self._payload["total"], self._progress()
                )
                published_at = monotonic()
        await finish_import(self._runtime, self._user_id, self._report, self._done)
        await publish_events(self._runtime, self._job, self._done, self._payload["total"])
        return Done({"done": self._done, "total": self._payload["total"], **self._progress()})

    async def _import_batch(self, number: int, batch: ImportBatch) -> None:
        if isinstance(batch, FeedBatch):
            self._feeds.extend(batch.items)
        if number < self._next:
            return
        if self._homes is None and not isinstance(batch, FeedBatch):
            self._homes = await subscribed_feeds_by_key(self._runtime, self._user_id, self._feeds)
        source = self._payload["source"]
        self._add(await import_batch(self._runtime, self._user_id, source, batch, self._homes or {}))
        self._next, self._done = number + 1, self._done + len(batch.items)

    def _add(self, added: LibraryReport) -> None:
        self._problems += len(added.errors)
        report = self._report + added
        self._report = replace(report, lines=report.lines[:MAX_LINES])

    async def _load_batch(self, number: int) -> ImportBatch:
        async with self._runtime.db.read() as tx:
            packed_batch = await jobs.get_batch(tx, self._job.id, number)
        if packed_batch is None:
            raise Invalid(_INCOMPLETE)
        return await asyncio.to_thread(unpacked, *packed_batch)

    def _progress(self) -> dict[str, object]:
        return {
            "next": self._next,
            "problems": self._problems,
            "report": {**asdict(self._report), "lines": list(map(_line_json, self._report.lines))},
        }


def _import_from_job(job: Job) -> Import:
    return Import(
        job.id,
        job.payload.get("name", ""),
        job.state,
        job.report.get("done", 0),
        job.report.get("total", job.payload.get("total", 0)),
        _report(job.report, job.payload),
        job.report.get("problems", 0),
        load_failure(job.report.get("error")),
    )


def _report(job_report: Mapping[str, Any], payload: Mapping[str, Any]) -> LibraryReport:
    fields = job_report.get("report")
    if fields is None:
        lines = [_line(fields) for fields in payload.get("lines", ())]
        return empty_report(payload.get("source", ""), lines)
    # Reports written by version 0.1 contain only the lines with errors.
    lines = fields.get("lines", fields.get("errors", ()))
    counts = {name: value for name, value in fields.items() if name not in ("lines", "errors")}
    return LibraryReport(**counts, lines=tuple(map(_line, lines)))


def _line(fields: Mapping[str, Any]) -> ImportLine:
    """`message` is a sentence in reports that version 0.1 wrote."""
    return ImportLine(fields["title"], fields["url"], load_failure(fields["message"]), fields.get("status", "error"))


def _line_json(line: ImportLine) -> dict[str, object]:
    return {"title": line.title, "url": line.url, "message": dump_failure(line.failure), "status": line.status}
