"""What an assistant may do, with a token that may write: mark entries, follow a feed, ask for a digest."""

from typing import Annotated, Any

from pydantic import Field

from reedbed.api.mcp import said
from reedbed.api.mcp.wishes import Wish
from reedbed.domain.accounts import Caller
from reedbed.domain.cited import Scope
from reedbed.domain.entries import Change
from reedbed.domain.errors import Invalid
from reedbed.http.ids import JsonId
from reedbed.services.digests import ask_digest as order_digest
from reedbed.services.marking import change_entries
from reedbed.services.runtime import Runtime
from reedbed.services.subscriptions import Wish as Following
from reedbed.services.subscriptions import subscribe as follow
from reedbed.store import entries

MOST_MARKED = 200
TagName = Annotated[str, Field(max_length=200)]


class Marks(Wish):
    entry_ids: list[JsonId] = Field(min_length=1, max_length=MOST_MARKED)
    read: bool | None = None
    starred: bool | None = None
    later: bool | None = None
    add_tags: list[TagName] = Field(default_factory=list[TagName], max_length=20)


class NewFeed(Wish):
    url: str = Field(max_length=4_000, description="Of a feed, or of a page that has one.")
    folder_id: JsonId | None = None
    title: str | None = Field(None, max_length=500)


class NewDigest(Wish):
    folder_id: JsonId | None = Field(None, description="Left out: everything that is followed.")


async def mark_entries(runtime: Runtime, caller: Caller, wish: Marks) -> dict[str, Any]:
    change = Change(wish.read, wish.starred, wish.later, tuple(wish.add_tags) or None)
    if change == Change():
        raise Invalid("Say what to set: read, starred, later or add_tags.", field="read")
    async with runtime.db.read() as tx:
        found = await entries.rows_by_ids(tx, caller.user_id, wish.entry_ids)
    known = [row.id for row in found]
    if known:
        await change_entries(runtime, caller.user_id, known, change)
    missing = sorted(set(wish.entry_ids) - set(known))
    return {"marked": len(known), "not_found": [str(id) for id in missing]}


async def subscribe(runtime: Runtime, caller: Caller, wish: NewFeed) -> dict[str, Any]:
    made = await follow(runtime, caller.user_id, Following(wish.url, wish.folder_id, wish.title))
    return {
        "subscription_id": str(made.id),
        "feed_id": str(made.feed.id),
        "url": made.feed.url,
        "untrusted": {"title": made.title[: said.LONGEST_TITLE]},
    }


async def ask_digest(runtime: Runtime, caller: Caller, wish: NewDigest) -> dict[str, Any]:
    made = await order_digest(runtime, caller.user, Scope(wish.folder_id))
    return {"digest_id": str(made.id), "status": made.status, "entries": made.entries}
