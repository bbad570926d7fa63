"""Saved searches of one user."""

from collections.abc import Sequence

from sqlalchemy import bindparam, delete, update

from reedbed.domain.search.query import SavedSearch
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, func, insert, select
from reedbed.store.tables import searches, users

_ROW = (searches.c.id, searches.c.name, searches.c.query, searches.c.position, searches.c.created_at)
_mine = searches.c.user_id == bindparam("owner")
_this = searches.c.id == bindparam("search")

_LIST = Query(select(*_ROW).where(_mine).order_by(searches.c.position, searches.c.id), into=SavedSearch)
_GET = Query(select(*_ROW).where(_mine, _this), into=SavedSearch)
_LOCK = Command(select(users.c.id).where(users.c.id == bindparam("owner")).with_for_update(key_share=True))
_COUNT = Query(select(func.count()).select_from(searches).where(_mine), into=int)
_ADD = Query(
    insert(searches)
    .from_select(
        ["user_id", "name", "query", "position", "created_at"],
        select(
            bindparam("user_id", type_=searches.c.user_id.type),
            bindparam("name", type_=searches.c.name.type),
            bindparam("query", type_=searches.c.query.type),
            func.coalesce(func.max(searches.c.position), -1) + 1,
            bindparam("created_at", type_=searches.c.created_at.type),
        ).where(searches.c.user_id == bindparam("user_id")),
    )
    .on_conflict_do_nothing()
    .returning(*_ROW),
    into=SavedSearch,
)
_other = searches.alias("other")
_CHANGE = Command(
    update(searches)
    .where(
        _mine,
        _this,
        ~select(_other.c.id)
        .where(
            _other.c.user_id == bindparam("owner"),
            _other.c.name == bindparam("new_name"),
            _other.c.id != bindparam("search"),
        )
        .exists(),
    )
    .values(name=bindparam("new_name"), query=bindparam("new_query"))
)
_SET_POSITION = Command(update(searches).where(_mine, _this).values(position=bindparam("place")))
_DELETE = Command(delete(searches).where(_mine, _this))


async def of_user(tx: Tx, user_id: int) -> list[SavedSearch]:
    return await tx.all(_LIST, {"owner": user_id})


async def get(tx: Tx, user_id: int, search_id: int) -> SavedSearch | None:
    return await tx.one(_GET, {"owner": user_id, "search": search_id})


async def count(tx: Tx, user_id: int) -> int:
    """Also locks on PostgreSQL: no other transaction can add a search of this user until this one ends."""
    if tx.engine == "postgresql":
        await tx.run(_LOCK, {"owner": user_id})
    return await tx.get(_COUNT, {"owner": user_id})


async def add(tx: Tx, user_id: int, name: str, query: str, now: Instant) -> SavedSearch | None:
    """None if the name is taken."""
    return await tx.one(_ADD, {"user_id": user_id, "name": name, "query": query, "created_at": now})


async def change(tx: Tx, user_id: int, search_id: int, name: str, query: str) -> bool:
    """False if the name is taken or the search does not exist."""
    params = {"owner": user_id, "search": search_id, "new_name": name, "new_query": query}
    return await tx.run(_CHANGE, params) > 0


async def place(tx: Tx, user_id: int, search_ids: Sequence[int]) -> None:
    """Store this order."""
    rows = [{"owner": user_id, "search": search_id, "place": position} for position, search_id in enumerate(search_ids)]
    await tx.run_many(_SET_POSITION, rows)


async def remove(tx: Tx, user_id: int, search_id: int) -> bool:
    return await tx.run(_DELETE, {"owner": user_id, "search": search_id}) > 0
