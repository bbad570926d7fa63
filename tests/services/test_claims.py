"""A claim takes what it hands over and nothing else, whatever PostgreSQL believes about the table."""

from collections.abc import Awaitable, Callable

import pytest

from reedbed.domain.summaries import EXTRACT, Variant
from reedbed.store import ai, jobs
from reedbed.store.engine.database import Tx
from reedbed.store.newsletters import mailboxes
from tests.harness import RuntimeHarness

WAITING = 6
MANY_OF = dict.fromkeys(("host", "username", "password", "folder"), "x")


async def _fill_jobs(tx: Tx, user: int) -> None:
    await jobs.add(tx, "work", {}, now=1, user_id=user)


async def _fill_queue(tx: Tx, user: int) -> None:
    await ai.enqueue(tx, f"hash {user}", Variant(), user_id=user, priority=1, now=1)


async def _fill_mail_boxes(tx: Tx, user: int) -> None:
    await mailboxes.add_mailbox(tx, user, port=993, security="tls", now=1, **MANY_OF)


async def _claim_job(tx: Tx) -> object:
    return await jobs.claim(tx, ["work"], "me", 5, 10)


async def _claim_summary(tx: Tx) -> object:
    return await ai.claim(tx, [EXTRACT], "me", 5, 0)


async def _claim_mail_box(tx: Tx) -> object:
    return await mailboxes.claim_due_mailbox(tx, 5, 10)


@pytest.mark.parametrize(
    ("table", "taken", "fill", "claim"),
    [
        ("jobs", "state = 'running'", _fill_jobs, _claim_job),
        ("summary_queue", "locked_at = 5", _fill_queue, _claim_summary),
        ("mail_boxes", "next_check_at = 10", _fill_mail_boxes, _claim_mail_box),
    ],
    ids=["jobs", "summaries", "mail boxes"],
)
async def test_one_is_claimed_at_a_time(
    harness: RuntimeHarness,
    table: str,
    taken: str,
    fill: Callable[[Tx, int], Awaitable[None]],
    claim: Callable[[Tx], Awaitable[object]],
) -> None:
    people = [await harness.person() for _ in range(WAITING)]
    async with harness.runtime.db.write() as tx:
        await fill(tx, people[0])
    # Pages without a row lead to the plan that once took them all.
    await harness.change(f"DELETE FROM {table}")
    await harness.change(f"ANALYZE {table}")
    async with harness.runtime.db.write() as tx:
        for person in people:
            await fill(tx, person)
    for claimed in range(1, WAITING + 1):
        async with harness.runtime.db.write() as tx:
            assert await claim(tx)
        assert await harness.column(f"SELECT count(*) FROM {table} WHERE {taken}") == [claimed]
