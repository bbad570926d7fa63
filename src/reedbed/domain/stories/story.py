"""A story as a user sees it: the outlets that report it, and the sentences that only one of them has."""

from reedbed.domain.entries import EntryRow
from reedbed.domain.framing import Analysis
from reedbed.domain.records import record
from reedbed.domain.stories.compare import Report, SharedSentence, headline_report
from reedbed.domain.times import DAY, Instant

RETENTION = 30 * DAY
"""Counted from the last new entry. The entries stay; only the grouping is deleted."""
MAX_OUTLETS = 100


@record
class StorySource:
    """An entry of a story, as shown in lists."""

    entry_id: int
    feed_id: int
    feed: str
    icon_id: int | None
    title: str
    language: str
    at: Instant


@record
class StorySummary:
    id: int
    first_at: Instant
    newest_at: Instant
    entries: int
    feeds: int
    unread: int
    sources: tuple[StorySource, ...] = ()
    """The first and the newest only."""

    @property
    def headline(self) -> StorySource:
        return self.sources[headline_report([Report(source.title, "", source.at) for source in self.sources])]


@record
class Outlet:
    row: EntryRow
    feed: str
    icon_id: int | None
    only_here: tuple[str, ...] = ()
    """Sentences with information that no other outlet has."""
    opening: str = ""
    words: int = 0
    quotations: int = 0
    analysis: Analysis | None = None


@record
class JoinedStory:
    """A story that the user has joined to another."""

    id: int
    title: str


@record
class StoryNews:
    """An entry that has joined a story which the user follows."""

    user_id: int
    story_id: int
    entry_id: int
    title: str
    feed: str


@record
class Story:
    id: int
    outlets: tuple[Outlet, ...]
    """In order of publication."""
    apart: tuple[Outlet, ...] = ()
    """Entries that this user removed from the story."""
    joined: tuple[JoinedStory, ...] = ()
    """Stories that this user has joined to it."""
    shared: tuple[SharedSentence, ...] = ()
    followed: bool = False
    """The user wants to know when an entry joins it."""

    @property
    def plainest(self) -> Outlet:
        """The outlet with the calmest headline, among those whose facts hold."""
        outlets = self.outlets or self.apart
        return outlets[headline_report([_report(outlet.row) for outlet in outlets])]

    @property
    def headline(self) -> EntryRow:
        return self.plainest.row

    @property
    def feeds(self) -> int:
        return len({outlet.row.feed_id for outlet in self.outlets})

    @property
    def unread(self) -> int:
        return sum(not outlet.row.states.read for outlet in self.outlets)


def _report(row: EntryRow) -> Report:
    return Report(row.title, row.summary, row.sort_at)
