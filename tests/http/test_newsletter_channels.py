"""The same newsletters by every channel, ending in the same entries."""

import asyncio
import imaplib
import json
import smtplib
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID

from reedbed.domain.errors import Invalid
from reedbed.domain.mail_policy import MailDoor, MailPolicy
from reedbed.domain.newsletters import Mail
from reedbed.domain.senders import feed_url, sender_key
from reedbed.ingest.fetch import Fetcher
from reedbed.ingest.guard import Guard
from reedbed.ingest.mail import imap
from reedbed.ingest.mail.mime import read_mime
from reedbed.roles.app import create_app
from reedbed.services.mail_desk import open_door
from reedbed.services.mailboxes import EVERY, MailboxWish, add_mailbox, check_due_mailboxes
from reedbed.services.newsletter_addresses import add_address, written
from reedbed.services.newsletter_words import letter_of
from reedbed.services.runtime import Runtime
from tests.clients import Client, new_client
from tests.conftest import enter
from tests.crawling import Crawl
from tests.mailserver import PASSWORD, ImapServer, imap_server
from tests.newsletters import Sample, as_mailgun, as_postmark, samples, signed_by_mailgun
from tests.servers import free_port

DOMAIN = "in.example.net"
TOKEN = "a-token-that-nobody-guesses"
MAILGUN_KEY = "mailgun-signing-key"
TOPIC = "arn:aws:sns:eu-west-1:123456789012:letters"
SNS_HOST = "sns.eu-west-1.amazonaws.com"
BOUNCES = "bounces@letters.example.org"
SAMPLES = samples()


@dataclass
class World:
    """A reader with an address, behind every door."""

    crawl: Crawl
    client: Client
    user_id: int
    address: str
    smtp_port: int
    imap: ImapServer
    amazon: "Amazon"

    @property
    def runtime(self) -> Runtime:
        return self.crawl.runtime


@pytest.fixture(scope="session")
def imap_service(running_servers: ExitStack) -> ImapServer:
    return enter(running_servers, imap_server)


@pytest.fixture(scope="session")
def amazon(tmp_path_factory: pytest.TempPathFactory) -> "Amazon":
    return Amazon.create(tmp_path_factory.mktemp("amazon"))


@pytest.fixture
async def world(
    crawl: Crawl, imap_service: ImapServer, amazon: "Amazon", monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[World]:
    monkeypatch.setenv("SSL_CERT_FILE", str(imap_service.certificate))
    imap._tls.cache_clear()
    policy = MailPolicy(
        domain=DOMAIN,
        webhook_token=TOKEN,
        mailgun_key=MAILGUN_KEY,
        ses_topics=(TOPIC,),
        authserv_id="mx.example.net",
    )
    async with amazon.serving() as fetcher:
        crawl.runtime = replace(crawl.runtime, mail=policy, fetcher=fetcher)
        user_id = await crawl.person()
        address = await add_address(crawl.runtime, user_id, "Letters")
        door = MailDoor("127.0.0.1", free_port(), per_minute=1_000)
        server = await open_door(crawl.runtime, door)
        async with new_client(create_app(crawl.runtime)) as client:
            yield World(
                crawl, client, user_id, written(crawl.runtime, address), door.port, imap_service, amazon
            )
        server.close()
    imap._tls.cache_clear()


async def by_smtp(world: World, sent: list[Sample]) -> None:
    def send() -> None:
        with smtplib.SMTP("127.0.0.1", world.smtp_port, timeout=20) as smtp:
            for sample in sent:
                smtp.sendmail(BOUNCES, [world.address], _on_the_wire(sample), ["BODY=8BITMIME"])

    await asyncio.to_thread(send)


async def by_lmtp(world: World, sent: list[Sample]) -> None:
    door = MailDoor("127.0.0.1", free_port(), "lmtp", per_minute=1_000)
    server = await open_door(world.runtime, door)

    def send() -> None:
        with smtplib.LMTP("127.0.0.1", door.port) as lmtp:
            for sample in sent:
                lmtp.sendmail(BOUNCES, [world.address], _on_the_wire(sample), ["BODY=8BITMIME"])

    await asyncio.to_thread(send)
    server.close()


async def by_imap(world: World, sent: list[Sample]) -> None:
    user = world.imap.new_user()
    for sample in sent:
        world.imap.deliver(user, sample.raw, "Letters")
    wish = MailboxWish("localhost", user, PASSWORD, port=world.imap.tls_port, folder="Letters")
    await add_mailbox(world.runtime, world.user_id, wish)
    assert await check_due_mailboxes(world.runtime) == 1


async def by_postmark(world: World, sent: list[Sample]) -> None:
    for sample in sent:
        await _posted(
            world, "/inbound/postmark", json=as_postmark(sample, world.address), auth=("hook", TOKEN)
        )


async def by_mailgun(world: World, sent: list[Sample]) -> None:
    for sample in sent:
        fields, files = as_mailgun(sample, world.address, MAILGUN_KEY)
        await _posted(world, "/inbound/mailgun", data=fields, files=files or None)


async def by_mailgun_mime(world: World, sent: list[Sample]) -> None:
    for sample in sent:
        fields = {**signed_by_mailgun(MAILGUN_KEY, sample.name), "recipient": world.address}
        parts = {name: (None, value.encode()) for name, value in fields.items()}
        await _posted(world, "/inbound/mailgun/mime", files={**parts, "body-mime": (None, sample.raw)})


async def by_ses(world: World, sent: list[Sample]) -> None:
    for sample in sent:
        body = world.amazon.notification(sample.name, _ses_message(sample.raw, world.address))
        await _posted(world, "/inbound/ses", content=body)


async def by_raw(world: World, sent: list[Sample]) -> None:
    for sample in sent:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "message/rfc822"}
        await _posted(
            world, "/inbound/raw", params={"to": world.address}, content=sample.raw, headers=headers
        )


Channel = Callable[[World, list[Sample]], Awaitable[None]]
CHANNELS: list[Channel] = [
    by_smtp, by_lmtp, by_imap, by_postmark, by_mailgun, by_mailgun_mime, by_ses, by_raw,
]  # fmt: skip


@pytest.mark.parametrize("channel", CHANNELS, ids=lambda channel: channel.__name__)
async def test_every_channel_brings_the_same_entries(world: World, channel: Channel) -> None:
    assert len(SAMPLES) >= 20
    await channel(world, SAMPLES)

    assert await _stored(world) == sorted(_expected(sample) for sample in SAMPLES)


@pytest.mark.parametrize("channel", CHANNELS, ids=lambda channel: channel.__name__)
async def test_what_is_delivered_twice_is_stored_once(world: World, channel: Channel) -> None:
    few = [sample for sample in SAMPLES if sample.name in ("plain", "nameless", "inline-picture")]
    await channel(world, few)
    await channel(world, few)

    assert len(await _stored(world)) == len(few)


async def test_a_mailbox_is_read_on_where_it_was_left_and_never_changed(world: World) -> None:
    user = world.imap.new_user()
    world.imap.deliver(user, SAMPLES[0].raw)
    wish = MailboxWish("localhost", user, PASSWORD, port=world.imap.plain_port, security="starttls")
    box = await add_mailbox(world.runtime, world.user_id, wish)
    await check_due_mailboxes(world.runtime)
    world.imap.deliver(user, SAMPLES[1].raw)
    assert await check_due_mailboxes(world.runtime) == 0
    world.crawl.clock.ahead += EVERY
    await check_due_mailboxes(world.runtime)

    assert len(await _stored(world)) == 2
    rows = await world.crawl.rows(
        "SELECT received, last_uid, last_error FROM mail_boxes WHERE id = :id", id=box.id
    )
    assert [tuple(row) for row in rows] == [(2, 2, None)]
    client = imaplib.IMAP4("127.0.0.1", world.imap.plain_port)
    client.login(user, PASSWORD)
    client.select("INBOX", readonly=True)
    assert client.search(None, "UNSEEN")[1] == [b"1 2"]
    client.logout()


@pytest.mark.parametrize(
    ("change", "said"),
    [({"password": "wrong"}, "Authentication failed"), ({"folder": "Nowhere"}, "folder could not be opened")],
    ids=["password", "folder"],
)
async def test_a_mailbox_that_does_not_open_says_why(world: World, change: dict[str, str], said: str) -> None:
    user = world.imap.new_user()
    wish = MailboxWish("localhost", user, PASSWORD, port=world.imap.tls_port)
    with pytest.raises(Invalid, match=said):
        await add_mailbox(world.runtime, world.user_id, replace(wish, **change))


async def test_a_mailbox_that_fails_is_tried_again_later_and_later(world: World) -> None:
    wish = MailboxWish("localhost", world.imap.new_user(), PASSWORD, port=world.imap.tls_port)
    box = await add_mailbox(world.runtime, world.user_id, wish)
    await world.crawl.change("UPDATE mail_boxes SET password = 'changed'")
    waits: list[int] = []
    for _ in range(2):
        await check_due_mailboxes(world.runtime)
        (row,) = await world.crawl.rows(
            "SELECT next_check_at, last_error FROM mail_boxes WHERE id = :id", id=box.id
        )
        assert "Authentication failed" in row[1]
        waits.append(row[0] - world.runtime.now())
        world.crawl.clock.ahead += waits[-1] + 1_000
    assert waits[1] > 1.5 * waits[0]


async def test_the_samples_say_what_they_should() -> None:
    for sample in SAMPLES:
        mail = read_mime(sample.raw)
        assert isinstance(mail, Mail)
        letter = letter_of(mail)
        assert (mail.subject, mail.sender.lower(), mail.sender_name) == (
            sample.subject, sample.sender.lower(), sample.sender_name,
        )  # fmt: skip
        assert sample.says in letter.text.content, sample.name
        assert not any(hidden in letter.text.content for hidden in sample.extra.get("hides", ()))
        wanted = sample.extra.get("confirm")
        assert (letter.confirmation.url if letter.confirmation else None) == wanted


async def test_a_channel_tells_what_the_receiving_server_found(world: World) -> None:
    await by_ses(world, SAMPLES[:1])
    (told,) = await world.crawl.column("SELECT verdicts FROM mail_senders")
    assert json.loads(told) == {"by": "amazonses.com", "spf": "pass", "dkim": "pass", "dmarc": "none"}


async def test_findings_of_a_server_nobody_knows_are_not_believed(world: World) -> None:
    forged = b"Authentication-Results: mx.evil.example; spf=pass; dkim=pass\r\n"
    own = b"Authentication-Results: mx.example.net; spf=fail smtp.mailfrom=x; dkim=pass header.d=y\r\n"
    await by_smtp(world, [replace(SAMPLES[0], raw=forged + SAMPLES[0].raw)])
    await by_smtp(world, [replace(SAMPLES[1], raw=own + forged + SAMPLES[1].raw)])

    told = await world.crawl.column("SELECT verdicts FROM mail_senders ORDER BY id")
    assert [json.loads(each) for each in told] == [
        {},
        {"by": "mx.example.net", "spf": "fail", "dkim": "pass"},
    ]


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
async def test_a_forged_notification_is_refused_and_nothing_stored(
    world: World, change: dict[str, str]
) -> None:
    body = json.loads(world.amazon.notification("forged", _ses_message(SAMPLES[0].raw, world.address)))
    answer = await world.client.post("/inbound/ses", content=json.dumps({**body, **change}))

    assert answer.status_code == 403
    assert await _stored(world) == []


async def test_a_mail_signed_with_another_key_or_long_ago_is_refused(world: World) -> None:
    sample = SAMPLES[0]
    fields, _ = as_mailgun(sample, world.address, "another key")
    assert (await world.client.post("/inbound/mailgun", data=fields)).status_code == 403
    old = signed_by_mailgun(MAILGUN_KEY, "old", at=world.runtime.now() / 1000 - 24 * 3600)
    fields, _ = as_mailgun(sample, world.address, MAILGUN_KEY)
    assert (await world.client.post("/inbound/mailgun", data={**fields, **old})).status_code == 403
    assert await _stored(world) == []


async def test_a_replayed_form_with_another_mail_in_it_changes_nothing(world: World) -> None:
    first, _ = as_mailgun(SAMPLES[0], world.address, MAILGUN_KEY)
    second, _ = as_mailgun(SAMPLES[1], world.address, MAILGUN_KEY)
    signature = {name: first[name] for name in ("timestamp", "token", "signature")}
    await _posted(world, "/inbound/mailgun", data=first)
    answer = await world.client.post("/inbound/mailgun", data={**second, **signature})

    assert answer.json() == {"received": 0, "known": 1, "unwanted": 0}
    assert len(await _stored(world)) == 1


@pytest.mark.parametrize("door", ["raw?to=x@in.example.net", "postmark"])
async def test_a_wrong_token_is_refused_before_anything_is_read(world: World, door: str) -> None:
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic !!!"}):
        answer = await world.client.post(f"/inbound/{door}", content=SAMPLES[0].raw, headers=headers)
        assert answer.status_code == 403
        assert answer.json()["error"]["code"] == "forbidden"


@pytest.mark.parametrize("door", ["raw?to=x@in.example.net", "postmark", "mailgun", "ses"])
async def test_a_door_that_is_not_set_up_is_closed(client: Client, door: str) -> None:
    assert (await client.post(f"/inbound/{door}", content=b"{}")).status_code == 404


async def test_each_provider_is_told_in_its_own_way_that_a_recipient_is_unknown(world: World) -> None:
    stranger = f"nobody@{DOMAIN}"
    sample, auth = SAMPLES[0], ("hook", TOKEN)
    fields, _ = as_mailgun(sample, stranger, MAILGUN_KEY)
    answers = [
        await world.client.post("/inbound/raw", params={"to": stranger}, content=sample.raw, auth=auth),
        await world.client.post("/inbound/postmark", json=as_postmark(sample, stranger), auth=auth),
        await world.client.post("/inbound/mailgun", data=fields),
        await world.client.post(
            "/inbound/ses", content=world.amazon.notification("x", _ses_message(sample.raw, stranger))
        ),
    ]
    assert [answer.status_code for answer in answers] == [404, 403, 406, 403]
    assert {answer.json()["error"]["code"] for answer in answers} == {"unknown"}


async def test_spam_that_amazon_found_is_refused(world: World) -> None:
    body = world.amazon.notification("spam", _ses_message(SAMPLES[0].raw, world.address, spam="FAIL"))
    assert (await world.client.post("/inbound/ses", content=body)).status_code == 403
    assert await _stored(world) == []


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"From": 3, "Headers": "x", "Attachments": [1]}'])
async def test_nonsense_for_postmark_is_refused(world: World, content: bytes) -> None:
    answer = await world.client.post("/inbound/postmark", content=content, auth=("hook", TOKEN))
    assert answer.status_code in (400, 403)


async def _posted(world: World, path: str, **options: Any) -> None:
    answer = await world.client.post(path, **options)
    assert answer.status_code == 200, answer.text


def _on_the_wire(sample: Sample) -> bytes:
    return sample.raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


async def _stored(world: World) -> list[tuple[Any, ...]]:
    rows = await world.crawl.rows(
        "SELECT feeds.url, entries.guid, entries.title, entries.author, coalesce(entries.url, ''),"
        " coalesce(entries.published_at, 0), entry_bodies.content FROM entries"
        " JOIN feeds ON feeds.id = entries.feed_id JOIN entry_bodies ON entry_bodies.entry_id = entries.id"
        " WHERE feeds.owner_id = :user AND feeds.kind = 'mail'",
        user=world.user_id,
    )
    return sorted(tuple(row) for row in rows)


def _expected(sample: Sample) -> tuple[Any, ...]:
    mail = read_mime(sample.raw)
    assert isinstance(mail, Mail)
    letter = letter_of(mail)
    return (
        feed_url(sender_key(mail.sender)),
        letter.guid,
        letter.text.title,
        letter.text.author,
        letter.url or "",
        mail.sent_at or 0,
        letter.text.content,
    )


def _ses_message(raw: bytes, to: str, *, spam: str = "PASS") -> str:
    verdicts = {"spf": "PASS", "dkim": "PASS", "dmarc": "NONE", "spam": spam, "virus": "PASS"}
    receipt = {
        "recipients": [to],
        "action": {"type": "SNS", "encoding": "BASE64"},
        **{f"{name}Verdict": {"status": status} for name, status in verdicts.items()},
    }
    content = b64encode(raw).decode()
    return json.dumps({"notificationType": "Received", "receipt": receipt, "content": content})


class _ToLoopback(AbstractResolver):
    def __init__(self, port: int) -> None:
        self._port = port

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[Any]:
        found = {"hostname": host, "host": "127.0.0.1", "port": port, "family": 2, "proto": 0, "flags": 0}
        return [{**found, "port": self._port} if host == SNS_HOST else found]

    async def close(self) -> None:
        return None


class Amazon:
    """A stand-in for SNS: signs, shows its certificate, and is asked to confirm."""

    def __init__(self, key: rsa.RSAPrivateKey, pem: bytes, files: tuple[Path, Path]) -> None:
        self._key, self._pem, self._files = key, pem, files
        self.confirmed: list[str] = []

    @classmethod
    def create(cls, directory: Path) -> "Amazon":
        key = rsa.generate_private_key(65537, 2048)
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, SNS_HOST)])
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(1)
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=2))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(SNS_HOST)]), critical=False)
            .sign(key, hashes.SHA256())
        )
        pem = certificate.public_bytes(serialization.Encoding.PEM)
        secret = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        files = (directory / "cert.pem", directory / "key.pem")
        files[0].write_bytes(pem)
        files[1].write_bytes(secret)
        return cls(key, pem, files)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Fetcher]:
        """A fetcher for which SNS is here."""
        self.confirmed.clear()
        app = web.Application()
        app.router.add_get("/cert.pem", self._show)
        app.router.add_get("/", self._confirm)
        runner = web.AppRunner(app)
        await runner.setup()
        server_side = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        server_side.load_cert_chain(*self._files)
        port = free_port()
        await web.TCPSite(runner, "127.0.0.1", port, ssl_context=server_side).start()
        trusting = ssl.create_default_context(cafile=str(self._files[0]))
        fetcher = Fetcher(
            Guard([ip_network("127.0.0.0/8")]), resolver=_ToLoopback(port), ssl_context=trusting, timeout=10
        )
        yield fetcher
        await fetcher.close()
        await runner.cleanup()

    def notification(self, name: str, message: str) -> bytes:
        return self.signed({"Type": "Notification", "MessageId": f"sns-{name}", "Message": message})

    def signed(self, fields: dict[str, str]) -> bytes:
        told = {
            "MessageId": "sns-1",
            "TopicArn": TOPIC,
            "Timestamp": "2026-11-15T09:00:00.000Z",
            "SignatureVersion": "2",
            "SigningCertURL": f"https://{SNS_HOST}/cert.pem",
            **fields,
        }
        names = (
            ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"]
            if told["Type"] == "Notification"
            else ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"]
        )
        text = "".join(f"{name}\n{told[name]}\n" for name in names if name in told)
        signature = self._key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
        return json.dumps({**told, "Signature": b64encode(signature).decode()}).encode()

    async def _show(self, _request: web.Request) -> web.Response:
        return web.Response(body=self._pem)

    async def _confirm(self, request: web.Request) -> web.Response:
        self.confirmed.append(request.query["Token"])
        return web.Response(text="<ok/>")
