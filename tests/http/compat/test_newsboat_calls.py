"""newsboat's own calls, word for word; the real program is in `tests/roles`."""

from urllib.parse import quote

from tests.http.compat.shelf import API, KEPT_UNREAD, LONG, READ, Shelf


async def test_newsboat_reads_each_feed_and_marks_with_unescaped_bodies(shelf: Shelf) -> None:
    app = await shelf.speak()
    token = (await app.get("token")).text
    name = quote(f"feed/{shelf.feeds['news']}", safe="")
    answer = await app.client.get(f"{API}/stream/contents/{name}?n=20", headers=app.headers)
    items = answer.json()["items"]
    assert len(items) == 3
    assert all(READ not in item["categories"] for item in items)
    item = items[0]["id"]
    form = {**app.headers, "Content-Type": "application/x-www-form-urlencoded"}
    read = f"i={item}&a={READ}&r={KEPT_UNREAD}&ac=edit&T={token}\n"
    answer = await app.client.post(f"{API}/edit-tag", content=read, headers=form)
    assert answer.content == b"OK"
    assert item.startswith(LONG)
    answer = await app.client.get(f"{API}/stream/contents/{name}?n=20", headers=app.headers)
    assert READ in answer.json()["items"][0]["categories"]
    tracking = "user/-/state/com.google/tracking-kept-unread"
    unread = f"i={item}&r={READ}&a={KEPT_UNREAD}&a={tracking}&ac=edit&T={token}"
    assert (await app.client.post(f"{API}/edit-tag", content=unread, headers=form)).content == b"OK"
    assert len(await shelf.unread_titles()) == 5
    everything = f"s=feed/{shelf.feeds['news']}&T={token}"
    answer = await app.client.post(f"{API}/mark-all-as-read", content=everything, headers=form)
    assert answer.content == b"OK"
    assert await shelf.unread_titles() == {"Four", "Five"}
