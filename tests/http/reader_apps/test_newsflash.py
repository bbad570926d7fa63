"""NewsFlash: "latest" without a stream, and an OPML import whose answer is a number."""

from tests.http.reader_apps.account import API, READ, AppAccount

OPML = b'<opml><body><outline text="A"><outline text="B" xmlUrl="http://127.0.0.1:9/b"/></outline></body></opml>'


async def test_newsflash_asks_for_the_latest_without_a_stream(account: AppAccount) -> None:
    app = await account.open_app()
    answer = await app.read("stream/contents", n=1_000, xt=READ)
    assert len(answer["items"]) == 5
    assert answer["id"] == "user/-/state/com.google/reading-list"


async def test_newsflash_imports_subscriptions(account: AppAccount) -> None:
    app = await account.open_app()
    answer = await app.client.post(f"{API}/subscription/import", content=OPML, headers=app.headers)
    assert int(answer.text) == 1
    listed = (await app.read("subscription/list"))["subscriptions"]
    assert ["A"] in [[kind["label"] for kind in one["categories"]] for one in listed]
