"""Letters that go out: digests with a way to end them, and a queue that waits for the mail server."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from email import message_from_bytes
from email.policy import compat32
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from selectolax.lexbor import LexborHTMLParser

from reedbed.domain.digests import Digest, DigestScope, DigestText, Paragraph, Sentence, Source
from reedbed.domain.email import DigestMail, Email, Sent, digest_email
from reedbed.domain.times import HOUR
from reedbed.ingest.smtp import Mailer, MailServer
from reedbed.roles.app import create_app
from reedbed.services.digests import send_digest, set_schedule, unsubscribe_link
from reedbed.services.email import request_mail
from reedbed.services.runtime import AccountPolicy, Runtime
from reedbed.services.security import hash_password
from reedbed.services.users import invite
from reedbed.store import digests, users
from reedbed.web.i18n import texts_in
from tests.clients import Client, SignIn, new_client
from tests.harness import RuntimeHarness
from tests.http.web.forms import tokens
from tests.smtp_server import SmtpServer, open_smtp_server, words_of, work_off

PASSWORD = "seven herons in the reeds"


@pytest.fixture
def smtp_server() -> Iterator[SmtpServer]:
    with open_smtp_server() as smtp_server:
        yield smtp_server


@pytest.fixture
def mailing(harness: RuntimeHarness, smtp_server: SmtpServer) -> Runtime:
    harness.runtime = replace(
        harness.runtime,
        mailer=smtp_server.mailer(),
        accounts=AccountPolicy(registration="invite", base_url="http://127.0.0.1:8080"),
    )
    return harness.runtime


@pytest.fixture
async def stranger(mailing: Runtime) -> AsyncIterator[Client]:
    async with new_client(create_app(mailing)) as client:
        yield client


async def digest_for(harness: RuntimeHarness, runtime: Runtime) -> tuple[Any, Digest]:
    user_id = await harness.person()
    text = DigestText(
        (Paragraph("Birds & reeds", (Sentence("A heron <came> back.", (7,)),)),),
        (Source(7, "The heron's way", "Birds", 1),),
    )
    async with runtime.db.write() as tx:
        user = await users.get(tx, user_id)
        assert user is not None
    await set_schedule(runtime, user, minute=420, zone="UTC", scope=DigestScope(), mail=True)
    async with runtime.db.write() as tx:
        digest_id = await digests.add(tx, user_id, DigestScope(), model="extract", language="en", since=1, now=2)
        await digests.finish(tx, digest_id, text, model="extract", language="en", entries=1, now=2)
        found = await digests.get(tx, user_id, digest_id)
    assert found is not None
    return user, found


async def test_a_digest_by_mail_has_both_parts_and_a_way_to_end_them(
    harness: RuntimeHarness, mailing: Runtime, smtp_server: SmtpServer
) -> None:
    user, digest = await digest_for(harness, mailing)
    await send_digest(mailing, user, digest.id)
    assert smtp_server.letters == []
    await work_off(mailing)

    (letter,) = smtp_server.letters
    plain, rich = letter.get_body(("plain",)), letter.get_body(("html",))
    assert plain is not None and "A heron <came> back. [1]" in plain.get_content()
    assert rich is not None and "A heron &lt;came&gt; back." in rich.get_content()
    assert letter["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert letter["List-Unsubscribe"].strip("<>") in plain.get_content()


def front_page(*, image: str = "", language: str = "", hostile: str = "") -> Email:
    sources = tuple(
        Source(n, f"Headline {n}{hostile}", feed, n) for n, feed in enumerate(("Courier", "Post", "Ledger", "Velo"), 1)
    )
    paragraphs = (
        Paragraph("", (Sentence("The lead in a sentence.", (1, 2)), Sentence("Headline 2", (2,))), "top"),
        Paragraph(f"Around home{hostile}", (Sentence(f"A line.{hostile}", (3,)),), "folder"),
        Paragraph("", (Sentence("Headline 4", (4,)),), "more"),
    )
    digest = Digest(
        id=9, user_id=1, status="ready", scope=DigestScope(), model="extract", language="en", entries=38, error=None,
        since=1, until=1_794_783_600_000, created_at=1, finished_at=2, text=DigestText(paragraphs, sources, feeds=19),
    )  # fmt: skip
    mail = DigestMail(
        "https://reader.example", "https://reader.example/stop", texts_in(language), ZoneInfo("Asia/Tokyo"), image
    )
    return digest_email("reader@home.example", digest, mail)


def test_the_mail_of_a_digest_is_a_front_page_in_one_column() -> None:
    email = front_page(image="https://reader.example/image/1")
    assert email.subject == "Monday, 16 November: Headline 1"
    page = LexborHTMLParser(email.html)
    assert page.css_first('table[width="600"]') is not None
    assert "prefers-color-scheme: dark" in page.css_first("style").text()
    assert page.css_first("body > div").text() == "Headline 2 · Headline 3 · Headline 4"
    assert page.css_first("img").attributes["src"] == "https://reader.example/image/1"
    links = [link.attributes["href"] for link in page.css("a")]
    assert links[-3:] == [
        "https://reader.example/digests/9", "https://reader.example/summaries", "https://reader.example/stop"
    ]  # fmt: skip
    assert [mark.text() for mark in page.css("span")][:2] == ["C", "P"]
    assert "2 outlets" in page.css_first("body").text() and "38 entries · 19 feeds" in email.html


def test_the_mail_of_a_digest_is_german_for_german_readers_and_loads_nothing_from_elsewhere() -> None:
    email = front_page(language="de")
    assert email.subject == "Montag, 16. November: Headline 1"
    assert "Diese E-Mails beenden" in email.html and "Ganzen Überblick lesen" in email.text
    assert "<img" not in email.html and "url(" not in email.html


def test_hostile_words_stay_words_in_the_mail_of_a_digest() -> None:
    html = front_page(hostile='<script>x</script>"><img src=x>\r\nBcc: a@b').html
    page = LexborHTMLParser(html)
    assert page.css("script") == [] and page.css("img") == []
    assert "\n" not in front_page(hostile="\r\nBcc: a@b").subject


async def test_a_second_parser_finds_the_way_to_end_digests(
    harness: RuntimeHarness, mailing: Runtime, smtp_server: SmtpServer
) -> None:
    user, digest = await digest_for(harness, mailing)
    await send_digest(mailing, user, digest.id)
    await work_off(mailing)
    (raw,) = smtp_server.raw
    assert len(f"List-Unsubscribe: <{unsubscribe_link(mailing, user.id)}>") > 78
    headers = _headers(raw)
    assert headers["list-unsubscribe"] == f"<{unsubscribe_link(mailing, user.id)}>"
    assert headers["list-unsubscribe-post"] == "List-Unsubscribe=One-Click"


LONG = f"{'a' * 60}@{'b' * 60}.{'c' * 60}.example"
END = f"https://reader.example/digests/unsubscribe/{'x' * 200}"


@pytest.mark.parametrize(
    ("sender", "letter", "headers"),
    [
        (
            "reedbed@reader.example",
            Email("reader@home.example", "Short", "Text\n"),
            {"from": "reedbed@reader.example", "to": "reader@home.example", "subject": "Short"},
        ),
        (
            f"Reedbed <{LONG}>",
            Email(LONG, f"Webhook switched off: https://hook.example/{'y' * 200}", "Text\n"),
            {"from": f'"Reedbed" <{LONG}>', "to": LONG},
        ),
        (
            "Lesestube Grünau <post@bücher.example>",
            Email("reader@home.example", "Übersicht", "Grüße\n", "<p>Grüße</p>", END),
            {"from": "=?utf-8?q?Lesestube_Gr=C3=BCnau?= <post@xn--bcher-kva.example>", "list-unsubscribe": f"<{END}>"},
        ),
        (
            "post@reader.example",
            Email("reader@home.example", "S", "T\n", "", "https://bücher.example/ende/ü"),
            {"list-unsubscribe": "<https://xn--bcher-kva.example/ende/%C3%BC>"},
        ),
        ("post@reader.example", Email("jürgen@home.example", "S", "T\n"), {"to": "jürgen@home.example"}),
    ],
    ids=["short", "long", "not ASCII", "a link that is not ASCII", "a mailbox that is not ASCII"],
)
async def test_no_address_is_an_encoded_word(
    smtp_server: SmtpServer, sender: str, letter: Email, headers: dict[str, str]
) -> None:
    posted = await Mailer(MailServer("127.0.0.1", smtp_server.port, sender, "none")).send(letter, 1)
    assert isinstance(posted, Sent)
    (raw,), (parsed,) = smtp_server.raw, smtp_server.letters
    found = _headers(raw)
    assert {name: found[name] for name in headers} == headers
    assert parsed["Subject"] == letter.subject
    assert words_of(parsed).splitlines() == letter.text.splitlines()
    for name in ("to", "message-id", "date", "list-unsubscribe", "list-unsubscribe-post"):
        assert "=?" not in found.get(name, "")
    assert "=?" not in found["from"].partition("<")[2]


async def test_mails_are_in_the_language_of_the_browser_that_logs_in_first(
    harness: RuntimeHarness, mailing: Runtime, smtp_server: SmtpServer, stranger: Client
) -> None:
    hashed = await hash_password(PASSWORD)
    async with mailing.db.write() as tx:
        await users.add(tx, email="reader@home.example", password_hash=hashed, role="user", now=1, verified=True)
    for language in ("de-AT", "en"):
        stranger.cookies.clear()
        token = tokens((await stranger.get("/login")).text).pop()
        form = {"csrf_token": token, "email": "reader@home.example", "password": PASSWORD}
        done = await stranger.post("/login", data=form, headers={"Accept-Language": language})
        assert done.status_code == 303
    await request_mail(mailing, "reset", "reader@home.example")
    await work_off(mailing)
    (letter,) = smtp_server.letters
    assert letter["Subject"] == "Neues Passwort für Reedbed wählen"
    assert "Der Link gilt einmal, 1 Stunde lang." in words_of(letter)


def _headers(raw: bytes) -> dict[str, str]:
    """As a parser reads them that decodes nothing, with folded lines put together."""
    message = message_from_bytes(raw, policy=compat32)
    # What is not ASCII comes as a Header, which knows no charset for it.
    unpacked = {name.lower(): str(value) for name, value in message.raw_items()}
    return {
        name: " ".join(value.encode("utf-8", "surrogateescape").decode().split()) for name, value in unpacked.items()
    }


async def test_one_click_ends_digests_by_mail_without_a_log_in(
    harness: RuntimeHarness, mailing: Runtime, smtp_server: SmtpServer, stranger: Client
) -> None:
    user, digest = await digest_for(harness, mailing)
    await send_digest(mailing, user, digest.id)
    await work_off(mailing)
    link = smtp_server.letters[0]["List-Unsubscribe"].strip("<>")

    page = await stranger.get(link)
    assert page.status_code == 200 and "No more digests by mail" in page.text
    assert await harness.column("SELECT count(*) FROM digest_schedules WHERE mail") == [1]
    for _ in range(2):
        done = await stranger.post(link, data={"List-Unsubscribe": "One-Click"})
        assert done.status_code == 200
    assert await harness.column("SELECT count(*) FROM digest_schedules WHERE mail") == [0]
    await send_digest(mailing, user, digest.id)
    await work_off(mailing)
    assert len(smtp_server.letters) == 1


async def test_a_link_that_somebody_else_wrote_ends_nothing(
    harness: RuntimeHarness, mailing: Runtime, stranger: Client
) -> None:
    user, _ = await digest_for(harness, mailing)
    for token in (f"{user.id}-{'0' * 40}", str(user.id), "x", "0-", "99999999999999999999-a"):
        for answer in (
            await stranger.get(f"/digests/unsubscribe/{token}"),
            await stranger.post(f"/digests/unsubscribe/{token}"),
        ):
            assert answer.status_code == 404
    assert await harness.column("SELECT count(*) FROM digest_schedules WHERE mail") == [1]


async def test_a_digest_waits_while_the_mail_server_is_busy(
    harness: RuntimeHarness, mailing: Runtime, smtp_server: SmtpServer
) -> None:
    user, digest = await digest_for(harness, mailing)
    smtp_server.answer = "451 later"
    await send_digest(mailing, user, digest.id)
    for _ in range(3):
        await work_off(mailing)
        harness.clock.ahead += HOUR
    smtp_server.answer = "250 OK"
    await work_off(mailing)
    await work_off(mailing)
    assert len(smtp_server.letters) == 1


async def test_an_invitation_waits_as_well_and_is_not_sent_when_withdrawn(
    harness: RuntimeHarness, mailing: Runtime, smtp_server: SmtpServer
) -> None:
    smtp_server.answer = "451 later"
    made = await invite(mailing, "guest@example.org")
    assert not made.mailed
    smtp_server.answer = "250 OK"
    await work_off(mailing)
    (letter,) = smtp_server.letters
    assert letter["To"] == "guest@example.org" and "/register?invite=" in letter.get_content()

    smtp_server.answer = "451 later"
    await invite(mailing, "other@example.org")
    smtp_server.answer = "250 OK"
    await harness.change("DELETE FROM mail_links")
    await work_off(mailing)
    assert len(smtp_server.letters) == 1


async def test_without_a_mail_server_each_feature_says_so(signed_in: SignIn) -> None:
    reader = await signed_in()
    planned = await reader.put("/api/v1/digests/schedule", json={"time": "07:30", "mail": True})
    assert (planned.status_code, "cannot send mail" in planned.text) == (409, True)
    assert "this server cannot send mail" in (await reader.get("/summaries")).text
    forgot = await reader.post("/api/v1/auth/forgot-password", json={"email": "reader@example.org"})
    assert (forgot.status_code, "cannot send mail" in forgot.text) == (409, True)
