"""What a person brings along from another reader."""

from collections.abc import Iterator
from typing import Literal

from reedbed.domain.records import record
from reedbed.domain.times import Instant


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


MAX_FEEDS = 10_000
MAX_KEPT = 20_000
MAX_READS = 200_000
READS_PER_FEED = 500
"""As many as a feed's document may list; what it lists no more need not be known as read."""
MAX_TEXT_LENGTH = 500_000
MAX_CONTENT_LENGTH = 100_000_000
"""Characters of all kept entries together."""

STARRED_JSON = "starred JSON"
"""A source that lists what was starred, and not what was followed."""


@record
class ImportedFeed:
    key: str
    """How the other program calls it."""
    url: str
    title: str = ""
    path: tuple[str, ...] = ()
    """The folders it lies in, from the outside in."""
    attributes: tuple[tuple[str, str], ...] = ()
    """What an OPML file says of it beyond that, to be written out again."""
    follow: bool = True
    """False: only its entries are listed. To star an entry is not to follow its feed."""


@record
class ImportedEntry:
    """Something that was kept."""

    feed_key: str
    feed_title: str
    guid: str | None
    url: str | None
    title: str
    content: str
    """Not yet sanitised."""
    author: str | None = None
    published: Instant | None = None
    starred: bool = True
    bookmarked: bool = False
    tags: tuple[str, ...] = ()


@record
class ReadMark:
    feed_key: str
    guid: str | None
    url: str | None


@record
class Library:
    source: str
    """The name of the program it comes from."""
    feeds: tuple[ImportedFeed, ...] = ()
    kept: tuple[ImportedEntry, ...] = ()
    reads: tuple[ReadMark, ...] = ()
    """The newest first, of each feed."""
    lines: tuple[ImportLine, ...] = ()
    """Lines and files in which there is nothing to follow or to keep."""

    @property
    def size(self) -> int:
        return len(self.feeds) + len(self.kept) + len(self.reads)


@record
class LibraryReport:
    source: str
    imported: int = 0
    """Feeds."""
    skipped: int = 0
    lines: tuple[ImportLine, ...] = ()
    starred: int = 0
    tagged: int = 0
    bookmarked: int = 0
    read: int = 0

    @property
    def errors(self) -> tuple[ImportLine, ...]:
        return tuple(line for line in self.lines if line.status == "error")

    def __add__(self, more: "LibraryReport") -> "LibraryReport":
        return LibraryReport(
            self.source,
            imported=self.imported + more.imported,
            skipped=self.skipped + more.skipped,
            lines=(*self.lines, *more.lines),
            starred=self.starred + more.starred,
            tagged=self.tagged + more.tagged,
            bookmarked=self.bookmarked + more.bookmarked,
            read=self.read + more.read,
        )
