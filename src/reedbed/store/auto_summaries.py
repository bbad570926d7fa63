"""Who wants summaries of what is new, and which entries those are."""

from sqlalchemy import BigInteger, bindparam, select

from reedbed.store.database import Tx
from reedbed.store.statements import Statement
from reedbed.store.tables import entries, unread, users

# Preferences are JSON without blanks; the few users are sorted out by reading them properly.
_PERHAPS = Statement(
    select(users.c.id)
    .where(users.c.disabled_at.is_(None), users.c.preferences.like(bindparam("wish")))
    .order_by(users.c.id)
)
_mine = (
    select(unread.c.entry_id)
    .join_from(unread, entries, entries.c.id == unread.c.entry_id)
    .where(unread.c.user_id == bindparam("user_id"), entries.c.words >= bindparam("words"))
    .limit(bindparam("most"))
)
_AFTER = Statement(
    _mine.where(unread.c.entry_id > bindparam("after", type_=BigInteger)).order_by(unread.c.entry_id)
)
_NEWEST = Statement(_mine.order_by(unread.c.entry_id.desc()))


async def users_who_may_wish(tx: Tx) -> list[int]:
    return [row[0] for row in await tx.all(_PERHAPS, {"wish": '%"auto_summaries":true%'})]


async def new_entries(tx: Tx, user_id: int, *, after: int | None, words: int, most: int) -> list[int]:
    """Unread ones of at least so many words, the oldest first; without a start, the newest of them."""
    params = {"user_id": user_id, "words": words, "most": most}
    if after is None:
        return sorted(row[0] for row in await tx.all(_NEWEST, params))
    return [row[0] for row in await tx.all(_AFTER, {**params, "after": after})]
