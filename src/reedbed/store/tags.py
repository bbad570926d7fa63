"""A user's tags on entries."""

from collections.abc import Sequence

from sqlalchemy import BigInteger, ColumnElement, and_, bindparam, delete, update

from reedbed.domain.entries import TagCount
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, among, func, insert, select
from reedbed.store.entries.columns import visible
from reedbed.store.tables import entries, entry_tags, subscriptions, tags, unread
from reedbed.store.visibility import alive

_USER: ColumnElement[int] = bindparam("user_id", type_=BigInteger)

_COUNTS = Query(
    select(
        tags.c.id,
        tags.c.name,
        func.count(entry_tags.c.entry_id),
        func.count(unread.c.entry_id).filter(alive(unread, subscriptions)),
    )
    .select_from(
        tags.outerjoin(entry_tags, and_(entry_tags.c.user_id == _USER, entry_tags.c.tag_id == tags.c.id))
        .outerjoin(unread, and_(unread.c.user_id == _USER, unread.c.entry_id == entry_tags.c.entry_id))
        .outerjoin(subscriptions, and_(subscriptions.c.user_id == _USER, subscriptions.c.feed_id == unread.c.feed_id))
    )
    .where(tags.c.user_id == _USER)
    .group_by(tags.c.id, tags.c.name)
    .order_by(tags.c.name),
    into=TagCount,
)
_NAMES = Query(select(tags.c.name).where(tags.c.user_id == _USER).order_by(tags.c.name), into=str)
_ADD = Command(
    insert(tags).values(user_id=_USER, name=bindparam("name"), created_at=bindparam("now")).on_conflict_do_nothing()
)
_IDS = Query(select(tags.c.id).where(tags.c.user_id == _USER, among(tags.c.name, "names", tags.c.name.type)), into=int)
_COUNT = Query(select(func.count()).select_from(tags).where(tags.c.user_id == _USER), into=int)
_RESERVE_NAME = Query(
    insert(tags)
    .values(user_id=_USER, name=bindparam("name"), created_at=0)
    .on_conflict_do_nothing()
    .returning(tags.c.id),
    into=int,
)
_RENAME = Command(
    update(tags).where(tags.c.user_id == _USER, tags.c.id == bindparam("id")).values(name=bindparam("name"))
)
_NAME = Query(select(tags.c.name).where(tags.c.user_id == _USER, tags.c.id == bindparam("id")), into=str)
_REMOVE = Command(delete(tags).where(tags.c.user_id == _USER, tags.c.id == bindparam("id")))
_ADD_TO_ENTRIES = Command(
    insert(entry_tags)
    .from_select(
        ["user_id", "tag_id", "sort_at", "entry_id"],
        select(_USER, tags.c.id, entries.c.sort_at, entries.c.id)
        .where(
            tags.c.user_id == _USER,
            among(tags.c.name, "names", tags.c.name.type),
            among(entries.c.id, "ids"),
            visible(),
        )
        .with_for_update(read=True, key_share=True, of=entries),
    )
    .on_conflict_do_nothing()
)
_COPY_ENTRIES = Command(
    insert(entry_tags)
    .from_select(
        ["user_id", "tag_id", "sort_at", "entry_id"],
        select(
            entry_tags.c.user_id, bindparam("into", type_=BigInteger), entry_tags.c.sort_at, entry_tags.c.entry_id
        ).where(entry_tags.c.user_id == _USER, entry_tags.c.tag_id == bindparam("id")),
    )
    .on_conflict_do_nothing()
)
_select_ids = select(tags.c.id).where(tags.c.user_id == _USER, among(tags.c.name, "names", tags.c.name.type))
_REMOVE_FROM_ENTRIES = Command(
    delete(entry_tags).where(
        entry_tags.c.user_id == _USER, among(entry_tags.c.entry_id, "ids"), entry_tags.c.tag_id.in_(_select_ids)
    )
)
_REMOVE_OTHERS = Command(
    delete(entry_tags).where(
        entry_tags.c.user_id == _USER, among(entry_tags.c.entry_id, "ids"), entry_tags.c.tag_id.not_in(_select_ids)
    )
)


async def counts(tx: Tx, user_id: int) -> list[TagCount]:
    """Return every tag with its number of entries and of unread entries."""
    return await tx.all(_COUNTS, {"user_id": user_id})


async def names(tx: Tx, user_id: int) -> list[str]:
    return await tx.all(_NAMES, {"user_id": user_id})


async def count(tx: Tx, user_id: int) -> int:
    return await tx.get(_COUNT, {"user_id": user_id})


async def add(tx: Tx, user_id: int, names: Sequence[str], now: Instant) -> None:
    """Create the tags that do not exist yet."""
    await tx.run_many(_ADD, [{"user_id": user_id, "name": name, "now": now} for name in names])


async def id_of(tx: Tx, user_id: int, name: str) -> int | None:
    return await tx.one(_IDS, {"user_id": user_id, "names": [name]})


async def name_of(tx: Tx, user_id: int, tag_id: int) -> str | None:
    return await tx.one(_NAME, {"user_id": user_id, "id": tag_id})


async def rename(tx: Tx, user_id: int, tag_id: int, name: str) -> bool:
    """Return False if another tag has this name.

    A temporary row reserves the name: a concurrent transaction waits for us, where a plain UPDATE would fail.
    """
    reserved_id = await tx.one(_RESERVE_NAME, {"user_id": user_id, "name": name})
    if reserved_id is None:
        return await name_of(tx, user_id, tag_id) == name
    await remove(tx, user_id, reserved_id)
    return await tx.run(_RENAME, {"user_id": user_id, "id": tag_id, "name": name}) == 1


async def merge(tx: Tx, user_id: int, tag_id: int, into: int) -> None:
    """Add the tag `into` to all entries of `tag_id`, then delete `tag_id`."""
    await tx.run(_COPY_ENTRIES, {"user_id": user_id, "id": tag_id, "into": into})
    await remove(tx, user_id, tag_id)


async def remove(tx: Tx, user_id: int, tag_id: int) -> bool:
    return await tx.run(_REMOVE, {"user_id": user_id, "id": tag_id}) == 1


async def put(tx: Tx, user_id: int, entry_ids: list[int], names: Sequence[str]) -> None:
    """Add existing tags to those of the entries that this user can see."""
    await tx.run(_ADD_TO_ENTRIES, {"user_id": user_id, "ids": entry_ids, "names": list(names)})


async def take(tx: Tx, user_id: int, entry_ids: list[int], names: Sequence[str]) -> None:
    await tx.run(_REMOVE_FROM_ENTRIES, {"user_id": user_id, "ids": entry_ids, "names": list(names)})


async def replace(tx: Tx, user_id: int, entry_ids: list[int], names: Sequence[str]) -> None:
    """Set exactly these tags."""
    await put(tx, user_id, entry_ids, names)
    await tx.run(_REMOVE_OTHERS, {"user_id": user_id, "ids": entry_ids, "names": list(names)})
