"""Items: ids in every form, and an object that no app stumbles over."""

import pytest

from reedbed.store.engine.database import counting
from tests.http.reader_apps.account import LONG, READ, READING_LIST, STARRED, AppAccount


@pytest.mark.parametrize("form", ["{long}{id:016x}", "{long}{id:x}", "{id:016x}", "-/{id:016x}", "{id}"])
async def test_an_item_is_found_by_every_form_of_its_id(account: AppAccount, form: str) -> None:
    app = await account.open_app()
    two = await account.id_of("Two")
    answer = await app.post("stream/items/contents", i=form.format(long=LONG, id=two))
    (item,) = answer.json()["items"]
    assert (item["id"], item["title"]) == (f"{LONG}{two:016x}", "Two")


async def test_bad_ids_are_left_out_one_by_one(account: AppAccount) -> None:
    app = await account.open_app()
    two = await account.id_of("Two")
    bad = ["", "0", "-5", "no", f"{2**63}", "9" * 30, f"{LONG}ffffffffffffffff", f"{LONG}xyz", LONG, "999999"]
    answer = await app.post("stream/items/contents", i=[*bad, str(two), str(two), *bad])
    assert [item["title"] for item in answer.json()["items"]] == ["Two"]
    assert (await app.post("edit-tag", i=[*bad, str(two)], a=READ)).text == "OK"
    assert await account.unread_titles() == {"One", "Three", "Four", "Five"}


async def test_items_come_in_the_order_asked_for_by_post_and_get(account: AppAccount) -> None:
    app = await account.open_app()
    wanted = [await account.id_of(title) for title in ("Two", "Five", "One")]
    by_post = (await app.post("stream/items/contents", i=[str(id) for id in wanted])).json()
    by_get = await app.read("stream/items/contents", i=[str(id) for id in wanted])
    for answer in (by_post, by_get):
        assert [item["title"] for item in answer["items"]] == ["Two", "Five", "One"]


async def test_more_than_a_thousand_items_are_refused_in_clear_words(account: AppAccount) -> None:
    app = await account.open_app()
    answer = await app.post("stream/items/contents", i=[str(id) for id in range(1, 1_002)])
    assert answer.status_code == 400
    assert "1000" in answer.text
    assert (await app.post("stream/items/contents", i=[str(id) for id in range(1, 1_001)])).status_code == 200
    assert (await app.post("stream/items/contents")).status_code == 400


async def test_an_item_says_everything_apps_read_without_asking(account: AppAccount) -> None:
    app = await account.open_app()
    entry = await account.publish("Rich", author="Somebody", content="<p>Text &amp; more</p>")
    await app.post("edit-tag", i=entry, a=[READ, STARRED, "user/-/label/Keep"])
    answer = await app.read(f"stream/contents/feed/{account.feeds['news']}")
    item = answer["items"][0]
    arrived = await account.fetched_at(entry)
    assert item["crawlTimeMsec"] == str(arrived)
    assert item["timestampUsec"] == f"{arrived}000"
    assert isinstance(item["published"], int)
    assert isinstance(item["updated"], int)
    assert 0 < item["published"] < 2**31
    assert item["author"] == "Somebody"
    assert item["canonical"] == [{"href": f"{account.site.url}/news/news-4"}]
    assert item["alternate"] == [{"href": f"{account.site.url}/news/news-4", "type": "text/html"}]
    assert item["summary"] == {"direction": "ltr", "content": "<p>Text &amp; more</p>"}
    assert item["origin"] == {
        "streamId": f"feed/{account.feeds['news']}",
        "title": "Feed news",
        "htmlUrl": f"{account.site.url}/",
    }
    assert item["categories"] == [READING_LIST, "user/-/label/News", "user/-/label/Keep", READ, STARRED]
    assert (answer["id"], answer["title"]) == (f"feed/{account.feeds['news']}", "Feed news")
    assert answer["direction"] == "ltr"
    assert isinstance(answer["updated"], int)


async def test_an_item_without_an_address_has_its_site_and_enclosures_have_href(account: AppAccount) -> None:
    account.site.put(
        "/pod.xml",
        """<rss version="2.0"><channel><title>Pod</title><link>https://pod.example/</link>
        <item><guid isPermaLink="false">x1</guid><title>Talk</title><description>Words</description>
        <enclosure url="https://pod.example/1.mp3" type="audio/mpeg" length="123"/></item>
        </channel></rss>""",
        content_type="application/rss+xml",
    )
    app = await account.open_app()
    await app.post("subscription/edit", ac="subscribe", s=f"feed/{account.site.url}/pod.xml")
    await account.harness.check()
    (item,) = (await app.read(f"stream/contents/feed/{account.site.url}/pod.xml"))["items"]
    assert item["canonical"][0]["href"] == "https://pod.example/"
    assert item["enclosure"] == [{"href": "https://pod.example/1.mp3", "type": "audio/mpeg", "length": 123}]


async def test_the_number_of_statements_does_not_grow_with_the_items(account: AppAccount) -> None:
    app = await account.open_app()
    await app.ids()
    counts: list[tuple[int, int]] = []
    for _ in range(2):
        with counting() as ids:
            await app.ids(xt=READ)
        with counting() as contents:
            await app.read("stream/contents", n=1_000)
        counts.append((ids.value, contents.value))
        for number in range(40):
            account.site.publish(f"More {number}", feed="news")
        await account.harness.check_anyway(account.feeds["news"])
    assert counts[0] == counts[1]
    assert counts[0][0] <= 2
    assert counts[0][1] <= 7


async def test_nobody_reads_or_changes_what_is_not_theirs(account: AppAccount, signed_in) -> None:
    other = await signed_in("other@example.org")
    mine = await other.post("/api/v1/subscriptions", json={"url": account.site.feed_url("private")})
    account.site.publish("Secret", feed="private")
    await account.harness.check_anyway(int(mine.json()["feed_id"]))
    secret = await account.id_of("Secret")
    app = await account.open_app()
    assert (await app.post("stream/items/contents", i=str(secret))).json()["items"] == []
    assert (await app.post("edit-tag", i=str(secret), a=[READ, STARRED, "user/-/label/x"])).text == "OK"
    assert (await app.get(f"stream/contents/feed/{mine.json()['feed_id']}")).status_code == 400
    state = (await other.get(f"/api/v1/entries/{secret}")).json()
    assert (state["read"], state["starred"], state["tags"]) == (False, False, [])
    assert (await account.fever("items", with_ids=str(secret)))["items"] == []


@pytest.mark.parametrize("mode", ["auto", "always", "never"])
async def test_whole_articles_are_sent_where_the_reader_chose_always(account: AppAccount, mode: str) -> None:
    followed = (await account.page.get("/api/v1/subscriptions")).json()["items"]
    news = next(one["id"] for one in followed if one["feed_id"] == str(account.feeds["news"]))
    answer = await account.page.patch(f"/api/v1/subscriptions/{news}", json={"full_text": mode})
    assert answer.status_code == 200
    entry = await account.publish("Teaser", content="<p>Reeds clean the water.</p>")
    article = "<p>Reeds clean the water. They grow by the lake, and birds nest there.</p>"
    await account.harness.change(
        "UPDATE entry_bodies SET full_content = :article WHERE entry_id = :id", article=article, id=entry
    )
    app = await account.open_app()
    (item,) = (await app.post("stream/items/contents", i=str(entry))).json()["items"]
    (fever,) = (await account.fever("items", with_ids=str(entry)))["items"]
    expected = article if mode == "always" else "<p>Reeds clean the water.</p>"
    assert (item["summary"]["content"], fever["html"]) == (expected, expected)
