"""Sharing: a user's services, and the jobs that send links and messages to them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import structlog

from reedbed.domain.entries import Entry, EntryRow, StateChange
from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import TEMPORARY, Failed, HttpResponse, is_retryable
from reedbed.domain.sharing.services import MISSING, Purpose, Service, ServiceStep
from reedbed.domain.sharing.targets import (
    ShareCall,
    ShareLink,
    ShareTarget,
    answer_text,
    check_name,
    check_secrets,
    check_url,
    fill,
    fill_template,
    find_service,
    link_values,
    read_values,
    steps_for,
    without_secrets,
)
from reedbed.domain.times import HOUR, Instant
from reedbed.ingest.text import clean_text
from reedbed.services import interest
from reedbed.services.entries import get_entry
from reedbed.services.jobs import SHARE_JOB, Done, Later, pace, try_again, wake_jobs
from reedbed.services.read_state import change_entries
from reedbed.services.runtime import Runtime
from reedbed.services.users import preferences_of
from reedbed.store import jobs, sharing, users
from reedbed.store.engine.database import Tx
from reedbed.store.entries import read as entries
from reedbed.store.jobs import Job

log = structlog.get_logger()

MAX_TARGETS = 40
MAX_LINES = 10
GIVE_UP_AFTER = 6 * HOUR
NO_SUCH = "There is no such service."
_REFUSALS = (400, 401, 403, 404, 405, 422)
_REDIRECTS = (301, 302, 303, 307, 308)


@record
class ShareRejection:
    why: Failure
    again: bool
    at: Instant | None = None
    """When the service wants to be asked again."""
    status: int = 0
    answer: str = ""


@record
class ShareTest:
    """What the service answered to a message that was sent to try it."""

    accepted: bool
    status: int
    answer: str
    problem: Failure | None


def connectors(runtime: Runtime) -> Mapping[str, Service]:
    """The services that the operator has added, by the kind of a target."""
    return runtime.recipes.current.connectors


async def add_target(
    runtime: Runtime, user_id: int, *, kind: str, url: str, secrets: Mapping[str, str], name: str = ""
) -> ShareTarget:
    service = find_service(kind, connectors(runtime))
    fields = check_secrets(kind, service, secrets)
    checked_url, checked_name = check_url(service, url, fields), check_name(name, service)
    async with runtime.db.write() as tx:
        if await sharing.count(tx, user_id) >= MAX_TARGETS:
            raise Conflict("There can be at most %(limit)s services. Remove one first.", limit=MAX_TARGETS)
        target = await sharing.add(
            tx, user_id, kind=kind, name=checked_name, url=checked_url, secrets=fields, now=runtime.now()
        )
        await users.record_event(tx, runtime.now(), "share_target_added", user_id, {"kind": kind})
    return _with_connector(runtime, target)


async def list_targets(runtime: Runtime, user_id: int) -> Sequence[ShareTarget]:
    async with runtime.db.read() as tx:
        return [_with_connector(runtime, target) for target in await sharing.of_user(tx, user_id)]


async def set_messages(
    runtime: Runtime, user_id: int, target_id: int, *, digests: bool | None = None, stopped_feeds: bool | None = None
) -> ShareTarget:
    """Choose whether the service gets a message for each digest and each feed that stops; None leaves it as it is."""
    async with runtime.db.write() as tx:
        target = await _existing(runtime, tx, user_id, target_id)
        if (digests or stopped_feeds) and not target.service.takes_messages:
            raise Invalid("%(service)s keeps links and shows no messages.", service=target.name)
        changed = replace(
            target,
            digests=target.digests if digests is None else digests,
            stopped_feeds=target.stopped_feeds if stopped_feeds is None else stopped_feeds,
        )
        await sharing.set_messages(tx, user_id, target_id, digests=changed.digests, stopped_feeds=changed.stopped_feeds)
    return changed


async def remove_target(runtime: Runtime, user_id: int, target_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await sharing.remove(tx, user_id, target_id):
            raise NotFound(NO_SUCH)


async def share_entry(runtime: Runtime, user_id: int, entry_id: int, target_id: int) -> ShareTarget:
    """Enqueue a job that sends the entry to the service."""
    entry = await get_entry(runtime, user_id, entry_id)
    if not (entry.row.url or entry.external_url):
        raise Invalid("This entry has no address of its own to share.", field="entry_id")
    async with runtime.db.write() as tx:
        target = await _existing(runtime, tx, user_id, target_id)
        payload = {"entry_id": entry_id, "target_id": target_id}
        await jobs.add(tx, SHARE_JOB, payload, now=runtime.now(), user_id=user_id)
        await interest.learn(runtime, tx, user_id, [entry_id], "shared")
    await wake_jobs(runtime)
    return target


async def try_target(runtime: Runtime, user_id: int, target_id: int) -> ShareTest:
    """Send a test now and return what the service answered."""
    async with runtime.db.read() as tx:
        target = await _existing(runtime, tx, user_id, target_id)
    link = ShareLink(
        f"{runtime.accounts.base_url}/",
        "Reedbed",
        text="This is a test. What you share will arrive here.",
        feed="Reedbed",
    )
    result = await _send(runtime, target, link, unique=f"test-{runtime.now()}")
    await _record_result(runtime, target, result if isinstance(result, ShareRejection) else None)
    if isinstance(result, ShareRejection):
        return ShareTest(False, result.status, result.answer, result.why)
    return ShareTest(True, result.status, answer_text(result.body), None)


async def send_link(runtime: Runtime, job: Job) -> Done | Later:
    """The handler of the job."""
    assert job.user_id is not None
    async with runtime.db.read() as tx:
        target = await sharing.get(tx, job.user_id, job.payload["target_id"])
        shared = await _shared_entries(tx, job)
    if target is None or not (shared or "message" in job.payload):
        return Done()
    target = _with_connector(runtime, target)
    if len(shared) > 1 and target.service.purpose is Purpose.SAVE:
        return await _one_job_each(runtime, job, shared)
    if (paced := await pace(runtime, f"shares:{target.id}", target.service.allowance)) is not None:
        return paced
    link = _message(runtime, job) if "message" in job.payload else await _link(runtime, job, shared)
    result = await _send(runtime, target, link, unique=f"reedbed-{job.id}")
    rejection = result if isinstance(result, ShareRejection) else None
    await _record_result(runtime, target, rejection)
    if rejection is not None and rejection.again:
        later = try_again(runtime, job, give_up_after=GIVE_UP_AFTER)
        if later is not None:
            return Later(max(later.at, rejection.at or later.at))
    if rejection is None and "entry_id" in job.payload:
        await _mark_read_if_wanted(runtime, job.user_id, shared[0].row)
    await _publish_result(runtime, target, shared[0].row.id if shared else None, rejection)
    return Done({"shared": target.kind} if rejection is None else {"error": rejection.why.dump()})


async def _shared_entries(tx: Tx, job: Job) -> Sequence[Entry]:
    assert job.user_id is not None
    if "entry_ids" in job.payload:
        return await entries.by_ids(tx, job.user_id, job.payload["entry_ids"])
    if "entry_id" not in job.payload:
        return ()
    entry = await entries.get(tx, job.user_id, job.payload["entry_id"])
    return () if entry is None else (entry,)


async def _one_job_each(runtime: Runtime, job: Job, shared: Sequence[Entry]) -> Done:
    async with runtime.db.write() as tx:
        for entry in shared:
            payload = {"target_id": job.payload["target_id"], "entry_ids": [entry.row.id]}
            await jobs.add(tx, SHARE_JOB, payload, now=runtime.now(), user_id=job.user_id)
    await wake_jobs(runtime)
    return Done({"links": len(shared)})


def _message(runtime: Runtime, job: Job) -> ShareLink:
    message = job.payload["message"]
    return ShareLink(
        runtime.accounts.base_url + message["path"], message["title"], text=message["text"], feed="Reedbed"
    )


async def _link(runtime: Runtime, job: Job, shared: Sequence[Entry]) -> ShareLink:
    """The entry itself, or what people read of several ones."""
    assert job.user_id is not None
    if len(shared) > 1:
        lines = [f"{entry.row.title}\n{_url(entry)}".strip() for entry in shared[:MAX_LINES]]
        count = job.payload["count"]
        rest = [f"… + {count - len(lines)}"] if count > len(lines) else []
        return ShareLink("", f"{job.payload['rule']} ({count})", text="\n".join([*lines, *rest]))
    (entry,) = shared
    async with runtime.db.read() as tx:
        text = await entries.visible_text(tx, job.user_id, entry.row.id)
    row = entry.row
    return ShareLink(
        url=_url(entry),
        title=row.title or _url(entry),
        tags=row.states.tags,
        text=clean_text(entry.content),
        summary=row.summary,
        feed="" if text is None else text.feed_title,
    )


def _url(entry: Entry) -> str:
    return entry.row.url or entry.external_url or ""


async def _existing(runtime: Runtime, tx: Tx, user_id: int, target_id: int) -> ShareTarget:
    target = await sharing.get(tx, user_id, target_id)
    if target is None:
        raise NotFound(NO_SUCH)
    return _with_connector(runtime, target)


def _with_connector(runtime: Runtime, target: ShareTarget) -> ShareTarget:
    return replace(target, connector=connectors(runtime).get(target.kind, MISSING))


async def _mark_read_if_wanted(runtime: Runtime, user_id: int, entry: EntryRow) -> None:
    async with runtime.db.read() as tx:
        user = await users.get(tx, user_id)
    if user is not None and preferences_of(user).share_marks_read and not entry.states.read:
        await change_entries(runtime, user_id, [entry.id], StateChange(read=True))


# --- Requests


async def _send(
    runtime: Runtime, target: ShareTarget, link: ShareLink, *, unique: str
) -> HttpResponse | ShareRejection:
    """Take the steps of the service; return the last answer."""
    if target.service is MISSING:
        return ShareRejection(Failure(FailureCode.CONNECTOR_MISSING, {"service": target.name}), again=True)
    if not target.secrets and any(one.required for one in target.service.fields):
        return ShareRejection(Failure(FailureCode.SECRETS_LOST), again=False)
    values = link_values(target, link, now=runtime.now(), unique=unique)
    response = HttpResponse(204)
    for step in steps_for(target, values):
        result = await _take_step(runtime, target, step, values)
        if isinstance(result, ShareRejection):
            if step.optional:
                continue
            return result
        response = result
        read = read_values(step, response.body)
        if step.is_login and not any(isinstance(value, str) for value in read.values()):
            return _login_refused(target, response)
        values |= read
        if step.ends_with and step.ends_with in read:
            break
    return response


async def _take_step(
    runtime: Runtime, target: ShareTarget, step: ServiceStep, values: Mapping[str, Any]
) -> HttpResponse | ShareRejection:
    try:
        call: ShareCall = fill(step.call, values) if target.service.steps else fill_template(target, step.call, values)
    except Invalid as error:
        return ShareRejection(error.failure, again=False)
    response = await runtime.fetcher.exchange(call.url, call.body, call.headers, method=call.method)
    if isinstance(response, Failed):
        return ShareRejection(response.failure, again=response.kind == TEMPORARY)
    if 200 <= response.status < 300 or response.status in step.accepted:
        return response
    return _rejection(target, response)


def _rejection(target: ShareTarget, response: HttpResponse) -> ShareRejection:
    answer, status, name = without_secrets(target, answer_text(response.body)), response.status, target.name
    if status in _REDIRECTS and response.location:
        # A redirect drops what was sent, so it is not followed.
        moved = Failure(
            FailureCode.SHARE_ADDRESS_MOVED, {"service": name, "url": without_secrets(target, response.location)}
        )
        return ShareRejection(moved, again=False, status=status)
    if answer:
        why = Failure(FailureCode.SHARE_ANSWERED, {"service": name, "status": status, "answer": answer})
    elif status in _REFUSALS:
        why = Failure(FailureCode.SHARE_REFUSED, {"service": name, "status": status})
    else:
        why = Failure(FailureCode.SHARE_STATUS, {"service": name, "status": status})
    return ShareRejection(why, is_retryable(status), response.retry_after, status, answer)


def _login_refused(target: ShareTarget, response: HttpResponse) -> ShareRejection:
    refused = Failure(FailureCode.SHARE_LOGIN_REFUSED, {"service": target.name})
    return ShareRejection(refused, again=False, status=response.status, answer=answer_text(response.body))


async def _record_result(runtime: Runtime, target: ShareTarget, rejection: ShareRejection | None) -> None:
    async with runtime.db.write() as tx:
        if rejection is None:
            await sharing.record_shared(tx, target, runtime.now())
        else:
            await sharing.record_share_problem(tx, target, rejection.why)


async def _publish_result(
    runtime: Runtime, target: ShareTarget, entry_id: int | None, rejection: ShareRejection | None
) -> None:
    if rejection is not None:
        log.warning("something was not shared", target=target.id, kind=target.kind, reason=rejection.why.code)
    data = {
        "event": "shared" if rejection is None else "not_shared",
        "target": target.name,
        "entry_id": "" if entry_id is None else str(entry_id),
        "problem": rejection.why.message if rejection else "",
    }
    await runtime.bus.publish(ChangeEvent("notice", user_id=target.user_id, data=data))
