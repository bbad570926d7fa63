"""A feed that has moved for good takes its new address, or joins the feed that is already there."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from reedbed.domain.due import DueFeed
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.domain.urls import is_private_address
from reedbed.store import feed_merge, feeds, former_addresses
from reedbed.store.database import Tx


@record
class Move:
    feed_id: int
    """Where the feed's entries are now."""
    users: Sequence[int] = ()
    """Those whose subscription now names another feed."""


async def adopt_address(tx: Tx, due: DueFeed, url: str, now: Instant) -> Move:
    if url == due.url or (due.owner_id is None and is_private_address(url)):
        # A shared feed never takes an address that may be one reader's secret.
        return Move(due.id)
    if due.username is not None and not _same_keeper(due.url, url):
        # The password is for this host: behind the redirect it would be told to another.
        return Move(due.id)
    move = await _move(tx, due, url, now)
    if due.owner_id is None:
        await former_addresses.remember(tx, due.url, move.feed_id)
    return move


async def _move(tx: Tx, due: DueFeed, url: str, now: Instant) -> Move:
    there = await feeds.by_url(tx, url, due.owner_id)
    if there is not None:
        return Move(there, await feed_merge.merge(tx, due.id, there))
    await feeds.move(tx, due.id, url)
    if due.owner_id is not None or _same_document(due.url, url):
        return Move(due.id)
    # Whoever follows this address from now on asks for what is there, not for what was redirected to it.
    return Move(due.id, await feed_merge.start_over(tx, due.id, now))


def _same_document(before: str, after: str) -> bool:
    """The same address, with https for http or a slash more or less at its end."""
    here, there = urlsplit(before), urlsplit(after)
    return (
        there.netloc == here.netloc
        and there.scheme in (here.scheme, "https")
        and there.path.rstrip("/") == here.path.rstrip("/")
        and there.query == here.query
    )


def _same_keeper(before: str, after: str) -> bool:
    """The same host and port, and no less secret on the way there."""
    there, here = urlsplit(after), urlsplit(before)
    return there.netloc == here.netloc and there.scheme in (here.scheme, "https")
