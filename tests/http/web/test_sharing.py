"""Sharing on the page: services in the settings, and the ways an entry can go."""

from tests.clients import Client
from tests.http.web.forms import texts

HOME = "/settings/sharing"
LINKDING = {"kind": "linkding", "url": "https://links.example.org/", "token": "abc-secret"}


async def test_a_service_is_added_shown_without_its_secret_and_removed(reader: Client) -> None:
    assert (await reader.post(HOME, data=LINKDING)).status_code == 303
    page = (await reader.get(HOME)).text
    assert "https://links.example.org" in page and "abc-secret" not in page
    assert (await reader.post(f"{HOME}/1/delete")).status_code == 303
    assert "links.example.org</bdi>" not in (await reader.get(HOME)).text


async def test_each_kind_asks_for_what_it_needs_and_says_what_is_missing(reader: Client) -> None:
    assert 'name="token"' in (await reader.get(HOME)).text
    wallabag = (await reader.get(HOME, params={"kind": "wallabag"})).text
    assert all(f'name="{name}"' in wallabag for name in ("client_id", "client_secret", "username"))
    refused = await reader.post(HOME, data={**LINKDING, "token": "", "name": "Links"})
    assert refused.status_code == 400
    assert "token" in texts(refused.text)[0]
    assert 'value="Links"' in refused.text
    assert (await reader.get(HOME, params={"kind": "pocket"})).status_code == 200


async def test_an_entry_can_be_copied_mailed_and_sent(reading: Client) -> None:
    assert "/entry/1/share" in (await reading.get("/entry/1")).text
    page = (await reading.get("/entry/1/share")).text
    assert "mailto:?subject=Herons%201&amp;body=http" in page and "data-copy=" in page
    assert "can be added in the settings" in page
    await reading.post(HOME, data=LINKDING)
    assert "Linkding" in (await reading.get("/entry/1/share")).text
    sent = await reading.post("/entry/1/share", data={"target": "1"})
    assert (sent.status_code, sent.headers["location"]) == (303, "/entry/1")
    assert (await reading.post("/entry/1/share", data={"target": "99"})).status_code == 404
    assert (await reading.get("/entry/999/share")).status_code == 404


async def test_the_api_shares_too(reading: Client) -> None:
    made = await reading.post("/api/v1/share-targets", json=LINKDING)
    assert made.status_code == 201
    assert "abc-secret" not in made.text
    body = {"share_target_id": made.json()["id"]}
    assert (await reading.post("/api/v1/entries/1/share", json=body)).status_code == 202
    (listed,) = (await reading.get("/api/v1/share-targets")).json()["items"]
    assert (listed["kind"], listed["problem"]) == ("linkding", "")
    assert (await reading.delete(f"/api/v1/share-targets/{listed['id']}")).status_code == 204


async def test_every_kind_has_a_form_whose_fields_have_names(reader: Client) -> None:
    answer = await reader.get("/api/v1/share-services")
    assert answer.status_code == 200, answer.text
    offered = answer.json()["items"]
    assert len(offered) == 23
    for service in offered:
        page = (await reader.get(HOME, params={"kind": service["kind"]})).text
        assert all(f'name="{field["name"]}"' in page for field in service["fields"]), service["kind"]
        assert ('name="url"' in page) == (not service["address"] and "webhook" not in str(service["fields"]))


async def test_a_template_of_ones_own_keeps_what_was_typed_when_it_is_refused(reader: Client) -> None:
    form = {
        "kind": "template",
        "method": "PUT",
        "webhook": "https://x.example/?t={title}",
        "body": '{"a": "{nothing}"}',
    }
    refused = await reader.post(HOME, data=form)
    assert refused.status_code == 400
    assert "There is no {nothing}." in texts(refused.text)[0]
    assert "{&#34;a&#34;: &#34;{nothing}&#34;}" in refused.text and 'value="PUT" selected' in refused.text
    assert "x.example" not in refused.text, "an address can hold a token"


async def test_a_service_is_tried_and_told_of_what_happens(reader: Client) -> None:
    made = await reader.post(
        "/api/v1/share-targets", json={"kind": "ntfy", "url": "http://10.0.0.1", "fields": {"topic": "x"}}
    )
    assert made.status_code == 201, made.text
    tried = await reader.post(f"{HOME}/1/test")
    assert tried.status_code == 200 and "private network" in tried.text
    by_api = (await reader.post("/api/v1/share-targets/1/test")).json()
    assert (by_api["accepted"], by_api["problem_code"]) == (False, "private_network")
    assert (await reader.post(f"{HOME}/1/messages", data={"digests": "true"})).status_code == 303
    (listed,) = (await reader.get("/api/v1/share-targets")).json()["items"]
    assert (listed["digests"], listed["stopped_feeds"]) == (True, False)
    changed = await reader.patch("/api/v1/share-targets/1", json={"stopped_feeds": True})
    assert (changed.json()["digests"], changed.json()["stopped_feeds"]) == (True, True)
    assert (await reader.patch("/api/v1/share-targets/9", json={})).status_code == 404


async def test_a_rule_sends_to_a_service_of_its_reader(reader: Client) -> None:
    await reader.post(HOME, data=LINKDING)
    page = (await reader.get("/rules")).text
    assert "Send it to Linkding" in page
    form = {"name": "Keep", "field": "title", "operator": "contains", "value": "heron", "action": "share:1"}
    assert (await reader.post("/rules", data=form)).status_code == 303
    assert "→ Send it to Linkding" in (await reader.get("/rules")).text
    assert 'value="share:1" checked' in (await reader.get("/rules?edit=1")).text
    rule = (await reader.get("/api/v1/rules")).json()["items"][0]
    assert rule["actions"] == [{"action": "share", "value": "1", "url": ""}]
    refused = await reader.post("/rules", data={**form, "action": "share:7"})
    assert refused.status_code == 400
