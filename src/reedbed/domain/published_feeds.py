"""Published feeds: a user's view as a feed at a private URL that any reader can subscribe to."""

from reedbed.domain.entries import VIEWS, View, ViewQuery
from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.rules import MAX_TAG
from reedbed.domain.text import clean_line, storable
from reedbed.domain.times import Instant

MAX_FEED_NAME = 100

_PUBLISHED_VIEWS: dict[str, View] = {view: view for view in VIEWS}
_UNFILTERED = ("digests", "stories", "history")
"""Lists that cannot be filtered by feed, folder, tag or search."""


@record
class PublishedView:
    """The content of a published feed: a view with at most one filter."""

    view: View = "all"
    feed_id: int | None = None
    folder_id: int | None = None
    tag: str | None = None
    search_id: int | None = None
    digests: bool = False
    """Publish the user's digests instead of entries."""
    stories: bool = False
    """Publish stories instead of entries."""

    spoken: bool = False
    """A podcast of what is read aloud."""

    @property
    def kind(self) -> str:
        """The name in URLs and the API."""
        return "spoken" if self.spoken else "digests" if self.digests else "stories" if self.stories else self.view

    @property
    def query(self) -> ViewQuery:
        return ViewQuery(self.view, feed_id=self.feed_id, folder_id=self.folder_id, tag=self.tag)

    @property
    def only_grows(self) -> bool:
        """Whether only new entries join the list, never old ones because of a changed state."""
        return self.view == "all" and self.tag is None and self.search_id is None and not self.stories


@record
class PublishedFeed:
    id: int
    name: str
    view: PublishedView
    created_at: Instant
    last_used_at: Instant | None


def check_feed_name(name: str) -> str:
    clean_name = clean_line(name)
    if not clean_name:
        raise Invalid("A name is required", field="name")
    if len(clean_name) > MAX_FEED_NAME:
        raise Invalid("The name must be at most %(limit)s characters", field="name", limit=MAX_FEED_NAME)
    return clean_name


def check_view(
    view: str,
    *,
    feed_id: int | None = None,
    folder_id: int | None = None,
    tag: str | None = None,
    search_id: int | None = None,
) -> PublishedView:
    filter_count = sum(filter_ is not None for filter_ in (feed_id, folder_id, tag, search_id))
    if view in _UNFILTERED and filter_count:
        raise Invalid("Digests, stories and what was read are published as a whole", field="view")
    if view in ("digests", "stories"):
        return PublishedView(digests=view == "digests", stories=view == "stories")
    checked_view = _PUBLISHED_VIEWS.get(view)
    if checked_view is None:
        raise Invalid("Choose one of: unread, all, starred, later, history, stories, digests", field="view")
    if filter_count > 1:
        raise Invalid("Choose one of feed, folder, tag and search", field="view")
    if tag is not None and not 0 < len(storable(tag).strip()) <= MAX_TAG:
        raise Invalid("A tag needs a name of at most %(limit)s characters", field="tag", limit=MAX_TAG)
    return PublishedView(
        checked_view, feed_id, folder_id, storable(tag).strip() if tag is not None else None, search_id
    )
