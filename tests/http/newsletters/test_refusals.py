"""What a provider has to prove, and what is refused at its endpoint."""

import json
from base64 import b64encode

import pytest

from tests.amazon import SNS_HOST, ses_message
from tests.clients import Client
from tests.http.newsletters.world import DOMAIN, MAILGUN_KEY, SAMPLES, TOKEN, World, posted, stored
from tests.mailproviders import as_mailgun, as_postmark, signed_by_mailgun


async def test_a_topic_is_confirmed_only_when_amazon_asks(world: World) -> None:
    fields = {
        "SubscribeURL": f"https://{SNS_HOST}/?Action=ConfirmSubscription&Token=abc",
        "Token": "abc",
        "Message": "You have chosen to subscribe",
    }
    answer = await world.client.post(
        "/inbound/ses", content=world.amazon.signed({"Type": "SubscriptionConfirmation", **fields})
    )
    assert answer.status_code == 200
    assert world.amazon.confirmed == ["abc"]

    elsewhere = {**fields, "SubscribeURL": "https://evil.example/?Action=ConfirmSubscription&Token=abc"}
    body = world.amazon.signed({"Type": "SubscriptionConfirmation", **elsewhere})
    assert (await world.client.post("/inbound/ses", content=body)).status_code == 403
    assert world.amazon.confirmed == ["abc"]


@pytest.mark.parametrize(
    "change",
    [
        {"Message": "something else"},
        {"TopicArn": "arn:aws:sns:eu-west-1:666666666666:theirs"},
        {"SigningCertURL": "https://sns.eu-west-1.amazonaws.com.evil.example/cert.pem"},
        {"SigningCertURL": "https://evil.example/sns.eu-west-1.amazonaws.com"},
        {"Signature": b64encode(b"x" * 256).decode()},
    ],
    ids=lambda change: next(iter(change)),
)
async def test_a_forged_notification_is_refused_and_nothing_stored(world: World, change: dict[str, str]) -> None:
    body = json.loads(world.amazon.notification("forged", ses_message(SAMPLES[0].raw, world.address)))
    answer = await world.client.post("/inbound/ses", content=json.dumps({**body, **change}))

    assert answer.status_code == 403
    assert await stored(world) == []


async def test_a_mail_signed_with_another_key_or_long_ago_is_refused(world: World) -> None:
    sample = SAMPLES[0]
    fields, _ = as_mailgun(sample, world.address, "another key")
    assert (await world.client.post("/inbound/mailgun", data=fields)).status_code == 403
    old = signed_by_mailgun(MAILGUN_KEY, "old", at=world.runtime.now() / 1000 - 24 * 3600)
    fields, _ = as_mailgun(sample, world.address, MAILGUN_KEY)
    assert (await world.client.post("/inbound/mailgun", data={**fields, **old})).status_code == 403
    assert await stored(world) == []


async def test_a_replayed_form_with_another_mail_in_it_changes_nothing(world: World) -> None:
    first, _ = as_mailgun(SAMPLES[0], world.address, MAILGUN_KEY)
    second, _ = as_mailgun(SAMPLES[1], world.address, MAILGUN_KEY)
    signature = {name: first[name] for name in ("timestamp", "token", "signature")}
    await posted(world, "/inbound/mailgun", data=first)
    answer = await world.client.post("/inbound/mailgun", data={**second, **signature})

    assert answer.json() == {"received": 0, "known": 1, "unwanted": 0}
    assert len(await stored(world)) == 1


@pytest.mark.parametrize("endpoint", ["raw?to=x@in.example.net", "postmark"])
async def test_a_wrong_token_is_refused_before_anything_is_read(world: World, endpoint: str) -> None:
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic !!!"}):
        answer = await world.client.post(f"/inbound/{endpoint}", content=SAMPLES[0].raw, headers=headers)
        assert answer.status_code == 403
        assert answer.json()["error"]["code"] == "forbidden"


@pytest.mark.parametrize("endpoint", ["raw?to=x@in.example.net", "postmark", "mailgun", "ses"])
async def test_an_endpoint_that_is_not_set_up_is_closed(client: Client, endpoint: str) -> None:
    assert (await client.post(f"/inbound/{endpoint}", content=b"{}")).status_code == 404


async def test_each_provider_is_told_in_its_own_way_that_a_recipient_is_unknown(world: World) -> None:
    stranger = f"nobody@{DOMAIN}"
    sample, auth = SAMPLES[0], ("hook", TOKEN)
    fields, _ = as_mailgun(sample, stranger, MAILGUN_KEY)
    answers = [
        await world.client.post("/inbound/raw", params={"to": stranger}, content=sample.raw, auth=auth),
        await world.client.post("/inbound/postmark", json=as_postmark(sample, stranger), auth=auth),
        await world.client.post("/inbound/mailgun", data=fields),
        await world.client.post(
            "/inbound/ses", content=world.amazon.notification("x", ses_message(sample.raw, stranger))
        ),
    ]
    assert [answer.status_code for answer in answers] == [404, 403, 406, 403]
    assert {answer.json()["error"]["code"] for answer in answers} == {"unknown"}


async def test_spam_that_amazon_found_is_refused(world: World) -> None:
    body = world.amazon.notification("spam", ses_message(SAMPLES[0].raw, world.address, spam="FAIL"))
    assert (await world.client.post("/inbound/ses", content=body)).status_code == 403
    assert await stored(world) == []


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"From": 3, "Headers": "x", "Attachments": [1]}'])
async def test_nonsense_for_postmark_is_refused(world: World, content: bytes) -> None:
    answer = await world.client.post("/inbound/postmark", content=content, auth=("hook", TOKEN))
    assert answer.status_code in (400, 403)
