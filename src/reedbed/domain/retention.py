"""Knowing a removed entry again, should its feed still list it."""

from collections.abc import Iterable, Iterator, Set
from datetime import datetime, timedelta
from hashlib import blake2b

from reedbed.domain.errors import Invalid
from reedbed.domain.feeds import ParsedEntry
from reedbed.domain.records import record
from reedbed.domain.refresh.dedupe import ExistingEntry, FilteredEntries, Seen, change_hash, words_hash
from reedbed.domain.times import DAY, HOUR, Instant, Millis, from_datetime
from reedbed.domain.urls import normalize_url

MIN_AGE: Millis = 30 * DAY
"""However large the database grows, what arrived since stays."""
AGE_STEP: Millis = 30 * DAY
ARTICLES_KEPT: Millis = 30 * DAY
"""Whole articles of read entries; what the feed itself gave stays."""
LOGS_KEPT: Millis = 90 * DAY
MISSED_FOR: Millis = 30 * DAY
"""A document that stops listing a removed entry may list it again; after so long it will not."""

MAX_KEPT_ENTRIES = 1_000_000
MAX_KEPT_DAYS = 36_500


@record
class RetentionLimits:
    """How much of a feed is kept. None is without limit."""

    entries: int | None = 500
    age: Millis | None = 365 * DAY
    unread_age: Millis | None = 90 * DAY


@record
class RetentionPolicy:
    """What the operator has set."""

    limits: RetentionLimits = RetentionLimits()
    size: int | None = 1024 * 1024 * 1024
    """Bytes of the database."""
    hour: int = 3
    """Of the server's day."""
    unfollowed: Millis | None = 90 * DAY
    """How long a feed that nobody follows any more waits for somebody to come back."""


@record
class RetentionOverride:
    """What one follower wants of a feed: None takes the server's limit, 0 is without one."""

    entries: int | None = None
    days: int | None = None
    unread_days: int | None = None


def check_wish(wish: RetentionOverride) -> RetentionOverride:
    for value, most, field in (
        (wish.entries, MAX_KEPT_ENTRIES, "keep_entries"),
        (wish.days, MAX_KEPT_DAYS, "keep_days"),
        (wish.unread_days, MAX_KEPT_DAYS, "keep_unread_days"),
    ):
        if value is not None and not 0 <= value <= most:
            raise Invalid(f"{field} must be between 0 and {most}", field=field)
    return wish


def limits_of_feed(limits: RetentionLimits, wishes: Iterable[RetentionOverride]) -> RetentionLimits:
    """Of all who follow a feed, the one who wants most has it: nobody loses by another's wish."""
    wanted = [_granted(limits, wish) for wish in wishes]
    if not wanted:
        return limits
    return RetentionLimits(
        entries=_most(one.entries for one in wanted),
        age=_most(one.age for one in wanted),
        unread_age=_most(one.unread_age for one in wanted),
    )


def _granted(limits: RetentionLimits, wish: RetentionOverride) -> RetentionLimits:
    return RetentionLimits(
        entries=limits.entries if wish.entries is None else wish.entries or None,
        age=limits.age if wish.days is None else wish.days * DAY or None,
        unread_age=limits.unread_age if wish.unread_days is None else wish.unread_days * DAY or None,
    )


def _most(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if None in known else max(value for value in known if value is not None)


def cut_short(limits: RetentionLimits, age: Millis) -> RetentionLimits:
    """The same for a database that is too large: nothing read is kept longer than this."""
    return RetentionLimits(
        limits.entries, age if limits.age is None else min(limits.age, age), limits.unread_age
    )


def shorter_ages(age: Millis | None, oldest: Millis) -> Iterator[Millis]:
    """Ever shorter ages, 30 days less each time down to the least, until the database fits.

    `oldest` is the age of the oldest entry: where there was no limit, that is where to begin.
    """
    shorter = min(oldest if age is None else age, oldest + AGE_STEP)
    while shorter > MIN_AGE:
        shorter = max(shorter - AGE_STEP, MIN_AGE)
        yield shorter


def is_due(last: Instant | None, now: Instant, local: datetime, hour: int) -> bool:
    """Once a day, at this hour of the server's clock (`local` is now, there) or as soon as possible after.

    Where nothing was ever cleaned, the first night is waited for.
    """
    at = local.replace(hour=hour, minute=0, second=0, microsecond=0)
    turn = from_datetime(at if at <= local else at - timedelta(days=1))
    if last is None:
        return now - turn < HOUR
    return last < turn


def removed_keys(guid: str | None, url: str | None, change_hash: str) -> list[int]:
    """By what a removed entry is known again: its guid and its normalised address, else its words."""
    named = [("guid", guid), ("url", url)]
    keys = [removed_key(kind, value) for kind, value in named if value]
    return keys or [removed_key("words", change_hash)]


def removed_key(kind: str, value: str) -> int:
    digest = blake2b(f"{kind}\0{value}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


def in_use(size: int, entries: int, leanest: float | None) -> tuple[int, float]:
    """About how many bytes are in use where a server keeps freed space for itself, and what to remember.

    Freed space makes a database look larger than what it holds. The fewest bytes an entry was ever seen to
    take tell what it would be without.
    """
    density = size / max(entries, 1)
    least = density if leanest is None else min(density, leanest)
    return int(least * entries), least


_GONE = Seen(None, None, "")


def keys_of(entry: ParsedEntry) -> list[int]:
    """Every key under which this entry may have been remembered."""
    url = normalize_url(entry.url) if entry.url else None
    named = (
        ("guid", entry.guid),
        ("url", url),
        ("words", words_hash(entry.title, entry.content)),
        ("words", change_hash(entry.title, entry.content)),  # as earlier versions remembered it
    )
    return [removed_key(kind, value) for kind, value in named if value]


def with_removed(sifted: FilteredEntries, known: ExistingEntry, removed: Set[int]) -> ExistingEntry:
    """What is known of a feed, with what was removed of it. What is there still goes before."""
    if not removed:
        return known
    by_guid, by_url, by_hash = dict(known.by_guid), dict(known.by_url), dict(known.by_hash)
    for candidate in sifted.rest:
        guid, url = candidate.entry.guid, candidate.entry.url
        if guid and removed_key("guid", guid) in removed:
            by_guid.setdefault(guid, _GONE)
        if url and (key := normalize_url(url)) and removed_key("url", key) in removed:
            by_url.setdefault(key, _GONE)
        for digest in (words_hash(candidate.entry.title, candidate.entry.content), candidate.change_hash):
            if removed_key("words", digest) in removed:
                by_hash.setdefault(digest, _GONE)
    return ExistingEntry(by_guid, by_url, by_hash)
