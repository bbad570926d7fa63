"""Endpoints that a letter or an invitation opens, and those that stay shut."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from reedbed.domain.email import Email, Sent
from reedbed.domain.times import DAY
from reedbed.roles.app import Application, create_app
from reedbed.services.auth import MADE_AHEAD
from reedbed.services.email import make_link
from reedbed.services.runtime import Runtime
from reedbed.services.users import invite
from tests.clients import Client, SignIn, new_client
from tests.harness import RuntimeHarness
from tests.http.web.forms import texts, tokens

PASSWORD = "seven herons in the reeds"


class SmtpServer:
    """Takes every letter and keeps it."""

    def __init__(self) -> None:
        self.letters: list[Email] = []

    async def send(self, letter: Email, now: int) -> Sent:
        self.letters.append(letter)
        return Sent()


@pytest.fixture
async def visitor(runtime: Runtime) -> AsyncIterator[Client]:
    """At a server with open registration that can send mail."""
    accounts = replace(runtime.accounts, registration="open")
    app: Application = create_app(replace(runtime, accounts=accounts, mailer=SmtpServer()))
    async with new_client(app) as client:
        yield client


async def test_registration_that_is_closed_has_no_page(client: Client) -> None:
    assert (await client.get("/register")).status_code == 404


async def test_a_stranger_registers_and_is_told_the_same_whoever_they_are(
    visitor: Client, harness: RuntimeHarness
) -> None:
    wish = {"email": "new@example.org", "password": PASSWORD, "password_again": PASSWORD, "privacy": "true"}
    first = await _send(visitor, "/register", **wish)
    second = await _send(visitor, "/register", **wish)
    assert first.status_code == second.status_code == 200 and texts(first.text, "role=") == texts(second.text, "role=")
    assert await harness.column("SELECT email FROM users") == ["new@example.org"]


async def test_a_refused_registration_keeps_the_address_and_never_the_password(visitor: Client) -> None:
    wish = {"email": "new@example.org", "password": PASSWORD, "password_again": "other", "privacy": "true"}
    refused = await _send(visitor, "/register", **wish)
    assert refused.status_code == 400 and texts(refused.text) == ["The two passwords differ."]
    assert 'value="new@example.org"' in refused.text and PASSWORD not in refused.text
    unread = await _send(visitor, "/register", **{**wish, "password_again": PASSWORD, "privacy": ""})
    assert texts(unread.text) == ["Please accept the privacy note."]


async def test_an_invitation_opens_an_account(runtime: Runtime) -> None:
    invited = replace(runtime, accounts=replace(runtime.accounts, registration="invite"))
    made = await invite(invited, "guest@example.org")
    async with new_client(create_app(invited)) as guest:
        page = await guest.get(made.url)
        assert 'value="guest@example.org"' in page.text
        wish = {"email": "guest@example.org", "password": PASSWORD, "password_again": PASSWORD, "privacy": "true"}
        token = made.url.partition("invite=")[2]
        welcome = await _send(guest, "/register", invite=token, **wish)
        assert welcome.status_code == 303
        assert (await guest.get("/unread")).status_code == 200
        again = await _send(guest, "/register", invite=token, **wish)
        assert again.status_code in (400, 409)


async def test_a_confirming_link_is_spent_by_a_press_not_by_a_look(
    visitor: Client, runtime: Runtime, harness: RuntimeHarness
) -> None:
    wish = {"email": "new@example.org", "password": PASSWORD, "password_again": PASSWORD, "privacy": "true"}
    await _send(visitor, "/register", **wish)
    (user,) = await harness.column("SELECT id FROM users")
    link = await make_link(runtime, "verify", "new@example.org", user)
    path = link.removeprefix(runtime.accounts.base_url)
    for _ in range(2):
        assert (await visitor.get(path)).status_code == 200
    assert await harness.column("SELECT email_verified_at FROM users") == [None]
    done = await visitor.post(path, data={"csrf_token": tokens((await visitor.get(path)).text).pop()})
    assert "Your address is confirmed" in done.text
    assert (await visitor.get(path)).status_code == 404


async def test_a_password_is_reset_by_its_link_once(client: Client, runtime: Runtime, by_cookie: SignIn) -> None:
    reader = await by_cookie("reader@example.org")
    link = await make_link(runtime, "reset", "reader@example.org", reader.user_id)
    path = link.removeprefix(runtime.accounts.base_url)
    weak = await _send(client, path, password="short")
    assert weak.status_code == 400 and len(texts(weak.text)) == 1
    done = await _send(client, path, password=PASSWORD)
    assert (done.status_code, done.headers["location"]) == (303, "/login")
    assert (await reader.get("/unread")).status_code == 303
    assert (await client.get(path)).status_code == 404
    spent = await client.post(path, data={"csrf_token": tokens((await client.get("/login")).text).pop()})
    assert "This link is used up" in spent.text


async def test_forgetting_is_answered_alike_for_every_address(visitor: Client, client: Client) -> None:
    answers = {
        (await _send(visitor, "/forgot", email=f"{name}@example.org")).text.count("a mail with a link") for name in "ab"
    }
    assert answers == {1}
    unable = await client.get("/forgot")
    assert "This Reedbed cannot send mail" in unable.text


async def test_after_three_mails_the_page_says_when_the_next_can_be_sent(visitor: Client) -> None:
    for _ in range(3):
        assert "a mail with a link" in (await _send(visitor, "/forgot", email="a@example.org")).text
    refused = await _send(visitor, "/forgot", email="a@example.org")
    assert refused.status_code == 429 and "on its way" not in refused.text
    (why,) = texts(refused.text)
    assert why.startswith("Mails to this address were requested too often. The next one can be sent in ")


async def _send(client: Client, path: str, **fields: str):
    page = await client.get(path)
    return await client.post(path, data={"csrf_token": tokens(page.text).pop(), **fields})


async def test_who_logged_in_under_a_wrong_clock_is_told_why_it_ended(
    harness: RuntimeHarness, by_cookie: SignIn
) -> None:
    harness.clock.ahead += 3650 * DAY
    visitor = await by_cookie()
    harness.clock.ahead -= 3650 * DAY
    answer = await visitor.get("/api/v1/entries")
    assert (answer.status_code, answer.json()["error"]["message"]) == (401, MADE_AHEAD)
    sent = await visitor.get("/unread", follow_redirects=False)
    assert sent.status_code == 303
    page = await visitor.get(sent.headers["location"])
    assert page.status_code == 200
    assert MADE_AHEAD in page.text
