"""Unread, Fiery Feeds and older Reeders over Fever: first everything, then what is new by `since_id`."""

from typing import Any

from tests.http.reader_apps.account import AppAccount


async def test_unread_asks_by_get_and_catches_up_by_since_id(account: AppAccount) -> None:
    async def ask(what: str) -> dict[str, Any]:
        answer = await account.app.get(f"/fever/?api&api_key={account.fever_key.upper()}&{what}")
        return answer.json()

    shown = await ask("groups&feeds&favicons")
    inside = {int(id) for one in shown["feeds_groups"] for id in one["feed_ids"].split(",")}
    assert inside == {feed["id"] for feed in shown["feeds"]}
    known: list[int] = []
    while items := (await ask(f"items&since_id={known[-1] if known else 0}"))["items"]:
        known += [item["id"] for item in items]
    assert known == [int(id) for id in (await ask("unread_item_ids"))["unread_item_ids"].split(",")]
    new = await account.publish("Six")
    assert [item["id"] for item in (await ask(f"items&since_id={known[-1]}"))["items"]] == [new]


async def test_raven_marks_by_multipart_and_gets_the_list_at_once(account: AppAccount) -> None:
    one = await account.id_of("One")
    words = {"api_key": account.fever_key, "mark": "item", "as": "read", "id": str(one)}
    parts = {name: (None, value) for name, value in words.items()}
    answer = (await account.app.post("/api/fever.php?api", files=parts)).json()
    assert str(one) not in answer["unread_item_ids"].split(",")
    assert "One" not in await account.unread_titles()
