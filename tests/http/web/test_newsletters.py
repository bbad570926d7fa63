"""The pages of newsletters, as forms without a script."""

import re
from dataclasses import replace

import pytest

from reedbed.domain.newsletters import MailPolicy
from reedbed.services.newsletters.receive import MailDelivery, Received, receive
from reedbed.services.runtime import Runtime
from reedbed.store.newsletters import inbound
from tests.clients import Client, SignIn
from tests.harness import RuntimeHarness
from tests.newsletters import PNG, samples

SAMPLES = {sample.name: sample for sample in samples()}
SETTINGS = "/settings/newsletters"


@pytest.fixture
def runtime(harness: RuntimeHarness) -> Runtime:
    harness.runtime = replace(harness.runtime, mail=MailPolicy(domain="in.example.net"))
    return harness.runtime


async def sent(runtime: Runtime, client: Client, name: str) -> None:
    outcome = await receive(runtime, MailDelivery("imap", user_id=client.user_id), SAMPLES[name].raw)
    assert outcome == Received(new=1)


async def test_an_address_is_made_shown_and_revoked(signed_in: SignIn, runtime: Runtime) -> None:
    reader = await signed_in()
    assert "in.example.net" not in (await reader.get(SETTINGS)).text
    empty = await reader.post(f"{SETTINGS}/addresses", data={"name": " "})
    assert (empty.status_code, "A name is required" in empty.text) == (400, True)
    assert (await reader.post(f"{SETTINGS}/addresses", data={"name": "Letters"})).status_code == 303

    (made,) = (await reader.get("/api/v1/newsletters/addresses")).json()["items"]
    page = (await reader.get(SETTINGS)).text
    assert f'data-copy="{made["address"]}"' in page
    await reader.post(f"{SETTINGS}/addresses/{made['id']}/delete")
    assert made["address"] not in (await reader.get(SETTINGS)).text


async def test_without_a_domain_the_page_says_so(signed_in: SignIn, harness: RuntimeHarness, app: object) -> None:
    reader = await signed_in()
    app.state.runtime = replace(harness.runtime, mail=MailPolicy())
    page = (await reader.get(SETTINGS)).text
    assert "REEDBED_MAIL_DOMAIN" in page and "Create address" not in page
    refused = await reader.post("/api/v1/newsletters/addresses", json={"name": "x"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "conflict")


async def test_a_newsletter_is_read_like_any_entry(signed_in: SignIn, runtime: Runtime) -> None:
    reader = await signed_in()
    await sent(runtime, reader, "inline-picture")
    (entry,) = (await reader.get("/api/v1/entries")).json()["items"]
    page = (await reader.get(f"/entry/{entry['id']}")).text
    assert "pics@letters.example.org" in page
    image = page.partition('src="/newsletters/images/')[2].partition('"')[0]

    answer = await reader.get(f"/newsletters/images/{image}")
    assert (answer.content, answer.headers["content-type"]) == (PNG, "image/png")
    assert "sandbox" in answer.headers["content-security-policy"]
    other = await signed_in("other@example.org")
    assert (await other.get(f"/newsletters/images/{image}")).status_code == 404
    assert (await other.get(f"/entry/{entry['id']}")).status_code == 404


async def test_a_picture_asks_a_stranger_to_log_in(client: Client, runtime: Runtime) -> None:
    answer = await client.get("/newsletters/images/abc")
    assert answer.status_code in (303, 401)


async def test_a_confirmation_stands_in_front_until_it_is_done(signed_in: SignIn, runtime: Runtime) -> None:
    reader = await signed_in()
    await sent(runtime, reader, "confirmation")
    link = 'href="https://lists.example.org/confirm/8f3a91" target="_blank" rel="noopener noreferrer"'
    (waiting,) = (await reader.get("/api/v1/newsletters/confirmations")).json()["items"]
    for address in ("/unread", SETTINGS, f"/entry/{waiting['entry_id']}"):
        page = (await reader.get(address)).text
        assert link in page and "Yes, confirm my subscription" in page, address

    await reader.post(f"{SETTINGS}/confirmations/{waiting['entry_id']}/done")
    assert "waits for you to confirm" not in (await reader.get("/unread")).text
    assert (await reader.get("/api/v1/newsletters/confirmations")).json()["items"] == []


async def test_who_gives_no_name_asks_for_a_confirmation_by_address(signed_in: SignIn, runtime: Runtime) -> None:
    reader = await signed_in()
    raw = SAMPLES["confirmation"].raw
    nameless = re.sub(rb"(?m)^From: .*\r$", b"From: join@lists.example.org\r", raw, count=1)
    await receive(runtime, MailDelivery("imap", user_id=reader.user_id), nameless)
    assert "<bdi>join@lists.example.org</bdi>" in (await reader.get("/unread")).text


async def test_a_sender_is_blocked_and_unblocked(signed_in: SignIn, runtime: Runtime) -> None:
    reader = await signed_in()
    await sent(runtime, reader, "plain")
    (sender,) = (await reader.get("/api/v1/newsletters/senders")).json()["items"]
    await reader.post(f"{SETTINGS}/senders/{sender['id']}/block")
    assert "blocked" in (await reader.get(SETTINGS)).text
    again = await receive(runtime, MailDelivery("imap", user_id=reader.user_id), SAMPLES["plain"].raw)
    assert not isinstance(again, Received)
    unblocked = await reader.patch(f"/api/v1/newsletters/senders/{sender['id']}", json={"blocked": False})
    assert unblocked.json()["blocked"] is False
    wrong = await reader.post(f"{SETTINGS}/senders", data={"address": "nonsense"})
    assert wrong.status_code == 400


async def test_leaving_and_coming_back(signed_in: SignIn, runtime: Runtime) -> None:
    reader = await signed_in()
    await sent(runtime, reader, "plain")
    (followed,) = (await reader.get("/api/v1/subscriptions")).json()["items"]
    assert (await reader.delete(f"/api/v1/subscriptions/{followed['id']}")).status_code == 204
    page = (await reader.get(SETTINGS)).text
    assert "The mailing list offers no way to unsubscribe" in page
    async with runtime.db.read() as tx:
        (sender,) = await inbound.list_senders(tx, reader.user_id)
    await reader.post(f"{SETTINGS}/senders/{sender.id}/follow")
    assert len((await reader.get("/api/v1/subscriptions")).json()["items"]) == 1


async def test_the_page_of_a_sender_has_no_address_to_change(signed_in: SignIn, runtime: Runtime) -> None:
    reader = await signed_in()
    await sent(runtime, reader, "leaving")
    (followed,) = (await reader.get("/api/v1/subscriptions")).json()["items"]
    page = (await reader.get(f"/feeds/{followed['id']}/edit")).text
    assert "leaving@letters.example.org" in page and "With one click" in page
    assert 'name="url"' not in page
    saved = await reader.post(f"/feeds/{followed['id']}", data={"name": "Mine", "folder_id": ""})
    assert saved.status_code == 303
    assert "By mail." in (await reader.get("/feeds")).text


async def test_a_mailbox_that_cannot_be_reached_is_not_kept(signed_in: SignIn, runtime: Runtime) -> None:
    reader = await signed_in()
    form = {"host": "10.0.0.1", "port": "993", "username": "me", "password": "secret"}
    answer = await reader.post(f"{SETTINGS}/mailboxes", data=form)
    assert (answer.status_code, "private network" in answer.text) == (400, True)
    assert "secret" not in answer.text
    assert (await reader.get("/api/v1/newsletters/mailboxes")).json()["items"] == []
