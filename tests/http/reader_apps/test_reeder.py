"""Reeder: ids by the ten thousand, then contents in hundreds by bare hexadecimal ids, `T=x`."""

from tests.http.reader_apps.account import READ, READING_LIST, STARRED, AppAccount


async def test_reeder_synchronises(account: AppAccount) -> None:
    app = await account.open_app()
    unread = await app.read("stream/items/ids", s=READING_LIST, xt=READ, n=10_000, client="Reeder")
    starred = await app.read("stream/items/ids", s=STARRED, n=10_000)
    assert (len(unread["itemRefs"]), starred["itemRefs"]) == (5, [])
    bare = [f"{int(ref['id']):016x}" for ref in unread["itemRefs"]]
    contents = (await app.post("stream/items/contents", i=bare[:100], T="x")).json()
    assert [item["id"][-16:] for item in contents["items"]] == bare
    assert (await app.post("edit-tag", i=bare[:2], a=READ, T="x")).text == "OK"
    assert len(await account.unread_titles()) == 3
    by_feed = await app.read("stream/items/ids", s=f"feed/feed/{account.feeds['tech']}", xt=READ, n=1)
    assert by_feed.get("continuation") is None or isinstance(by_feed["continuation"], str)
