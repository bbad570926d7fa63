"""Import and export: OPML documents, libraries of other readers, and the report of an import."""

from collections.abc import Iterator
from typing import Literal

from reedbed.domain.failures import Failure
from reedbed.domain.records import record
from reedbed.domain.times import Instant


@record
class OpmlOutline:
    """A feed if it has `xml_url`, else a folder."""

    title: str
    xml_url: str | None = None
    html_url: str | None = None
    type: str | None = None
    attributes: tuple[tuple[str, str], ...] = ()
    """All other attributes in order, so that an export preserves what was imported."""
    children: tuple["OpmlOutline", ...] = ()


@record
class OpmlDocument:
    title: str
    outlines: tuple[OpmlOutline, ...]
    head: tuple[tuple[str, str], ...] = ()
    cut_off: bool = False
    """The file is incomplete, for example after a broken download; the rest is missing."""


@record
class OpmlFeed:
    outline: OpmlOutline
    path: tuple[str, ...]
    """The names of its folders, outermost first."""
    other_paths: tuple[tuple[str, ...], ...] = ()
    """Where the file lists the feed again."""


LineStatus = Literal["added", "moved", "followed", "duplicate", "skipped", "error"]
"""`moved`: already subscribed, moved to the folder of the file. `skipped`: nothing to subscribe to."""


@record
class ImportLine:
    """The result for one line of the file, or one file of an archive."""

    title: str
    url: str
    failure: Failure | None = None
    status: LineStatus = "error"


@record
class ImportReport:
    imported: int
    skipped: int
    """Already subscribed, or listed more than once."""
    lines: tuple[ImportLine, ...] = ()

    @property
    def errors(self) -> tuple[ImportLine, ...]:
        return tuple(line for line in self.lines if line.status == "error")


def feeds_of(document: OpmlDocument, max_depth: int = 8) -> Iterator[OpmlFeed]:
    """All feeds with their folders. Folders nested deeper than `max_depth` are left out of the path.

    An outline without URL and children is yielded too, so that the report can list it.
    """
    pending: list[tuple[OpmlOutline, tuple[str, ...]]] = [(outline, ()) for outline in reversed(document.outlines)]
    while pending:
        outline, path = pending.pop()
        if outline.xml_url is not None or not outline.children:
            yield OpmlFeed(outline, path)
        child_path = path
        if outline.xml_url is None and outline.title and len(path) < max_depth:
            child_path = (*path, outline.title)
        pending.extend((child, child_path) for child in reversed(outline.children))


# --- Libraries of other readers

MAX_FEEDS = 10_000
MAX_KEPT = 20_000
MAX_READS = 200_000
READS_PER_FEED = 500
"""The maximum number of entries in a feed document; older read entries will not appear again."""
PAGE_RECIPE = "reedbedPage"
"""The attribute in OPML with the recipe of a feed that is made from a page."""
MAX_TEXT_LENGTH = 500_000
MAX_CONTENT_LENGTH = 100_000_000
"""Characters of all saved entries together."""

STARRED_JSON = "starred JSON"
"""A source with starred entries, but without subscriptions."""


@record
class ImportedFeed:
    key: str
    """The feed's id in the other program."""
    url: str
    title: str = ""
    path: tuple[str, ...] = ()
    """Its folders, outermost first."""
    attributes: tuple[tuple[str, str], ...] = ()
    """Other OPML attributes, kept for export."""
    follow: bool = True
    """False: only its entries are imported. A starred entry does not imply a subscription."""


@record
class ImportedEntry:
    """A starred, bookmarked or tagged entry."""

    feed_key: str
    feed_title: str
    guid: str | None
    url: str | None
    title: str
    content: str
    """Not sanitized."""
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
    """The name of the other program."""
    feeds: tuple[ImportedFeed, ...] = ()
    kept: tuple[ImportedEntry, ...] = ()
    reads: tuple[ReadMark, ...] = ()
    """Newest first for each feed."""
    lines: tuple[ImportLine, ...] = ()
    """Lines and files with nothing to import."""

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
