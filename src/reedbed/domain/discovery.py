"""What was found behind an address somebody typed."""

from dataclasses import dataclass


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
