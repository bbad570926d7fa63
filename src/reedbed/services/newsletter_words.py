"""A mail as an entry: cleaned, previewed, its pictures set apart, its links led straight."""

from hashlib import sha256

from reedbed.domain.confirmations import find_confirmation
from reedbed.domain.dedupe import change_hash, sort_at
from reedbed.domain.feeds import Author, ParsedEntry, ParsedFeed
from reedbed.domain.images import MAIL_KEY, MAIL_PATH
from reedbed.domain.newsletters import Confirmation, Mail
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.ingest.mail.markup import (
    from_plain,
    is_placed,
    links_of,
    online_version,
    prepared,
    settled,
    used,
)
from reedbed.ingest.mail.pictures import media_type
from reedbed.services.refresh_words import words_of
from reedbed.store.entry_writes import EntryRow, EntryText


@record
class KeptPicture:
    digest: str
    media_type: str
    data: bytes


@record
class Letter:
    """What is stored of one mail, the same for everybody it was sent to."""

    guid: str
    url: str | None
    sent_at: Instant | None
    change_hash: str
    text: EntryText
    pictures: tuple[KeptPicture, ...]
    confirmation: Confirmation | None

    def row(self, feed_id: int, now: Instant) -> EntryRow:
        return EntryRow(
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


def letter_of(mail: Mail) -> Letter:
    """Cleans markup: not for the event loop."""
    cids = {picture.cid: number for number, picture in enumerate(mail.pictures)}
    source = prepared(mail.html, cids) if mail.html.strip() else from_plain(mail.text)
    text = words_of(_entry(mail, source), ParsedFeed("mail", "", ()))
    shown = {number: _kept(mail.pictures[number].data) for number in used(text.content) if number < len(cids)}
    links = links_of(settled(text.content, {}))
    content = settled(text.content, {number: _address(kept) for number, kept in shown.items()})
    return Letter(
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


def _kept(data: bytes) -> KeptPicture:
    return KeptPicture(f"{MAIL_KEY}{sha256(data).hexdigest()}", media_type(data) or "image/png", data)


def _address(picture: KeptPicture) -> str:
    return f"{MAIL_PATH}{picture.digest.removeprefix(MAIL_KEY)}"


def _fingerprint(mail: Mail) -> str:
    """A mail without a Message-ID is known by what it says."""
    words = (mail.sender, mail.subject, str(mail.sent_at), *(mail.html or mail.text).split())
    said = "\0".join(words)
    return f"sha256:{sha256(said.encode('utf-8', 'replace')).hexdigest()[:32]}"
