"""What a rule mutes appears nowhere until its reader asks for muted entries; a muted feed, on its own alone."""

from typing import Any

import pytest

from reedbed.domain.times import DAY, rfc3339
from reedbed.services.digests import ask_digest, get_digest
from reedbed.services.questions import ask_question, get_question
from reedbed.services.search.upkeep import repair_search
from reedbed.services.stories import StoryGrouper
from reedbed.store import users
from tests.http.reader_apps.account import API, READ, READING_LIST, AppAccount
from tests.smtp_server import work_off

MUTE: dict[str, Any] = {
    "name": "No bridges",
    "conditions": [{"field": "content", "operator": "contains", "value": "muted words"}],
    "actions": [{"action": "star"}, {"action": "tag", "value": "Bridges"}, {"action": "mute"}],
}
MUTED = "Marrowby swing bridge closes to cars after council vote"
SHOWN = "Council votes to close the Marrowby swing bridge to cars"


@pytest.fixture
async def muted(account: AppAccount) -> int:
    """The id of an entry that arrived muted; another feed tells of the same event."""
    made = await account.page.post("/api/v1/rules", json=MUTE)
    assert made.status_code == 201, made.text
    await account.publish(MUTED, content="<p>The swing bridge stays closed to cars: muted words.</p>")
    await account.publish(SHOWN, feed="tech", content="<p>The swing bridge stays closed to cars.</p>")
    await repair_search(account.harness.runtime)
    return await account.id_of(MUTED)


async def _titles(account: AppAccount, **params: Any) -> list[str]:
    answer = await account.page.get("/api/v1/entries", params=params)
    assert answer.status_code == 200, answer.text
    return [item["title"] for item in answer.json()["items"]]


async def test_lists_counts_and_searches_leave_it_out(account: AppAccount, muted: int) -> None:
    everything = {"One", "Two", "Three", "Four", "Five", SHOWN}
    assert set(await _titles(account)) == set(await _titles(account, limit=200)) == everything
    assert set(await _titles(account, feed_id=account.feeds["news"])) == {"One", "Two", "Three"}
    assert set(await _titles(account, folder_id=account.folders["news"])) == {"One", "Two", "Three"}
    assert set(await _titles(account, view="unread")) == everything
    for view in ("starred", "later", "history"):
        assert await _titles(account, view=view) == []
    assert await _titles(account, tag="Bridges") == []
    for words in ("swing bridge", "bridge -is:muted", "bridge is:read", "bridge lang:en"):
        assert MUTED not in await _titles(account, q=words)
    assert await _titles(account, q="swing bridge") == [SHOWN]
    counts = (await account.page.get("/api/v1/counts")).json()
    assert (counts["all"], counts["starred"]) == (6, 0)


async def test_whoever_asks_for_muted_entries_gets_them(account: AppAccount, muted: int, signed_in: Any) -> None:
    assert await _titles(account, view="muted") == [MUTED]
    assert await _titles(account, view="muted", feed_id=account.feeds["tech"]) == []
    for words in ("is:muted", "bridge is:muted", "is:muted is:read"):
        assert await _titles(account, q=words) == [MUTED]
    assert await _titles(account, q="lighthouse is:muted") == []
    entry = (await account.page.get(f"/api/v1/entries/{muted}")).json()
    assert (entry["read"], entry["starred"], entry["tags"]) == (True, False, [])
    other = await signed_in("other@example.org")
    assert (await other.get(f"/api/v1/entries/{muted}")).status_code == 404
    assert (await other.get("/api/v1/entries?view=muted")).json()["items"] == []


@pytest.mark.parametrize("change", [{"read": False}, {"starred": True}, {"later": True}, {"tags": ["Keep"]}])
async def test_an_act_of_the_reader_brings_it_back(account: AppAccount, muted: int, change: dict) -> None:
    assert (await account.page.patch(f"/api/v1/entries/{muted}", json={"read": True})).status_code == 200
    assert MUTED not in await _titles(account)
    assert (await account.page.patch(f"/api/v1/entries/{muted}", json=change)).status_code == 200
    assert MUTED in await _titles(account)
    assert await _titles(account, view="muted") == []


async def test_marking_a_feed_unread_leaves_it_muted_and_marking_it_by_id_does_not(
    account: AppAccount, muted: int
) -> None:
    await account.page.post("/api/v1/entries/mark-read", json={"all": True})
    feed = {"feed_id": str(account.feeds["news"]), "read": False}
    assert (await account.page.post("/api/v1/entries/mark-read", json=feed)).json()["marked"] == 3
    assert MUTED not in await account.unread_titles()
    one = {"ids": [str(muted)], "read": False}
    assert (await account.page.post("/api/v1/entries/mark-read", json=one)).json()["marked"] == 1
    assert MUTED in await account.unread_titles()


async def test_apps_are_not_sent_it(account: AppAccount, muted: int) -> None:
    app = await account.open_app()
    assert muted not in await app.ids() and len(await app.ids()) == 6
    assert (await app.post("stream/items/contents", i=str(muted))).json()["items"] == []
    stream = await app.client.get(f"{API}/stream/contents", headers=app.headers)
    assert SHOWN in stream.text and MUTED not in stream.text
    titles = [item["title"] for item in (await account.fever("items"))["items"]]
    assert SHOWN in titles and MUTED not in titles
    assert (await account.fever("items", with_ids=str(muted)))["items"] == []


async def test_digests_and_answers_leave_it_out(account: AppAccount, muted: int) -> None:
    runtime = account.harness.runtime
    async with runtime.db.read() as tx:
        user = await users.get(tx, account.page.user_id)
    assert user is not None
    digest = await ask_digest(runtime, user)
    question = await ask_question(runtime, user, "Is the swing bridge closed to cars?")
    await work_off(runtime)
    told = {source.title for source in (await get_digest(runtime, user.id, digest.id)).text.sources}
    assert SHOWN in told and MUTED not in told
    answer = (await get_question(runtime, user.id, question.id)).answer
    assert {source.title for source in answer.sources} == {SHOWN}


async def test_stories_leave_it_out(account: AppAccount, muted: int) -> None:
    await StoryGrouper().group_new(account.harness.runtime)
    assert (await account.page.get("/api/v1/stories")).json()["items"] == []
    await account.page.patch(f"/api/v1/entries/{muted}", json={"read": False})
    (story,) = (await account.page.get("/api/v1/stories")).json()["items"]
    assert story["feeds"] == 2, "brought back, it makes the other one a story"


async def test_published_feeds_leave_it_out(account: AppAccount, muted: int) -> None:
    made = await account.page.post("/api/v1/published-feeds", json={"name": "Mine", "view": "all"})
    assert made.status_code == 201, made.text
    feed = (await account.app.get(made.json()["atom_url"])).text
    assert SHOWN in feed and MUTED not in feed


async def test_a_run_over_old_entries_mutes_what_the_reader_does_not_keep(account: AppAccount) -> None:
    await account.page.patch(f"/api/v1/entries/{await account.id_of('One')}", json={"starred": True})
    await account.page.patch(f"/api/v1/entries/{await account.id_of('Two')}", json={"read": True})
    of_feed = [{"field": "feed", "operator": "is", "value": str(account.feeds["news"])}]
    rule = {"name": "No news", "conditions": of_feed, "actions": [{"action": "mute"}]}
    made = (await account.page.post("/api/v1/rules", json=rule)).json()
    assert (await account.page.post(f"/api/v1/rules/{made['id']}/apply")).status_code == 202
    await work_off(account.harness.runtime)
    assert set(await _titles(account)) == {"One", "Four", "Five"}
    assert set(await _titles(account, view="muted")) == {"Two", "Three"}
    assert await _titles(account, view="history") == []


async def test_a_muted_feed_is_in_apps_where_it_is_on_the_page(account: AppAccount) -> None:
    app, tech = await account.open_app(), account.feeds["tech"]
    (subscribed,) = [
        row for row in (await account.page.get("/api/v1/subscriptions")).json()["items"] if int(row["feed_id"]) == tech
    ]
    until = rfc3339(account.harness.runtime.now() + DAY)
    await account.page.patch(f"/api/v1/subscriptions/{subscribed['id']}", json={"muted_until": until})
    counts = {row["id"]: row["count"] for row in (await app.read("unread-count"))["unreadcounts"]}
    assert (counts[READING_LIST], counts[f"feed/{tech}"], counts["user/-/label/Tech"]) == (3, 0, 0)
    tags = {tag["id"]: tag.get("unread_count") for tag in (await app.read("tag/list"))["tags"]}
    assert tags["user/-/label/Tech"] == 0

    five = await account.id_of("Five")
    await app.post("edit-tag", i=five, a="user/-/label/Keep")
    assert await app.ids(s="user/-/label/Keep", xt=READ) == [five]

    unmuted = [await account.id_of(title) for title in ("Three", "Two", "One")]
    muted = [await account.id_of(title) for title in ("Five", "Four")]
    assert await app.ids(xt=READ) == unmuted
    assert await app.ids(s="user/-/label/Tech", xt=READ) == []
    assert await app.ids(s=f"feed/{tech}", xt=READ) == muted
    fever = (await account.fever("unread_item_ids"))["unread_item_ids"]
    assert fever == ",".join(str(id) for id in reversed(unmuted))
    await app.post("mark-all-as-read", s=["user/-/label/Tech", READING_LIST])
    assert await app.ids(s=f"feed/{tech}", xt=READ) == muted
