"""Stories where entries are read: other outlets above an article, one row for a story in the unread list."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from reedbed.domain.accounts import User
from reedbed.domain.entries import EntryPage, EntryRow
from reedbed.domain.records import record
from reedbed.services.preferences import preferences_of
from reedbed.store import stories
from reedbed.store.database import Tx
from reedbed.store.stories import Beside
from reedbed.web.sidebar import icon_address
from reedbed.web.speech import ngettext
from reedbed.web.views.frame import feed_mark
from reedbed.web.views.reading import Alike, Article, Row

MOST_MARKS = 4


async def with_story(tx: Tx, user_id: int, article: Article, entry_id: int) -> Article:
    found = (await stories.beside(tx, user_id, [entry_id])).get(entry_id)
    if found is None:
        return article
    told = (await stories.sources(tx, user_id, [found.story_id])).get(found.story_id, [])
    others = {one.feed_id: one for one in told if one.entry_id != entry_id}
    marks = (feed_mark(one.feed, one.feed_id, icon_address(one.icon_id)) for one in others.values())
    words = ngettext(
        "%(num)s outlet you follow tells of this", "%(num)s outlets you follow tell of this", found.feeds
    )
    return replace(article, alike=Alike(words, f"/stories/{found.story_id}", tuple(marks)[:MOST_MARKS]))


@record
class ListStories:
    """Which rows of a part of the list are of one story."""

    found: Mapping[int, Beside] = field(default_factory=dict[int, Beside])

    def fold(self, page: EntryPage, open_id: int | None) -> EntryPage:
        """Of each story the first row; the one that is open stays as well."""
        heads: dict[int, int] = {}
        for row in page.rows:
            if row.id in self.found:
                heads.setdefault(self.found[row.id].story_id, row.id)
        kept = (row for row in page.rows if row.id == open_id or self._is_shown(row, heads))
        return replace(page, rows=tuple(kept))

    def dress(self, shown: Row) -> Row:
        found = self.found.get(shown.id)
        if found is None:
            return shown
        return replace(shown, outlets=found.feeds, story_url=f"/stories/{found.story_id}")

    def _is_shown(self, row: EntryRow, heads: Mapping[int, int]) -> bool:
        found = self.found.get(row.id)
        return found is None or heads[found.story_id] == row.id


async def list_stories(tx: Tx, user: User, view: str, rows: Sequence[EntryRow]) -> ListStories:
    """Only the unread list is folded, and only for those who want it."""
    if view != "unread" or not rows or not preferences_of(user).group_stories:
        return ListStories()
    return ListStories(await stories.beside(tx, user.id, [row.id for row in rows]))
