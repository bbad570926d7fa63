"""Rules through the API, on both engines."""

from typing import Any

import pytest

from reedbed.services.rules import manage as rules
from tests.clients import SignIn
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness

ADDRESS = "/api/v1/rules"
HERONS: dict[str, Any] = {
    "name": "Herons",
    "match": "any",
    "conditions": [
        {"field": "title", "operator": "contains", "value": "heron"},
        {"field": "author", "operator": "is_not", "value": "Ann"},
    ],
    "actions": [{"action": "tag", "value": "birds"}, {"action": "star"}],
}


async def test_a_rule_is_made_read_changed_and_deleted(signed_in: SignIn) -> None:
    client = await signed_in()
    made = await client.post(ADDRESS, json=HERONS)
    assert made.status_code == 201
    rule = made.json()
    assert (rule["match"], rule["enabled"], rule["matched"], rule["position"]) == ("any", True, 0, 0)
    assert rule["conditions"] == HERONS["conditions"]
    address = f"{ADDRESS}/{rule['id']}"
    changed = (await client.patch(address, json={"enabled": False, "name": "Other"})).json()
    assert (changed["name"], changed["enabled"], changed["conditions"]) == ("Other", False, HERONS["conditions"])
    assert (await client.get(address)).json() == changed
    assert (await client.get(ADDRESS)).json() == {"items": [changed], "next_cursor": None}
    assert (await client.delete(address)).status_code == 204
    assert (await client.get(address)).status_code == 404


async def test_rules_are_put_in_order(signed_in: SignIn) -> None:
    client = await signed_in()
    ids = [(await client.post(ADDRESS, json={**HERONS, "name": name})).json()["id"] for name in "abc"]
    wanted = [ids[2], ids[0], ids[1]]
    assert (await client.post(f"{ADDRESS}/reorder", json={"ids": wanted})).status_code == 204
    assert [item["id"] for item in (await client.get(ADDRESS)).json()["items"]] == wanted
    assert (await client.post(f"{ADDRESS}/reorder", json={"ids": ids[:2]})).status_code == 400


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": " "}, "name"),
        ({"conditions": []}, "conditions"),
        ({"conditions": HERONS["conditions"] * 11}, "conditions"),
        ({"actions": []}, "actions"),
        ({"actions": [{"action": "notify", "value": "webhook", "url": "no"}]}, "url"),
        ({"conditions": [{"field": "title", "operator": "regex", "value": "(a"}]}, "value"),
        ({"conditions": [{"field": "title", "operator": "shouts", "value": "a"}]}, "conditions.0.operator"),
        ({"match": "some"}, "match"),
    ],
)
async def test_a_wrong_rule_is_refused_with_its_field(signed_in: SignIn, change: dict[str, Any], field: str) -> None:
    client = await signed_in()
    refused = await client.post(ADDRESS, json={**HERONS, **change})
    assert (refused.status_code, refused.json()["error"]["details"]) == (400, {"field": field})


async def test_there_is_a_limit_with_a_message(signed_in: SignIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MAX_RULES", 1)
    client = await signed_in()
    assert (await client.post(ADDRESS, json=HERONS)).status_code == 201
    refused = await client.post(ADDRESS, json=HERONS)
    assert refused.status_code == 409
    assert refused.json()["error"]["message"] == "There can be at most 1 rules. Delete some first."


async def test_nobody_reaches_another_users_rules(signed_in: SignIn) -> None:
    mine, other = await signed_in(), await signed_in("other@example.org")
    rule = (await mine.post(ADDRESS, json=HERONS)).json()
    address = f"{ADDRESS}/{rule['id']}"
    assert (await other.get(address)).status_code == 404
    assert (await other.patch(address, json={"enabled": False})).status_code == 404
    assert (await other.delete(address)).status_code == 404
    assert (await other.post(f"{address}/apply")).status_code == 404
    assert (await other.post(f"{ADDRESS}/reorder", json={"ids": [rule["id"]]})).status_code == 400
    assert (await other.get(ADDRESS)).json()["items"] == []
    assert (await mine.get(address)).json() == rule


async def test_a_dry_run_and_an_application_are_asked_for(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite
) -> None:
    client = await signed_in()
    site.publish("A heron")
    site.publish("A duck", author="Ann")
    await harness.follow(site.feed_url(), user_id=client.user_id)
    await harness.check()
    body = {"conditions": [{"field": "title", "operator": "contains", "value": "heron"}]}
    trial = (await client.post(f"{ADDRESS}/dry-run", json=body)).json()
    assert (trial["looked_at"], trial["matched"], trial["complete"]) == (2, 1, True)
    assert [(hit["title"], hit["feed_title"]) for hit in trial["items"]] == [("A heron", "Feed main")]
    rule = (await client.post(ADDRESS, json=HERONS)).json()
    asked = await client.post(f"{ADDRESS}/{rule['id']}/apply")
    assert (asked.status_code, asked.json()["job_id"].isdigit()) == (202, True)
