"""Web Push: browsers that asked to be told, and the notes a worker sends them."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict

import structlog

from reedbed.domain.errors import Conflict, NotFound
from reedbed.domain.push import PushDevice, PushNote, check_address, feed_note
from reedbed.domain.refresh.outcomes import Failed, may_pass
from reedbed.domain.times import DAY, HOUR, MINUTE, SECOND, Instant
from reedbed.domain.users import Allowance, Caller, device_name
from reedbed.ingest.http.failures import TEMPORARY
from reedbed.ingest.webpush import headers_for, new_key, public_key, seal_note
from reedbed.services.jobs import Done, Later, try_again, wake_jobs
from reedbed.services.runtime import Runtime
from reedbed.store import instance, jobs, push
from reedbed.store.engine.database import Tx
from reedbed.store.jobs import Job

log = structlog.get_logger()

NOTE_JOB = "push"
NEWS_JOB = "push_news"
MAX_DEVICES = 20
NO_SUCH = "There is no such device."
PER_DEVICE = Allowance(30, 1 / 30)
"""Bursts are fine; a stream of notes would only be switched off."""
GIVE_UP_AFTER = 6 * HOUR
TOUCH_EVERY = DAY
_KEY = "vapid_key"
_GONE = (404, 410)


async def push_key(runtime: Runtime) -> str:
    """The public half of the server's key, made with the first question and kept."""
    return public_key(await _own_key(runtime))


async def add_device(
    runtime: Runtime, caller: Caller, *, endpoint: str, p256dh: str, auth: str, user_agent: str | None
) -> PushDevice:
    """The same browser twice is one device."""
    address = check_address(endpoint, p256dh, auth)
    async with runtime.db.write() as tx:
        known = await push.of_user(tx, caller.user_id)
        if len(known) >= MAX_DEVICES and all(one.address.endpoint != address.endpoint for one in known):
            raise Conflict(f"There can be at most {MAX_DEVICES} devices. Remove one first.")
        return await push.put(
            tx,
            caller.user_id,
            address,
            session_id=caller.session_id,
            name=device_name(user_agent),
            now=runtime.now(),
        )


async def list_devices(runtime: Runtime, user_id: int) -> Sequence[PushDevice]:
    async with runtime.db.read() as tx:
        return await push.of_user(tx, user_id)


async def remove_device(runtime: Runtime, user_id: int, device_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await push.remove(tx, user_id, device_id):
            raise NotFound(NO_SUCH)


async def send_test(runtime: Runtime, user_id: int, device_id: int, note: PushNote) -> None:
    async with runtime.db.write() as tx:
        if await push.get(tx, user_id, device_id) is None:
            raise NotFound(NO_SUCH)
        await _leave(tx, user_id, device_id, note, runtime.now())
    await wake_jobs(runtime)


async def leave_note(tx: Tx, user_id: int, note: PushNote, now: Instant) -> int:
    """One job for each of the user's browsers; how many there are."""
    devices = await push.of_user(tx, user_id)
    for device in devices:
        await _leave(tx, user_id, device.id, note, now)
    return len(devices)


async def leave_news(
    tx: Tx, new: Mapping[int, Sequence[int]], reached: Mapping[int, Set[int]], now: Instant
) -> None:
    """Called when entries arrive, with their ids by feed: jobs tell those reached who asked to be told."""
    for feed_id, user_id in await push.asked_for(tx, list(new)):
        if user_id in reached[feed_id]:
            payload = {"feed_id": feed_id, "entry_ids": list(new[feed_id])}
            await jobs.add(tx, NEWS_JOB, payload, now=now, user_id=user_id)


async def report_new_entries(runtime: Runtime, job: Job) -> Done | Later:
    """The handler of the job about a feed. What was read or muted meanwhile is no news."""
    assert job.user_id is not None
    feed_id = job.payload["feed_id"]
    async with runtime.db.write() as tx:
        followed = await push.feed_of(tx, job.user_id, feed_id)
        news = await push.still_unread(tx, job.user_id, job.payload["entry_ids"])
        if followed is None or not news:
            return Done()
        subscription_id, title = followed
        note = feed_note(feed_id, title, news, f"/feed/{subscription_id}")
        return Done({"devices": await leave_note(tx, job.user_id, note, runtime.now())})


async def send_note(runtime: Runtime, job: Job) -> Done | Later:
    """The handler of the job about one browser. One that has left is forgotten."""
    assert job.user_id is not None
    async with runtime.db.read() as tx:
        device = await push.get(tx, job.user_id, job.payload["device_id"])
    if device is None:
        return Done()
    wait = await runtime.limiter.wait_for(f"pushes:{device.id}", PER_DEVICE)
    if wait > 0:
        return _again(runtime, job, "too many notes", int(wait * SECOND) + SECOND)
    answer = await _send(runtime, device, PushNote(**job.payload["note"]))
    if isinstance(answer, Failed):
        return (
            _again(runtime, job, answer.message)
            if answer.kind == TEMPORARY
            else _given_up(job, answer.message)
        )
    return await _judge(runtime, job, device, answer)


async def _judge(runtime: Runtime, job: Job, device: PushDevice, status: int) -> Done | Later:
    assert job.user_id is not None
    if 200 <= status < 300:
        await _note_reached(runtime, job.user_id, device)
        return Done({"sent": "push"})
    reason = f"The push service answered with status {status}."
    if status in _GONE:
        async with runtime.db.write() as tx:
            await push.remove(tx, job.user_id, device.id)
        return _given_up(job, reason)
    return _again(runtime, job, reason) if may_pass(status) else _given_up(job, reason)


async def _send(runtime: Runtime, device: PushDevice, note: PushNote) -> int | Failed:
    key, base_url = await _own_key(runtime), runtime.accounts.base_url
    contact = base_url if base_url.startswith("https://") else ""
    headers = headers_for(note, device.address, key, contact, runtime.now())
    return await runtime.fetcher.post(device.address.endpoint, seal_note(note, device.address), headers)


async def _note_reached(runtime: Runtime, user_id: int, device: PushDevice) -> None:
    now = runtime.now()
    if device.reached_at is not None and now - device.reached_at < TOUCH_EVERY:
        return
    async with runtime.db.write() as tx:
        await push.touch(tx, user_id, device.id, now)


async def _own_key(runtime: Runtime) -> str:
    async with runtime.db.read() as tx:
        known = await instance.get_secret(tx, _KEY)
    if known is not None:
        return known
    async with runtime.db.write() as tx:
        return await instance.add_secret(tx, _KEY, new_key(), runtime.now())


async def _leave(tx: Tx, user_id: int, device_id: int, note: PushNote, now: Instant) -> None:
    await jobs.add(tx, NOTE_JOB, {"device_id": device_id, "note": asdict(note)}, now=now, user_id=user_id)


def _again(runtime: Runtime, job: Job, reason: str, wait: int = MINUTE) -> Done | Later:
    return try_again(runtime, job, give_up_after=GIVE_UP_AFTER, least=wait) or _given_up(job, reason)


def _given_up(job: Job, reason: str) -> Done:
    log.warning("a push was not sent", job=job.id, device=job.payload["device_id"], reason=reason)
    return Done({"error": reason})
