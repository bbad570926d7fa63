"""Sharing: a user's bookmarking services, and the job that sends links to them."""

from collections.abc import Mapping, Sequence

import structlog

from reedbed.domain.entries import EntryRow, StateChange
from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import Failed, HttpResponse, is_retryable
from reedbed.domain.sharing import (
    ShareLink,
    ShareTarget,
    check_name,
    check_secrets,
    check_url,
    login_call,
    read_kind,
    save_call,
    token_in,
)
from reedbed.domain.times import HOUR
from reedbed.domain.users import Allowance
from reedbed.ingest.http.failures import TEMPORARY
from reedbed.services import interest
from reedbed.services.entries import get_entry
from reedbed.services.jobs import Done, Later, pace, try_again, wake_jobs
from reedbed.services.read_state import change_entries
from reedbed.services.runtime import Runtime
from reedbed.services.users import preferences_of
from reedbed.store import jobs, sharing, users
from reedbed.store.entries import read as entries
from reedbed.store.jobs import Job

log = structlog.get_logger()

SHARE_JOB = "share"
MAX_TARGETS = 20
GIVE_UP_AFTER = 6 * HOUR
PER_TARGET = Allowance(30, 0.5)
NO_SUCH = "There is no such service."


@record
class ShareRejection:
    why: Failure
    again: bool


async def add_target(
    runtime: Runtime, user_id: int, *, kind: str, url: str, secrets: Mapping[str, str], name: str = ""
) -> ShareTarget:
    checked_kind = read_kind(kind)
    checked_url, checked_name, keys = (
        check_url(url),
        check_name(name, checked_kind),
        check_secrets(checked_kind, secrets),
    )
    async with runtime.db.write() as tx:
        if await sharing.count(tx, user_id) >= MAX_TARGETS:
            raise Conflict("There can be at most %(limit)s services. Remove one first.", limit=MAX_TARGETS)
        target = await sharing.add(
            tx, user_id, kind=checked_kind, name=checked_name, url=checked_url, secrets=keys, now=runtime.now()
        )
        await users.record_event(tx, runtime.now(), "share_target_added", user_id, {"kind": checked_kind})
    return target


async def list_targets(runtime: Runtime, user_id: int) -> Sequence[ShareTarget]:
    async with runtime.db.read() as tx:
        return await sharing.of_user(tx, user_id)


async def remove_target(runtime: Runtime, user_id: int, target_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await sharing.remove(tx, user_id, target_id):
            raise NotFound(NO_SUCH)


async def share_entry(runtime: Runtime, user_id: int, entry_id: int, target_id: int) -> ShareTarget:
    """Enqueue a job that sends the entry's URL to the service."""
    entry = await get_entry(runtime, user_id, entry_id)
    if not (entry.row.url or entry.external_url):
        raise Invalid("This entry has no address of its own to share.", field="entry_id")
    async with runtime.db.write() as tx:
        target = await sharing.get(tx, user_id, target_id)
        if target is None:
            raise NotFound(NO_SUCH)
        payload = {"entry_id": entry_id, "target_id": target_id}
        await jobs.add(tx, SHARE_JOB, payload, now=runtime.now(), user_id=user_id)
        await interest.learn(runtime, tx, user_id, [entry_id], "shared")
    await wake_jobs(runtime)
    return target


async def send_link(runtime: Runtime, job: Job) -> Done | Later:
    """The handler of the job."""
    assert job.user_id is not None
    async with runtime.db.read() as tx:
        target = await sharing.get(tx, job.user_id, job.payload["target_id"])
        entry = await entries.get(tx, job.user_id, job.payload["entry_id"])
    if target is None or entry is None:
        return Done()
    if (paced := await pace(runtime, f"shares:{target.id}", PER_TARGET)) is not None:
        return paced
    link = ShareLink(entry.row.url or entry.external_url or "", entry.row.title, entry.row.states.tags)
    rejection = await _send(runtime, target, link)
    await _record_result(runtime, target, rejection)
    if rejection is not None and rejection.again:
        later = try_again(runtime, job, give_up_after=GIVE_UP_AFTER)
        if later is not None:
            return later
    if rejection is None:
        await _mark_read_if_wanted(runtime, job.user_id, entry.row)
    await _publish_result(runtime, target, job.payload["entry_id"], rejection)
    return Done({"shared": target.kind} if rejection is None else {"error": rejection.why.dump()})


async def _mark_read_if_wanted(runtime: Runtime, user_id: int, entry: EntryRow) -> None:
    async with runtime.db.read() as tx:
        user = await users.get(tx, user_id)
    if user is not None and preferences_of(user).share_marks_read and not entry.states.read:
        await change_entries(runtime, user_id, [entry.id], StateChange(read=True))


async def _send(runtime: Runtime, target: ShareTarget, link: ShareLink) -> ShareRejection | None:
    if not target.secrets:
        return ShareRejection(Failure(FailureCode.SECRETS_LOST), again=False)
    token = await _token(runtime, target)
    if isinstance(token, ShareRejection):
        return token
    call = save_call(target, link, token)
    response = _check_response(target, await runtime.fetcher.exchange(call.url, call.body, call.headers))
    return response if isinstance(response, ShareRejection) else None


async def _token(runtime: Runtime, target: ShareTarget) -> str | ShareRejection:
    call = login_call(target)
    if call is None:
        return target.secrets.get("token", "")
    response = _check_response(target, await runtime.fetcher.exchange(call.url, call.body, call.headers))
    if isinstance(response, ShareRejection):
        return response
    refused = Failure(FailureCode.SHARE_LOGIN_REFUSED, {"service": target.name})
    return token_in(response.body) or ShareRejection(refused, again=False)


def _check_response(target: ShareTarget, response: HttpResponse | Failed) -> HttpResponse | ShareRejection:
    if isinstance(response, Failed):
        return ShareRejection(response.failure, again=response.kind == TEMPORARY)
    if 200 <= response.status < 300:
        return response
    refused = response.status in (400, 401, 403)
    code = FailureCode.SHARE_REFUSED if refused else FailureCode.SHARE_STATUS
    why = Failure(code, {"service": target.name, "status": response.status})
    return ShareRejection(why, again=not refused and is_retryable(response.status))


async def _record_result(runtime: Runtime, target: ShareTarget, rejection: ShareRejection | None) -> None:
    async with runtime.db.write() as tx:
        if rejection is None:
            await sharing.record_shared(tx, target, runtime.now())
        else:
            await sharing.record_share_problem(tx, target, rejection.why)


async def _publish_result(
    runtime: Runtime, target: ShareTarget, entry_id: int, rejection: ShareRejection | None
) -> None:
    if rejection is not None:
        log.warning("a link was not shared", target=target.id, kind=target.kind, reason=rejection.why.message)
    data = {
        "event": "shared" if rejection is None else "not_shared",
        "target": target.name,
        "entry_id": str(entry_id),
        "problem": rejection.why.message if rejection else "",
    }
    await runtime.bus.publish(ChangeEvent("notice", user_id=target.user_id, data=data))
