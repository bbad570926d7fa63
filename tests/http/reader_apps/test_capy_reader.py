"""Capy Reader: a strict model without nulls, the bad-token header by its name, labels."""

from typing import Any

from tests.http.reader_apps.account import READ, READING_LIST, AppAccount


def _has_null(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_null, value.values()))
    return any(map(_has_null, value)) if isinstance(value, list) else value is None


async def test_capy_reader_meets_no_null_anywhere(account: AppAccount) -> None:
    app = await account.open_app()
    await app.post("subscription/edit", ac="subscribe", s="feed/http://127.0.0.1:9/never")
    for path in ("subscription/list", "tag/list", "unread-count", "user-info", "stream/contents"):
        assert not _has_null(await app.read(path))
    assert not _has_null(await app.read("stream/items/ids", s=READING_LIST))


async def test_capy_reader_asks_for_a_new_token_when_told(account: AppAccount) -> None:
    app = await account.open_app()
    one = await account.id_of("One")
    refused = await app.post("edit-tag", i=one, a=READ, T="expired")
    assert refused.headers["X-Reader-Google-Bad-Token"] == "true"
    assert (await app.post("edit-tag", i=one, a=READ, T=(await app.get("token")).text)).text == "OK"


async def test_capy_reader_labels_an_article(account: AppAccount) -> None:
    app = await account.open_app()
    one = await account.id_of("One")
    await app.post("edit-tag", i=one, a="user/-/label/Recipes", T=(await app.get("token")).text)
    assert "user/-/label/Recipes" in [tag["id"] for tag in (await app.read("tag/list"))["tags"]]
    assert await app.ids(s="user/-/label/Recipes") == [one]
