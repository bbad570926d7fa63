"""A small world for store tests: feeds, entries and readers, written the way the services write them."""

from dataclasses import dataclass, field
from itertools import count
from typing import Any

from sqlalchemy import bindparam, delete, insert, select, update

from reedbed.domain.entries import EntryRow, ViewQuery
from reedbed.store import subscriptions as followed
from reedbed.store.engine.database import Database
from reedbed.store.engine.statements import Command, Query
from reedbed.store.entries import read as store
from reedbed.store.read_state import rows as reading
from reedbed.store.read_state import unread
from reedbed.store.read_state.unread import Arrival
from reedbed.store.tables import entries, entry_bodies, feed_fetch_state, feeds, folders, subscriptions, users


def _by_name(*row: Any) -> dict[str, Any]:
    return dict(zip(subscriptions.c.keys(), row, strict=True))


_USER = Query(insert(users).returning(users.c.id), columns=["email", "created_at"], into=int)
_FEED = Query(insert(feeds).returning(feeds.c.id), columns=["url", "created_at"], into=int)
_STATE = Command(insert(feed_fetch_state), columns=["feed_id", "oldest_listed_id"])
_LISTS = Command(
    update(feed_fetch_state)
    .where(feed_fetch_state.c.feed_id == bindparam("feed"))
    .values(oldest_listed_id=bindparam("oldest"))
)
_ENTRY = Query(
    insert(entries).returning(entries.c.id),
    columns=["feed_id", "change_hash", "title", "url", "fetched_at", "sort_at"],
    into=int,
)
_BODY = Command(insert(entry_bodies), columns=["entry_id", "content", "extra"])
_FOLDER = Query(
    insert(folders).returning(folders.c.id), columns=["user_id", "parent_id", "name", "created_at"], into=int
)
_SUBSCRIBE = Command(insert(subscriptions), columns=["user_id", "feed_id", "folder_id", "subscribed_at"])
_OF = (subscriptions.c.user_id == bindparam("user")) & (subscriptions.c.feed_id == bindparam("feed"))
_PAUSE = Command(update(subscriptions).where(_OF).values(paused=bindparam("paused")))
_GONE_AT = Command(update(subscriptions).where(_OF).values(unsubscribed_at=bindparam("at")))
_MOVE = Command(update(subscriptions).where(_OF).values(folder_id=bindparam("folder")))
_SUBSCRIPTION = Query(select(subscriptions).where(_OF), into=_by_name)
_DELETE_ENTRY = Command(delete(entries).where(entries.c.id == bindparam("id")))


@dataclass
class Library:
    db: Database
    numbers: count = field(default_factory=lambda: count(1))

    async def user(self) -> int:
        return await self._value(_USER, email=f"reader{next(self.numbers)}@example.org", created_at=0)

    async def feed(self) -> int:
        feed = await self._value(_FEED, url=f"https://example.org/{next(self.numbers)}", created_at=0)
        await self._run(_STATE, feed_id=feed, oldest_listed_id=0)
        return feed

    async def folder(self, user: int, parent: int | None = None) -> int:
        name = f"folder {next(self.numbers)}"
        return await self._value(_FOLDER, user_id=user, parent_id=parent, name=name, created_at=0)

    async def reader(self, *followed: int) -> int:
        user = await self.user()
        for feed in followed:
            await self.follow(user, feed)
        return user

    async def follow(self, user: int, feed: int, folder: int | None = None) -> None:
        async with self.db.write() as tx:
            row = {"user_id": user, "feed_id": feed, "folder_id": folder, "subscribed_at": 0}
            await tx.run(_SUBSCRIBE, row)
            await unread.init_unread(tx, user, feed)

    async def entry(self, feed: int, *, sort_at: int | None = None, fetched_at: int = 0, arrive: bool = True) -> int:
        number = next(self.numbers)
        at = number * 1_000 if sort_at is None else sort_at
        async with self.db.write() as tx:
            row = {
                "feed_id": feed,
                "change_hash": str(number),
                "title": f"Entry {number}",
                "url": f"https://example.org/e/{number}",
                "fetched_at": fetched_at,
                "sort_at": at,
            }
            entry = await tx.get(_ENTRY, row)
            await tx.run(_BODY, {"entry_id": entry, "content": f"<p>Body {number}</p>", "extra": "{}"})
            if arrive:
                await unread.fan_out(tx, [Arrival(feed, [entry])])
        return entry

    async def lists_from(self, feed: int, entry: int) -> None:
        await self._run(_LISTS, feed=feed, oldest=entry)

    async def pause(self, user: int, feed: int, *, paused: bool) -> None:
        await self._run(_PAUSE, user=user, feed=feed, paused=paused)

    async def mute(self, user: int, feed: int, *, until: int | None) -> None:
        async with self.db.write() as tx:
            await followed.mute(tx, user, [feed], until)

    async def move(self, user: int, feed: int, folder: int | None) -> None:
        await self._run(_MOVE, user=user, feed=feed, folder=folder)

    async def leave(self, user: int, feed: int) -> None:
        async with self.db.write() as tx:
            await unread.park(tx, user, feed)
            await tx.run(_GONE_AT, {"user": user, "feed": feed, "at": 1})

    async def come_back(self, user: int, feed: int) -> None:
        async with self.db.write() as tx:
            await tx.run(_GONE_AT, {"user": user, "feed": feed, "at": None})
            await unread.restore_unread(tx, user, feed)

    async def read(self, user: int, *entry_ids: int) -> None:
        async with self.db.write() as tx:
            await reading.mark_read(tx, user, list(entry_ids))

    async def unread_again(self, user: int, *entry_ids: int) -> None:
        async with self.db.write() as tx:
            await reading.mark_unread(tx, user, list(entry_ids))

    async def forget(self, entry: int) -> None:
        async with self.db.write() as tx:
            await unread.delete_rows_of(tx, [entry])
            await tx.run(_DELETE_ENTRY, {"id": entry})

    async def subscription(self, user: int, feed: int) -> Any:
        async with self.db.read() as tx:
            return await tx.one(_SUBSCRIPTION, {"user": user, "feed": feed})

    async def unread_count(self, user: int, feed: int) -> int:
        return (await self.subscription(user, feed))["unread"]

    async def unread_ids(self, user: int) -> list[int]:
        return [row.id for row in await self.listed(user, ViewQuery("unread"))]

    async def listed(self, user: int, query: ViewQuery, limit: int = 50) -> list[EntryRow]:
        """The whole list, page by page."""
        rows: list[EntryRow] = []
        cursor = None
        async with self.db.read() as tx:
            while True:
                page = await store.page(tx, user, query, cursor, limit)
                assert page is not None
                rows.extend(page.rows)
                if page.next is None:
                    return rows
                cursor = page.next

    async def _value(self, statement: Query[int], **params: Any) -> int:
        async with self.db.write() as tx:
            return await tx.get(statement, params)

    async def _run(self, statement: Command, **params: Any) -> None:
        async with self.db.write() as tx:
            await tx.run(statement, params)
