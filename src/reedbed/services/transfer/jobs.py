"""Moving in as a job: a request reads the file, a worker brings it in piece by piece, the page sees how far.

A file is read at once, so that what is no library is refused at once; what was read waits in the database,
where a worker on another machine finds it.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from time import monotonic
from typing import Any

import orjson

from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.records import record
from reedbed.domain.times import HOUR
from reedbed.domain.transfer import ImportedFeed, ImportLine, Library, LibraryReport
from reedbed.ingest.transfer import check_miniflux, read_miniflux
from reedbed.services.jobs import Done, note_progress, publish_events, wake_jobs
from reedbed.services.runtime import Runtime
from reedbed.services.transfer.library import (
    FeedBatch,
    Home,
    ImportBatch,
    batches_of,
    empty_report,
    finish_import,
    homes_of,
    import_batch,
    packed,
    read_library,
    unpacked,
)
from reedbed.store import jobs
from reedbed.store.jobs import Job

JOB_KIND = "import"
MAX_AT_ONCE = 3
"""Of one user: what waits takes room in the database."""
MAX_LINES = 10_000
"""That a report names, as many as a user can follow; the rest is counted."""
NO_SUCH_IMPORT = "There is no such import."
_NOT_WHOLE = "The file did not arrive whole. Bring it in again."
_MINIFLUX = "miniflux"
TELL_SECONDS = 0.5


@record
class Import:
    id: int
    name: str
    """Of the file, or of the program it comes from."""
    status: str
    """pending, running, done or failed."""
    done: int
    total: int
    """0 while nobody knows."""
    report: LibraryReport
    """So far."""
    problems: int
    error: str | None


async def start_file(runtime: Runtime, user_id: int, name: str, path: Path) -> Import:
    library = await asyncio.to_thread(read_library, path)
    job_id = await _announced(runtime, user_id)
    count = await _keep(runtime, job_id, library, first=0)
    return await _start(runtime, user_id, job_id, _payload(library, name, count))


async def start_miniflux(runtime: Runtime, user_id: int, address: str, token: str) -> Import:
    """The key waits with the job until it has been used."""
    await check_miniflux(runtime.fetcher, address, token)
    job_id = await _announced(runtime, user_id)
    async with runtime.db.write() as tx:
        await jobs.add_secret(tx, job_id, 0, _MINIFLUX, orjson.dumps([address, token]).decode())
    return await _start(runtime, user_id, job_id, {"source": "Miniflux", "name": "Miniflux"})


async def get_import(runtime: Runtime, user_id: int, import_id: int) -> Import:
    async with runtime.db.read() as tx:
        job = await jobs.get(tx, user_id, JOB_KIND, import_id)
    if job is None:
        raise NotFound(NO_SUCH_IMPORT)
    return _shown(job)


async def run_import(runtime: Runtime, job: Job) -> Done:
    """The job: piece by piece, from where it was broken off."""
    payload = job.payload if "pieces" in job.payload else await _ask_miniflux(runtime, job)
    return await _ImportRun(runtime, job, payload).all_of_it()


async def _announced(runtime: Runtime, user_id: int) -> int:
    """A job that no worker takes while its pieces are being written, unless that was broken off."""
    now = runtime.now()
    async with runtime.db.write() as tx:
        if await jobs.count_open(tx, user_id, JOB_KIND) >= MAX_AT_ONCE:
            raise Conflict("Several of your imports are under way. Wait until one of them has ended.")
        return await jobs.add(tx, JOB_KIND, {}, now=now, user_id=user_id, run_at=now + HOUR)


async def _keep(runtime: Runtime, job_id: int, library: Library, *, first: int) -> int:
    """Write the pieces, each in a transaction of its own; how many there are."""
    number = first
    for piece in batches_of(library):
        kind, data = await asyncio.to_thread(packed, piece)
        async with runtime.db.write() as tx:
            await jobs.add_batch(tx, job_id, number, kind, data)
        number += 1
    return number


async def _start(runtime: Runtime, user_id: int, job_id: int, payload: Mapping[str, Any]) -> Import:
    async with runtime.db.write() as tx:
        await jobs.start(tx, job_id, payload, runtime.now())
    await wake_jobs(runtime)
    return await get_import(runtime, user_id, job_id)


def _payload(library: Library, name: str, pieces: int) -> dict[str, Any]:
    named = {"source": library.source, "name": name or library.source}
    lines = [asdict(line) for line in library.lines[:MAX_LINES]]
    return {**named, "pieces": pieces, "total": library.size, "lines": lines}


async def _ask_miniflux(runtime: Runtime, job: Job) -> Mapping[str, Any]:
    async with runtime.db.read() as tx:
        found = await jobs.get_secret(tx, job.id, 0, _MINIFLUX)
    if found is None:
        raise Invalid(_NOT_WHOLE)
    await publish_events(runtime, job, 0, 0)
    address, token = orjson.loads(found)
    library = await read_miniflux(runtime.fetcher, address, token)
    count = await _keep(runtime, job.id, library, first=1)
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

    async def all_of_it(self) -> Done:
        told = 0.0
        for number in range(self._payload.get("first", 0), self._payload["pieces"]):
            await self._bring(number, await self._piece(number))
            if monotonic() - told > TELL_SECONDS:
                await note_progress(
                    self._runtime, self._job, self._done, self._payload["total"], self._so_far()
                )
                told = monotonic()
        await finish_import(self._runtime, self._user_id, self._report, self._done)
        await publish_events(self._runtime, self._job, self._done, self._payload["total"])
        return Done({"done": self._done, "total": self._payload["total"], **self._so_far()})

    async def _bring(self, number: int, piece: ImportBatch) -> None:
        if isinstance(piece, FeedBatch):
            self._feeds.extend(piece.items)
        if number < self._next:
            return
        if self._homes is None and not isinstance(piece, FeedBatch):
            self._homes = await homes_of(self._runtime, self._user_id, self._feeds)
        source = self._payload["source"]
        self._add(await import_batch(self._runtime, self._user_id, source, piece, self._homes or {}))
        self._next, self._done = number + 1, self._done + len(piece.items)

    def _add(self, brought: LibraryReport) -> None:
        self._problems += len(brought.errors)
        report = self._report + brought
        self._report = replace(report, lines=report.lines[:MAX_LINES])

    async def _piece(self, number: int) -> ImportBatch:
        async with self._runtime.db.read() as tx:
            found = await jobs.get_batch(tx, self._job.id, number)
        if found is None:
            raise Invalid(_NOT_WHOLE)
        return await asyncio.to_thread(unpacked, *found)

    def _so_far(self) -> dict[str, Any]:
        return {"next": self._next, "problems": self._problems, "report": asdict(self._report)}


def _shown(job: Job) -> Import:
    return Import(
        job.id,
        job.payload.get("name", ""),
        job.state,
        job.report.get("done", 0),
        job.report.get("total", job.payload.get("total", 0)),
        _report(job.report, job.payload),
        job.report.get("problems", 0),
        job.report.get("error"),
    )


def _report(noted: Mapping[str, Any], payload: Mapping[str, Any]) -> LibraryReport:
    fields = noted.get("report")
    if fields is None:
        lines = [ImportLine(**line) for line in payload.get("lines", ())]
        return empty_report(payload.get("source", ""), lines)
    # Reports that 0.1 has written name only the lines with errors.
    lines = fields.get("lines", fields.get("errors", ()))
    counts = {name: value for name, value in fields.items() if name not in ("lines", "errors")}
    return LibraryReport(**counts, lines=tuple(ImportLine(**line) for line in lines))
