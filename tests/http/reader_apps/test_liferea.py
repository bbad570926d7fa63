"""Liferea and News+: decimal ids, the state of the whole reading list, lists that are never empty."""

from tests.http.reader_apps.account import READ, READING_LIST, STARRED, AppAccount


async def test_liferea_marks_by_decimal_ids(account: AppAccount) -> None:
    app = await account.open_app()
    token = (await app.get("token")).text
    ids = await app.ids(xt=READ)
    marked = await app.post("edit-tag", i=[str(id) for id in ids[:2]], a=READ, ac="edit-tags", T=token)
    assert marked.text == "OK"
    assert await app.ids(xt=READ) == ids[2:]
    counts = {row["id"]: row["count"] for row in (await app.read("unread-count"))["unreadcounts"]}
    assert counts[READING_LIST] == 3


async def test_news_plus_follows_a_star_there_and_back(account: AppAccount) -> None:
    app = await account.open_app()
    one = await account.id_of("One")

    async def starred() -> list[str]:
        answer = await app.read("stream/items/ids", s=STARRED, n=1_000, client="newsplus")
        return [ref["id"] for ref in answer["itemRefs"]]

    assert await starred() == ["0"]
    await app.post("edit-tag", i=f"{one:016x}", a=STARRED)
    assert await starred() == [str(one)]
    contents = await app.post("stream/items/contents", i=[*await starred(), "0"])
    assert [item["title"] for item in contents.json()["items"]] == ["One"]
    await app.post("edit-tag", i=f"{one:016x}", r=STARRED)
    assert await starred() == ["0"]
