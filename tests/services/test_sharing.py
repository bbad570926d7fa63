"""Sharing to services that keep links, as the worker does it."""

from collections.abc import AsyncIterator
from html import escape
from typing import Any

import pytest

from reedbed.domain.entries import StateChange
from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.failures import failure_sentence
from reedbed.domain.rules import Action, ActionKind, Condition, Field, Operator
from reedbed.domain.sharing.services import SERVICES, Kind, Purpose
from reedbed.domain.times import HOUR, MINUTE
from reedbed.services import jobs
from reedbed.services.digests import ask_digest
from reedbed.services.entries import change_entry
from reedbed.services.rules.manage import RuleDraft, create_rule
from reedbed.services.sharing import (
    MAX_TARGETS,
    add_target,
    list_targets,
    remove_target,
    set_messages,
    share_entry,
    try_target,
)
from reedbed.store import users
from reedbed.worker.jobs import HANDLERS
from tests.bookmark_services import BOT, FIELDS, TOKEN, WALLABAG, LinkKeepers
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness

SAVING = [kind for kind in FIELDS if SERVICES[Kind(kind)].purpose is Purpose.SAVE]
TELLING = [kind for kind in FIELDS if kind not in SAVING]
TITLE = 'Herons & "reeds"'
TEXT = "A <b>long</b> walk"


@pytest.fixture
async def keepers() -> AsyncIterator[LinkKeepers]:
    async with LinkKeepers() as keepers:
        yield keepers


@pytest.fixture
async def user(harness: RuntimeHarness, site: FeedSite) -> int:
    user = await harness.person()
    site.publish(TITLE, content=f"<p>{escape(TEXT)}</p>")
    await harness.follow(site.feed_url(), user_id=user)
    await harness.check()
    return user


async def run_jobs(harness: RuntimeHarness) -> None:
    while (job := await jobs.claim(harness.runtime, list(HANDLERS))) is not None:
        await jobs.run(harness.runtime, job, HANDLERS[job.kind])


async def target(harness: RuntimeHarness, owner: int, keepers: LinkKeepers, kind: str, **other: Any) -> int:
    made = await add_target(
        harness.runtime, owner, kind=kind, url=keepers.url(kind) + "/", secrets={**keepers.fields(kind), **other}
    )
    return made.id


def kept_link(kind: str, url: str, title: str) -> dict[str, Any]:
    """What a service that keeps links must have been sent for an entry tagged `birds` and `long read`."""
    tags, dashed = ["birds", "long read"], ["birds", "long-read"]
    named = [{"name": tag} for tag in tags]
    link = {"url": url, "title": title}
    return {
        "wallabag": {**link, "tags": "birds,long read"},
        "readeck": {**link, "labels": tags},
        "linkding": {**link, "tag_names": dashed},
        "karakeep": {**link, "type": "link", "tags": [{"tagName": tag} for tag in tags]},
        "linkwarden": {"url": url, "name": title, "tags": named, "collection": {"id": 7}},
        "linkace": {**link, "tags": tags},
        "shaarli": {**link, "tags": dashed},
        "shiori": {**link, "tags": named},
        "raindrop": {"link": url, "title": title, "tags": tags, "collection": {"$id": 7}},
        "pinboard": {
            "format": "json",
            "url": url,
            "description": title,
            "tags": "birds long-read",
            "toread": "yes",
            "shared": "no",
        },
        "instapaper": link,
        "readwise": {**link, "tags": tags},
        "notion": {"url": url, "caption": [{"type": "text", "text": {"content": title}}]},
        "template": {"address": url, "words": title, "labels": "birds, long read", "query": url, "header": title},
    }[kind]


def shown_message(kind: str, url: str, title: str, text: str) -> dict[str, Any]:
    note = f"{text}\n{url}"
    return {
        "ntfy": {"topic": "reeds", "title": title, "message": text, "click": url},
        "gotify": {
            "title": title,
            "message": text,
            "priority": 5,
            "extras": {"client::notification": {"click": {"url": url}}},
        },
        "pushover": {"title": title, "message": text, "url": url},
        "apprise": {"title": title, "body": note},
        "telegram": {"chat_id": "-1001", "message_thread_id": 5, "text": f"{title}\n{note}"},
        "matrix": {
            "msgtype": "m.notice",
            "body": f"{title}\n{note}",
            "format": "org.matrix.custom.html",
            "formatted_body": f'<strong>{escape(title)}</strong><br>{escape(text)}<br><a href="{url}">{url}</a>',
        },
        "discord": {"title": title, "url": url, "description": text},
        "slack": {"text": escape(f"*{title}*\n{note}", quote=False)},
        "mattermost": {"text": f"**{title}**\n{note}"},
    }[kind]


@pytest.mark.parametrize("kind", ["slack", "mattermost", "discord", "pushover"])
async def test_a_hostile_title_calls_nobody_and_is_not_refused_for_its_length(
    harness: RuntimeHarness, site: FeedSite, user: int, keepers: LinkKeepers, kind: str
) -> None:
    site.publish("<!channel> @channel @here " + "reeds " * 100, key="loud", content="<p>@all &lt;!here&gt;</p>")
    await harness.check(at_least=24 * HOUR)
    (entry,) = await harness.column("SELECT id FROM entries WHERE title LIKE '%@channel%'")
    await share_entry(harness.runtime, user, entry, await target(harness, user, keepers, kind))
    await run_jobs(harness)
    (message,) = keepers.kept[kind]
    assert "reeds" in str(message)


@pytest.mark.parametrize("kind", SAVING)
async def test_an_entry_is_kept_with_its_title_and_tags(
    harness: RuntimeHarness, site: FeedSite, user: int, keepers: LinkKeepers, kind: str
) -> None:
    await change_entry(harness.runtime, user, 1, StateChange(tags=("birds", "long read")))
    target_id = await target(harness, user, keepers, kind)
    await share_entry(harness.runtime, user, 1, target_id)
    await run_jobs(harness)
    (known,) = await list_targets(harness.runtime, user)
    assert (known.problem, known.used_at is not None) == (None, True)
    assert keepers.kept[kind] == [kept_link(kind, f"{site.url}/main/main-1", TITLE)]
    (hint,) = harness.heard("notice")
    assert (hint.user_id, hint.data["event"]) == (user, "shared")


@pytest.mark.parametrize("kind", TELLING)
async def test_an_entry_is_shown_as_a_message(
    harness: RuntimeHarness, site: FeedSite, user: int, keepers: LinkKeepers, kind: str
) -> None:
    target_id = await target(harness, user, keepers, kind)
    await share_entry(harness.runtime, user, 1, target_id)
    await run_jobs(harness)
    (known,) = await list_targets(harness.runtime, user)
    assert known.problem is None
    assert keepers.kept[kind] == [shown_message(kind, f"{site.url}/main/main-1", TITLE, TEXT)]


@pytest.mark.parametrize("kind", [kind for kind in FIELDS if kind not in ("apprise", "template")])
async def test_a_wrong_secret_is_told_and_not_tried_again(
    harness: RuntimeHarness, user: int, keepers: LinkKeepers, kind: str
) -> None:
    wrong = {
        name: keepers.url(kind) + "/wrong" if name == "webhook" else "wrong"
        for name in FIELDS[kind]
        if name not in ("page", "room")
    }
    target_id = await target(harness, user, keepers, kind, **wrong)
    await share_entry(harness.runtime, user, 1, target_id)
    await run_jobs(harness)
    harness.clock.ahead += HOUR
    await run_jobs(harness)
    assert keepers.kept[kind] == []
    (known,) = await list_targets(harness.runtime, user)
    assert known.problem is not None and known.name in failure_sentence(known.problem)
    assert all(value not in failure_sentence(known.problem) for value in ("let-me-in", "AAH-bot"))
    assert [hint.data["event"] for hint in harness.heard("notice")] == ["not_shared"]


async def test_a_link_that_pinboard_has_is_left_as_it_is(
    harness: RuntimeHarness, user: int, keepers: LinkKeepers
) -> None:
    target_id = await target(harness, user, keepers, "pinboard")
    for _ in range(2):
        await share_entry(harness.runtime, user, 1, target_id)
        await run_jobs(harness)
        harness.clock.ahead += MINUTE
    assert len(keepers.kept["pinboard"]) == 1
    assert [hint.data["event"] for hint in harness.heard("notice")] == ["shared", "shared"]


async def test_a_service_that_asks_for_a_pause_gets_it(
    harness: RuntimeHarness, user: int, keepers: LinkKeepers
) -> None:
    target_id = await target(harness, user, keepers, "discord")
    keepers.status, keepers.headers = 429, {"Retry-After": "600"}
    await share_entry(harness.runtime, user, 1, target_id)
    await run_jobs(harness)
    keepers.status = None
    harness.clock.ahead += 5 * MINUTE
    await run_jobs(harness)
    assert keepers.kept["discord"] == []
    harness.clock.ahead += 6 * MINUTE
    await run_jobs(harness)
    assert len(keepers.kept["discord"]) == 1


async def test_a_redirect_is_told_instead_of_followed(harness: RuntimeHarness, user: int, keepers: LinkKeepers) -> None:
    target_id = await target(harness, user, keepers, "linkding")
    keepers.status, keepers.headers = 301, {"Location": "https://links.example.org/api/bookmarks/"}
    await share_entry(harness.runtime, user, 1, target_id)
    await run_jobs(harness)
    (known,) = await list_targets(harness.runtime, user)
    assert "https://links.example.org/api/bookmarks/" in failure_sentence(known.problem)


@pytest.mark.parametrize(("kind", "secret"), [("telegram", BOT), ("discord", "secret-part"), ("linkding", TOKEN)])
async def test_a_secret_in_an_answer_is_not_stored(
    harness: RuntimeHarness, user: int, keepers: LinkKeepers, kind: str, secret: str
) -> None:
    target_id = await target(harness, user, keepers, kind)
    moved = f"https://moved.example.org/bot{BOT}/discord/api/webhooks/1/secret-part?key={TOKEN}"
    for status, headers, text in ((301, {"Location": moved}, ""), (400, dict[str, str](), f"no good: {moved}")):
        keepers.status, keepers.headers, keepers.text = status, headers, text
        await share_entry(harness.runtime, user, 1, target_id)
        await run_jobs(harness)
        (problem,) = await harness.column("SELECT problem FROM share_targets")
        assert "moved.example.org" in problem and secret not in problem
        assert not [one for one in await harness.column("SELECT report FROM jobs") if secret in (one or "")]


@pytest.mark.parametrize("garbage", ["{", "[]", '{"access_token": 7}', '{"access_token": "a\\nb"}', "x" * 200_000])
async def test_garbage_instead_of_a_login_ends_in_a_sentence(
    harness: RuntimeHarness, user: int, keepers: LinkKeepers, garbage: str
) -> None:
    target_id = await target(harness, user, keepers, "wallabag")
    keepers.status, keepers.text = 200, garbage
    await share_entry(harness.runtime, user, 1, target_id)
    await run_jobs(harness)
    (known,) = await list_targets(harness.runtime, user)
    assert failure_sentence(known.problem) == "Wallabag did not accept the login."


@pytest.mark.parametrize("collection", ["--5", "9" * 60, "-"])
async def test_a_collection_that_is_no_number_is_refused_by_the_service(
    harness: RuntimeHarness, user: int, keepers: LinkKeepers, collection: str
) -> None:
    made = await target(harness, user, keepers, "linkwarden", collection=collection)
    tried = await try_target(harness.runtime, user, made)
    assert tried.answer


async def test_a_test_shows_what_the_service_answered(harness: RuntimeHarness, user: int, keepers: LinkKeepers) -> None:
    right = await target(harness, user, keepers, "telegram")
    wrong = await target(harness, user, keepers, "telegram", token="7:wrong")
    accepted = await try_target(harness.runtime, user, right)
    assert (accepted.accepted, accepted.status) == (True, 200) and len(keepers.kept["telegram"]) == 1
    refused = await try_target(harness.runtime, user, wrong)
    assert (refused.accepted, refused.status) == (False, 401) and "Unauthorized" in refused.answer
    keepers.status, keepers.text = 500, "<h1>Oops</h1>\x00\u202e<script>alert(1)</script>" + "x" * 100_000
    broken = await try_target(harness.runtime, user, right)
    assert broken.answer.startswith("Oops alert(1) xxx") and len(broken.answer) == 300
    with pytest.raises(NotFound):
        await try_target(harness.runtime, await harness.person(), right)


async def test_a_rule_sends_each_link_or_one_message(
    harness: RuntimeHarness, site: FeedSite, user: int, keepers: LinkKeepers
) -> None:
    saves_id = await target(harness, user, keepers, "linkding")
    tells_id = await target(harness, user, keepers, "ntfy")
    every = [Condition(Field.TITLE, Operator.CONTAINS, "bittern")]
    actions = [Action(ActionKind.SHARE, str(id_)) for id_ in (saves_id, tells_id)]
    await create_rule(harness.runtime, user, RuleDraft("Bitterns", "all", every, actions))
    for number in range(12):
        site.publish(f"Bittern {number}")
    await harness.check(at_least=25 * HOUR)
    await run_jobs(harness)
    harness.clock.ahead += MINUTE
    await run_jobs(harness)
    assert sorted(link["title"] for link in keepers.kept["linkding"]) == sorted(f"Bittern {n}" for n in range(12))
    (message,) = keepers.kept["ntfy"]
    assert message["title"] == "Bitterns (12)" and message["message"].endswith("… + 2")
    other = await harness.person()
    with pytest.raises(Invalid):
        await create_rule(harness.runtime, other, RuleDraft("Theirs", "all", every, actions))


async def test_digests_and_stopped_feeds_are_told_where_wanted(
    harness: RuntimeHarness, site: FeedSite, user: int, keepers: LinkKeepers
) -> None:
    tells, silent = await target(harness, user, keepers, "gotify"), await target(harness, user, keepers, "matrix")
    await set_messages(harness.runtime, user, tells, digests=True, stopped_feeds=True)
    async with harness.runtime.db.read() as tx:
        reader = await users.get(tx, user)
    assert reader is not None
    await ask_digest(harness.runtime, reader)
    await run_jobs(harness)
    (digest,) = keepers.kept["gotify"]
    assert TITLE in digest["message"] and "/digests/1" in digest["extras"]["client::notification"]["click"]["url"]
    site.misbehave(status=410)
    await harness.check(at_least=25 * HOUR)
    await run_jobs(harness)
    assert len(keepers.kept["gotify"]) == 2 and "410 Gone" in keepers.kept["gotify"][1]["message"]
    assert keepers.kept["matrix"] == [], silent
    keeps = await target(harness, user, keepers, "linkding")
    with pytest.raises(Invalid):
        await set_messages(harness.runtime, user, keeps, digests=True)


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
        ("discord", "", {"webhook": "javascript:alert(1)"}),
        ("template", "", {"webhook": "https://{title}.example.org/"}),
        ("template", "", {"webhook": "https://example.org/?x={secret}"}),
        ("template", "", {"webhook": "https://example.org/", "headers": "No colon or bad name!: \r\x00"}),
        ("template", "", {"webhook": "https://example.org/", "method": "DELETE"}),
        ("template", "", {"webhook": "https://example.org/", "body": "x" * 30_000}),
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
