"""The page of webhooks: made, looked at, tried, switched off and on, deleted."""

import re

from tests.clients import Client
from tests.http.web.forms import texts

HOME = "/settings/webhooks"


async def test_a_webhook_is_made_and_its_secret_shown_once(reader: Client) -> None:
    made = await reader.post(HOME, data={"url": "https://example.org/hook", "event": ["digest"]})
    (secret,) = re.findall(r"<code>(whsec_[^<]+)</code>", made.text)
    page = (await reader.get(HOME)).text
    assert "example.org/hook" in page and "Digests" in page
    assert secret not in page
    assert secret not in (await reader.get(f"{HOME}/1")).text


async def test_a_wrong_address_is_told_and_kept(reader: Client) -> None:
    refused = await reader.post(HOME, data={"url": "ftp://example.org", "name": "Mine", "event": ["digest"]})
    assert refused.status_code == 400
    assert "http://" in texts(refused.text)[0]
    assert 'value="Mine"' in refused.text and 'value="digest" checked' in refused.text


async def test_a_refused_change_is_told_at_its_field_and_kept(reader: Client) -> None:
    await reader.post(HOME, data={"url": "https://example.org/hook", "event": ["digest"]})
    for address in (HOME, f"{HOME}/1"):
        typed = {"url": "https://example.org/other", "name": "n" * 101, "event": ["rule_match"]}
        refused = (await reader.post(address, data=typed)).text
        assert f'value="{typed["url"]}"' in refused and f'value="{typed["name"]}"' in refused
        assert 'value="digest" checked' not in refused
        (wrong,) = re.findall(r"<input[^>]*aria-invalid[^>]*>", refused)
        assert 'name="name"' in wrong


async def test_a_webhook_is_changed_tried_and_switched(reader: Client) -> None:
    await reader.post(HOME, data={"url": "https://example.org/hook"})
    assert "has not been called" in (await reader.get(f"{HOME}/1")).text
    assert (await reader.post(f"{HOME}/1/test")).status_code == 303
    assert "Waiting" in (await reader.get(f"{HOME}/1")).text
    changed = {"url": "https://example.org/other", "name": "Other", "event": ["new_entries"]}
    assert (await reader.post(f"{HOME}/1", data=changed)).status_code == 303
    await reader.post(f"{HOME}/1/switch", data={"on": "false"})
    page = (await reader.get(f"{HOME}/1")).text
    assert "Switched off" in page and "Other" in page and f"{HOME}/1/test" not in page
    assert (await reader.post(f"{HOME}/1/test")).status_code == 409
    await reader.post(f"{HOME}/1/switch", data={"on": "true"})
    assert f"{HOME}/1/test" in (await reader.get(f"{HOME}/1")).text
    assert "whsec_" in (await reader.post(f"{HOME}/1/secret")).text
    assert (await reader.post(f"{HOME}/1/delete")).status_code == 303
    assert (await reader.get(f"{HOME}/1")).status_code == 404
