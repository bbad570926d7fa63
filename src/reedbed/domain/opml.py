"""What a subscription list says. Reading and writing its XML is the ingest floor's work."""

from collections.abc import Iterator
from typing import Literal

from reedbed.domain.records import record


@record
class OpmlOutline:
    """A feed when it has `xml_url`, else a folder."""

    title: str
    xml_url: str | None = None
    html_url: str | None = None
    type: str | None = None
    attributes: tuple[tuple[str, str], ...] = ()
    """All others, in their order, so that an export gives back what an import brought."""
    children: tuple["OpmlOutline", ...] = ()


@record
class OpmlDocument:
    title: str
    outlines: tuple[OpmlOutline, ...]
    head: tuple[tuple[str, str], ...] = ()
    cut_off: bool = False
    """The file ends in its middle, as after a broken download: what came after is not here."""


@record
class OpmlFeed:
    outline: OpmlOutline
    path: tuple[str, ...]
    """The names of the folders it lies in, from the outside in."""


LineStatus = Literal["added", "moved", "followed", "duplicate", "skipped", "error"]
"""`moved`: followed before, and now in the folder that the file names. `skipped`: nothing to follow."""


@record
class ImportLine:
    """What became of one line of the file, or of one file of an archive."""

    title: str
    url: str
    message: str
    status: LineStatus = "error"


@record
class ImportReport:
    imported: int
    skipped: int
    """Followed before, or listed more than once."""
    lines: tuple[ImportLine, ...] = ()

    @property
    def errors(self) -> tuple[ImportLine, ...]:
        return tuple(line for line in self.lines if line.status == "error")


def feeds_of(document: OpmlDocument, max_depth: int = 8) -> Iterator[OpmlFeed]:
    """Every feed with its folders. Folders nested deeper than `max_depth` are left out of the path.

    A line without an address and without lines inside it is yielded, too, so that the report can name it.
    """
    waiting: list[tuple[OpmlOutline, tuple[str, ...]]] = [(top, ()) for top in reversed(document.outlines)]
    while waiting:
        outline, path = waiting.pop()
        if outline.xml_url is not None or not outline.children:
            yield OpmlFeed(outline, path)
        inner = path
        if outline.xml_url is None and outline.title and len(path) < max_depth:
            inner = (*path, outline.title)
        waiting.extend((child, inner) for child in reversed(outline.children))
