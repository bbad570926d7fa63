"""RSS Guard: a blank token, 200,000 ids at once, a feed without what is read."""

from tests.http.reader_apps.shelf import LONG, READ, READING_LIST, STARRED, Shelf


async def test_rss_guard_synchronises_by_ids(shelf: Shelf) -> None:
    app = await shelf.set_language()
    await app.post("edit-tag", i=await shelf.id_of("One"), a=READ, T="")
    for name in (READING_LIST, STARRED, f"feed/{shelf.feeds['news']}"):
        assert (await app.get("stream/items/ids", s=name, n=200_000)).status_code == 200
    unread = await app.ids(s=f"feed/{shelf.feeds['news']}", xt=READ, n=200_000)
    assert len(unread) == 2
    body = {"i": [f"{LONG}{id:016x}" for id in unread], "T": ""}
    assert len((await app.post("stream/items/contents", **body)).json()["items"]) == 2
    assert (await app.post("edit-tag", a=READ, **body)).text == "OK"
    assert await shelf.unread_titles() == {"Four", "Five"}
