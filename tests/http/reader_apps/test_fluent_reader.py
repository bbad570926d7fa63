"""Fluent Reader: no edit token, no stream, `ot` from the newest crawl time, stops at what it knows."""

from tests.http.reader_apps.account import API, KEPT_UNREAD, READ, READING_LIST, STARRED, AppAccount


async def test_fluent_reader_fetches_pages_until_it_meets_what_it_knows(account: AppAccount) -> None:
    app = await account.open_app()
    first = await app.read("stream/contents", n=3, ck=1, client="FluentReader")
    rest = await app.read("stream/contents", n=3, c=first["continuation"])
    titles = [item["title"] for item in (*first["items"], *rest["items"])]
    assert len(titles) == 5
    assert all(item["canonical"][0]["href"] for item in first["items"])
    newest = max(int(item["crawlTimeMsec"]) for item in first["items"])
    await account.publish("Six")
    news = await app.read(f"stream/contents/{READING_LIST}", n=1_000, ot=newest // 1_000 + 1)
    assert [item["title"] for item in news["items"]] == ["Six"]


async def test_fluent_reader_marks_without_a_token_and_without_a_moment(account: AppAccount) -> None:
    app = await account.open_app()
    item = (await app.read("stream/contents", n=1))["items"][0]["id"]
    form = {**app.headers, "Content-Type": "application/x-www-form-urlencoded"}
    for body in (f"i={item}&a={READ}", f"i={item}&r={READ}", f"i={item}&a={STARRED}", f"i={item}&a={KEPT_UNREAD}"):
        assert (await app.client.post(f"{API}/edit-tag", content=body, headers=form)).text == "OK"
    everything = f"s=feed/{account.feeds['news']}"
    assert (await app.client.post(f"{API}/mark-all-as-read", content=everything, headers=form)).text == "OK"
    assert await account.unread_titles() == {"Four", "Five"}
