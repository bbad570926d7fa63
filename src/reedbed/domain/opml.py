"""What a subscription list says. Reading and writing its XML is the ingest floor's work."""

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class OpmlOutline:
    """A feed when it has `xml_url`, else a folder."""

    title: str
    xml_url: str | None = None
    html_url: str | None = None
    type: str | None = None
    attributes: tuple[tuple[str, str], ...] = ()
    """All others, in their order, so that an export gives back what an import brought."""
    children: tuple["OpmlOutline", ...] = ()


@dataclass(frozen=True, slots=True)
class OpmlDocument:
    title: str
    outlines: tuple[OpmlOutline, ...]
    head: tuple[tuple[str, str], ...] = ()
    cut_off: bool = False
    """The file ends in its middle, as after a broken download: what came after is not here."""


@dataclass(frozen=True, slots=True)
class OpmlFeed:
    outline: OpmlOutline
    path: tuple[str, ...]
    """The names of the folders it lies in, from the outside in."""


@dataclass(frozen=True, slots=True)
class ImportProblem:
    title: str
    url: str
    message: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    imported: int
    skipped: int
    errors: tuple[ImportProblem, ...] = field(default=())


def feeds_of(document: OpmlDocument, max_depth: int = 8) -> Iterator[OpmlFeed]:
    """Every feed with its folders. Folders nested deeper than `max_depth` are left out of the path.

    A line that says it is a feed and has no address is one, too: whoever imports it should hear of it.
    """
    waiting: list[tuple[OpmlOutline, tuple[str, ...]]] = [(top, ()) for top in reversed(document.outlines)]
    while waiting:
        outline, path = waiting.pop()
        if outline.xml_url is not None or (outline.type == "rss" and not outline.children):
            yield OpmlFeed(outline, path)
        inner = path
        if outline.xml_url is None and outline.title and len(path) < max_depth:
            inner = (*path, outline.title)
        waiting.extend((child, inner) for child in reversed(outline.children))
