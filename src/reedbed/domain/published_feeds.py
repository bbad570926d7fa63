"""Published feeds: a view of one's own as a private address that any reader can follow."""

from reedbed.domain.entries import VIEWS, View, ViewQuery
from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.rules import MAX_TAG
from reedbed.domain.text import shown_line, storable
from reedbed.domain.times import Instant

MAX_FEED_NAME = 100

_PUBLISHED: dict[str, View] = {view: view for view in VIEWS}
_WHOLE = ("digests", "stories", "history")
"""Lists that no feed, folder, tag or search can narrow."""


@record
class PublishedView:
    """What a published feed shows: a view, narrowed by at most one of the others."""

    view: View = "all"
    feed_id: int | None = None
    folder_id: int | None = None
    tag: str | None = None
    search_id: int | None = None
    digests: bool = False
    """Not entries, but one's digests."""
    stories: bool = False
    """Not entries, but the stories that they tell."""

    @property
    def kind(self) -> str:
        """As it is called outside."""
        return "digests" if self.digests else "stories" if self.stories else self.view

    @property
    def query(self) -> ViewQuery:
        return ViewQuery(self.view, feed_id=self.feed_id, folder_id=self.folder_id, tag=self.tag)

    @property
    def only_grows(self) -> bool:
        """Whether entries join the list by arriving alone, and not because somebody marks an old one."""
        return self.view == "all" and self.tag is None and self.search_id is None and not self.stories


@record
class PublishedFeed:
    id: int
    name: str
    view: PublishedView
    created_at: Instant
    last_used_at: Instant | None


def check_feed_name(name: str) -> str:
    tidy = shown_line(name)
    if not tidy:
        raise Invalid("A name is required", field="name")
    if len(tidy) > MAX_FEED_NAME:
        raise Invalid(f"The name must be at most {MAX_FEED_NAME} characters", field="name")
    return tidy


def check_view(
    view: str,
    *,
    feed_id: int | None = None,
    folder_id: int | None = None,
    tag: str | None = None,
    search_id: int | None = None,
) -> PublishedView:
    narrowed = sum(part is not None for part in (feed_id, folder_id, tag, search_id))
    if view in _WHOLE and narrowed:
        raise Invalid("Digests, stories and what was read are published as a whole", field="view")
    if view in ("digests", "stories"):
        return PublishedView(digests=view == "digests", stories=view == "stories")
    known = _PUBLISHED.get(view)
    if known is None:
        raise Invalid("Choose one of: unread, all, starred, later, history, stories, digests", field="view")
    if narrowed > 1:
        raise Invalid("Choose one of feed, folder, tag and search", field="view")
    if tag is not None and not 0 < len(storable(tag).strip()) <= MAX_TAG:
        raise Invalid(f"A tag needs a name of at most {MAX_TAG} characters", field="tag")
    return PublishedView(
        known, feed_id, folder_id, storable(tag).strip() if tag is not None else None, search_id
    )
