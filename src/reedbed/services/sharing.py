"""Sharing: a user's services that keep links, and the links a worker sends them."""

from collections.abc import Mapping, Sequence

import structlog

from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import Failed, HttpResponse, may_pass
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
from reedbed.domain.text import ENTER_AGAIN
from reedbed.domain.times import HOUR
from reedbed.domain.users import Allowance
from reedbed.ingest.http.failures import TEMPORARY
from reedbed.services.entries import get_entry
from reedbed.services.jobs import Done, Later, pace, try_again, wake_jobs
from reedbed.services.runtime import Runtime
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
class NotTaken:
    why: str
    again: bool


async def add_target(
    runtime: Runtime, user_id: int, *, kind: str, url: str, secrets: Mapping[str, str], name: str = ""
) -> ShareTarget:
    known = read_kind(kind)
    address, shown, keys = check_url(url), check_name(name, known), check_secrets(known, secrets)
    async with runtime.db.write() as tx:
        if await sharing.count(tx, user_id) >= MAX_TARGETS:
            raise Conflict(f"There can be at most {MAX_TARGETS} services. Remove one first.")
        made = await sharing.add(
            tx, user_id, kind=known, name=shown, url=address, secrets=keys, now=runtime.now()
        )
        await users.record_event(tx, runtime.now(), "share_target_added", user_id, {"kind": known})
    return made


async def list_targets(runtime: Runtime, user_id: int) -> Sequence[ShareTarget]:
    async with runtime.db.read() as tx:
        return await sharing.of_user(tx, user_id)


async def remove_target(runtime: Runtime, user_id: int, target_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await sharing.remove(tx, user_id, target_id):
            raise NotFound(NO_SUCH)


async def share_entry(runtime: Runtime, user_id: int, entry_id: int, target_id: int) -> ShareTarget:
    """Have a worker send the entry's address there."""
    entry = await get_entry(runtime, user_id, entry_id)
    if not (entry.row.url or entry.external_url):
        raise Invalid("This entry has no address of its own to share.", field="entry_id")
    async with runtime.db.write() as tx:
        target = await sharing.get(tx, user_id, target_id)
        if target is None:
            raise NotFound(NO_SUCH)
        payload = {"entry_id": entry_id, "target_id": target_id}
        await jobs.add(tx, SHARE_JOB, payload, now=runtime.now(), user_id=user_id)
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
    refused = await _send(runtime, target, link)
    await _note(runtime, target, refused)
    if refused is not None and refused.again:
        later = try_again(runtime, job, give_up_after=GIVE_UP_AFTER)
        if later is not None:
            return later
    await _tell(runtime, target, job.payload["entry_id"], refused)
    return Done({"shared": target.kind} if refused is None else {"error": refused.why})


async def _send(runtime: Runtime, target: ShareTarget, link: ShareLink) -> NotTaken | None:
    if not target.secrets:
        return NotTaken(ENTER_AGAIN, again=False)
    token = await _token(runtime, target)
    if isinstance(token, NotTaken):
        return token
    call = save_call(target, link, token)
    answer = _judged(target, await runtime.fetcher.exchange(call.url, call.body, call.headers))
    return answer if isinstance(answer, NotTaken) else None


async def _token(runtime: Runtime, target: ShareTarget) -> str | NotTaken:
    call = login_call(target)
    if call is None:
        return target.secrets.get("token", "")
    answer = _judged(target, await runtime.fetcher.exchange(call.url, call.body, call.headers))
    if isinstance(answer, NotTaken):
        return answer
    return token_in(answer.body) or NotTaken(f"{target.name} let nobody in.", again=False)


def _judged(target: ShareTarget, answer: HttpResponse | Failed) -> HttpResponse | NotTaken:
    if isinstance(answer, Failed):
        return NotTaken(answer.message, again=answer.kind == TEMPORARY)
    if 200 <= answer.status < 300:
        return answer
    if answer.status in (400, 401, 403):
        return NotTaken(f"{target.name} refused what it was sent (status {answer.status}).", again=False)
    return NotTaken(f"{target.name} answered with status {answer.status}.", again=may_pass(answer.status))


async def _note(runtime: Runtime, target: ShareTarget, refused: NotTaken | None) -> None:
    async with runtime.db.write() as tx:
        if refused is None:
            await sharing.note_taken(tx, target, runtime.now())
        else:
            await sharing.note_problem(tx, target, refused.why)


async def _tell(runtime: Runtime, target: ShareTarget, entry_id: int, refused: NotTaken | None) -> None:
    if refused is not None:
        log.warning("a link was not shared", target=target.id, kind=target.kind, reason=refused.why)
    data = {
        "event": "shared" if refused is None else "not_shared",
        "target": target.name,
        "entry_id": str(entry_id),
        "problem": refused.why if refused else "",
    }
    await runtime.bus.publish(ChangeEvent("notice", user_id=target.user_id, data=data))
