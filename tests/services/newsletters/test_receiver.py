"""Newsletters at the desk: who is let in, and what becomes of a mail."""

import asyncio
from dataclasses import replace

import pytest

from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.newsletters import MailPolicy
from reedbed.domain.retention import removed_key
from reedbed.domain.rules import Condition, Field, Operator, read_action
from reedbed.services.newsletters.channels import MailboxOptions, add_mailbox
from reedbed.services.newsletters.receive import MailDelivery, MailRejected, Received, receive
from reedbed.services.newsletters.senders import (
    add_address,
    block_address,
    block_sender,
    resume_sender,
    revoke_address,
    unblock_sender,
    written,
)
from reedbed.services.rules.manage import RuleDraft, create_rule
from reedbed.services.subscriptions.bulk import refresh_all
from reedbed.services.subscriptions.manage import SubscriptionChange, change_subscription
from reedbed.services.transfer.opml import export_opml
from reedbed.store.entries import write as removed
from reedbed.store.newsletters import inbound
from tests.harness import RuntimeHarness
from tests.newsletters import PNG
from tests.services.newsletters.letters import DOMAIN, PLAIN, SAMPLES, address_of, following, sent, the_sender


async def test_a_sender_is_a_private_feed_of_its_reader_that_nobody_polls(harness: RuntimeHarness) -> None:
    runtime, mine, theirs = harness.runtime, await harness.person(), await harness.person()
    to = await address_of(runtime, mine), await address_of(runtime, theirs)
    outcome = await receive(runtime, MailDelivery("smtp", to), PLAIN.raw)

    assert outcome == Received(new=2)
    rows = await harness.rows("SELECT url, owner_id, kind FROM feeds ORDER BY owner_id")
    assert [tuple(row) for row in rows] == [
        ("mailto:plain@letters.example.org", owner, "mail") for owner in (mine, theirs)
    ]
    assert await harness.check(at_least=10**10) == []
    started, (refused,) = await refresh_all(runtime, mine)
    assert (started, refused.reason) == (0, Failure(FailureCode.REFRESH_NOT_FETCHED))
    (followed,) = await following(runtime, mine)
    assert (followed.unread, followed.feed.state.status) == (1, "success")
    assert [hint.topic for hint in harness.heard("new_entry")] == ["new_entry"] * 2


async def test_a_newsletter_is_not_exported_to_other_readers(harness: RuntimeHarness) -> None:
    mine = await harness.person()
    await sent(harness.runtime, mine, PLAIN)
    assert b"mailto:" not in await export_opml(harness.runtime, mine)


async def test_its_title_can_be_changed_with_the_address_the_form_sends_back(harness: RuntimeHarness) -> None:
    mine = await harness.person()
    await sent(harness.runtime, mine, PLAIN)
    (followed,) = await following(harness.runtime, mine)
    change = SubscriptionChange(title="My letter", url=followed.url)
    assert (await change_subscription(harness.runtime, mine, followed.id, change)).title == "My letter"


async def test_rules_are_asked_before_anybody_sees_a_mail(harness: RuntimeHarness) -> None:
    mine = await harness.person()
    heron = Condition(Field.TITLE, Operator.CONTAINS, "plain")
    await create_rule(harness.runtime, mine, RuleDraft("Quiet", conditions=[heron], actions=[read_action("mute")]))
    await sent(harness.runtime, mine, PLAIN)
    (followed,) = await following(harness.runtime, mine)
    assert followed.unread == 0


async def test_a_mail_in_flight_twice_at_once_is_stored_once(harness: RuntimeHarness) -> None:
    mine = await harness.person()
    outcomes = await asyncio.gather(*(sent(harness.runtime, mine, PLAIN) for _ in range(4)))
    assert sorted(outcome.new for outcome in outcomes if isinstance(outcome, Received)) == [0, 0, 0, 1]
    assert await harness.column("SELECT count(*) FROM entries") == [1]
    assert await harness.column("SELECT count(*) FROM entry_bodies") == [1]


async def test_many_mails_of_one_sender_at_once_are_all_stored_whole(harness: RuntimeHarness) -> None:
    mine = await harness.person()
    raws = [PLAIN.raw.replace(b"<plain@", f"<plain{number}@".encode()) for number in range(8)]
    await asyncio.gather(*(sent(harness.runtime, mine, raw) for raw in raws))
    assert await harness.column("SELECT count(*) FROM entry_bodies") == [8]
    (followed,) = await following(harness.runtime, mine)
    assert followed.unread == 8


async def test_a_blocked_sender_is_refused_until_unblocked(harness: RuntimeHarness) -> None:
    runtime, mine = harness.runtime, await harness.person()
    await sent(runtime, mine, PLAIN)
    sender = await the_sender(runtime, mine)
    await block_sender(runtime, mine, sender.id)
    again = PLAIN.raw.replace(b"<plain@", b"<plain2@")

    refusal = await sent(runtime, mine, again)
    assert isinstance(refusal, MailRejected) and refusal.why == "blocked"
    assert (await the_sender(runtime, mine)).refused == 1
    await unblock_sender(runtime, mine, sender.id)
    assert await sent(runtime, mine, again) == Received(new=1)


async def test_a_sender_can_be_blocked_before_its_first_mail(harness: RuntimeHarness) -> None:
    mine = await harness.person()
    await block_address(harness.runtime, mine, "Plain@Letters.example.org")
    assert isinstance(await sent(harness.runtime, mine, PLAIN), MailRejected)
    assert await following(harness.runtime, mine) == []


async def test_nobody_touches_the_senders_of_others(harness: RuntimeHarness) -> None:
    mine, other = await harness.person(), await harness.person()
    await sent(harness.runtime, mine, PLAIN)
    sender = await the_sender(harness.runtime, mine)
    for act in (block_sender, unblock_sender, resume_sender):
        with pytest.raises(NotFound):
            await act(harness.runtime, other, sender.id)


async def test_pictures_are_shown_to_their_reader_alone_and_swept_with_the_mail(harness: RuntimeHarness) -> None:
    runtime, mine, other = harness.runtime, await harness.person(), await harness.person()
    await sent(runtime, mine, SAMPLES["inline-picture"])
    (digest,) = await harness.column("SELECT hash FROM blobs")
    async with runtime.db.read() as tx:
        assert await inbound.image(tx, mine, digest) == ("image/png", PNG)
        assert await inbound.image(tx, other, digest) is None

    await harness.change("DELETE FROM entries")
    async with runtime.db.write() as tx:
        assert await inbound.delete_old_images(tx, runtime.now() + 1) == 1


async def test_a_confirmation_waits_in_front_for_its_reader(harness: RuntimeHarness) -> None:
    runtime, mine, other = harness.runtime, await harness.person(), await harness.person()
    await sent(runtime, mine, SAMPLES["confirmation"])
    async with runtime.db.read() as tx:
        (waiting,) = await inbound.waiting(tx, mine, 0)
        assert await inbound.waiting(tx, other, 0) == []
    assert (waiting.url, waiting.label) == ("https://lists.example.org/confirm/8f3a91", "Yes, confirm my subscription")
    assert waiting.sender == "The List"


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "unreadable"),
        (b"\x00" * 1_000, "unreadable"),
        (b"Subject: nobody\r\n\r\nx", "unreadable"),
        (b"From: x\r\n\r\nno address", "unreadable"),
        (b"From: a@example.org\r\nX-Spam-Flag: YES\r\n\r\nbuy", "spam"),
        (b"From: a@example.org\r\n\r\n" + b"x" * 600_000, "large"),
        (b"From: a@example.org\r\n" + b"X-Y: z\r\n" * 60_000 + b"\r\n\r\n", "unreadable"),
    ],
    ids=["nothing", "zeros", "no sender", "bad sender", "spam", "large", "headers"],
)
async def test_what_is_no_mail_is_refused_and_leaves_nothing(harness: RuntimeHarness, raw: bytes, why: str) -> None:
    mine = await harness.person()
    outcome = await sent(harness.runtime, mine, raw)
    assert isinstance(outcome, MailRejected) and outcome.why == why
    for table in ("feeds", "entries", "mail_senders"):
        assert await harness.column(f"SELECT count(*) FROM {table}") == [0]


async def test_addresses_are_random_named_several_and_revocable(harness: RuntimeHarness) -> None:
    runtime, mine, other = harness.runtime, await harness.person(), await harness.person()
    first, second = await add_address(runtime, mine, " News "), await add_address(runtime, mine, "Shops")
    assert first.name == "News"
    assert first.local != second.local and len(first.local) == 16
    with pytest.raises(NotFound):
        await revoke_address(runtime, other, first.id)
    await revoke_address(runtime, mine, first.id)
    gone = await receive(runtime, MailDelivery("smtp", (written(runtime, first),)), PLAIN.raw)
    assert isinstance(gone, MailRejected) and gone.why == "unknown"
    tagged = written(runtime, second).upper().replace("@", "+shop@")
    assert await receive(runtime, MailDelivery("smtp", (tagged,)), PLAIN.raw) == Received(new=1)


async def test_without_a_domain_an_address_says_why_there_is_none(harness: RuntimeHarness) -> None:
    runtime = replace(harness.runtime, mail=MailPolicy())
    with pytest.raises(Conflict, match="REEDBED_MAIL_DOMAIN"):
        await add_address(runtime, await harness.person(), "News")


async def test_a_mailbox_in_a_private_network_is_out_of_reach(harness: RuntimeHarness) -> None:
    wish = MailboxOptions("10.1.2.3", "reader", "secret")
    with pytest.raises(Invalid, match="private network"):
        await add_mailbox(harness.runtime, await harness.person(), wish)


async def test_what_retention_removed_does_not_come_back(harness: RuntimeHarness) -> None:
    runtime, mine = harness.runtime, await harness.person()
    await sent(runtime, mine, PLAIN)
    (feed_id,) = await harness.column("SELECT feed_id FROM entries")
    async with runtime.db.write() as tx:
        await removed.remember(tx, [(feed_id, removed_key("guid", PLAIN.message_id))])
    await harness.change("DELETE FROM entries")
    assert await sent(runtime, mine, PLAIN) == Received(known=1)


async def test_bombs_are_refused_in_bounded_time(harness: RuntimeHarness) -> None:
    runtime = replace(harness.runtime, mail=MailPolicy(domain=DOMAIN))
    mine = await harness.person()
    head = b"From: a@example.org\r\nContent-Type: multipart/mixed; boundary=x0\r\n\r\n"
    deep = b"".join(
        b"--x%d\r\nContent-Type: multipart/mixed; boundary=x%d\r\n\r\n" % (level, level + 1) for level in range(500)
    )
    wide = b"--x0\r\n\r\nhi\r\n" * 50_000
    for bomb in (deep, wide):
        async with asyncio.timeout(20):
            outcome = await sent(runtime, mine, head + bomb)
        assert isinstance(outcome, MailRejected) and outcome.why == "unreadable"


async def test_a_large_mail_is_read_in_a_process_of_its_own(harness: RuntimeHarness) -> None:
    runtime = replace(harness.runtime, mail=MailPolicy(domain=DOMAIN))
    mine = await harness.person()
    raw = SAMPLES["attachment"].raw
    padding = b"X-Padding: " + b"x" * 900 + b"\r\n"
    large = raw + b"\r\n" + padding * 3_600
    assert len(large) > 3_000_000
    assert await sent(runtime, mine, large) == Received(new=1)
    assert await harness.column("SELECT count(*) FROM mail_images") == [2]
