"""Translations through the API."""

from tests.clients import Client
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness


async def _entry(harness: RuntimeHarness, client: Client, site: FeedSite) -> str:
    site.publish("The boats and the nets")
    await harness.follow(site.feed_url(), user_id=client.user_id)
    await harness.check()
    return str((await harness.rows("SELECT id FROM entries"))[0][0])


async def test_without_a_translator_there_is_no_translation(
    reader: Client, harness: RuntimeHarness, site: FeedSite
) -> None:
    entry_id = await _entry(harness, reader, site)
    assert (await reader.get(f"/api/v1/entries/{entry_id}/translation")).json()["status"] == "none"
    answer = await reader.post(f"/api/v1/entries/{entry_id}/translation", json={})
    assert answer.status_code == 409


async def test_preferences_of_translation(reader: Client) -> None:
    wanted = {"translation_language": "de", "languages_read": "de, en", "auto_translate": True}
    answer = await reader.patch("/api/v1/users/me", json={"preferences": wanted})
    assert answer.json()["preferences"].items() >= wanted.items()
    answer = await reader.patch("/api/v1/users/me", json={"preferences": {"languages_read": "everything!"}})
    assert answer.status_code == 400


async def test_a_feed_is_translated_always_or_never(reader: Client, harness: RuntimeHarness, site: FeedSite) -> None:
    await _entry(harness, reader, site)
    subscription = (await harness.rows("SELECT id FROM subscriptions"))[0][0]
    path = f"/api/v1/subscriptions/{subscription}/translation"
    assert (await reader.get(path)).json() == {"mode": ""}
    for mode in ("always", "never", ""):
        assert (await reader.put(path, json={"mode": mode})).json() == {"mode": mode}
        assert (await reader.get(path)).json() == {"mode": mode}
    assert (await reader.put(path, json={"mode": "sometimes"})).status_code == 400
    assert (await reader.put("/api/v1/subscriptions/999/translation", json={"mode": "always"})).status_code == 404
