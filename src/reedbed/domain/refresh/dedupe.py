"""Decide which entries of a fetched document are new, changed or already stored; nothing is written here.

An entry is identified by its guid, else by its normalised URL, else by a hash of its text. Two steps keep the
common case cheap: `filter_entries` drops entries with a known guid and an unchanged hash, at the cost of one
hash and one lookup each; only the others have their URL normalised in `plan_rest`.

    filtered = filter_entries(newest(document.entries, now), existing_by_guid, traits)
    plan = plan_rest(filtered, existing, traits, now)      # `existing` is needed for filtered.rest only
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from hashlib import sha256
from typing import NamedTuple

from reedbed.domain.feeds import ParsedEntry
from reedbed.domain.records import record
from reedbed.domain.text import clean_line
from reedbed.domain.times import Instant
from reedbed.domain.urls import has_userinfo, normalize_url

MAX_ENTRIES = 500
COLLISIONS_TO_DISTRUST = 3
KNOWN_TEXTS = 3
"""So many known texts, or titles with dates, show that a document lists known entries under new guids and URLs."""

# The first web page is from 1990. Older dates come from a broken clock, usually one set to 1970.
_EARLIEST_PUBLICATION: Instant = 631_152_000_000
_AROUND_TAGS = re.compile(r" ?([<>]) ?")
_Headline = tuple[str, Instant]
_TIMESTAMP = re.compile(r"(?<!\d)17\d{8}(?!\d)")


@record
class Seen:
    """The stored identity of an entry. Without an id, retention removed it and it must not come back."""

    entry_id: int | None
    url: str | None
    """Normalised."""
    change_hash: str
    title: str | None = None
    published: Instant | None = None


@record
class ExistingEntry:
    """The stored entries of a feed. A store may load only the keys that occur in the document."""

    by_guid: Mapping[str, Seen] = field(default_factory=dict[str, Seen])
    by_url: Mapping[str, Seen] = field(default_factory=dict[str, Seen])
    by_hash: Mapping[str, Seen] = field(default_factory=dict[str, Seen])
    """Includes entries with a guid or URL, because either may turn out to be unreliable."""


@record
class Traits:
    """What is known about the reliability of the feed's identifiers."""

    collisions: int = 0
    unreliable: bool = False
    allow_duplicate_urls: bool = False
    first_fetch: bool = False


class IncomingEntry(NamedTuple):
    entry: ParsedEntry
    change_hash: str
    place: int
    """Index in the document."""


@record
class FilteredEntries:
    unchanged: tuple[int, ...]
    rest: tuple[IncomingEntry, ...]


class NewEntry(NamedTuple):
    entry: ParsedEntry
    guid: str | None
    """None if the feed's guids are unreliable or this one is taken."""
    url: str | None
    """Normalised."""
    change_hash: str
    sort_at: Instant


@record
class ChangedEntry:
    entry_id: int
    entry: ParsedEntry
    url: str | None
    """Normalised; None if the stored entry keeps its URL."""
    change_hash: str


@record
class WritePlan:
    new: tuple[NewEntry, ...]
    """Oldest first, so that ids ascend in reading order."""
    changed: tuple[ChangedEntry, ...]
    unchanged: tuple[int, ...]
    duplicates: tuple[ParsedEntry, ...]
    """They repeat another entry of the same document."""
    forgotten: tuple[ParsedEntry, ...]
    """Already removed by retention."""
    refused: tuple[ParsedEntry, ...]
    """They have credentials in their URL."""
    collisions: int
    unreliable: bool


def change_hash(title: str, content: str) -> str:
    return sha256(f"{title}\0{content}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def normalized_text_hash(title: str, content: str) -> str:
    """Ignores white space. It identifies entries that have neither a guid nor a URL."""
    return change_hash(" ".join(title.split()), _AROUND_TAGS.sub(r"\1", " ".join(content.split())))


def sort_at(published: Instant | None, fetched: Instant) -> Instant:
    """The publication time, or the fetch time if it is missing, in the future or before the web."""
    if published is None or not _EARLIEST_PUBLICATION <= published <= fetched:
        return fetched
    return published


def newest(entries: Sequence[ParsedEntry], fetched: Instant, limit: int = MAX_ENTRIES) -> Sequence[ParsedEntry]:
    """The newest `limit` entries, in document order."""
    if len(entries) <= limit:
        return entries
    indexes = sorted(range(len(entries)), key=lambda index: -sort_at(entries[index].published, fetched))
    return [entries[index] for index in sorted(indexes[:limit])]


def filter_entries(entries: Iterable[ParsedEntry], by_guid: Mapping[str, Seen], traits: Traits) -> FilteredEntries:
    unchanged: dict[int, None] = {}
    rest: list[IncomingEntry] = []
    trusted = not traits.unreliable
    for index, entry in enumerate(entries):
        digest = change_hash(entry.title, entry.content)
        seen = by_guid.get(entry.guid) if trusted and entry.guid else None
        if seen and seen.entry_id and seen.change_hash == digest and seen.entry_id not in unchanged:
            unchanged[seen.entry_id] = None
        else:
            rest.append(IncomingEntry(entry, digest, index))
    return FilteredEntries(tuple(unchanged), tuple(rest))


def plan_rest(filtered: FilteredEntries, existing: ExistingEntry, traits: Traits, fetched: Instant) -> WritePlan:
    if not filtered.rest:
        return WritePlan((), (), filtered.unchanged, (), (), (), traits.collisions, traits.unreliable)
    collisions_so_far = traits.collisions + (_initial_collisions(filtered.rest) if traits.first_fetch else 0)
    planner = _Planner(existing, traits, set(filtered.unchanged), collisions_so_far, fetched)
    distrusted_before = traits.unreliable or collisions_so_far >= COLLISIONS_TO_DISTRUST
    planner.place_all(filtered.rest, trust_guids=not distrusted_before)
    if not distrusted_before and planner.collisions >= COLLISIONS_TO_DISTRUST:
        # The guids turned out to be unreliable: start over without them, so that no entry is lost.
        collisions = planner.collisions
        planner = _Planner(existing, traits, set(filtered.unchanged), collisions, fetched)
        planner.place_all(filtered.rest, trust_guids=False)
    return planner.plan(
        filtered.unchanged, unreliable=traits.unreliable or planner.collisions >= COLLISIONS_TO_DISTRUST
    )


def is_suspicious_guid(guid: str) -> bool:
    """It looks generated at each fetch: a long number, or a Unix timestamp."""
    return (len(guid) > 10 and guid.isascii() and guid.isdigit()) or _TIMESTAMP.search(guid) is not None


def _initial_collisions(candidates: Iterable[IncomingEntry]) -> int:
    return 1 if any(is_suspicious_guid(candidate.entry.guid or "") for candidate in candidates) else 0


def _similar(title: str | None, other: str) -> bool:
    """Whether two titles share half of their words; two empty titles are similar, too."""
    if title is None:
        return False
    words, others = set(title.lower().split()), set(other.lower().split())
    return 2 * len(words & others) >= max(len(words), len(others))


def _headline(title: str | None, published: Instant | None) -> _Headline | None:
    """A title with its date; None where either is missing."""
    cleaned = clean_line(title or "")
    return (cleaned, published) if cleaned and published is not None else None


class _Planner:
    """One pass over a document's entries; `claimed` are the stored entries that are already matched."""

    def __init__(
        self, existing: ExistingEntry, traits: Traits, claimed: set[int], collisions: int, fetched: Instant
    ) -> None:
        self.existing = existing
        self.urls_listed: set[str] = set()
        """All normalized URLs of this document, to recognize an entry whose URL changed."""
        self.guids_differ = False
        """There are several entries with unique guids, so an entry may change both its URL and its title."""
        self.trust_guids = True
        self.keys_are_new = False
        """No entry is known by its guid or URL: some feeds write a new token into both at each fetch."""
        self.texts_are_known = False
        self.by_headline: Mapping[_Headline, Seen] = {}
        """Stored entries by title and date, for documents whose guids, URLs and texts all have new tokens."""
        self.use_urls = not traits.allow_duplicate_urls
        self.claimed = claimed
        self.collisions = collisions
        self.fetched = fetched
        self.new: list[tuple[int, NewEntry]] = []
        self.changed: list[ChangedEntry] = []
        self.unchanged: list[int] = []
        self.duplicates: list[ParsedEntry] = []
        self.forgotten: list[ParsedEntry] = []
        self.refused: list[ParsedEntry] = []
        self.new_guids: dict[str, str | None] = {}
        self.new_urls: set[str] = set()
        self.new_hashes: set[str] = set()

    def place_all(self, candidates: Sequence[IncomingEntry], *, trust_guids: bool) -> None:
        self.trust_guids = trust_guids
        urls = [normalize_url(entry.url) if entry.url else None for entry, _, _ in candidates]
        self.urls_listed = {url for url in urls if url is not None}
        guids = [entry.guid for entry, _, _ in candidates]
        self.guids_differ = len(set(guids)) == len(guids) > 2 and all(guids)
        self.keys_are_new = not self.claimed and not self._knows_any(guids, urls)
        self.texts_are_known = self.keys_are_new and self._knows_most_texts(candidates)
        self.by_headline = self._known_headlines(candidates) if self.keys_are_new else {}
        for candidate, url in zip(candidates, urls, strict=True):
            entry = candidate.entry
            if url is None and entry.url and has_userinfo(entry.url):
                self.refused.append(entry)
            else:
                self._place(candidate, entry.guid or None if trust_guids else None, url)

    def _knows_any(self, guids: Iterable[str | None], urls: Iterable[str | None]) -> bool:
        by_guid, by_url = self.existing.by_guid, self.existing.by_url
        return any(guid in by_guid for guid in guids) or any(url in by_url for url in urls)

    def _knows_most_texts(self, candidates: Iterable[IncomingEntry]) -> bool:
        hashes = {candidate.change_hash for candidate in candidates}
        known = sum(1 for digest in hashes if digest in self.existing.by_hash)
        return known >= max(KNOWN_TEXTS, len(hashes) / 2)

    def _known_headlines(self, candidates: Iterable[IncomingEntry]) -> dict[_Headline, Seen]:
        """Stored entries by title and date if most of the document has them, each on one entry of either side."""
        listed = Counter(_headline(entry.title, entry.published) for entry, _, _ in candidates)
        stored = {seen.entry_id: seen for seen in self.existing.by_hash.values() if seen.entry_id is not None}
        of_stored = Counter(_headline(seen.title, seen.published) for seen in stored.values())
        known = {
            headline: seen
            for seen in stored.values()
            if (headline := _headline(seen.title, seen.published)) and listed[headline] == of_stored[headline] == 1
        }
        return known if len(known) >= max(KNOWN_TEXTS, listed.total() / 2) else {}

    def plan(self, unchanged: tuple[int, ...], *, unreliable: bool) -> WritePlan:
        in_order = sorted(self.new, key=lambda placed: (placed[1].sort_at, -placed[0]))
        return WritePlan(
            new=tuple(entry for _, entry in in_order),
            changed=tuple(self.changed),
            unchanged=unchanged + tuple(self.unchanged),
            duplicates=tuple(self.duplicates),
            forgotten=tuple(self.forgotten),
            refused=tuple(self.refused),
            collisions=self.collisions,
            unreliable=unreliable,
        )

    def _place(self, candidate: IncomingEntry, guid: str | None, url: str | None) -> None:
        if guid is not None:
            seen = self.existing.by_guid.get(guid)
            if seen is not None and self._is_by_guid(seen, candidate, url):
                return self._match(seen, candidate, url)
            if guid in self.new_guids and not self._is_second(guid, url):
                return self.duplicates.append(candidate.entry)
            if seen is not None or guid in self.new_guids:
                guid = None
        return self._place_by_url(candidate, guid, url)

    def _is_by_guid(self, seen: Seen, candidate: IncomingEntry, url: str | None) -> bool:
        """The guid decides, unless a different URL shows that this is a second entry with the same guid.

        An entry with the title of the stored one is the stored one with a changed URL. So is an entry with a
        similar title whose guid is unique in the document, if the stored URL is no longer listed: some feeds
        add a token to links and a count of comments to titles at each fetch.
        """
        if url is None or seen.url is None or url == seen.url:
            return True
        title = clean_line(candidate.entry.title)
        same_title = bool(seen.title) and seen.title == title
        changed_url = self.guids_differ and seen.url not in self.urls_listed and _similar(seen.title, title)
        if not same_title and not changed_url:
            self.collisions += 1
        other = self.existing.by_url.get(url) if self.use_urls else None
        taken = seen.entry_id is not None and seen.entry_id in self.claimed
        return not taken and (other is None or other.entry_id == seen.entry_id)

    def _is_second(self, guid: str, url: str | None) -> bool:
        """Whether another entry of this document has the same guid and a different URL."""
        first = self.new_guids[guid]
        differs = url is not None and first is not None and url != first
        self.collisions += differs
        return differs

    def _place_by_url(self, candidate: IncomingEntry, guid: str | None, url: str | None) -> None:
        digest = candidate.change_hash
        if url is not None and self.use_urls:
            seen = self.existing.by_url.get(url) or self._moved(candidate)
            repeated = url in self.new_urls
        elif guid is None:
            digest = normalized_text_hash(candidate.entry.title, candidate.entry.content)
            # Earlier versions included white space in the hash.
            seen = self.existing.by_hash.get(digest) or self.existing.by_hash.get(candidate.change_hash)
            repeated = digest in self.new_hashes
        else:
            seen, repeated = self._moved(candidate), False
        if seen is not None:
            return self._match(seen, candidate, url)
        if repeated:
            return self.duplicates.append(candidate.entry)
        return self._add_new(candidate._replace(change_hash=digest), guid, url)

    def _moved(self, candidate: IncomingEntry) -> Seen | None:
        """The stored entry with the same text, if its URL left the document and the guids do not help."""
        if self.trust_guids and not self.keys_are_new:
            return None
        seen = self.existing.by_hash.get(candidate.change_hash)
        if seen is None:
            headline = _headline(candidate.entry.title, candidate.entry.published)
            return self.by_headline.get(headline) if headline else None
        if seen.url in self.urls_listed:
            return None
        return seen if not self.trust_guids or self._is_same_publication(seen, candidate.entry) else None

    def _is_same_publication(self, seen: Seen, entry: ParsedEntry) -> bool:
        """Without dates, a single equal text may be a repeated notice; many equal texts are not."""
        if entry.published is None or seen.entry_id is None:
            return self.texts_are_known
        return entry.published == seen.published

    def _match(self, seen: Seen, candidate: IncomingEntry, url: str | None) -> None:
        if seen.entry_id is None:
            self.forgotten.append(candidate.entry)
        elif seen.entry_id in self.claimed:
            self.duplicates.append(candidate.entry)
        else:
            self.claimed.add(seen.entry_id)
            if seen.change_hash == candidate.change_hash or seen.change_hash == normalized_text_hash(
                candidate.entry.title, candidate.entry.content
            ):
                self.unchanged.append(seen.entry_id)
            else:
                self._add_changed(seen.entry_id, candidate, url)

    def _add_changed(self, entry_id: int, candidate: IncomingEntry, url: str | None) -> None:
        """An entry gets a new URL only if no other entry of this document has it."""
        new_url = None if url in self.new_urls else url
        self.changed.append(ChangedEntry(entry_id, candidate.entry, new_url, candidate.change_hash))
        if new_url is not None:
            self.new_urls.add(new_url)

    def _add_new(self, candidate: IncomingEntry, guid: str | None, url: str | None) -> None:
        sorted_at = sort_at(candidate.entry.published, self.fetched)
        self.new.append((candidate.place, NewEntry(candidate.entry, guid, url, candidate.change_hash, sorted_at)))
        if guid is not None:
            self.new_guids[guid] = url
        if url is not None:
            self.new_urls.add(url)
        self.new_hashes.add(candidate.change_hash)
