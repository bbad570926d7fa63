"""Sharing to services that keep links, as the worker does it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from reedbed.domain.entries import StateChange
from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.failures import failure_sentence
from reedbed.domain.times import HOUR, MINUTE
from reedbed.services import jobs
from reedbed.services.entries import change_entry
from reedbed.services.job_registry import HANDLERS
from reedbed.services.sharing import MAX_TARGETS, add_target, list_targets, remove_target, share_entry
from tests.bookmark_services import TOKEN, WALLABAG, LinkKeepers
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness

LOGINS: dict[str, dict[str, str]] = {
    "wallabag": WALLABAG,
    "readeck": {"token": TOKEN},
    "linkding": {"token": TOKEN},
    "karakeep": {"token": TOKEN},
}


@pytest.fixture
async def keepers() -> AsyncIterator[LinkKeepers]:
    async with LinkKeepers() as keepers:
        yield keepers


@pytest.fixture
async def user(harness: RuntimeHarness, site: FeedSite) -> int:
    user = await harness.person()
    site.publish("Herons & reeds")
    await harness.follow(site.feed_url(), user_id=user)
    await harness.check()
    return user


async def run_jobs(harness: RuntimeHarness) -> None:
    while (job := await jobs.claim(harness.runtime, list(HANDLERS))) is not None:
        await jobs.run(harness.runtime, job, HANDLERS[job.kind])


async def target(harness: RuntimeHarness, user: int, keepers: LinkKeepers, kind: str, **other: Any) -> int:
    made = await add_target(
        harness.runtime, user, kind=kind, url=keepers.url(kind) + "/", secrets={**LOGINS[kind], **other}
    )
    return made.id


@pytest.mark.parametrize(
    ("kind", "tags"),
    [
        ("wallabag", {"tags": "birds,long read"}),
        ("readeck", {"labels": ["birds", "long read"]}),
        ("linkding", {"tag_names": ["birds", "long-read"]}),
        ("karakeep", {"type": "link"}),
    ],
)
async def test_an_entry_is_kept_with_its_title_and_tags(
    harness: RuntimeHarness, site: FeedSite, user: int, keepers: LinkKeepers, kind: str, tags: dict
) -> None:
    await change_entry(harness.runtime, user, 1, StateChange(tags=("birds", "long read")))
    target_id = await target(harness, user, keepers, kind)
    await share_entry(harness.runtime, user, 1, target_id)
    await run_jobs(harness)
    assert keepers.kept[kind] == [{"url": f"{site.url}/main/main-1", "title": "Herons & reeds", **tags}]
    (known,) = await list_targets(harness.runtime, user)
    assert (known.used_at is not None, known.problem) == (True, None)
    (hint,) = harness.heard("notice")
    assert (hint.user_id, hint.data["event"]) == (user, "shared")


@pytest.mark.parametrize("kind", list(LOGINS))
async def test_a_wrong_secret_is_told_and_not_tried_again(
    harness: RuntimeHarness, user: int, keepers: LinkKeepers, kind: str
) -> None:
    wrong = dict.fromkeys(LOGINS[kind], "wrong")
    target_id = await target(harness, user, keepers, kind, **wrong)
    await share_entry(harness.runtime, user, 1, target_id)
    await run_jobs(harness)
    harness.clock.ahead += HOUR
    await run_jobs(harness)
    assert keepers.kept[kind] == []
    (known,) = await list_targets(harness.runtime, user)
    assert "refused" in failure_sentence(known.problem)
    assert [hint.data["event"] for hint in harness.heard("notice")] == ["not_shared"]


async def test_a_service_that_is_away_is_tried_again_and_given_up_at_last(
    harness: RuntimeHarness, user: int, keepers: LinkKeepers
) -> None:
    target_id = await target(harness, user, keepers, "linkding")
    keepers.status = 503
    await share_entry(harness.runtime, user, 1, target_id)
    await run_jobs(harness)
    keepers.status = None
    harness.clock.ahead += 2 * MINUTE
    await run_jobs(harness)
    assert len(keepers.kept["linkding"]) == 1
    keepers.status = 503
    await share_entry(harness.runtime, user, 1, target_id)
    await run_jobs(harness)
    harness.clock.ahead += 7 * HOUR
    await run_jobs(harness)
    assert [hint.data["event"] for hint in harness.heard("notice")] == ["shared", "not_shared"]


async def test_what_was_sent_is_marked_read_only_for_who_wants_it(
    harness: RuntimeHarness, user: int, keepers: LinkKeepers
) -> None:
    target_id = await target(harness, user, keepers, "linkding")
    unread = "SELECT unread FROM subscriptions WHERE user_id = :user"
    await share_entry(harness.runtime, user, 1, target_id)
    await run_jobs(harness)
    assert await harness.column(unread, user=user) == [1]
    await harness.change("UPDATE users SET preferences = '{\"share_marks_read\": true}' WHERE id = :user", user=user)
    keepers.status = 401
    await share_entry(harness.runtime, user, 1, target_id)
    await run_jobs(harness)
    assert await harness.column(unread, user=user) == [1], "it was refused"
    keepers.status = None
    await share_entry(harness.runtime, user, 1, target_id)
    await run_jobs(harness)
    assert await harness.column(unread, user=user) == [0]


async def test_nothing_is_sent_to_a_private_network(harness: RuntimeHarness, user: int) -> None:
    made = await add_target(harness.runtime, user, kind="linkding", url="http://10.0.0.1", secrets={"token": TOKEN})
    await share_entry(harness.runtime, user, 1, made.id)
    await run_jobs(harness)
    (known,) = await list_targets(harness.runtime, user)
    assert "private" in failure_sentence(known.problem)


@pytest.mark.parametrize(
    ("kind", "url", "secrets"),
    [
        ("pocket", "https://example.org", {"token": "x"}),
        ("linkding", "ftp://example.org", {"token": "x"}),
        ("linkding", "https://example.org/?a=b", {"token": "x"}),
        ("linkding", "https://example.org", {}),
        ("linkding", "https://example.org", {"token": "a\r\nX-Other: b"}),
        ("wallabag", "https://example.org", {"token": "x"}),
        ("wallabag", "https://example.org", {**WALLABAG, "password": ""}),
    ],
)
async def test_what_cannot_work_is_refused(
    harness: RuntimeHarness, user: int, kind: str, url: str, secrets: dict[str, str]
) -> None:
    with pytest.raises(Invalid):
        await add_target(harness.runtime, user, kind=kind, url=url, secrets=secrets)
    assert await list_targets(harness.runtime, user) == []


async def test_nobody_shares_with_the_services_or_the_entries_of_others(
    harness: RuntimeHarness, user: int, keepers: LinkKeepers
) -> None:
    other = await harness.person()
    target_id = await target(harness, user, keepers, "linkding")
    with pytest.raises(NotFound):
        await share_entry(harness.runtime, other, 1, target_id)
    theirs = await target(harness, other, keepers, "linkding")
    with pytest.raises(NotFound):
        await share_entry(harness.runtime, other, 1, theirs)
    with pytest.raises(NotFound):
        await share_entry(harness.runtime, user, 1, theirs)
    with pytest.raises(NotFound):
        await remove_target(harness.runtime, other, target_id)


async def test_there_are_so_many_services_and_no_more(harness: RuntimeHarness, user: int, keepers: LinkKeepers) -> None:
    for _ in range(MAX_TARGETS):
        await target(harness, user, keepers, "linkding")
    with pytest.raises(Conflict):
        await target(harness, user, keepers, "linkding")
