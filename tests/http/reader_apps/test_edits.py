"""Changes: states and labels of items, marks, subscriptions, labels themselves."""

import pytest

from tests.http.reader_apps.account import KEPT_UNREAD, READ, READING_LIST, STARRED, AppAccount

STATE = "user/-/state/com.google/"


async def test_states_are_set_and_the_page_hears_of_it(account: AppAccount) -> None:
    app = await account.open_app()
    one = await account.id_of("One")
    assert (await app.post("edit-tag", i=one, a=[READ, STARRED])).text == "OK"
    state = await account.state_of(one)
    assert (state["read"], state["starred"]) == (True, True)
    assert {"ids": [str(one)], "read": True, "starred": True} in [
        dict(hint.data) for hint in account.harness.heard("state_changed")
    ]
    assert (await app.post("edit-tag", i=one, r=[READ, STARRED])).text == "OK"
    state = await account.state_of(one)
    assert (state["read"], state["starred"]) == (False, False)


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ({"a": READ}, True),
        ({"r": KEPT_UNREAD}, True),
        ({"a": READ, "r": KEPT_UNREAD}, True),
        ({"r": f"{STATE}unread"}, True),
        ({"r": READ}, False),
        ({"a": KEPT_UNREAD}, False),
        ({"a": f"{STATE}unread"}, False),
        ({"r": READ, "a": [KEPT_UNREAD, f"{STATE}tracking-kept-unread"]}, False),
        ({"a": "user/7/state/com.google/read"}, True),
        ({"a": [READ, f"{STATE}like", f"{STATE}broadcast", "nonsense", ""]}, True),
    ],
)
async def test_read_and_unread_have_many_names(account: AppAccount, body: dict, read: bool) -> None:
    app = await account.open_app()
    one = await account.id_of("One")
    await app.post("edit-tag", i=one, **({"r": READ} if read else {"a": READ}))
    assert (await app.post("edit-tag", i=one, s="feed/1", ac="edit-tags", **body)).text == "OK"
    assert (await account.state_of(one))["read"] is read


async def test_a_contradiction_changes_nothing(account: AppAccount) -> None:
    app = await account.open_app()
    one = await account.id_of("One")
    for body in (
        {"a": READ, "r": READ},
        {"a": [READ, KEPT_UNREAD]},
        {"a": STARRED, "r": STARRED},
        {"a": [READ, "user/-/label/x"], "r": "user/-/label/x"},
    ):
        assert (await app.post("edit-tag", i=one, **body)).status_code == 400
    state = await account.state_of(one)
    assert (state["read"], state["starred"], state["tags"]) == (False, False, [])


async def test_the_same_again_moves_no_moment(account: AppAccount) -> None:
    app = await account.open_app()
    one = await account.id_of("One")
    await app.post("edit-tag", i=one, a=STARRED)
    before = await account.harness.column("SELECT marked_at FROM starred")
    account.harness.clock.ahead += 60_000
    await app.post("edit-tag", i=one, a=STARRED)
    assert await account.harness.column("SELECT marked_at FROM starred") == before


async def test_labels_make_themselves_and_are_taken_off(account: AppAccount) -> None:
    app = await account.open_app()
    one = await account.id_of("One")
    await app.post("edit-tag", i=one, a=["user/-/label/Keep", "user/-/label/Later on"])
    assert (await account.state_of(one))["tags"] == ["Keep", "Later on"]
    await app.post("edit-tag", i=one, r="user/-/label/Keep")
    assert (await account.state_of(one))["tags"] == ["Later on"]


async def test_a_thousand_items_are_edited_at_once(account: AppAccount) -> None:
    app = await account.open_app()
    ids = [f"tag:google.com,2005:reader/item/{id:016x}" for id in range(1, 5_001)]
    assert (await app.post("edit-tag", i=ids, a=READ)).text == "OK"
    assert await account.unread_titles() == set()


async def test_mark_all_goes_by_arrival_and_takes_every_unit(account: AppAccount) -> None:
    app = await account.open_app()
    arrived = await account.fetched_at(await account.id_of("One"))
    for ts in (f"{arrived}000", f"{arrived}000000", str(arrived), str(arrived // 1_000)):
        assert (await app.post("mark-all-as-read", s=READING_LIST, ts=ts)).text == "OK"
        assert await account.unread_titles() == {"Four", "Five"}
        ids = [str(await account.id_of(title)) for title in ("One", "Two", "Three")]
        await app.post("edit-tag", i=ids, r=READ)
    before = f"{arrived}000000"[:-6] + "000"
    await app.post("mark-all-as-read", s=READING_LIST, ts=str(int(before) - 1_000))
    assert len(await account.unread_titles()) == 5
    assert (await app.post("mark-all-as-read", s=READING_LIST, ts="soon")).status_code == 400
    assert len(await account.unread_titles()) == 5


@pytest.mark.parametrize("ts", [None, "", "0", "9999999999999999"])
async def test_without_a_moment_mark_all_means_now(account: AppAccount, ts: str | None) -> None:
    app = await account.open_app()
    body = {} if ts is None else {"ts": ts}
    await app.post("mark-all-as-read", s=f"feed/{account.feeds['news']}", **body)
    assert await account.unread_titles() == {"Four", "Five"}
    await app.post("mark-all-as-read", s="user/-/label/Tech", **body)
    assert await account.unread_titles() == set()


async def test_mark_all_knows_labels_and_stars(account: AppAccount) -> None:
    app = await account.open_app()
    one, two = await account.id_of("One"), await account.id_of("Two")
    await app.post("edit-tag", i=one, a="user/-/label/Keep")
    await app.post("edit-tag", i=two, a=STARRED)
    await app.post("mark-all-as-read", s="user/-/label/Keep")
    assert "One" not in await account.unread_titles()
    await app.post("mark-all-as-read", s=STARRED)
    assert await account.unread_titles() == {"Three", "Four", "Five"}
    assert (await app.post("mark-all-as-read", s=f"{STATE}broadcast")).text == "OK"
    assert (await app.post("mark-all-as-read", s=READ)).status_code == 400
    assert len(await account.unread_titles()) == 3


async def test_mark_all_takes_several_streams_or_none(account: AppAccount) -> None:
    app = await account.open_app()
    news, tech = (f"feed/{account.feeds[name]}" for name in ("news", "tech"))
    assert (await app.post("mark-all-as-read", s=[news, "feed/999999"])).status_code == 400
    assert (await app.post("mark-all-as-read")).status_code == 400
    assert len(await account.unread_titles()) == 5
    assert (await app.post("mark-all-as-read", s=[news, tech])).text == "OK"
    assert await account.unread_titles() == set()


async def test_a_feed_is_followed_with_a_folder_and_an_empty_title(account: AppAccount) -> None:
    account.site.publish("Six", feed="more")
    address = account.site.feed_url("more")
    app = await account.open_app()
    wish = {"ac": "subscribe", "s": f"feed/{address}", "a": "user/-/label/New", "t": ""}
    answer = await app.post("subscription/edit", **wish)
    assert (answer.status_code, answer.text) == (200, "OK")
    listed = (await app.read("subscription/list"))["subscriptions"]
    (made,) = [one for one in listed if one["url"] == address]
    assert made["categories"] == [{"id": "user/-/label/New", "label": "New"}]
    await account.harness.check()
    assert len(await app.ids(s=made["id"])) == 1
    again = await app.post("subscription/edit", ac="subscribe", s=f"feed/{address}", t="Mine")
    assert again.text == "OK"
    listed = (await app.read("subscription/list"))["subscriptions"]
    assert [one["title"] for one in listed if one["url"] == address] == ["Mine"]


async def test_a_feed_is_listed_with_its_own_address_and_answers_to_the_one_it_was_asked_by(
    account: AppAccount,
) -> None:
    account.site.publish("Six", feed="more")
    address = account.site.feed_url("more").replace("http://", "HTTP://") + "#top"
    app = await account.open_app()
    assert (await app.post("subscription/edit", ac="subscribe", s=f"feed/{address}")).text == "OK"
    listed = (await app.read("subscription/list"))["subscriptions"]
    assert account.site.feed_url("more") in [one["url"] for one in listed]
    assert (await app.post("subscription/edit", ac="unsubscribe", s=f"feed/{address}")).text == "OK"
    listed = (await app.read("subscription/list"))["subscriptions"]
    assert account.site.feed_url("more") not in [one["url"] for one in listed]


async def test_a_feed_added_by_its_page_is_listed_with_its_own_address_and_title_at_once(account: AppAccount) -> None:
    account.site.feed("more", title="The More Times")
    account.site.publish("Six", feed="more")
    page = account.site.page("/home", feeds=("more",))
    app = await account.open_app()
    made = (await app.post("subscription/quickadd", quickadd=page)).json()
    assert made["streamName"] == "The More Times"
    listed = {one["id"]: one for one in (await app.read("subscription/list"))["subscriptions"]}
    mine = listed[made["streamId"]]
    assert (mine["url"], mine["title"]) == (account.site.feed_url("more"), "The More Times")
    fever = {one["url"]: one["title"] for one in (await account.fever("feeds"))["feeds"]}
    assert fever[account.site.feed_url("more")] == "The More Times"
    assert account.site.count("more") == 1


async def test_several_feeds_are_edited_with_parallel_titles(account: AppAccount) -> None:
    app = await account.open_app()
    names = [f"feed/{account.feeds['news']}", f"feed/{account.feeds['tech']}", "feed/999999"]
    answer = await app.post("subscription/edit", ac="edit", s=names, t=["First", "Second"])
    assert answer.text == "OK"
    listed = (await app.read("subscription/list"))["subscriptions"]
    assert {one["title"] for one in listed} == {"First", "Second"}
    assert (await app.post("subscription/edit", ac="edit", s="feed/999999", t="x")).status_code == 400
    assert (await app.post("subscription/edit", ac="dance", s=names[0])).status_code == 400
    assert (await app.post("subscription/edit", ac="edit")).status_code == 400


async def test_a_feed_moves_between_folders_and_out_of_all(account: AppAccount) -> None:
    app = await account.open_app()
    news = f"feed/{account.feeds['news']}"

    async def folder() -> list[str]:
        listed = (await app.read("subscription/list"))["subscriptions"]
        return [kind["label"] for one in listed if one["id"] == news for kind in one["categories"]]

    await app.post("subscription/edit", ac="edit", s=news, a="user/-/label/Tech", r="user/-/label/News")
    assert await folder() == ["Tech"]
    await app.post("subscription/edit", ac="edit", s=news, r="user/-/label/Tech")
    assert await folder() == []
    await app.post("subscription/edit", ac="edit", s=news, a="user/-/label/A & B/C+")
    assert await folder() == ["A & B/C+"]


async def test_unsubscribing_is_ok_also_the_second_time(account: AppAccount) -> None:
    app = await account.open_app()
    for name in (f"feed/{account.feeds['news']}", f"feed/{account.site.feed_url('tech')}", "feed/424242"):
        for _ in range(2):
            assert (await app.post("subscription/edit", ac="unsubscribe", s=name)).text == "OK"
    assert await app.read("subscription/list") == {"subscriptions": []}


async def test_a_feed_that_was_left_is_followed_again_by_its_number(account: AppAccount) -> None:
    app = await account.open_app()
    news = f"feed/{account.feeds['news']}"
    await app.post("subscription/edit", ac="unsubscribe", s=news)
    assert (await app.post("subscription/edit", ac="subscribe", s=news)).text == "OK"
    assert news in [one["id"] for one in (await app.read("subscription/list"))["subscriptions"]]
    assert (await app.post("subscription/edit", ac="subscribe", s="feed/999999")).status_code == 400


async def test_quickadd_takes_feeds_and_pages_and_tells_failures_in_its_answer(account: AppAccount) -> None:
    account.site.publish("Six", feed="more")
    page, empty = account.site.page("/home", feeds=("more",)), account.site.page("/empty", feeds=())
    app = await account.open_app()
    for query in (page, f"feed/{account.site.feed_url('more')}", page):
        made = (await app.post("subscription/quickadd", quickadd=query)).json()
        assert (made["query"], made["numResults"]) == (query, 1)
        assert made["streamId"].startswith("feed/")
        assert made["streamName"]
    listed = (await app.read("subscription/list"))["subscriptions"]
    (added,) = (feed for feed in listed if feed["id"] == made["streamId"])
    assert (added["url"], added["title"]) == (account.site.feed_url("more"), made["streamName"])
    assert added["title"] not in (page, added["url"])
    nothing, closed = f"{account.site.url}/nothing", "http://127.0.0.1:1/feed"
    for query in (empty, "not an address", "", "http://10.0.0.1/feed", nothing, closed):
        failed = await app.post("subscription/quickadd", quickadd=query)
        assert failed.status_code == 200
        assert failed.json()["numResults"] == 0
        assert failed.json()["error"]
    assert (await app.get("subscription/quickadd", quickadd=page)).json()["numResults"] == 1


async def test_an_address_without_a_feed_is_refused_and_leaves_no_folder(account: AppAccount) -> None:
    app = await account.open_app()
    for address in (f"{account.site.url}/nothing", "http://127.0.0.1:1/feed", account.site.page("/e", feeds=())):
        answer = await app.post("subscription/edit", ac="subscribe", s=f"feed/{address}", a="user/-/label/New")
        assert answer.status_code == 400
    assert "user/-/label/New" not in [tag["id"] for tag in (await app.read("tag/list"))["tags"]]
    assert len((await app.read("subscription/list"))["subscriptions"]) == 2


async def test_subscriptions_go_out_and_come_in_as_opml(account: AppAccount) -> None:
    app = await account.open_app()
    exported = await app.get("subscription/export")
    assert account.site.feed_url("news").encode() in exported.content
    opml = exported.content.replace(b"news.feed", b"other.feed")
    answer = await app.client.post(
        f"{app.base}/subscription/import", content=opml, headers={**app.headers, "Content-Type": "text/xml"}
    )
    assert (answer.status_code, answer.text) == (200, "2")
    assert len((await app.read("subscription/list"))["subscriptions"]) == 3
    broken = await app.client.post(f"{app.base}/subscription/import", content=b"no", headers=app.headers)
    assert broken.status_code == 400
    form = {**app.headers, "Content-Type": "multipart/form-data; boundary=x"}
    empty = await app.client.post(f"{app.base}/subscription/import", content=b"--x--\r\n", headers=form)
    assert (empty.status_code, empty.text) == (400, "Choose a file.")


async def test_a_label_is_renamed_whether_folder_or_tag(account: AppAccount) -> None:
    app = await account.open_app()
    await app.post("edit-tag", i=await account.id_of("One"), a="user/-/label/Keep")
    for old, new in (("News", "Papers"), ("Keep", "Kept")):
        answer = await app.post("rename-tag", s=f"user/-/label/{old}", dest=f"user/-/label/{new}")
        assert answer.text == "OK"
    names = {tag["id"] for tag in (await app.read("tag/list"))["tags"]}
    assert names == {STARRED, "user/-/label/Papers", "user/-/label/Tech", "user/-/label/Kept"}
    assert len(await app.ids(s="user/-/label/Papers")) == 3
    unknown = await app.post("rename-tag", s="user/-/label/No", dest="user/-/label/Yes")
    assert unknown.status_code == 400


async def test_renaming_to_a_folder_that_exists_puts_the_feeds_there(account: AppAccount) -> None:
    app = await account.open_app()
    answer = await app.post("rename-tag", s="user/-/label/News", dest="user/-/label/Tech")
    assert answer.text == "OK"
    assert len(await app.ids(s="user/-/label/Tech")) == 5


async def test_a_tag_renamed_to_another_becomes_one_with_it(account: AppAccount) -> None:
    app = await account.open_app()
    one, two = await account.id_of("One"), await account.id_of("Two")
    await app.post("edit-tag", i=[one, two], a="user/-/label/Old")
    await app.post("edit-tag", i=one, a="user/-/label/New")
    answer = await app.post("rename-tag", s="user/-/label/Old", dest="user/-/label/New")
    assert answer.text == "OK"
    assert await app.ids(s="user/-/label/New") == sorted([one, two], reverse=True)
    assert "user/-/label/Old" not in [tag["id"] for tag in (await app.read("tag/list"))["tags"]]


async def test_a_disabled_label_leaves_feeds_and_entries(account: AppAccount) -> None:
    app = await account.open_app()
    await app.post("edit-tag", i=await account.id_of("One"), a="user/-/label/Keep")
    answer = await app.post("disable-tag", s=["user/-/label/News", "user/-/label/Keep", "user/-/label/No"])
    assert answer.text == "OK"
    assert (await app.post("disable-tag", t="Tech")).text == "OK"
    listed = (await app.read("subscription/list"))["subscriptions"]
    assert [one["categories"] for one in listed] == [[], []]
    assert [tag["id"] for tag in (await app.read("tag/list"))["tags"]] == [STARRED]
    assert len(await app.ids()) == 5


async def test_a_token_that_may_only_read_changes_nothing(account: AppAccount) -> None:
    made = await account.page.post(
        "/api/v1/users/me/tokens", json={"name": "Reader", "kind": "api", "scopes": ["read"]}
    )
    headers = {"Authorization": f"Bearer {made.json()['secret']}"}
    listed = await account.app.get("/reader/api/0/subscription/list", headers=headers)
    assert len(listed.json()["subscriptions"]) == 2
    refused = await account.app.post(
        "/reader/api/0/edit-tag", data={"i": str(await account.id_of("One")), "a": READ}, headers=headers
    )
    assert refused.status_code == 403
    assert len(await account.unread_titles()) == 5


async def test_changes_come_by_post_only(account: AppAccount) -> None:
    app = await account.open_app()
    for path in ("edit-tag", "mark-all-as-read", "subscription/edit", "rename-tag", "disable-tag"):
        assert (await app.get(path, s=READING_LIST)).status_code == 405
    assert len(await account.unread_titles()) == 5


async def test_a_feed_has_several_labels_and_loses_one(account: AppAccount) -> None:
    app = await account.open_app()
    news = f"feed/{account.feeds['news']}"

    async def labels() -> list[str]:
        listed = (await app.read("subscription/list"))["subscriptions"]
        return [kind["label"] for one in listed if one["id"] == news for kind in one["categories"]]

    await app.post("subscription/edit", ac="edit", s=news, a=["user/-/label/Weekly", "user/-/label/Daily"])
    assert set(await labels()) == {"News", "Weekly", "Daily"}
    for label in ("Weekly", "Daily"):
        assert await app.ids(s=f"user/-/label/{label}") == await app.ids(s="user/-/label/News")
    counted = {row["id"]: row["count"] for row in (await app.read("unread-count"))["unreadcounts"]}
    assert counted["user/-/label/Weekly"] == counted["user/-/label/News"] == counted[news]
    await app.post("subscription/edit", ac="edit", s=news, r="user/-/label/News")
    assert set(await labels()) == {"Weekly", "Daily"}
