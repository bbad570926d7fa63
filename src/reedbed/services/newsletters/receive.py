"""Receive newsletters. All channels (SMTP, webhooks, IMAP) end in `receive`.

When `receive` returns, its result is committed, so a channel may acknowledge the mail. A mail that is sent
again because the acknowledgement was lost is recognized by its Message-ID.
"""

import asyncio
from collections.abc import Sequence
from hashlib import sha256
from typing import Literal

import structlog

from reedbed.domain.feeds import Author, ParsedEntry, ParsedFeed
from reedbed.domain.images import MAIL_KEY, MAIL_PATH
from reedbed.domain.live import ChangeEvent
from reedbed.domain.newsletters import (
    MAX_SENDERS,
    AuthResults,
    Channel,
    Confirmation,
    IngestAddress,
    InvalidMail,
    Mail,
    Sender,
    feed_url,
    find_confirmation,
    local_part,
    sender_key,
    ways_out,
)
from reedbed.domain.newsletters import verdicts as verdicts_of
from reedbed.domain.records import record
from reedbed.domain.refresh.dedupe import change_hash, sort_at
from reedbed.domain.refresh.state import DueFeed, FetchState
from reedbed.domain.retention import removed_key
from reedbed.domain.times import Instant
from reedbed.domain.users import Allowance
from reedbed.ingest.mail import read_mail
from reedbed.ingest.mail.html import (
    is_placeholder_url,
    links_of,
    online_version,
    plain_text_to_html,
    prepared,
    settled,
    used,
)
from reedbed.ingest.mail.message import media_type
from reedbed.services.live import hide_muted, publish_subscriptions
from reedbed.services.refresh.diff import words_of
from reedbed.services.rules.match import RuleForecast, apply_rules_to_new, evaluate_new_entries, muted_by_user
from reedbed.services.runtime import Runtime
from reedbed.services.search.forms import learn_words
from reedbed.store import blobs, search
from reedbed.store.engine.database import Tx
from reedbed.store.entries import write as entry_writes
from reedbed.store.entries.write import NewEntryRow, NewEntryText
from reedbed.store.feeds import feeds
from reedbed.store.feeds.feeds import FetchStats, hour_of
from reedbed.store.newsletters import inbound
from reedbed.store.refresh import CheckResult
from reedbed.store.subscriptions import subscribe_to_own_feed
from reedbed.store.visibility import lock_feed

# --- Converting a mail into an entry


@record
class SavedMailImage:
    digest: str
    media_type: str
    data: bytes


@record
class ReceivedMail:
    """The stored form of one mail, the same for all its recipients."""

    guid: str
    url: str | None
    sent_at: Instant | None
    change_hash: str
    text: NewEntryText
    pictures: tuple[SavedMailImage, ...]
    confirmation: Confirmation | None

    def row(self, feed_id: int, now: Instant) -> NewEntryRow:
        return NewEntryRow(
            feed_id=feed_id,
            guid=self.guid,
            url=self.url,
            normalized_url=None,
            change_hash=self.change_hash,
            published_at=self.sent_at,
            fetched_at=now,
            sort_at=sort_at(self.sent_at, now),
            text=self.text,
        )


def convert_mail(mail: Mail) -> ReceivedMail:
    """Build the stored form of a mail. Sanitizing is slow: do not call this on the event loop."""
    cids = {image.cid: number for number, image in enumerate(mail.pictures)}
    source = prepared(mail.html, cids) if mail.html.strip() else plain_text_to_html(mail.text)
    text = words_of(_parsed_entry(mail, source), ParsedFeed("mail", "", ()))
    images = {number: _saved_image(mail.pictures[number].data) for number in used(text.content) if number < len(cids)}
    links = links_of(settled(text.content, {}))
    content = settled(text.content, {number: _image_url(image) for number, image in images.items()})
    return ReceivedMail(
        guid=mail.message_id or _fingerprint(mail),
        url=online_version(links),
        sent_at=mail.sent_at,
        change_hash=change_hash(mail.subject, mail.html or mail.text),
        text=text._replace(content=content, image=None if is_placeholder_url(text.image) else text.image),
        pictures=tuple(images.values()),
        confirmation=find_confirmation(mail.subject, text.plain, links, text.words),
    )


def _parsed_entry(mail: Mail, content: str) -> ParsedEntry:
    author = Author(mail.sender_name or mail.sender, email=mail.sender)
    return ParsedEntry(
        guid=None, url=None, title=mail.subject, content=content, published=mail.sent_at, authors=(author,)
    )


def _saved_image(data: bytes) -> SavedMailImage:
    return SavedMailImage(f"{MAIL_KEY}{sha256(data).hexdigest()}", media_type(data) or "image/png", data)


def _image_url(image: SavedMailImage) -> str:
    return f"{MAIL_PATH}{image.digest.removeprefix(MAIL_KEY)}"


def _fingerprint(mail: Mail) -> str:
    """Identify a mail without a Message-ID by its content."""
    parts = (mail.sender, mail.subject, str(mail.sent_at), *(mail.html or mail.text).split())
    text = "\0".join(parts)
    return f"sha256:{sha256(text.encode('utf-8', 'replace')).hexdigest()[:32]}"


# --- Receiving

log = structlog.get_logger()

PER_ADDRESS = Allowance(200, 1 / 20)
"""Mails to one address: allows bursts of a few lists, but no flood."""
_MAX_KEY = 500


@record
class MailDelivery:
    """The channel a mail came through, and its recipients."""

    via: Channel
    recipients: tuple[str, ...] = ()
    """From the envelope."""
    user_id: int | None = None
    """The owner of the mailbox, for mail read by IMAP."""
    key: str | None = None
    """The channel's id of this delivery, to recognize replays."""
    believed: str = ""
    """The server whose `Authentication-Results` are trusted: see `domain.newsletters`."""
    verdicts: AuthResults | None = None
    """Authentication results from the channel itself, if it provides them."""


@record
class Received:
    new: int = 0
    known: int = 0
    """Recipients who already had this mail."""
    unwanted: int = 0
    """Recipients who blocked the sender or unsubscribed from the list."""


@record
class MailRejected:
    why: Literal["unknown", "large", "unreadable", "spam", "blocked", "full", "busy"]
    reason: str


async def accepts(runtime: Runtime, recipient: str) -> bool:
    """Whether the recipient is an active address here."""
    return bool(await _find_addresses(runtime, [recipient]))


async def receive(runtime: Runtime, delivery: MailDelivery, source: bytes | Mail) -> Received | MailRejected:
    """Store a mail for all its recipients."""
    outcome = await _receive(runtime, delivery, source)
    if isinstance(outcome, MailRejected):
        log.info("a mail was refused", via=delivery.via, why=outcome.why, reason=outcome.reason)
    else:
        log.info("a mail was received", via=delivery.via, new=outcome.new, known=outcome.known)
    return outcome


async def _receive(runtime: Runtime, delivery: MailDelivery, source: bytes | Mail) -> Received | MailRejected:
    if isinstance(source, bytes) and len(source) > runtime.mail.max_bytes:
        return MailRejected("large", f"The mail is larger than {runtime.mail.max_bytes:,} bytes.")
    readers = await _recipients(runtime, delivery)
    if not readers:
        return MailRejected("unknown", "There is no such address here.")
    if await _is_replay(runtime, delivery):
        return Received(known=len(readers))
    if await _is_rate_limited(runtime, readers):
        return MailRejected("busy", "Too many mails to this address. Try again later.")
    mail = await read_mail(source) if isinstance(source, bytes) else source
    rejection = _rejection(mail)
    if isinstance(mail, InvalidMail) or rejection is not None:
        return rejection or MailRejected("unreadable", "This is no mail.")
    return await _store_for_all(runtime, delivery, readers, mail)


def _rejection(mail: Mail | InvalidMail) -> MailRejected | None:
    if isinstance(mail, InvalidMail):
        return MailRejected("unreadable", mail.reason)
    if mail.spam:
        return MailRejected("spam", "The mail was marked as spam on its way.")
    if not sender_key(mail.sender):
        return MailRejected("unreadable", "The sender of the mail is no address.")
    return None


@record
class _MailReader:
    user_id: int
    address_ids: tuple[int, ...] = ()


async def _recipients(runtime: Runtime, delivery: MailDelivery) -> list[_MailReader]:
    if delivery.user_id is not None:
        return [_MailReader(delivery.user_id)]
    by_user: dict[int, list[int]] = {}
    for address in await _find_addresses(runtime, delivery.recipients):
        by_user.setdefault(address.user_id, []).append(address.id)
    return [_MailReader(user_id, tuple(ids)) for user_id, ids in by_user.items()]


async def _find_addresses(runtime: Runtime, recipients: Sequence[str]) -> list[IngestAddress]:
    domain = runtime.mail.domain
    local_parts = [local_part(recipient, domain) for recipient in recipients] if domain else []
    distinct = sorted({local for local in local_parts if local})
    if not distinct:
        return []
    async with runtime.db.read() as tx:
        return await inbound.behind(tx, distinct)


async def _is_replay(runtime: Runtime, delivery: MailDelivery) -> bool:
    if delivery.key is None:
        return False
    async with runtime.db.read() as tx:
        return await inbound.was_delivered(tx, _delivery_key(delivery))


async def _is_rate_limited(runtime: Runtime, readers: Sequence[_MailReader]) -> bool:
    ids = [id_ for reader in readers for id_ in reader.address_ids]
    return any([await runtime.limiter.wait_for(f"newsletters:{id_}", PER_ADDRESS) > 0 for id_ in ids])


async def _store_for_all(
    runtime: Runtime, delivery: MailDelivery, readers: Sequence[_MailReader], mail: Mail
) -> Received | MailRejected:
    stored = await asyncio.to_thread(convert_mail, mail)
    verdicts = delivery.verdicts or verdicts_of(mail.auth_results, delivery.believed)
    arrival = _Arrival(mail, stored, sender_key(mail.sender), verdicts)
    outcomes = [await _store_for(runtime, reader, arrival) for reader in readers]
    if delivery.key is not None:
        async with runtime.db.write() as tx:
            await inbound.record_delivery(tx, _delivery_key(delivery), runtime.now())
    if all(isinstance(outcome, MailRejected) for outcome in outcomes):
        return next(outcome for outcome in outcomes if isinstance(outcome, MailRejected))
    return Received(
        outcomes.count("new"), outcomes.count("known"), len(outcomes) - outcomes.count("new") - outcomes.count("known")
    )


# --- Storing for one user


@record
class _Arrival:
    mail: Mail
    stored: ReceivedMail
    key: str
    verdicts: AuthResults


async def _store_for(
    runtime: Runtime, reader: _MailReader, arrival: _Arrival
) -> Literal["new", "known", "left"] | MailRejected:
    async with runtime.db.write() as tx:
        target = await _target_feed(tx, runtime.now(), reader.user_id, arrival)
    if not isinstance(target, _TargetFeed):
        return target
    row = arrival.stored.row(target.feed_id, runtime.now())
    forecast = await _evaluate_rules(runtime, row)
    async with runtime.db.write() as tx:
        entry_id = await _write(tx, runtime.now(), reader, row, arrival, forecast)
    if target.followed_anew:
        await publish_subscriptions(runtime, reader.user_id)
    if entry_id is None:
        return "known"
    data = {"feed_id": str(target.feed_id), "ids": [str(entry_id)]}
    event = ChangeEvent("new_entry", feed_id=target.feed_id, data=data)
    await runtime.bus.publish(hide_muted(event, muted_by_user(forecast, [(entry_id, row)])))
    return "new"


@record
class _TargetFeed:
    """The feed that a mail is stored in."""

    feed_id: int
    followed_anew: bool


async def _target_feed(
    tx: Tx, now: Instant, user_id: int, arrival: _Arrival
) -> _TargetFeed | Literal["left"] | MailRejected:
    sender = await inbound.sender_by_address(tx, user_id, arrival.key)
    if sender is None and await inbound.count_senders(tx, user_id) >= MAX_SENDERS:
        return MailRejected("full", "This reader follows as many senders as there can be.")
    if sender is not None and not _is_wanted(sender, arrival.stored):
        await inbound.record_rejected(tx, user_id, arrival.key, now)
        return (
            MailRejected("blocked", "The reader does not want mail from this sender.") if sender.blocked_at else "left"
        )
    if sender is None:
        await inbound.add_sender(tx, user_id, arrival.key, arrival.mail.sender_name, now)
    title = arrival.mail.sender_name or arrival.key
    feed_id, _ = await feeds.find_or_add(tx, feed_url(arrival.key), now, owner_id=user_id, kind="mail", title=title)
    return _TargetFeed(feed_id, await subscribe_to_own_feed(tx, now, user_id, feed_id))


def _is_wanted(sender: Sender, stored: ReceivedMail) -> bool:
    """A confirmation request is shown even after unsubscribing: the user may be signing up again."""
    return sender.blocked_at is None and (sender.left_at is None or stored.confirmation is not None)


async def _evaluate_rules(runtime: Runtime, row: NewEntryRow) -> RuleForecast:
    # Set `last_success_at`: unlike the first fetch of a feed, a sender's first mail is new to the user.
    due = DueFeed(row.feed_id, "", "", state=FetchState(last_success_at=row.fetched_at))
    stats = FetchStats(row.feed_id, hour_of(row.fetched_at))
    return await evaluate_new_entries(runtime, [CheckResult(due, due.state, stats, news=[row])])


async def _write(
    tx: Tx, now: Instant, reader: _MailReader, row: NewEntryRow, arrival: _Arrival, forecast: RuleForecast
) -> int | None:
    """The id of the new entry, or None if the mail was already stored."""
    feed_id, received, mail = row.feed_id, arrival.stored, arrival.mail
    await lock_feed(tx, feed_id)
    if await inbound.find_entry_by_guid(tx, feed_id, received.guid) is not None:
        return None
    if await entry_writes.known(tx, feed_id, [removed_key("guid", received.guid)]):
        return None  # rereading a mailbox must not restore entries deleted by retention
    inserted = await entry_writes.insert_new(tx, [row])
    entry_id = inserted[0][0]
    await learn_words(tx, [(received.text.language, received.text.search)])
    await search.index(tx, [(entry_id, received.text.search)])
    await _save_extras(tx, now, reader.user_id, entry_id, received)
    await apply_rules_to_new(tx, {feed_id: inserted}, now, forecast)
    await inbound.record_mail(
        tx,
        reader.user_id,
        arrival.key,
        feed_id=feed_id,
        name=mail.sender_name,
        ways=ways_out(mail.list_unsubscribe, mail.list_unsubscribe_post),
        verdicts=arrival.verdicts,
        now=now,
    )
    await inbound.record_state(tx, feed_id, entry_id, row.sort_at, now)
    await inbound.record_use(tx, reader.address_ids, now)
    await feeds.add_stats(tx, [FetchStats(feed_id, hour_of(now), checks=0, new_entries=1)])
    return entry_id


async def _save_extras(tx: Tx, now: Instant, user_id: int, entry_id: int, received: ReceivedMail) -> None:
    image_ids = [await blobs.keep(tx, image.digest, image.media_type, image.data, now) for image in received.pictures]
    if image_ids:
        await inbound.add_images(tx, entry_id, image_ids)
    if received.confirmation is not None:
        await inbound.add_confirmation(tx, user_id, entry_id, received.confirmation, now)


def _delivery_key(delivery: MailDelivery) -> str:
    return f"{delivery.via}:{delivery.key}"[:_MAX_KEY]
