"""The dashboard and the list of feeds: the contract word for word, and what a plain form gets."""

import re

import pytest

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.times import DAY
from reedbed.services.runtime import Runtime
from reedbed.store.engine.database import counting
from reedbed.web import sidebar
from tests.clients import Client, SignIn
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.http.web.forms import HTMX, texts


async def test_the_dashboard_fills_its_form_from_the_address(reading: Client) -> None:
    page = (await reading.get("/dashboard?search=marrow&status=error&page=2")).text
    assert 'id="feed-filters"' in page and 'hx-target="#feed-list-container"' in page
    assert 'name="search" type="search" value="marrow"' in page
    assert '<option value="error" selected>' in page
    assert 'id="feed-list-container" hx-get="/feeds?page=2" hx-trigger="load, refreshFeedList from:body"' in page
    assert 'id="summary-container"' in page and 'hx-get="/summaries/latest" hx-trigger="load"' in page
    assert "feed-item-" not in page


@pytest.mark.parametrize("query", ["status=broken", "page=0", "page=x", "page=-1", "page=9999999"])
async def test_filters_that_make_no_sense_are_refused(reader: Client, query: str) -> None:
    dashboard = await reader.get(f"/dashboard?{query}")
    assert dashboard.status_code == 400 and texts(dashboard.text) == ["Invalid filter parameters"]
    part = await reader.get(f"/feeds?{query}", headers=HTMX)
    assert part.status_code == 400 and texts(part.text) == ["Invalid query parameters"]
    page = await reader.get(f"/feeds?{query}")
    assert page.status_code == 400 and "<html" in page.text


async def test_what_the_dashboard_asks_for_is_there(reading: Client) -> None:
    page = (await reading.get("/dashboard")).text
    for address in set(re.findall(r'hx-get="([^"]+)"', page)):
        assert (await reading.get(address, headers=HTMX)).status_code == 200, address


async def test_htmx_gets_the_list_alone_and_others_the_page(reading: Client) -> None:
    part, page = await reading.get("/feeds", headers=HTMX), await reading.get("/feeds")
    assert "<html" not in part.text and "The Marrowby Courier" in part.text
    assert "<html" in page.text and "The Marrowby Courier" in page.text


async def test_a_list_of_feeds_costs_the_same_however_many_there_are(
    reader: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    for number in range(25):
        await harness.follow(site.feed_url(f"f{number}"), user_id=reader.user_id)
    await reader.get("/feeds")
    with counting() as part:
        await reader.get("/feeds", headers=HTMX)
    with counting() as page:
        await reader.get("/feeds")
    assert part.value == 4
    assert page.value <= 14


async def test_pages_hold_twenty_and_keep_the_filter(reader: Client, harness: RuntimeHarness, site: FeedSite) -> None:
    for number in range(23):
        await harness.follow(site.feed_url(f"f{number}"), user_id=reader.user_id)
    first = (await reader.get("/feeds?status=pending", headers=HTMX)).text
    assert first.count('class="feedline"') == 20 and "1 to 20 of 23" in first
    assert 'href="/feeds?status=pending&amp;page=2"' in first
    second = (await reader.get("/feeds?status=pending&page=2", headers=HTMX)).text
    assert second.count('class="feedline"') == 3 and "21 to 23 of 23" in second


async def test_feeds_are_found_by_name_whatever_its_letters(reading: Client) -> None:
    assert "Marrowby" in (await reading.get("/feeds?search=MARROW", headers=HTMX)).text
    assert "No feed matches" in (await reading.get("/feeds?search=tide", headers=HTMX)).text


async def test_each_status_shows_its_feeds(reading: Client, harness: RuntimeHarness, site: FeedSite) -> None:
    site.misbehave(feed="broken", status=503)
    await harness.follow(site.feed_url("broken"), user_id=reading.user_id)
    await harness.check()
    await harness.follow(site.feed_url("new"), user_id=reading.user_id)
    for status, name in (("working", "Marrowby"), ("error", "broken.feed"), ("pending", "new.feed")):
        part = (await reading.get(f"/feeds?status={status}", headers=HTMX)).text
        assert part.count('class="feedline"') == 1 and name in part


async def test_a_feed_says_in_plain_words_how_it_is_and_when_it_is_looked_at_next(
    reading: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    site.misbehave(feed="gone", status=410)
    site.protect("me", "secret", feed="locked")
    for name in ("gone", "locked"):
        await harness.follow(site.feed_url(name), user_id=reading.user_id)
    await harness.check()
    part = (await reading.get("/feeds", headers=HTMX)).text
    why = texts(part, 'class="why"')
    assert any("Checked just now. Next about" in one and "because" in one for one in why)
    assert any("gone for good" in one for one in why)
    assert any(one.startswith("Authentication required. Give its name and password in the settings") for one in why)
    assert "Look for a new address" in part and "Give the password" in part


async def test_the_chips_count_within_the_search(reading: Client, harness: RuntimeHarness, site: FeedSite) -> None:
    site.misbehave(feed="broken", status=503)
    await harness.follow(site.feed_url("broken"), user_id=reading.user_id)
    await harness.check()
    part = (await reading.get("/feeds?search=MARROW", headers=HTMX)).text
    counts = re.findall(r'/feeds\?[^"]*search=MARROW[^"]*"[^>]*>([^<]+?)\s*<span[^>]*>(\d*)', part)
    assert dict(counts) | {} == {"All": "1", "Working": "1", "Pending": "0", "Error": "0"}


BROKEN_OFF = '<rss version="2.0"><channel><title>Half</title>%s<item><title>Last'
WHOLE_ITEM = "<item><title>First</title><guid>1</guid></item>"


async def _fail(harness: RuntimeHarness, site: FeedSite, user_id: int) -> None:
    """A feed for each way to fail."""
    site.misbehave(feed="asks", status=401)
    site.misbehave(feed="missing", status=404)
    site.misbehave(feed="busy", status=503)
    site.misbehave(feed="nothing", body=(BROKEN_OFF % "").encode(), content_type="application/rss+xml")
    site.misbehave(feed="half", body=(BROKEN_OFF % WHOLE_ITEM).encode(), content_type="application/rss+xml")
    addresses = [site.feed_url(name) for name in ("asks", "missing", "busy", "nothing", "half")]
    for address in (*addresses, site.page("/page", feeds=()), "http://no-such-name.invalid/feed"):
        await harness.follow(address, user_id=user_id)
    await harness.check()


def _marks(page: str) -> dict[str, tuple[bool, str]]:
    """By a word of the name of the feed: whether it needs the reader, and what the mark says."""
    line = r'<bdi[^>]*>([^<]+)</bdi>(?:(?!<li).)*?<a class="mark"[^>]*/trouble"( data-needs)?[^>]* title="([^"]+)"'
    shown = re.findall(line, page, re.DOTALL)
    return {re.split(r"[/.]", name)[-2] if "/" in name else name: (bool(needs), why) for name, needs, why in shown}


async def test_every_failing_feed_has_a_mark_that_says_why_and_what_to_do(
    reading: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    await _fail(harness, site, reading.user_id)
    marks = _marks((await reading.get("/unread")).text)
    assert len(marks) == 7, marks
    assert marks["asks"] == (True, "Authentication required. Give its name and password in the settings of the feed.")
    address = "Check its address in the settings of the feed."
    assert marks["missing"] == (True, f"Feed no longer available. {address}")
    assert marks["nothing"] == (True, f"The feed is damaged, and none of its entries could be read. {address}")
    assert marks["busy"] == (False, "The server answered 503. Reedbed tries again by itself.")
    assert marks["Half"] == (
        False,
        "The feed is damaged. Some of its entries may be missing. Only its publisher can fix it.",
    )
    others = [why for name, why in marks.items() if name not in ("asks", "missing", "nothing", "busy", "Half")]
    assert sorted(needs for needs, _ in others) == [True, True]
    assert any("no-such-name.invalid could not be found" in why for _, why in others)
    assert any("web page, not with a feed" in why for _, why in others)


async def test_a_failure_is_shown_in_the_readers_language_also_one_that_was_stored_as_a_sentence(
    reading: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    site.misbehave(feed="busy", status=503)
    site.misbehave(feed="old", status=404)
    for name in ("busy", "old"):
        await harness.follow(site.feed_url(name), user_id=reading.user_id)
    await harness.check()
    await harness.change(
        "UPDATE feed_fetch_state SET last_error = 'The answer could not be read.' WHERE status = 'permanent_error'"
    )
    german = {"Accept-Language": "de"}
    marks = _marks((await reading.get("/unread", headers=german)).text)
    assert marks["busy"][1].startswith("Der Server antwortete mit 503.")
    assert marks["old"][1].startswith("Die Antwort war nicht zu lesen.")


async def test_damage_is_told_as_long_as_the_document_is_the_same(
    reading: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    half = (BROKEN_OFF % WHOLE_ITEM).encode()
    site.misbehave(feed="half", body=half, content_type="application/rss+xml")
    feed_id = await harness.follow(site.feed_url("half"), user_id=reading.user_id)
    await harness.check()
    await harness.check_anyway(feed_id)
    state = await harness.state(feed_id)
    assert (state.status, state.last_error) == ("success", Failure(FailureCode.FEED_DAMAGED))
    part = (await reading.get("/feeds", headers=HTMX)).text
    assert "Damaged" in texts(part, 'class="chip"')
    site.behave(feed="half")
    site.publish("Whole", feed="half")
    await harness.check_anyway(feed_id)
    assert (await harness.state(feed_id)).last_error is None


async def test_a_folder_of_broken_feeds_is_not_all_read(
    reader: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    for name in ("one", "two"):
        site.misbehave(feed=name, status=404)
        await harness.follow(site.feed_url(name), user_id=reader.user_id)
    await harness.check()
    await harness.change(
        "INSERT INTO folders (id, user_id, name, position, created_at) VALUES (7, :user, 'Broken', 0, 0)",
        user=reader.user_id,
    )
    await harness.change("UPDATE subscriptions SET folder_id = 7")
    broken = (await reader.get("/folder/7")).text
    assert "None of the 2 feeds here can be read" in broken and "All read" not in broken
    assert 'href="/feeds?status=error"' in broken

    await harness.change("UPDATE subscriptions SET folder_id = NULL")
    assert "No feeds in this folder yet" in (await reader.get("/folder/7")).text
    site.behave(feed="one")
    await harness.follow(site.feed_url("three"), user_id=reader.user_id)
    partly = (await reader.get("/unread")).text
    assert "All read" in partly and "2 feeds here cannot be read." in partly


async def test_a_failing_feed_says_so_above_its_entries(
    reading: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    (feed_id,) = await harness.column("SELECT feed_id FROM subscriptions")
    (subscription_id,) = await harness.column("SELECT id FROM subscriptions")
    assert "Next try" not in (await reading.get(f"/feed/{subscription_id}")).text
    site.misbehave(status=404)
    await harness.check_anyway(feed_id)
    page = (await reading.get(f"/feed/{subscription_id}")).text
    assert "Herons 3" in page
    assert 'class="banner" data-kind="warn"' in page and "Feed no longer available. Next try" in page


async def test_a_feed_without_entries_says_why_where_they_would_be(
    reading: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    site.misbehave(feed="broken", status=500)
    site.protect("me", "secret", feed="locked")
    site.feed("bare", title="Bare")
    shown: dict[str, str] = {}
    for name in ("broken", "locked", "bare"):
        await harness.follow(site.feed_url(name), user_id=reading.user_id)
        await harness.check()
        (id_,) = await harness.column("SELECT max(id) FROM subscriptions")
        shown[name] = (await reading.get(f"/feed/{id_}")).text
        assert f'action="/feeds/{id_}/refresh"' in shown[name] or name != "broken"
    assert "This feed cannot be read" in shown["broken"] and "The server answered 500." in shown["broken"]
    assert "Give the password" in shown["locked"]
    assert "Nothing here yet" in shown["bare"] and "Checked just now." in shown["bare"]


async def test_a_feed_is_added_and_the_list_is_told_to_refresh(reader: Client, site: FeedSite) -> None:
    site.publish("Hello", key="a")
    added = await reader.post("/feeds", data={"name": "Mine", "url": site.feed_url()}, headers=HTMX)
    assert (added.status_code, added.headers["hx-trigger"], added.content) == (204, "refreshFeedList", b"")
    assert "Mine" in (await reader.get("/feeds", headers=HTMX)).text


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"name": "", "url": "https://a.example/"}, ["Feed name is required"]),
        ({"name": "  ", "url": ""}, ["Feed name is required", "Feed URL is required"]),
        ({"name": "n" * 256, "url": "https://a.example/"}, ["Feed name must be less than 255 characters"]),
        ({"name": "A", "url": "ftp://x"}, ["Invalid URL format. Must start with http:// or https://"]),
    ],
)
async def test_a_misspelt_feed_is_refused_at_its_own_place(
    reader: Client, fields: dict[str, str], errors: list[str]
) -> None:
    refused = await reader.post("/feeds", data=fields, headers=HTMX)
    assert refused.status_code == 400 and texts(refused.text) == errors
    assert refused.headers["hx-retarget"] == "#feed-add-form-errors"
    assert refused.headers["hx-reswap"] == "innerHTML"


async def test_a_feed_cannot_be_added_twice(reading: Client, site: FeedSite) -> None:
    again = await reading.post("/feeds", data={"name": "B", "url": site.feed_url()}, headers=HTMX)
    assert again.status_code == 409 and texts(again.text) == ["You have already added this feed"]
    assert again.headers["hx-retarget"] == "#feed-add-form-errors"


async def test_a_plain_form_that_was_refused_keeps_what_was_typed(reader: Client) -> None:
    refused = await reader.post("/feeds", data={"name": "My <feed>", "url": "nonsense", "next": "/feeds"})
    assert refused.status_code == 400 and "<html" in refused.text
    assert 'value="My &lt;feed&gt;"' in refused.text and 'value="nonsense"' in refused.text
    assert texts(refused.text) == ["Invalid URL format. Must start with http:// or https://"]


async def test_a_failure_nobody_foresaw_is_told_in_the_form(
    reading: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    site.publish("Hello", key="a", feed="other")
    (feed,) = await _feeds(harness)
    await harness.change("DROP TABLE event_log")
    added = await reading.post("/feeds", data={"name": "A", "url": site.feed_url("other")}, headers=HTMX)
    assert added.status_code == 500
    assert texts(added.text) == ["Failed to add feed. Please try again."]
    assert added.headers["hx-retarget"] == "#feed-add-form-errors"
    await harness.change("ALTER TABLE unread RENAME TO elsewhere")
    left = await reading.delete(f"/feeds/{feed}", headers=HTMX)
    assert left.status_code == 500 and texts(left.text) == ["Failed to delete feed"]
    assert left.headers["hx-retarget"] == f"#feed-item-{feed}-errors"


async def test_the_form_of_a_feed_holds_its_values(reading: Client, harness: RuntimeHarness, site: FeedSite) -> None:
    (feed,) = await _feeds(harness)
    part = await reading.get(f"/feeds/{feed}/edit", headers=HTMX)
    assert "<html" not in part.text and f'hx-patch="/feeds/{feed}"' in part.text
    assert 'value="The Marrowby Courier"' in part.text and f'id="feed-edit-form-errors-{feed}"' in part.text
    assert "<html" in (await reading.get(f"/feeds/{feed}/edit")).text


async def test_a_feed_can_be_left_from_its_own_page(reading: Client, harness: RuntimeHarness) -> None:
    (feed,) = await harness.column("SELECT id FROM subscriptions")
    refused = await reading.post(f"/feeds/{feed}", data={"name": "", "url": "foo"})
    assert "<h1><bdi>The Marrowby Courier</bdi></h1>" in refused.text, "whatever was typed"
    assert f'action="/feeds/{feed}/delete"' in (await reading.get(f"/feeds/{feed}/edit")).text
    left = await reading.post(f"/feeds/{feed}/delete", data={"next": f"/feeds/{feed}/edit"})
    assert left.headers["location"] == "/feeds"


async def test_a_feed_is_renamed_and_nothing_else_changes(reading: Client, harness: RuntimeHarness) -> None:
    (feed,) = await _feeds(harness)
    await harness.change("UPDATE subscriptions SET notify = :on, full_text = 'never'", on=True)
    changed = await reading.patch(f"/feeds/{feed}", data={"name": "Courier"}, headers=HTMX)
    assert (changed.status_code, changed.headers["hx-trigger"]) == (204, "refreshFeedList")
    rows = await harness.rows("SELECT title, notify, full_text, paused FROM subscriptions")
    assert [tuple(row) for row in rows] == [("Courier", True, "never", False)]


async def test_every_wish_of_the_form_is_taken(reading: Client, harness: RuntimeHarness) -> None:
    (feed,) = await _feeds(harness)
    await reading.post("/folders", data={"name": "News"})
    (folder,) = await harness.column("SELECT id FROM folders")
    wishes = {
        "name": "Courier",
        "folder_id": str(folder),
        "interval": "3600000",
        "full_text": ["false", "true"],
        "notify": ["false"],
        "paused": ["false", "true"],
    }
    done = await reading.post(f"/feeds/{feed}", data={**wishes, "next": f"/feeds/{feed}/edit"})
    assert (done.status_code, done.headers["location"]) == (303, "/feeds")
    rows = await harness.rows("SELECT folder_id, interval, full_text, notify, paused FROM subscriptions")
    assert [tuple(row) for row in rows] == [(folder, 3_600_000, "always", False, True)]


async def test_a_feed_moves_to_another_address_and_is_fetched_there(
    reading: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    site.publish("Elsewhere", key="e", feed="other")
    (feed,) = await _feeds(harness)
    moved = await reading.patch(f"/feeds/{feed}", data={"name": "Courier", "url": site.feed_url("other")}, headers=HTMX)
    assert moved.status_code == 204
    await harness.check()
    assert "Elsewhere" in (await reading.get("/all")).text


async def test_a_feed_cannot_move_to_where_another_is(reading: Client, harness: RuntimeHarness, site: FeedSite) -> None:
    (feed,) = await _feeds(harness)
    await harness.follow(site.feed_url("other"), user_id=reading.user_id)
    refused = await reading.patch(f"/feeds/{feed}", data={"name": "C", "url": site.feed_url("other")}, headers=HTMX)
    assert refused.status_code == 409 and texts(refused.text) == ["A feed with this URL already exists"]
    assert refused.headers["hx-retarget"] == f"#feed-edit-form-errors-{feed}"


async def test_a_refused_change_keeps_what_was_typed(reading: Client, harness: RuntimeHarness) -> None:
    (feed,) = await _feeds(harness)
    refused = await reading.post(f"/feeds/{feed}", data={"name": "", "url": "gopher://x", "interval": "900000"})
    assert refused.status_code == 400
    assert 'value="gopher://x"' in refused.text and '<option value="900000" selected>' in refused.text
    assert texts(refused.text)[0] == "Feed name is required"
    wrong = re.findall(r'<input id="([^"]*)"[^>]*aria-invalid[^>]* aria-describedby="([^"]*)"', refused.text)
    assert wrong == [(f"{name}-{feed}", f"{name}-{feed}-error") for name in ("name", "url")]


@pytest.mark.parametrize("id_", ["999999", "abc", "0", "99999999999999999999"])
async def test_an_unknown_feed_is_not_found_in_the_place_that_asked(reader: Client, id_: str) -> None:
    edit = await reader.get(f"/feeds/{id_}/edit", headers=HTMX)
    assert edit.status_code == 404
    if id_ != "999999":
        return
    changed = await reader.patch(f"/feeds/{id_}", data={"name": "x"}, headers=HTMX)
    assert changed.status_code == 404 and texts(changed.text) == ["Feed not found"]
    assert changed.headers["hx-retarget"] == f"#feed-edit-form-errors-{id_}"
    left = await reader.delete(f"/feeds/{id_}", headers=HTMX)
    assert left.status_code == 404 and texts(left.text) == ["Feed not found"]
    assert left.headers["hx-retarget"] == f"#feed-item-{id_}-errors"
    assert texts(edit.text) == ["Feed not found"]


async def test_leaving_a_feed_and_coming_back_keeps_what_was_read(
    reading: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    (feed,) = await _feeds(harness)
    (entry, *_) = await harness.column("SELECT id FROM entries ORDER BY id")
    await reading.post(f"/entry/{entry}/read", data={"value": "true"})
    left = await reading.delete(f"/feeds/{feed}", headers=HTMX)
    assert (left.status_code, left.headers["hx-trigger"]) == (204, "refreshFeedList")
    assert "Nothing followed yet" in (await reading.get("/feeds", headers=HTMX)).text
    await reading.post("/feeds", data={"url": site.feed_url(), "next": "/add?url=x"})
    assert f'id="e{entry}"' not in (await reading.get("/unread")).text


async def test_pausing_and_going_on(reading: Client, harness: RuntimeHarness) -> None:
    (feed,) = await _feeds(harness)
    paused = await reading.post(f"/feeds/{feed}/pause", data={"value": "true", "next": "/feeds"})
    assert paused.status_code == 303
    assert "You have paused it" in (await reading.get("/feeds", headers=HTMX)).text
    await reading.post(f"/feeds/{feed}/pause", data={"value": "false"})
    assert "You have paused it" not in (await reading.get("/feeds", headers=HTMX)).text


async def test_a_stopped_feed_is_started_again(reading: Client, harness: RuntimeHarness, site: FeedSite) -> None:
    site.misbehave(status=410)
    harness.clock.ahead += DAY
    await harness.check()
    assert "Stopped" in (await reading.get("/feeds", headers=HTMX)).text
    site.behave()
    (feed,) = await _feeds(harness)
    await reading.post(f"/feeds/{feed}/refresh")
    await harness.check()
    assert "Stopped" not in (await reading.get("/feeds", headers=HTMX)).text


async def test_another_users_feed_is_not_found(
    reading: Client, by_cookie: SignIn, harness: RuntimeHarness, runtime: Runtime
) -> None:
    (feed,) = await _feeds(harness)
    stranger = await by_cookie("stranger@example.org")
    for method, path in (
        ("GET", f"/feeds/{feed}/edit"),
        ("PATCH", f"/feeds/{feed}"),
        ("DELETE", f"/feeds/{feed}"),
        ("POST", f"/feeds/{feed}/refresh"),
        ("GET", f"/feed/{feed}"),
    ):
        answer = await stranger.request(method, path, headers=HTMX, data={} if method != "GET" else None)
        assert answer.status_code == 404, (method, path)
    paused = await stranger.post(f"/feeds/{feed}/pause", data={"value": "true"}, headers=HTMX)
    assert paused.status_code == 404
    assert await harness.column("SELECT paused FROM subscriptions WHERE id = :id", id=feed) == [False]


async def _feeds(harness: RuntimeHarness) -> list[int]:
    return await harness.column("SELECT id FROM subscriptions ORDER BY id")


async def test_name_and_password_are_set_in_the_form_of_a_feed(
    reading: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    (feed,) = await harness.column("SELECT id FROM subscriptions")
    form = (await reading.get(f"/feeds/{feed}/edit")).text
    assert 'name="username" type="text" value=""' in form and 'name="password" type="password"' in form
    site.protect("ann", "s3cret")
    both = {"url": site.feed_url(), "username": "ann", "password": "s3cret"}
    assert (await reading.post(f"/feeds/{feed}", data=both)).status_code == 303
    form = (await reading.get(f"/feeds/{feed}/edit")).text
    assert 'value="ann"' in form and "s3cret" not in form and 'placeholder="Unchanged"' in form
    unchanged = {"url": site.feed_url(), "username": "ann", "password": "", "notify": "true"}
    assert (await reading.post(f"/feeds/{feed}", data=unchanged)).status_code == 303
    kept = "SELECT username FROM feeds WHERE owner_id IS NOT NULL AND password IS NOT NULL"
    assert await harness.column(kept) == ["ann"]
    await reading.post(f"/feeds/{feed}", data={**unchanged, "username": ""})
    assert await harness.column(kept) == []
    refused = await reading.post(f"/feeds/{feed}", data={"username": "", "password": "x"}, headers=HTMX)
    assert (refused.status_code, texts(refused.text)) == (400, ["A password needs a user name."])


async def test_the_sidebar_counts_the_feeds_that_it_leaves_out(
    reading: Client, site: FeedSite, harness: RuntimeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await harness.follow(site.feed_url("quiet"), user_id=reading.user_id)
    (followed,) = await harness.column("SELECT count(*) FROM subscriptions")
    assert "more feed" not in (await reading.get("/sidebar")).text
    monkeypatch.setattr(sidebar, "MAX_SHOWN", 1)
    number = followed - 1
    link = f'<a href="/feeds">{number} more feed{"s" if number > 1 else ""}</a>'
    assert link in (await reading.get("/sidebar")).text


async def test_many_feeds_are_changed_at_once(reader: Client) -> None:
    for name in ("a", "b", "c"):
        await reader.post("/api/v1/subscriptions/batch", json={"items": [{"url": f"http://127.0.0.1:9/{name}"}]})
    ids = [item["id"] for item in (await reader.get("/api/v1/subscriptions")).json()["items"]]
    answer = await reader.post("/feeds/change", data={"ids": ids[:2], "change": "unread_limit:10", "status": "all"})
    assert answer.status_code == 303
    listed = await reader.get("/feeds?status=changed")
    assert listed.text.count("Only the newest stay unread") == 2
    changed = (await reader.get("/api/v1/subscriptions?status=changed")).json()["items"]
    assert [item["unread_limit"] for item in changed] == [10, 10]
    answer = await reader.post("/feeds/change", data={"every": "true", "change": "defaults:", "status": "changed"})
    assert (await reader.get("/api/v1/subscriptions?status=changed")).json()["items"] == []
    body = {"ids": ids, "change": {"title": "One for all"}}
    assert (await reader.post("/api/v1/subscriptions/change", json=body)).status_code == 400
    answer = await reader.post("/api/v1/subscriptions/change", json={"ids": ids, "change": {"paused": True}})
    assert answer.json() == {"changed": 3}
