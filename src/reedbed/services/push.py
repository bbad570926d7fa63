"""Web Push: the registered browsers, and the notifications that a worker sends them."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict

import structlog

from reedbed.domain.errors import Conflict, NotFound
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.push import PushDevice, PushNote, check_address, feed_note
from reedbed.domain.refresh.outcomes import TEMPORARY, Failed, is_retryable
from reedbed.domain.times import DAY, HOUR, MINUTE, SECOND, Instant
from reedbed.domain.users import Allowance, Caller, device_name
from reedbed.ingest.webpush import encrypt_push_message, headers_for, new_key, public_key
from reedbed.services.jobs import Done, Later, try_again, wake_jobs
from reedbed.services.runtime import Runtime
from reedbed.store import instance, jobs, push
from reedbed.store.engine.database import Tx
from reedbed.store.jobs import Job

log = structlog.get_logger()

NOTE_JOB = "push"
NEW_ENTRIES_JOB = "push_news"
MAX_DEVICES = 20
NO_SUCH = "There is no such device."
PER_DEVICE = Allowance(30, 1 / 30)
"""Bursts are fine, but users would turn off a constant stream of notifications."""
GIVE_UP_AFTER = 6 * HOUR
TOUCH_EVERY = DAY
_KEY = "vapid_key"
_GONE = (404, 410)


async def push_key(runtime: Runtime) -> str:
    """The public VAPID key of this server, created at the first request."""
    return public_key(await _server_key(runtime))


async def add_device(
    runtime: Runtime, caller: Caller, *, endpoint: str, p256dh: str, auth: str, user_agent: str | None
) -> PushDevice:
    """Registering a browser again updates its device."""
    push_address = check_address(endpoint, p256dh, auth)
    async with runtime.db.write() as tx:
        devices = await push.of_user(tx, caller.user_id)
        if len(devices) >= MAX_DEVICES and all(device.address.endpoint != push_address.endpoint for device in devices):
            raise Conflict("There can be at most %(limit)s devices. Remove one first.", limit=MAX_DEVICES)
        return await push.put(
            tx,
            caller.user_id,
            push_address,
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
        await _enqueue_note(tx, user_id, device_id, note, runtime.now())
    await wake_jobs(runtime)


async def enqueue_push_notes(tx: Tx, user_id: int, note: PushNote, now: Instant) -> int:
    """Enqueue a job for each of the user's browsers; return how many."""
    devices = await push.of_user(tx, user_id)
    for device in devices:
        await _enqueue_note(tx, user_id, device.id, note, now)
    return len(devices)


async def enqueue_push_new_entries(
    tx: Tx, new: Mapping[int, Sequence[int]], reached: Mapping[int, Set[int]], now: Instant
) -> None:
    """Enqueue notifications for new entries (ids by feed), for users in `reached` who enabled them."""
    for feed_id, user_id in await push.users_to_notify(tx, list(new)):
        if user_id in reached[feed_id]:
            payload = {"feed_id": feed_id, "entry_ids": list(new[feed_id])}
            await jobs.add(tx, NEW_ENTRIES_JOB, payload, now=now, user_id=user_id)


async def report_new_entries(runtime: Runtime, job: Job) -> Done | Later:
    """Job handler for new entries of a feed. Entries read or muted meanwhile are left out."""
    assert job.user_id is not None
    feed_id = job.payload["feed_id"]
    async with runtime.db.write() as tx:
        followed = await push.feed_of(tx, job.user_id, feed_id)
        unread = await push.still_unread(tx, job.user_id, job.payload["entry_ids"])
        if followed is None or not unread:
            return Done()
        subscription_id, title = followed
        note = feed_note(feed_id, title, unread, f"/feed/{subscription_id}")
        return Done({"devices": await enqueue_push_notes(tx, job.user_id, note, runtime.now())})


async def send_note(runtime: Runtime, job: Job) -> Done | Later:
    """Job handler for one browser. A device whose endpoint is gone is removed."""
    assert job.user_id is not None
    async with runtime.db.read() as tx:
        device = await push.get(tx, job.user_id, job.payload["device_id"])
    if device is None:
        return Done()
    wait = await runtime.limiter.wait_for(f"pushes:{device.id}", PER_DEVICE)
    if wait > 0:
        return _retry(runtime, job, Failure(FailureCode.PUSH_TOO_MANY), int(wait * SECOND) + SECOND)
    response = await _send(runtime, device, PushNote(**job.payload["note"]))
    if isinstance(response, Failed):
        return _retry(runtime, job, response.failure) if response.kind == TEMPORARY else _give_up(job, response.failure)
    return await _handle_status(runtime, job, device, response)


async def _handle_status(runtime: Runtime, job: Job, device: PushDevice, status: int) -> Done | Later:
    assert job.user_id is not None
    if 200 <= status < 300:
        await _record_reached(runtime, job.user_id, device)
        return Done({"sent": "push"})
    reason = Failure(FailureCode.PUSH_STATUS, {"status": status})
    if status in _GONE:
        async with runtime.db.write() as tx:
            await push.remove(tx, job.user_id, device.id)
        return _give_up(job, reason)
    return _retry(runtime, job, reason) if is_retryable(status) else _give_up(job, reason)


async def _send(runtime: Runtime, device: PushDevice, note: PushNote) -> int | Failed:
    key, base_url = await _server_key(runtime), runtime.accounts.base_url
    contact = base_url if base_url.startswith("https://") else ""
    headers = headers_for(note, device.address, key, contact, runtime.now())
    return await runtime.fetcher.post(device.address.endpoint, encrypt_push_message(note, device.address), headers)


async def _record_reached(runtime: Runtime, user_id: int, device: PushDevice) -> None:
    now = runtime.now()
    if device.reached_at is not None and now - device.reached_at < TOUCH_EVERY:
        return
    async with runtime.db.write() as tx:
        await push.touch(tx, user_id, device.id, now)


async def _server_key(runtime: Runtime) -> str:
    async with runtime.db.read() as tx:
        key = await instance.get_secret(tx, _KEY)
    if key is not None:
        return key
    async with runtime.db.write() as tx:
        return await instance.add_secret(tx, _KEY, new_key(), runtime.now())


async def _enqueue_note(tx: Tx, user_id: int, device_id: int, note: PushNote, now: Instant) -> None:
    await jobs.add(tx, NOTE_JOB, {"device_id": device_id, "note": asdict(note)}, now=now, user_id=user_id)


def _retry(runtime: Runtime, job: Job, reason: Failure, wait: int = MINUTE) -> Done | Later:
    return try_again(runtime, job, give_up_after=GIVE_UP_AFTER, min_wait=wait) or _give_up(job, reason)


def _give_up(job: Job, reason: Failure) -> Done:
    log.warning("a push was not sent", job=job.id, device=job.payload["device_id"], reason=reason.message)
    return Done({"error": reason.dump()})
