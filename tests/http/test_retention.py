"""What is told about cleanups, to operators and to those who lost something."""

from dataclasses import replace

from reedbed.domain.retention import RetentionLimits, RetentionPolicy
from reedbed.domain.times import DAY
from reedbed.services.retention import clean_up
from tests.clients import SignIn
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness


async def lose_two(harness: RuntimeHarness, site: FeedSite, user_id: int) -> None:
    site.publish("One")
    site.publish("Two")
    await harness.follow(site.feed_url(), user_id=user_id)
    await harness.check()
    harness.clock.ahead += 3 * DAY
    limits = RetentionLimits(entries=None, age=None, unread_age=2 * DAY)
    await clean_up(replace(harness.runtime, keeping=RetentionPolicy(limits)))


async def test_who_lost_unread_entries_is_told_until_they_have_seen_it(
    harness: RuntimeHarness, site: FeedSite, signed_in: SignIn, by_cookie: SignIn
) -> None:
    reader, page = await signed_in("a@example.org"), await by_cookie("a@example.org")
    await lose_two(harness, site, reader.user_id)

    told = (await reader.get("/api/v1/cleanup-notice")).json()
    assert told["unread_removed"] == 2
    assert "2 unread entries were removed" in (await page.get("/unread")).text

    assert (await reader.delete("/api/v1/cleanup-notice")).status_code == 204
    assert (await reader.get("/api/v1/cleanup-notice")).json() == {"unread_removed": 0, "removed_at": None}
    assert "were removed" not in (await page.get("/unread")).text


async def test_operators_see_what_cleanups_did(
    harness: RuntimeHarness, site: FeedSite, signed_in: SignIn, by_cookie: SignIn
) -> None:
    owner = await signed_in("owner@example.org", role="owner")
    await lose_two(harness, site, owner.user_id)

    (line,) = (await owner.get("/api/v1/admin/cleanups")).json()["items"]
    assert (line["posts_removed"], line["unread_removed"]) == (2, 2)
    assert line["duration_seconds"] is not None
    page = (await (await by_cookie("owner@example.org", role="owner")).get("/admin/cleanup")).text
    assert "Read entries stay for 365 days." in page
    assert (await (await signed_in("b@example.org")).get("/api/v1/admin/cleanups")).status_code == 403


async def test_the_log_of_cleanups_comes_in_pages(harness: RuntimeHarness, signed_in: SignIn) -> None:
    owner = await signed_in("owner@example.org", role="owner")
    for _ in range(3):
        await clean_up(harness.runtime)

    first = (await owner.get("/api/v1/admin/cleanups", params={"limit": 2})).json()
    cursor = first["next_cursor"]
    second = (await owner.get("/api/v1/admin/cleanups", params={"limit": 2, "cursor": cursor})).json()

    ids = [int(line["id"]) for page in (first, second) for line in page["items"]]
    assert len(ids) == 3 and ids == sorted(ids, reverse=True)
    assert second["next_cursor"] is None
    assert (await owner.get("/api/v1/admin/cleanups", params={"cursor": "7"})).status_code == 400


async def test_an_operator_can_ask_for_a_cleanup(signed_in: SignIn, harness: RuntimeHarness) -> None:
    owner = await signed_in("owner@example.org", role="owner")
    assert (await owner.post("/api/v1/admin/cleanups")).status_code == 202
    assert await harness.column("SELECT kind FROM jobs") == ["cleanup"]


async def test_a_follower_may_wish_how_much_is_kept(signed_in: SignIn, site: FeedSite) -> None:
    reader = await signed_in("a@example.org")
    site.publish("One")
    made = (await reader.post("/api/v1/subscriptions", json={"url": site.feed_url()})).json()
    assert made["keep_days"] is None
    address = f"/api/v1/subscriptions/{made['id']}"

    changed = (await reader.patch(address, json={"keep_days": 0, "keep_entries": 50})).json()

    assert (changed["keep_days"], changed["keep_entries"], changed["keep_unread_days"]) == (0, 50, None)
    refused = await reader.patch(address, json={"keep_days": -1})
    assert (refused.status_code, refused.json()["error"]["details"]) == (400, {"field": "keep_days"})
