"""What was found behind an address somebody typed."""

from dataclasses import dataclass

from reedbed.domain.fetching import Fetched


@dataclass(frozen=True, slots=True)
class Candidate:
    """A feed one could follow."""

    url: str
    title: str = ""
    type: str = ""
    """rss, rdf, atom or json; empty when nobody has looked yet."""
    source: str = ""
    """direct: the address itself; link: named by the page; known: the site's pattern; anchor or guess."""


@dataclass(frozen=True, slots=True)
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
