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
