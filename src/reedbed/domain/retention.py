"""Retention: how long entries are kept, and recognizing removed entries that their feed still lists."""

from collections.abc import Iterable, Iterator, Set
from datetime import datetime, timedelta
from hashlib import blake2b

from reedbed.domain.errors import Invalid
from reedbed.domain.feeds import ParsedEntry
from reedbed.domain.records import record
from reedbed.domain.refresh.dedupe import ExistingEntry, FilteredEntries, Seen, change_hash, normalized_text_hash
from reedbed.domain.times import DAY, HOUR, Instant, Millis, from_datetime
from reedbed.domain.urls import normalize_url

MIN_AGE: Millis = 30 * DAY
"""Newer entries are kept regardless of the database size."""
AGE_STEP: Millis = 30 * DAY
ARTICLES_RETENTION: Millis = 30 * DAY
"""For fetched articles of read entries; the feed's own content stays."""
LOGS_RETENTION: Millis = 90 * DAY
MISSED_FOR: Millis = 30 * DAY
"""How long a removed entry is remembered after its feed stopped listing it, as it may reappear."""

MAX_KEPT_ENTRIES = 1_000_000
MAX_KEPT_DAYS = 36_500


@record
class RetentionLimits:
    """How much of a feed is kept. None means unlimited."""

    entries: int | None = 500
    age: Millis | None = 365 * DAY
    unread_age: Millis | None = 90 * DAY


@record
class RetentionPolicy:
    """The operator's settings."""

    limits: RetentionLimits = RetentionLimits()
    size: int | None = 1024 * 1024 * 1024
    """Maximum size of the database in bytes."""
    hour: int = 3
    """Hour of the day for cleaning up, in the server's time zone."""
    unfollowed: Millis | None = 90 * DAY
    """How long a feed without subscribers is kept."""


@record
class RetentionOverride:
    """A subscriber's limits for a feed: None uses the server's limit, 0 means unlimited."""

    entries: int | None = None
    days: int | None = None
    unread_days: int | None = None


def check_retention_override(override: RetentionOverride) -> RetentionOverride:
    for value, maximum, field in (
        (override.entries, MAX_KEPT_ENTRIES, "keep_entries"),
        (override.days, MAX_KEPT_DAYS, "keep_days"),
        (override.unread_days, MAX_KEPT_DAYS, "keep_unread_days"),
    ):
        if value is not None and not 0 <= value <= maximum:
            raise Invalid("%(name)s must be between 0 and %(limit)s", field=field, name=field, limit=maximum)
    return override


def effective_limits(limits: RetentionLimits, overrides: Iterable[RetentionOverride]) -> RetentionLimits:
    """The most generous limits of all subscribers, so that no user loses entries to another's setting."""
    all_limits = [_apply_override(limits, override) for override in overrides]
    if not all_limits:
        return limits
    return RetentionLimits(
        entries=_max_or_unlimited(subscriber_limits.entries for subscriber_limits in all_limits),
        age=_max_or_unlimited(subscriber_limits.age for subscriber_limits in all_limits),
        unread_age=_max_or_unlimited(subscriber_limits.unread_age for subscriber_limits in all_limits),
    )


def _apply_override(limits: RetentionLimits, override: RetentionOverride) -> RetentionLimits:
    return RetentionLimits(
        entries=limits.entries if override.entries is None else override.entries or None,
        age=limits.age if override.days is None else override.days * DAY or None,
        unread_age=limits.unread_age if override.unread_days is None else override.unread_days * DAY or None,
    )


def _max_or_unlimited(values: Iterable[int | None]) -> int | None:
    all_values = list(values)
    return None if None in all_values else max(value for value in all_values if value is not None)


def cut_short(limits: RetentionLimits, age: Millis) -> RetentionLimits:
    """Limits for a database that is too large: read entries are kept at most `age`."""
    return RetentionLimits(limits.entries, age if limits.age is None else min(limits.age, age), limits.unread_age)


def shorter_ages(age: Millis | None, oldest: Millis) -> Iterator[Millis]:
    """Shorter and shorter ages to try until the database fits, in steps of 30 days down to `MIN_AGE`.

    `oldest` is the age of the oldest entry: the starting point if there is no limit.
    """
    shorter = min(oldest if age is None else age, oldest + AGE_STEP)
    while shorter > MIN_AGE:
        shorter = max(shorter - AGE_STEP, MIN_AGE)
        yield shorter


def is_due(last: Instant | None, now: Instant, local: datetime, hour: int) -> bool:
    """Once a day, at this hour of the server's time zone (`local` is the time there) or soon after.

    A new server waits for the first night.
    """
    at = local.replace(hour=hour, minute=0, second=0, microsecond=0)
    last_turn = from_datetime(at if at <= local else at - timedelta(days=1))
    if last is None:
        return now - last_turn < HOUR
    return last < last_turn


def removed_keys(guid: str | None, url: str | None, change_hash: str) -> list[int]:
    """Keys to recognize a removed entry: its guid and normalised URL, else its text."""
    named = [("guid", guid), ("url", url)]
    keys = [removed_key(kind, value) for kind, value in named if value]
    return keys or [removed_key("words", change_hash)]


def removed_key(kind: str, value: str) -> int:
    digest = blake2b(f"{kind}\0{value}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


def in_use(size: int, entries: int, leanest: float | None) -> tuple[int, float]:
    """Estimate the bytes in use on a database server that keeps freed space, and the new `leanest` to store.

    Freed space makes a database look larger than its content. The lowest number of bytes per entry seen so
    far shows the size without it.
    """
    bytes_per_entry = size / max(entries, 1)
    minimum = bytes_per_entry if leanest is None else min(bytes_per_entry, leanest)
    return int(minimum * entries), minimum


_REMOVED = Seen(None, None, "")


def keys_of(entry: ParsedEntry) -> list[int]:
    """All keys under which this entry may have been stored as removed."""
    url = normalize_url(entry.url) if entry.url else None
    named = (
        ("guid", entry.guid),
        ("url", url),
        ("words", normalized_text_hash(entry.title, entry.content)),
        ("words", change_hash(entry.title, entry.content)),  # stored by earlier versions
    )
    return [removed_key(kind, value) for kind, value in named if value]


def with_removed(filtered: FilteredEntries, existing: ExistingEntry, removed: Set[int]) -> ExistingEntry:
    """Add the removed entries to the existing ones. Existing entries take precedence."""
    if not removed:
        return existing
    by_guid, by_url, by_hash = dict(existing.by_guid), dict(existing.by_url), dict(existing.by_hash)
    for candidate in filtered.rest:
        guid, url = candidate.entry.guid, candidate.entry.url
        if guid and removed_key("guid", guid) in removed:
            by_guid.setdefault(guid, _REMOVED)
        if url and (key := normalize_url(url)) and removed_key("url", key) in removed:
            by_url.setdefault(key, _REMOVED)
        for digest in (normalized_text_hash(candidate.entry.title, candidate.entry.content), candidate.change_hash):
            if removed_key("words", digest) in removed:
                by_hash.setdefault(digest, _REMOVED)
    return ExistingEntry(by_guid, by_url, by_hash)
