"""Decide which entries of a fetched document are new, changed or already stored; nothing is written here.

An entry is identified by its guid, else by its normalised URL, else by a hash of its text. Two steps keep the
common case cheap: `filter_entries` drops entries with a known guid and an unchanged hash, at the cost of one
hash and one lookup each; only the others have their URL normalised in `plan_rest`.

    filtered = filter_entries(newest(document.entries, now), known_by_guid, traits)
    plan = plan_rest(filtered, known, traits, now)      # `known` is needed for filtered.rest only
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from hashlib import sha256
from typing import NamedTuple

from reedbed.domain.feeds import ParsedEntry
from reedbed.domain.records import record
from reedbed.domain.text import shown_line
from reedbed.domain.times import Instant
from reedbed.domain.urls import has_userinfo, normalize_url

MAX_ENTRIES = 500
COLLISIONS_TO_DISTRUST = 3

# The first web page is from 1990; what claims to be older has a broken clock, most often one set to 1970.
_EARLIEST_PUBLICATION: Instant = 631_152_000_000
_AROUND_TAGS = re.compile(r" ?([<>]) ?")
_TIMESTAMP = re.compile(r"(?<!\d)17\d{8}(?!\d)")


@record
class Seen:
    """What is kept of an entry to know it again. Without id: retention removed it, it must not come back."""

    entry_id: int | None
    url: str | None
    """Normalised."""
    change_hash: str
    title: str | None = None


@record
class ExistingEntry:
    """What is known of one feed. A store may fill in only the keys the document asks about."""

    by_guid: Mapping[str, Seen] = field(default_factory=dict[str, Seen])
    by_url: Mapping[str, Seen] = field(default_factory=dict[str, Seen])
    by_hash: Mapping[str, Seen] = field(default_factory=dict[str, Seen])
    """Of all entries, those with a guid or an address too: a feed may lose our trust in either."""


@record
class Traits:
    """What the feed's past says about its identifiers."""

    collisions: int = 0
    unreliable: bool = False
    allow_duplicate_urls: bool = False
    first_fetch: bool = False


class IncomingEntry(NamedTuple):
    entry: ParsedEntry
    change_hash: str
    place: int
    """In the document, from the top."""


@record
class FilteredEntries:
    unchanged: tuple[int, ...]
    rest: tuple[IncomingEntry, ...]


class NewEntry(NamedTuple):
    entry: ParsedEntry
    guid: str | None
    """None when the feed's guids are not to be trusted, or this one is taken."""
    url: str | None
    """Normalised."""
    change_hash: str
    sort_at: Instant


@record
class ChangedEntry:
    entry_id: int
    entry: ParsedEntry
    url: str | None
    """Normalised; None where the known entry should keep its own."""
    change_hash: str


@record
class WritePlan:
    new: tuple[NewEntry, ...]
    """Oldest first, so that ascending ids follow the order of reading."""
    changed: tuple[ChangedEntry, ...]
    unchanged: tuple[int, ...]
    duplicates: tuple[ParsedEntry, ...]
    """Another entry of the same document stands for them."""
    forgotten: tuple[ParsedEntry, ...]
    """Removed by retention before."""
    refused: tuple[ParsedEntry, ...]
    """With credentials in their address."""
    collisions: int
    unreliable: bool


def change_hash(title: str, content: str) -> str:
    return sha256(f"{title}\0{content}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def words_hash(title: str, content: str) -> str:
    """The same for whatever white space: it tells entries apart that have neither guid nor address."""
    return change_hash(" ".join(title.split()), _AROUND_TAGS.sub(r"\1", " ".join(content.split())))


def sort_at(published: Instant | None, fetched: Instant) -> Instant:
    """Published, else fetched; never in the future, and no date from before the web."""
    if published is None or not _EARLIEST_PUBLICATION <= published <= fetched:
        return fetched
    return published


def newest(
    entries: Sequence[ParsedEntry], fetched: Instant, limit: int = MAX_ENTRIES
) -> Sequence[ParsedEntry]:
    """At most `limit` entries, the newest, still in the order of the document."""
    if len(entries) <= limit:
        return entries
    places = sorted(range(len(entries)), key=lambda place: -sort_at(entries[place].published, fetched))
    return [entries[place] for place in sorted(places[:limit])]


def filter_entries(
    entries: Iterable[ParsedEntry], by_guid: Mapping[str, Seen], traits: Traits
) -> FilteredEntries:
    unchanged: dict[int, None] = {}
    rest: list[IncomingEntry] = []
    trusted = not traits.unreliable
    for place, entry in enumerate(entries):
        digest = change_hash(entry.title, entry.content)
        seen = by_guid.get(entry.guid) if trusted and entry.guid else None
        if seen and seen.entry_id and seen.change_hash == digest and seen.entry_id not in unchanged:
            unchanged[seen.entry_id] = None
        else:
            rest.append(IncomingEntry(entry, digest, place))
    return FilteredEntries(tuple(unchanged), tuple(rest))


def plan_rest(sifted: FilteredEntries, known: ExistingEntry, traits: Traits, fetched: Instant) -> WritePlan:
    if not sifted.rest:
        return WritePlan((), (), sifted.unchanged, (), (), (), traits.collisions, traits.unreliable)
    start = traits.collisions + (_suspicion(sifted.rest) if traits.first_fetch else 0)
    planner = _Planner(known, traits, set(sifted.unchanged), start, fetched)
    distrusted = traits.unreliable or start >= COLLISIONS_TO_DISTRUST
    planner.place_all(sifted.rest, trust_guids=not distrusted)
    if not distrusted and planner.collisions >= COLLISIONS_TO_DISTRUST:
        # The guids proved worthless half-way through: judge all of the rest without them, so none is lost.
        collisions = planner.collisions
        planner = _Planner(known, traits, set(sifted.unchanged), collisions, fetched)
        planner.place_all(sifted.rest, trust_guids=False)
    return planner.plan(
        sifted.unchanged, unreliable=traits.unreliable or planner.collisions >= COLLISIONS_TO_DISTRUST
    )


def is_suspicious_guid(guid: str) -> bool:
    """It looks counted or clocked rather than given once: digits only and long, or a Unix timestamp."""
    return (len(guid) > 10 and guid.isascii() and guid.isdigit()) or _TIMESTAMP.search(guid) is not None


def _suspicion(candidates: Iterable[IncomingEntry]) -> int:
    return 1 if any(is_suspicious_guid(candidate.entry.guid or "") for candidate in candidates) else 0


class _Planner:
    """One pass over a document's candidates; `claimed` are the known entries already spoken for."""

    def __init__(
        self, known: ExistingEntry, traits: Traits, claimed: set[int], collisions: int, fetched: Instant
    ) -> None:
        self.known = known
        self.addresses: set[str] = set()
        """Of this document; those who look for a moved entry need them."""
        self.trust_guids = True
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
        self.addresses = {url for url in urls if url is not None}
        for candidate, url in zip(candidates, urls, strict=True):
            entry = candidate.entry
            if url is None and entry.url and has_userinfo(entry.url):
                self.refused.append(entry)
            else:
                self._place(candidate, entry.guid or None if trust_guids else None, url)

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
            seen = self.known.by_guid.get(guid)
            if seen is not None and self._is_by_guid(seen, candidate, url):
                return self._meet(seen, candidate, url)
            if guid in self.new_guids and not self._is_second(guid, url):
                return self.duplicates.append(candidate.entry)
            if seen is not None or guid in self.new_guids:
                guid = None
        return self._place_by_address(candidate, guid, url)

    def _is_by_guid(self, seen: Seen, candidate: IncomingEntry, url: str | None) -> bool:
        """The guid decides, unless another address says that this is a second entry under a used guid.

        With the title of the known entry it is that entry, whose address has changed.
        """
        if url is None or seen.url is None or url == seen.url:
            return True
        if not seen.title or seen.title != shown_line(candidate.entry.title):
            self.collisions += 1
        other = self.known.by_url.get(url) if self.use_urls else None
        taken = seen.entry_id is not None and seen.entry_id in self.claimed
        return not taken and (other is None or other.entry_id == seen.entry_id)

    def _is_second(self, guid: str, url: str | None) -> bool:
        """Another entry of this document has the guid already, with another address."""
        first = self.new_guids[guid]
        differs = url is not None and first is not None and url != first
        self.collisions += differs
        return differs

    def _place_by_address(self, candidate: IncomingEntry, guid: str | None, url: str | None) -> None:
        digest = candidate.change_hash
        if url is not None and self.use_urls:
            seen = self.known.by_url.get(url) or self._moved(candidate)
            repeated = url in self.new_urls
        elif guid is None:
            digest = words_hash(candidate.entry.title, candidate.entry.content)
            # Earlier versions told texts apart by their spaces, too.
            seen = self.known.by_hash.get(digest) or self.known.by_hash.get(candidate.change_hash)
            repeated = digest in self.new_hashes
        else:
            seen, repeated = None, False
        if seen is not None:
            return self._meet(seen, candidate, url)
        if repeated:
            return self.duplicates.append(candidate.entry)
        return self._welcome(candidate._replace(change_hash=digest), guid, url)

    def _moved(self, candidate: IncomingEntry) -> Seen | None:
        """Where guids say nothing: the entry with the same words, if the document has left its address."""
        if self.trust_guids:
            return None
        seen = self.known.by_hash.get(candidate.change_hash)
        return None if seen is None or seen.url in self.addresses else seen

    def _meet(self, seen: Seen, candidate: IncomingEntry, url: str | None) -> None:
        if seen.entry_id is None:
            self.forgotten.append(candidate.entry)
        elif seen.entry_id in self.claimed:
            self.duplicates.append(candidate.entry)
        else:
            self.claimed.add(seen.entry_id)
            if seen.change_hash == candidate.change_hash or seen.change_hash == words_hash(
                candidate.entry.title, candidate.entry.content
            ):
                self.unchanged.append(seen.entry_id)
            else:
                self._note_change(seen.entry_id, candidate, url)

    def _note_change(self, entry_id: int, candidate: IncomingEntry, url: str | None) -> None:
        """An entry moves to a new address only if no other entry of this document has it."""
        moved = None if url in self.new_urls else url
        self.changed.append(ChangedEntry(entry_id, candidate.entry, moved, candidate.change_hash))
        if moved is not None:
            self.new_urls.add(moved)

    def _welcome(self, candidate: IncomingEntry, guid: str | None, url: str | None) -> None:
        when = sort_at(candidate.entry.published, self.fetched)
        self.new.append((candidate.place, NewEntry(candidate.entry, guid, url, candidate.change_hash, when)))
        if guid is not None:
            self.new_guids[guid] = url
        if url is not None:
            self.new_urls.add(url)
        self.new_hashes.add(candidate.change_hash)
