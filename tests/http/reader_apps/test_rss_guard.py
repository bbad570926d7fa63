"""RSS Guard: a blank token, 200,000 ids at once, a feed without what is read."""

from tests.http.reader_apps.account import LONG, READ, READING_LIST, STARRED, AppAccount


async def test_rss_guard_synchronises_by_ids(account: AppAccount) -> None:
    app = await account.open_app()
    await app.post("edit-tag", i=await account.id_of("One"), a=READ, T="")
    for name in (READING_LIST, STARRED, f"feed/{account.feeds['news']}"):
        assert (await app.get("stream/items/ids", s=name, n=200_000)).status_code == 200
    unread = await app.ids(s=f"feed/{account.feeds['news']}", xt=READ, n=200_000)
    assert len(unread) == 2
    body = {"i": [f"{LONG}{id:016x}" for id in unread], "T": ""}
    assert len((await app.post("stream/items/contents", **body)).json()["items"]) == 2
    assert (await app.post("edit-tag", a=READ, **body)).text == "OK"
    assert await account.unread_titles() == {"Four", "Five"}
