"""Newsletters come in: whatever the channel, through `receive`.

What it returns is true of the database already: a channel may acknowledge a mail as soon as it has the
answer, and a mail that comes again, because the acknowledgement was lost, is known by its Message-ID.
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
    Channel,
    Confirmation,
    IngestAddress,
    Mail,
    NotAMail,
    Sender,
    Verdicts,
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
from reedbed.ingest.mail.html import from_plain, is_placed, links_of, online_version, prepared, settled, used
from reedbed.ingest.mail.message import media_type
from reedbed.services.refresh.diff import words_of
from reedbed.services.rules.match import Forecast, decide_on_arrival, foresee
from reedbed.services.runtime import Runtime
from reedbed.store import blobs, newsletters, search
from reedbed.store.engine.database import Tx
from reedbed.store.entries import write as entry_writes
from reedbed.store.entries import write as removed
from reedbed.store.entries.write import NewEntryRow, NewEntryText
from reedbed.store.feeds import feeds
from reedbed.store.feeds import feeds as feed_history
from reedbed.store.feeds.feeds import FetchStats, hour_of
from reedbed.store.refresh import CheckResult
from reedbed.store.subscriptions import follow_own
from reedbed.store.visibility import lock_feed


@record
class SavedMailImage:
    digest: str
    media_type: str
    data: bytes


@record
class ReceivedMail:
    """What is stored of one mail, the same for everybody it was sent to."""

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


def email_for(mail: Mail) -> ReceivedMail:
    """Cleans markup: not for the event loop."""
    cids = {picture.cid: number for number, picture in enumerate(mail.pictures)}
    source = prepared(mail.html, cids) if mail.html.strip() else from_plain(mail.text)
    text = words_of(_entry(mail, source), ParsedFeed("mail", "", ()))
    shown = {number: _kept(mail.pictures[number].data) for number in used(text.content) if number < len(cids)}
    links = links_of(settled(text.content, {}))
    content = settled(text.content, {number: _address(kept) for number, kept in shown.items()})
    return ReceivedMail(
        guid=mail.message_id or _fingerprint(mail),
        url=online_version(links),
        sent_at=mail.sent_at,
        change_hash=change_hash(mail.subject, mail.html or mail.text),
        text=text._replace(content=content, image=None if is_placed(text.image) else text.image),
        pictures=tuple(shown.values()),
        confirmation=find_confirmation(mail.subject, text.plain, links, text.words),
    )


def _entry(mail: Mail, content: str) -> ParsedEntry:
    author = Author(mail.sender_name or mail.sender, email=mail.sender)
    return ParsedEntry(
        guid=None, url=None, title=mail.subject, content=content, published=mail.sent_at, authors=(author,)
    )


def _kept(data: bytes) -> SavedMailImage:
    return SavedMailImage(f"{MAIL_KEY}{sha256(data).hexdigest()}", media_type(data) or "image/png", data)


def _address(picture: SavedMailImage) -> str:
    return f"{MAIL_PATH}{picture.digest.removeprefix(MAIL_KEY)}"


def _fingerprint(mail: Mail) -> str:
    """A mail without a Message-ID is known by what it says."""
    words = (mail.sender, mail.subject, str(mail.sent_at), *(mail.html or mail.text).split())
    said = "\0".join(words)
    return f"sha256:{sha256(said.encode('utf-8', 'replace')).hexdigest()[:32]}"


log = structlog.get_logger()

PER_ADDRESS = Allowance(200, 1 / 20)
"""Mails to one address: a few lists at once are fine, a flood is not."""
_MAX_KEY = 500


@record
class MailDelivery:
    """How a mail came, and for whom."""

    via: Channel
    recipients: tuple[str, ...] = ()
    """As the envelope names them."""
    user_id: int | None = None
    """Set: whose mailbox it was found in."""
    key: str | None = None
    """The channel's own name of this delivery; one that comes again is a replay."""
    believed: str = ""
    """The server whose `Authentication-Results` are believed: see `domain.list_headers`."""
    verdicts: Verdicts | None = None
    """Set: what the channel itself found out."""


@record
class Received:
    new: int = 0
    known: int = 0
    """It was here before, so that nothing was stored."""
    unwanted: int = 0
    """For people who blocked the sender or left the list."""


@record
class MailRejected:
    why: Literal["unknown", "large", "unreadable", "spam", "blocked", "full", "busy"]
    reason: str


async def accepts(runtime: Runtime, recipient: str) -> bool:
    """Whether this is an open address of somebody here."""
    return bool(await _addresses(runtime, [recipient]))


async def receive(runtime: Runtime, delivery: MailDelivery, source: bytes | Mail) -> Received | MailRejected:
    """Store a mail for everybody it was sent to. All channels end here."""
    outcome = await _receive(runtime, delivery, source)
    if isinstance(outcome, MailRejected):
        log.info("a mail was refused", via=delivery.via, why=outcome.why, reason=outcome.reason)
    else:
        log.info("a mail was received", via=delivery.via, new=outcome.new, known=outcome.known)
    return outcome


async def _receive(runtime: Runtime, delivery: MailDelivery, source: bytes | Mail) -> Received | MailRejected:
    if isinstance(source, bytes) and len(source) > runtime.mail.max_bytes:
        return MailRejected("large", f"The mail is larger than {runtime.mail.max_bytes:,} bytes.")
    readers = await _readers(runtime, delivery)
    if not readers:
        return MailRejected("unknown", "There is no such address here.")
    if await _is_replay(runtime, delivery):
        return Received(known=len(readers))
    if await _too_fast(runtime, readers):
        return MailRejected("busy", "Too many mails to this address. Try again later.")
    mail = await read_mail(source) if isinstance(source, bytes) else source
    refusal = _refusal(mail)
    if isinstance(mail, NotAMail) or refusal is not None:
        return refusal or MailRejected("unreadable", "This is no mail.")
    return await _store_for_all(runtime, delivery, readers, mail)


def _refusal(mail: Mail | NotAMail) -> MailRejected | None:
    if isinstance(mail, NotAMail):
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


async def _readers(runtime: Runtime, delivery: MailDelivery) -> list[_MailReader]:
    if delivery.user_id is not None:
        return [_MailReader(delivery.user_id)]
    by_user: dict[int, list[int]] = {}
    for address in await _addresses(runtime, delivery.recipients):
        by_user.setdefault(address.user_id, []).append(address.id)
    return [_MailReader(user_id, tuple(ids)) for user_id, ids in by_user.items()]


async def _addresses(runtime: Runtime, recipients: Sequence[str]) -> list[IngestAddress]:
    domain = runtime.mail.domain
    named = [local_part(recipient, domain) for recipient in recipients] if domain else []
    wanted = sorted({local for local in named if local})
    if not wanted:
        return []
    async with runtime.db.read() as tx:
        return await newsletters.behind(tx, wanted)


async def _is_replay(runtime: Runtime, delivery: MailDelivery) -> bool:
    if delivery.key is None:
        return False
    async with runtime.db.read() as tx:
        return await newsletters.was_delivered(tx, _delivery_key(delivery))


async def _too_fast(runtime: Runtime, readers: Sequence[_MailReader]) -> bool:
    ids = [id_ for reader in readers for id_ in reader.address_ids]
    return any([await runtime.limiter.wait_for(f"newsletters:{id_}", PER_ADDRESS) > 0 for id_ in ids])


async def _store_for_all(
    runtime: Runtime, delivery: MailDelivery, readers: Sequence[_MailReader], mail: Mail
) -> Received | MailRejected:
    letter = await asyncio.to_thread(email_for, mail)
    told = delivery.verdicts or verdicts_of(mail.auth_results, delivery.believed)
    arrived = _Arrival(mail, letter, sender_key(mail.sender), told)
    ends = [await _store_for(runtime, reader, arrived) for reader in readers]
    if delivery.key is not None:
        async with runtime.db.write() as tx:
            await newsletters.record_delivery(tx, _delivery_key(delivery), runtime.now())
    if all(isinstance(end, MailRejected) for end in ends):
        return next(end for end in ends if isinstance(end, MailRejected))
    return Received(
        ends.count("new"), ends.count("known"), len(ends) - ends.count("new") - ends.count("known")
    )


@record
class _Arrival:
    mail: Mail
    letter: ReceivedMail
    key: str
    verdicts: Verdicts


async def _store_for(
    runtime: Runtime, reader: _MailReader, arrived: _Arrival
) -> Literal["new", "known", "left"] | MailRejected:
    async with runtime.db.write() as tx:
        place = await _place_for(tx, runtime.now(), reader.user_id, arrived)
    if not isinstance(place, _Place):
        return place
    row = arrived.letter.row(place.feed_id, runtime.now())
    forecast = await _foresee(runtime, row)
    async with runtime.db.write() as tx:
        entry_id = await _write(tx, runtime.now(), reader, row, arrived, forecast)
    if place.followed_anew:
        await runtime.bus.publish(ChangeEvent("subscriptions", user_id=reader.user_id))
    if entry_id is None:
        return "known"
    data = {"feed_id": str(place.feed_id), "ids": [str(entry_id)]}
    await runtime.bus.publish(ChangeEvent("new_entry", feed_id=place.feed_id, data=data))
    return "new"


@record
class _Place:
    """The feed a mail goes into."""

    feed_id: int
    followed_anew: bool


async def _place_for(
    tx: Tx, now: Instant, user_id: int, arrived: _Arrival
) -> _Place | Literal["left"] | MailRejected:
    sender = await newsletters.sender_by_address(tx, user_id, arrived.key)
    if sender is None and await newsletters.count_senders(tx, user_id) >= MAX_SENDERS:
        return MailRejected("full", "This reader follows as many senders as there can be.")
    if sender is not None and not _wanted(sender, arrived.letter):
        await newsletters.record_rejected(tx, user_id, arrived.key, now)
        return (
            MailRejected("blocked", "The reader does not want mail from this sender.")
            if sender.blocked_at
            else "left"
        )
    if sender is None:
        await newsletters.add_sender(tx, user_id, arrived.key, arrived.mail.sender_name, now)
    title = arrived.mail.sender_name or arrived.key
    feed_id, _ = await feeds.find_or_add(
        tx, feed_url(arrived.key), now, owner_id=user_id, kind="mail", title=title
    )
    return _Place(feed_id, await follow_own(tx, now, user_id, feed_id))


def _wanted(sender: Sender, letter: ReceivedMail) -> bool:
    """Whoever left and signs up again is asked to confirm first, and should see that mail."""
    return sender.blocked_at is None and (sender.left_at is None or letter.confirmation is not None)


async def _foresee(runtime: Runtime, row: NewEntryRow) -> Forecast:
    # A sender's first mail is news; the first fetch of a feed is not.
    due = DueFeed(row.feed_id, "", "", state=FetchState(last_success_at=row.fetched_at))
    tally = FetchStats(row.feed_id, hour_of(row.fetched_at))
    return await foresee(runtime, [CheckResult(due, due.state, tally, news=[row])])


async def _write(
    tx: Tx, now: Instant, reader: _MailReader, row: NewEntryRow, arrived: _Arrival, forecast: Forecast
) -> int | None:
    """The id of the new entry; None when the mail was here before."""
    feed_id, letter, mail = row.feed_id, arrived.letter, arrived.mail
    await lock_feed(tx, feed_id)
    if await newsletters.known_entry(tx, feed_id, letter.guid) is not None:
        return None
    if await removed.known(tx, feed_id, [removed_key("guid", letter.guid)]):
        return None  # a mailbox that is read anew brings nothing back that was removed for its age
    stored = await entry_writes.insert_new(tx, [row])
    entry_id = stored[0][0]
    await search.index(tx, [(entry_id, letter.text.search)])
    await _keep_beside(tx, now, reader.user_id, entry_id, letter)
    await decide_on_arrival(tx, {feed_id: stored}, now, forecast)
    await newsletters.record_mail(
        tx,
        reader.user_id,
        arrived.key,
        feed_id=feed_id,
        name=mail.sender_name,
        ways=ways_out(mail.list_unsubscribe, mail.list_unsubscribe_post),
        verdicts=arrived.verdicts,
        now=now,
    )
    await newsletters.record_state(tx, feed_id, entry_id, row.sort_at, now)
    await newsletters.record_use(tx, reader.address_ids, now)
    await feed_history.add_stats(tx, [FetchStats(feed_id, hour_of(now), checks=0, new_entries=1)])
    return entry_id


async def _keep_beside(tx: Tx, now: Instant, user_id: int, entry_id: int, letter: ReceivedMail) -> None:
    kept = [await blobs.keep(tx, one.digest, one.media_type, one.data, now) for one in letter.pictures]
    if kept:
        await newsletters.add_images(tx, entry_id, kept)
    if letter.confirmation is not None:
        await newsletters.add_confirmation(tx, user_id, entry_id, letter.confirmation, now)


def _delivery_key(delivery: MailDelivery) -> str:
    return f"{delivery.via}:{delivery.key}"[:_MAX_KEY]
