"""What an assistant may ask: feeds and folders, lists of entries, a search, one entry, a digest."""

from typing import Any, Literal

from pydantic import Field

from reedbed.api.mcp import said
from reedbed.api.mcp.wishes import Paged, Wish
from reedbed.domain.accounts import Caller
from reedbed.domain.digest_letters import digest_markdown
from reedbed.domain.entries import ViewQuery
from reedbed.domain.errors import NotFound
from reedbed.domain.paging import Cursor, decode_cursor, encode_cursor
from reedbed.domain.reader_labels import labels_of
from reedbed.domain.search import MAX_TEXT
from reedbed.domain.texts import storable
from reedbed.http.ids import JsonId
from reedbed.http.limits import spend_search
from reedbed.http.offsets import next_offset, read_offset
from reedbed.services.assistants import entry_text
from reedbed.services.digests import get_digest
from reedbed.services.entries import get_entry, list_entries
from reedbed.services.runtime import Runtime
from reedbed.services.search import search_entries
from reedbed.store import counts, digests, folders, following

MOST_CHARACTERS = 20_000


class Feeds(Paged):
    folder_id: JsonId | None = Field(None, description="Only the feeds of this folder itself.")


class Entries(Paged):
    view: Literal["unread", "all", "starred", "later"] = "unread"
    feed_id: JsonId | None = None
    folder_id: JsonId | None = Field(None, description="With its subfolders.")
    tag: str | None = Field(None, max_length=200)
    order: Literal["newest", "oldest"] = "newest"


class Search(Paged):
    query: str = Field(
        min_length=1,
        max_length=MAX_TEXT,
        description='Words, "a phrase", -without, prefix*, title:, feed:, tag:, is:unread, after:7d.',
    )
    order: Literal["newest", "relevance"] = "newest"


class OneEntry(Wish):
    entry_id: JsonId
    offset: int = Field(0, ge=0, le=10_000_000, description="next_offset of the piece before.")
    characters: int = Field(MOST_CHARACTERS, ge=100, le=MOST_CHARACTERS)


class OneDigest(Wish):
    digest_id: JsonId | None = Field(None, description="Left out: the newest.")


async def list_folders(runtime: Runtime, caller: Caller, _: Wish) -> dict[str, Any]:
    async with runtime.db.read() as tx:
        labels = labels_of(await folders.of_user(tx, caller.user_id))
    return {"folders": [said.folder(folder_id, labels) for folder_id in labels.folders]}


async def list_feeds(runtime: Runtime, caller: Caller, wish: Feeds) -> dict[str, Any]:
    offset = read_offset(wish.cursor)
    async with runtime.db.read() as tx:
        every = await following.followed(tx, caller.user_id)
        counted = await counts.counts(tx, caller.user_id)
    unread = {one.feed_id: one.unread for one in counted.subscriptions}
    wanted = [one for one in every if wish.folder_id in (None, one.folder_id)][offset:]
    shown = [said.feed(one, unread.get(one.feed_id, 0)) for one in wanted[: wish.limit]]
    return {"feeds": shown, "next_cursor": next_offset(offset, wish.limit, len(wanted))}


async def entries(runtime: Runtime, caller: Caller, wish: Entries) -> dict[str, Any]:
    tag = None if wish.tag is None else storable(wish.tag)
    query = ViewQuery(wish.view, wish.order, wish.feed_id, wish.folder_id, tag)
    name = f"assistant {query.name()}"
    start = None if wish.cursor is None else decode_cursor(wish.cursor, wish.order, name)
    page = await list_entries(runtime, caller.user_id, query, start, wish.limit)
    return _page([said.listed(row) for row in page.rows], page.next, wish.order, name)


async def search(runtime: Runtime, caller: Caller, wish: Search) -> dict[str, Any]:
    await spend_search(runtime, caller)
    words = storable(wish.query).strip()
    name = f"assistant search {wish.order} {words}"
    start = None if wish.cursor is None else decode_cursor(wish.cursor, "newest", name)
    page = await search_entries(
        runtime, caller.user_id, words, order=wish.order, cursor=start, limit=wish.limit
    )
    shown = [said.listed(row, matched=page.matched[row.id].excerpt.text) for row in page.rows]
    unknown = [f"{each.kind}:{each.value}" for each in page.unknown]
    return _page(shown, page.next, "newest", name) | ({"unknown": unknown} if unknown else {})


async def read_entry(runtime: Runtime, caller: Caller, wish: OneEntry) -> dict[str, Any]:
    entry = await get_entry(runtime, caller.user_id, wish.entry_id)
    text = await entry_text(runtime, caller.user_id, entry)
    return said.read(entry, text, wish.offset, wish.offset + wish.characters)


async def read_digest(runtime: Runtime, caller: Caller, wish: OneDigest) -> dict[str, Any]:
    if wish.digest_id is not None:
        found = await get_digest(runtime, caller.user_id, wish.digest_id)
    else:
        async with runtime.db.read() as tx:
            newest = await digests.newest(tx, caller.user_id, limit=1)
        if not newest:
            raise NotFound("There is no digest yet.")
        found = newest[0]
    return said.digest(found, digest_markdown(found, runtime.accounts.base_url)[:MOST_CHARACTERS])


def _page(
    shown: list[dict[str, Any]], following: Cursor | None, order: Literal["newest", "oldest"], name: str
) -> dict[str, Any]:
    cursor = encode_cursor(following.sort_at, following.id, order, name) if following else None
    return {"entries": shown, "next_cursor": cursor}
