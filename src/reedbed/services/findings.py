"""What a check found, ready to be written, and what became of it."""

from collections.abc import Sequence

from reedbed.domain.checks import FetchState
from reedbed.domain.due import About, DueFeed
from reedbed.domain.records import record
from reedbed.store.entry_writes import EntryRow, Rewrite
from reedbed.store.feed_history import Tally


@record
class Finding:
    due: DueFeed
    state: FetchState
    tally: Tally
    about: About | None = None
    """Set: the feed says something else of itself now."""
    news: Sequence[EntryRow] = ()
    rewrites: Sequence[Rewrite] = ()
    listed: Sequence[int] = ()
    """The known entries that the document still holds."""
    removed: Sequence[int] | None = None
    """The keys of entries that were removed and the document still holds; None: no document was read."""
    moved_to: str | None = None
    """Set: the feed is believed to have moved there for good."""
    pushed: bool = False
    """It came by itself: the schedule and what is known of the document stay as they are."""

    @property
    def quiet(self) -> bool:
        """Nothing but the fetch state has changed."""
        return not (self.news or self.rewrites or self.about or self.moved_to)


@record
class Stored:
    new: Sequence[int] = ()
    changed: Sequence[int] = ()
    feed_id: int = 0
    """The feed they belong to now: another one after a merge."""
    moved: Sequence[int] = ()
    """The users whose subscription now names another feed."""
