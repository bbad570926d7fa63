"""What was found behind an address somebody typed."""

from collections.abc import Hashable

from reedbed.domain.fetching import Failed, Fetched, Gone, Throttled
from reedbed.domain.records import record
from reedbed.domain.times import MINUTE, Instant

KEPT_FOR = 10 * MINUTE
MOST_KEPT = 50
MOST_BYTES_KEPT = 20_000_000


@record
class Candidate:
    """A feed one could follow."""

    url: str
    title: str = ""
    type: str = ""
    """rss, rdf, atom or json; empty when nobody has looked yet."""
    source: str = ""
    """direct: the address itself; link: named by the page; known: the site's pattern; anchor or guess."""


@record
class Discovery:
    """The best candidate first; with none, `reason` is one plain sentence for the person who asked."""

    candidates: tuple[Candidate, ...] = ()
    reason: str | None = None
    unreachable: bool = False
    """The site did not answer well just now, so that nobody can say whether there is a feed."""
    nowhere: bool = False
    """What was typed is no address at all."""
    document: Fetched | None = None
    """The best candidate, where looking has fetched it: nobody need ask its server twice."""
    failure: Gone | Throttled | Failed | None = None
    """Instead of a document: what the server of the best candidate answered, or of the address itself."""

    @property
    def locked(self) -> bool:
        """Whether the server asks for a name and password."""
        return isinstance(self.failure, Failed) and self.failure.kind == "unauthorized"


class RecentDiscoveries:
    """Documents that were fetched for a preview, for a few minutes: following the feed asks for it next."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[Instant, Discovery]] = {}

    def keep(self, key: Hashable, found: Discovery, now: Instant) -> None:
        self._kept.pop(key, None)
        self._kept[key] = (now, found)
        while len(self._kept) > MOST_KEPT or self._bytes() > MOST_BYTES_KEPT:
            del self._kept[next(iter(self._kept))]

    def take(self, key: Hashable, now: Instant) -> Discovery | None:
        """Once only; what is too old is dropped."""
        self._kept = {each: kept for each, kept in self._kept.items() if now - kept[0] < KEPT_FOR}
        kept = self._kept.pop(key, None)
        return kept[1] if kept else None

    def _bytes(self) -> int:
        documents = {id(found.document): found.document for _, found in self._kept.values()}
        return sum(len(document.body) for document in documents.values() if document is not None)
