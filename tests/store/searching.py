"""Entries with words in them, indexed the way the crawl does it, and a search over them."""

from dataclasses import dataclass

from sqlalchemy import bindparam, update

from reedbed.domain.entries import ViewQuery
from reedbed.domain.pagination import Cursor, Order
from reedbed.domain.search.indexing import search_words
from reedbed.domain.search.query import parse_search
from reedbed.ingest.text import clean_text
from reedbed.store import search
from reedbed.store.engine.statements import Command
from reedbed.store.search import MatchingIds, NoSuchList
from reedbed.store.tables import entries, entry_bodies
from tests.store.library import Library

NOW = 1_800_000_000_000

_WORDS = Command(
    update(entries)
    .where(entries.c.id == bindparam("entry"))
    .values(title=bindparam("title"), author=bindparam("author"), language=bindparam("language"))
)
_BODY = Command(
    update(entry_bodies).where(entry_bodies.c.entry_id == bindparam("entry")).values(content=bindparam("content"))
)


@dataclass
class SearchedFeed:
    """One reader with one feed."""

    library: Library
    reader: int
    feed: int

    async def put(
        self,
        title: str = "Untitled",
        text: str = "",
        *,
        author: str | None = None,
        language: str | None = None,
        feed: int | None = None,
        sort_at: int | None = None,
    ) -> int:
        entry = await self.library.entry(feed or self.feed, sort_at=sort_at)
        await self.rewrite(entry, title, text, author=author, language=language)
        return entry

    async def rewrite(
        self, entry: int, title: str, text: str = "", *, author: str | None = None, language: str | None = None
    ) -> None:
        row = {"entry": entry, "title": title, "author": author, "language": language}
        async with self.library.db.write() as tx:
            await tx.run(_WORDS, row)
            await tx.run(_BODY, {"entry": entry, "content": f"<p>{text}</p>"})
            await search.index(tx, [(entry, search_words(title, text, author))])

    async def find(self, text: str, *, reader: int | None = None, view: ViewQuery | None = None) -> list[int]:
        """All that is found, newest first."""
        return list((await self.page(text, reader=reader, view=view, limit=200)).ids)

    async def page(
        self,
        text: str,
        *,
        reader: int | None = None,
        view: ViewQuery | None = None,
        order: Order = "newest",
        cursor: Cursor | None = None,
        limit: int = 50,
    ) -> MatchingIds:
        query, user = parse_search(text, NOW), reader or self.reader
        async with self.library.db.read() as tx:
            narrowed = await search.narrow(tx, user, query, view or ViewQuery())
            if narrowed is None:
                return MatchingIds((), None)
            assert not isinstance(narrowed, NoSuchList)
            return await search.find(
                tx, user, query, narrowed, read=clean_text, order=order, cursor=cursor, limit=limit
            )


async def new_shelf(library: Library) -> SearchedFeed:
    feed = await library.feed()
    return SearchedFeed(library, await library.reader(feed), feed)
