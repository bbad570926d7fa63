"""The Fever API, as Reeder, Unread, FeedMe, Raven and Fiery Feeds speak it."""

from hashlib import md5

import pytest

from tests.http.reader_apps.account import EMAIL, AppAccount


@pytest.mark.parametrize(
    "path", ["/fever", "/fever/", "/fever//", "/fever.php", "/fever.php/", "/api/fever.php", "/fever/index.php"]
)
async def test_every_place_and_every_way_to_send_a_key(account: AppAccount, path: str) -> None:
    key = account.fever_key
    body, upper = f"api_key={key}", {"api_key": key.upper()}
    for answer in (
        await account.app.post(f"{path}?api", data={"api_key": key}),
        await account.app.post(f"{path}?api", files={"api_key": (None, key)}),
        await account.app.post(f"{path}?api", content=body),
        await account.app.post(f"{path}?api&api_key={key}"),
        await account.app.get(f"{path}?api&api_key={key}"),
        await account.app.post(f"{path}?api", data=upper),
    ):
        assert (answer.status_code, answer.json()["auth"]) == (200, 1)
        assert answer.json()["api_version"] == 3


async def test_elsewhere_there_is_no_endpoint(account: AppAccount) -> None:
    answer = await account.app.post("/fever/elsewhere?api", data={"api_key": account.fever_key})
    assert answer.status_code == 404


@pytest.mark.parametrize("key", ["", "wrong", "0" * 32, None])
async def test_a_wrong_key_is_told_nothing_else(account: AppAccount, key: str | None) -> None:
    body = {} if key is None else {"api_key": key}
    for _ in range(8):
        answer = await account.app.post("/fever/?api&groups&feeds&items&unread_item_ids", data=body)
        assert (answer.status_code, answer.json()) == (200, {"api_version": 3, "auth": 0})


async def test_a_revoked_app_password_is_a_wrong_key(account: AppAccount) -> None:
    assert (await account.fever())["auth"] == 1
    await account.page.delete(f"/api/v1/users/me/tokens/{account.password_id}")
    assert (await account.fever())["auth"] == 0


async def test_the_last_check_is_told_and_left_out_when_there_was_none(account: AppAccount, signed_in) -> None:
    checked = await account.harness.column("SELECT max(last_checked_at) FROM feed_fetch_state")
    assert (await account.fever())["last_refreshed_on_time"] == checked[0] // 1_000
    await account.harness.change("UPDATE feed_fetch_state SET last_checked_at = NULL")
    assert "last_refreshed_on_time" not in await account.fever()


async def test_everything_asked_for_at_once_is_answered_at_once(account: AppAccount) -> None:
    answer = await account.fever("groups&feeds&favicons&items&links&unread_item_ids&saved_item_ids")
    assert set(answer) == {
        *("api_version", "auth", "last_refreshed_on_time"),
        *("groups", "feeds_groups", "feeds", "favicons", "total_items", "items", "links"),
        *("unread_item_ids", "saved_item_ids"),
    }
    assert answer["links"] == []


async def test_groups_feeds_and_what_lies_where(account: AppAccount) -> None:
    answer = await account.fever("groups&feeds")
    news, tech = int(account.folders["news"]), int(account.folders["tech"])
    assert answer["groups"] == [{"id": news, "title": "News"}, {"id": tech, "title": "Tech"}]
    assert answer["feeds_groups"] == [
        {"group_id": news, "feed_ids": str(account.feeds["news"])},
        {"group_id": tech, "feed_ids": str(account.feeds["tech"])},
    ]
    feed = answer["feeds"][0]
    assert feed["id"] == account.feeds["news"]
    assert (feed["title"], feed["url"]) == ("Feed news", account.site.feed_url("news"))
    assert (feed["site_url"], feed["is_spark"]) == (f"{account.site.url}/", 0)
    assert isinstance(feed["favicon_id"], int)
    assert isinstance(feed["last_updated_on_time"], int)
    assert "feeds_groups" in await account.fever("feeds")
    assert "feeds_groups" in await account.fever("groups")


async def test_icons_come_without_data_and_match_their_feeds(account: AppAccount) -> None:
    await account.harness.change(
        "INSERT INTO blobs (hash, media_type, data, created_at) VALUES ('x', 'image/png', :data, 1)", data=b"picture"
    )
    await account.harness.change("UPDATE feeds SET icon_id = (SELECT max(id) FROM blobs)")
    answer = await account.fever("feeds&favicons")
    none, icon = answer["favicons"]
    assert (none["id"], none["data"].startswith("image/png;base64,")) == (0, True)
    assert icon["data"] == "image/png;base64,cGljdHVyZQ=="
    assert {feed["favicon_id"] for feed in answer["feeds"]} == {icon["id"]}


async def test_a_feed_without_an_icon_has_one_to_look_up(account: AppAccount) -> None:
    answer = await account.fever("feeds&favicons")
    assert {feed["favicon_id"] for feed in answer["feeds"]} <= {icon["id"] for icon in answer["favicons"]}


async def test_what_was_saved_stays_readable_after_its_feed_was_left(account: AppAccount) -> None:
    one = await account.id_of("One")
    await account.fever("", mark="item", id=str(one), **{"as": "saved"})
    app = await account.open_app()
    await app.post("subscription/edit", ac="unsubscribe", s=f"feed/{account.feeds['news']}")
    assert (await account.fever("saved_item_ids"))["saved_item_ids"] == str(one)
    (item,) = (await account.fever(f"items&with_ids={one}"))["items"]
    assert (item["title"], item["is_saved"]) == ("One", 1)
    (item,) = (await app.post("stream/items/contents", i=str(one))).json()["items"]
    assert item["origin"]["title"] == "Feed news"


async def test_an_item_has_numbers_and_text(account: AppAccount) -> None:
    answer = await account.fever("items")
    assert answer["total_items"] == 5
    one = await account.id_of("One")
    item = next(item for item in answer["items"] if item["id"] == one)
    assert item["created_on_time"] > 1_000_000_000
    del item["created_on_time"]
    assert item == {
        "id": one,
        "feed_id": account.feeds["news"],
        "title": "One",
        "author": "",
        "html": "<p>One</p>",
        "url": f"{account.site.url}/news/news-1",
        "is_saved": 0,
        "is_read": 0,
    }


async def test_items_are_paged_by_since_by_max_and_by_ids(account: AppAccount) -> None:
    for number in range(60):
        account.site.publish(f"More {number}", feed="news")
    await account.harness.check_anyway(account.feeds["news"])
    every = [int(id) for id in (await account.fever("unread_item_ids"))["unread_item_ids"].split(",")]
    assert every == sorted(every)
    assert len(every) == 65

    async def ids(asked: str) -> list[int]:
        return [item["id"] for item in (await account.fever(f"items&{asked}"))["items"]]

    assert await ids("") == await ids("since_id=") == await ids("since_id=0") == every[:50]
    assert await ids(f"since_id={every[49]}") == every[50:]
    assert await ids("max_id=0") == every[::-1][:50]
    assert await ids(f"max_id={every[10]}") == every[:10][::-1]
    assert await ids(f"since_id=&max_id={every[10]}") == every[:10][::-1]
    wanted = [every[5], every[1], every[64]]
    bad = "0,x,-3,,99999999999999999999999,"
    assert await ids(f"with_ids={bad}{','.join(map(str, wanted))}&max_id=0") == wanted
    assert len(await ids(f"with_ids={','.join(map(str, every))}")) == 50
    assert await ids(f"since_id={every[-1]}") == []


async def test_lists_of_ids_are_whole_and_empty_text_when_there_is_nothing(account: AppAccount) -> None:
    answer = await account.fever("saved_item_ids&unread_item_ids")
    assert answer["saved_item_ids"] == ""
    assert len(answer["unread_item_ids"].split(",")) == 5
    emptied = await account.fever("", mark="group", id="0", **{"as": "read"})
    assert emptied["unread_item_ids"] == ""


async def test_an_item_is_set_and_never_toggled(account: AppAccount) -> None:
    one = await account.id_of("One")
    for wish, name, there in (
        ("read", "unread_item_ids", False),
        ("unread", "unread_item_ids", True),
        ("saved", "saved_item_ids", True),
        ("unsaved", "saved_item_ids", False),
    ):
        for _ in range(2):
            answer = await account.fever("", mark="item", id=str(one), **{"as": wish})
            assert (str(one) in answer[name].split(",")) is there
    assert (await account.state_of(one))["read"] is False
    assert account.harness.heard("state_changed")


@pytest.mark.parametrize(
    "body",
    [
        {"mark": "item", "as": "read", "id": "999999"},
        {"mark": "item", "as": "read", "id": "x"},
        {"mark": "item", "as": "read"},
        {"mark": "item", "as": "dance", "id": "1"},
        {"mark": "feed", "as": "read", "id": "999999"},
        {"mark": "group", "as": "read", "id": "999999"},
        {"mark": "group", "as": "read", "id": "-1"},
        {"mark": "group", "as": "read"},
        {"mark": "group", "as": "unread", "id": "0"},
        {"mark": "everything", "as": "read", "id": "0"},
    ],
)
async def test_a_mark_without_sense_changes_nothing(account: AppAccount, body: dict[str, str]) -> None:
    assert (await account.fever("", **body))["auth"] == 1
    assert len(await account.unread_titles()) == 5


async def test_feeds_and_groups_are_read_up_to_a_moment_of_arrival(account: AppAccount) -> None:
    arrived = await account.fetched_at(await account.id_of("One"))
    early = str(arrived // 1_000 - 1)
    for kind, id in (("feed", account.feeds["news"]), ("group", account.folders["news"]), ("group", 0)):
        await account.fever("", mark=kind, id=str(id), before=early, **{"as": "read"})
        assert len(await account.unread_titles()) == 5
    await account.fever("", mark="group", id="0", before=str(arrived // 1_000), **{"as": "read"})
    assert await account.unread_titles() == {"Four", "Five"}
    answer = await account.fever("", mark="group", id=account.folders["tech"], **{"as": "read"})
    assert answer["unread_item_ids"] == ""


async def test_recent_reading_is_taken_back(account: AppAccount) -> None:
    await account.fever("", mark="item", id=str(await account.id_of("Four")), **{"as": "read"})
    await account.fever("", mark="feed", id=str(account.feeds["news"]), **{"as": "read"})
    assert await account.unread_titles() == {"Five"}
    answer = await account.fever("", unread_recently_read="1")
    assert len(answer["unread_item_ids"].split(",")) == 5
    assert len(await account.unread_titles()) == 5


async def test_the_login_password_is_no_fever_password(account: AppAccount) -> None:
    key = md5(f"{EMAIL}:correct horse battery".encode()).hexdigest()
    answer = await account.app.post("/fever/?api", data={"api_key": key})
    assert answer.json() == {"api_version": 3, "auth": 0}
