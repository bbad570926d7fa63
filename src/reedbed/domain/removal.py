"""Knowing a removed entry again, should its feed still list it."""

from collections.abc import Set

from reedbed.domain.dedupe import Known, Seen, Sifted, change_hash, words_hash
from reedbed.domain.feeds import ParsedEntry
from reedbed.domain.retention import removed_key
from reedbed.domain.urls import normalize_url

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


def with_removed(sifted: Sifted, known: Known, removed: Set[int]) -> Known:
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
    return Known(by_guid, by_url, by_hash)
