"""Accounts by letter: forgotten passwords, registration and invitations."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from reedbed.domain.errors import Conflict, Forbidden, Invalid, TooMany, Unauthorized
from reedbed.domain.times import HOUR
from reedbed.domain.users import Caller, NewSession, User
from reedbed.services.auth import identify, open_session
from reedbed.services.runtime import AccountPolicy, Runtime
from reedbed.services.users import (
    Pending,
    Registration,
    add_member,
    change_password,
    forgot_password,
    invite,
    log_in,
    register,
    reset_password,
    verify_email,
)
from reedbed.store.engine.database import counting
from tests.harness import RuntimeHarness
from tests.smtp_server import SmtpServer, open_smtp_server, words_of, work_off

GOOD = "seven herons in the reeds"
BETTER = "eight herons in the reeds"


@pytest.fixture
def runtime(harness: RuntimeHarness) -> Runtime:
    return harness.runtime


@pytest.fixture
def smtp_server() -> Iterator[SmtpServer]:
    with open_smtp_server() as smtp_server:
        yield smtp_server


@pytest.fixture
def mailing(harness: RuntimeHarness, smtp_server: SmtpServer) -> Runtime:
    """Open registration, and a mail server that answers."""
    harness.runtime = replace(
        harness.runtime,
        accounts=AccountPolicy(registration="open", base_url="http://reader.example"),
        mailer=smtp_server.mailer(),
    )
    return harness.runtime


def link(smtp_server: SmtpServer) -> str:
    """The token in the newest letter."""
    found = re.search(r"http://reader\.example/\S*[/=]([\w-]{43})", words_of(smtp_server.letters[-1]))
    assert found is not None
    return found[1]


async def reader(runtime: Runtime, email: str = "reader@example.org") -> User:
    return await add_member(runtime, email, GOOD)


async def test_a_known_address_takes_as_many_steps_as_an_unknown_one(mailing: Runtime) -> None:
    """Time itself is too noisy to test; what takes time is the hash, which is counted by its own test."""
    await reader(mailing)
    for email in ("reader@example.org", "nobody@example.org"):
        with counting() as logging_in, pytest.raises(Unauthorized):
            await log_in(mailing, email, "wrong")
        with counting() as forgetting:
            await forgot_password(mailing, email)
        with counting() as registering:
            await register(mailing, Registration(email, GOOD, privacy_accepted=True))
        assert (logging_in.value, forgetting.value, registering.value) == (2, 1, 3), email


async def test_a_forgotten_password_is_reset_by_a_link_that_works_once(
    mailing: Runtime, smtp_server: SmtpServer
) -> None:
    user = await reader(mailing)
    session = await open_session(mailing, user)

    said = await forgot_password(mailing, user.email)
    await work_off(mailing)
    token = link(smtp_server)
    await reset_password(mailing, token, BETTER)

    assert said == await forgot_password(mailing, "nobody@example.org")
    assert await identify(mailing, session.token) is None
    await log_in(mailing, user.email, BETTER)
    with pytest.raises(Invalid, match="not valid any more"):
        await reset_password(mailing, token, GOOD)


async def test_a_reset_link_dies_after_an_hour_and_by_a_newer_one(
    mailing: Runtime, smtp_server: SmtpServer, harness: RuntimeHarness
) -> None:
    user = await reader(mailing)
    await forgot_password(mailing, user.email)
    await work_off(mailing)
    first = link(smtp_server)
    await forgot_password(mailing, user.email)
    await work_off(mailing)
    second = link(smtp_server)

    with pytest.raises(Invalid):
        await reset_password(mailing, first, BETTER)
    harness.clock.ahead += HOUR
    with pytest.raises(Invalid):
        await reset_password(mailing, second, BETTER)


async def test_no_token_of_a_letter_is_at_rest_in_the_database(
    mailing: Runtime, smtp_server: SmtpServer, harness: RuntimeHarness
) -> None:
    user = await reader(mailing)
    await forgot_password(mailing, user.email)
    await work_off(mailing)

    stored = await harness.rows("SELECT * FROM jobs") + await harness.rows("SELECT * FROM mail_links")
    assert link(smtp_server) not in str([tuple(row) for row in stored])


async def test_a_stranger_gets_no_letter_and_an_account_at_most_three_an_hour(
    mailing: Runtime, smtp_server: SmtpServer
) -> None:
    user = await reader(mailing)
    await forgot_password(mailing, "nobody@example.org")
    await work_off(mailing)
    assert smtp_server.letters == []

    for number in range(3):
        await forgot_password(mailing, user.email, ip=f"192.0.2.{number}")
    with pytest.raises(TooMany, match=r"can be sent in \d+ min") as refused:
        await forgot_password(mailing, user.email, ip="192.0.2.9")
    assert 0 < refused.value.retry_after <= 3_600
    await work_off(mailing)
    assert len(smtp_server.letters) == 3


async def test_the_limit_of_mails_does_not_tell_who_has_an_account(mailing: Runtime) -> None:
    """A notice that only an account gets takes nothing from what anybody can ask for."""
    user = await reader(mailing)
    await change_password(mailing, Caller(user), GOOD, BETTER)
    answers: dict[str, list[str]] = {}
    for email in (user.email, "nobody@example.org"):
        for number in range(4):
            try:
                answer = await forgot_password(mailing, email, ip=f"192.0.2.{number}")
            except TooMany as error:
                answer = error.message
            answers.setdefault(email, []).append(answer)
    first, second = answers.values()
    assert first == second


async def test_an_unconfirmed_reader_hears_when_the_next_mail_can_be_sent(mailing: Runtime) -> None:
    await register(mailing, Registration("new@example.org", GOOD, privacy_accepted=True))
    for _ in range(2):
        with pytest.raises(Forbidden, match="just sent you"):
            await log_in(mailing, "new@example.org", GOOD)
    with pytest.raises(Forbidden, match=r"we sent you\. .* can be sent in \d+ min"):
        await log_in(mailing, "new@example.org", GOOD)
    with pytest.raises(TooMany, match=r"can be sent in \d+ min"):
        await register(mailing, Registration("new@example.org", GOOD, privacy_accepted=True))


async def test_a_letter_waits_for_a_mail_server_that_is_busy(
    mailing: Runtime, smtp_server: SmtpServer, harness: RuntimeHarness
) -> None:
    user = await reader(mailing)
    smtp_server.answer = "451 come back later"
    await forgot_password(mailing, user.email)
    await work_off(mailing)
    assert await harness.column("SELECT state FROM jobs") == ["pending"]

    smtp_server.answer = "250 OK"
    harness.clock.ahead += HOUR
    await work_off(mailing)
    assert len(smtp_server.letters) == 1


async def test_without_mail_a_forgotten_password_needs_the_operator(runtime: Runtime) -> None:
    with pytest.raises(Conflict, match="reedbed admin user reset-link"):
        await forgot_password(runtime, "reader@example.org")


async def test_registration_is_closed_unless_the_operator_opens_it(runtime: Runtime) -> None:
    with pytest.raises(Forbidden, match="closed"):
        await register(runtime, Registration("new@example.org", GOOD, privacy_accepted=True))
    with pytest.raises(Conflict, match="REEDBED_REGISTRATION=invite"):
        await invite(runtime, "new@example.org")


async def test_open_registration_waits_for_the_address_to_be_confirmed(
    mailing: Runtime, smtp_server: SmtpServer
) -> None:
    wish = Registration("New@example.org", GOOD, privacy_accepted=True)
    assert isinstance(await register(mailing, wish), Pending)
    with pytest.raises(Forbidden, match="Confirm your e-mail"):
        await log_in(mailing, "new@example.org", GOOD)

    await work_off(mailing)
    await verify_email(mailing, link(smtp_server))

    await log_in(mailing, "new@example.org", GOOD)


async def test_registering_a_known_address_answers_the_same_and_changes_nothing(
    mailing: Runtime, smtp_server: SmtpServer
) -> None:
    user = await reader(mailing)
    known = await register(mailing, Registration(user.email, BETTER, privacy_accepted=True))
    unknown = await register(mailing, Registration("other@example.org", BETTER, privacy_accepted=True))

    assert known == unknown
    await log_in(mailing, user.email, GOOD)
    await work_off(mailing)
    assert "account already" in words_of(next(one for one in smtp_server.letters if one["To"] == user.email))


async def test_registering_needs_the_privacy_note_and_a_decent_password(mailing: Runtime) -> None:
    with pytest.raises(Invalid, match="privacy"):
        await register(mailing, Registration("new@example.org", GOOD))
    with pytest.raises(Invalid, match="anyone would try"):
        await register(mailing, Registration("new@example.org", "password123", privacy_accepted=True))


async def test_an_invitation_lets_one_person_in(mailing: Runtime, smtp_server: SmtpServer) -> None:
    runtime = replace(mailing, accounts=replace(mailing.accounts, registration="invite"))
    with pytest.raises(Forbidden, match="invitation only"):
        await register(runtime, Registration("friend@example.org", GOOD, privacy_accepted=True))

    made = await invite(runtime, "friend@example.org")
    assert made.mailed
    token = link(smtp_server)
    with pytest.raises(Invalid, match="another e-mail"):
        await register(runtime, Registration("else@example.org", GOOD, privacy_accepted=True, invite=token))
    wish = Registration("friend@example.org", GOOD, privacy_accepted=True, invite=token)
    session = await register(runtime, wish)

    assert isinstance(session, NewSession)
    caller = await identify(runtime, session.token)
    assert caller is not None and caller.user.email == "friend@example.org"
    with pytest.raises(Invalid, match="not valid any more"):
        await register(runtime, replace(wish, email="friend@example.org"))
