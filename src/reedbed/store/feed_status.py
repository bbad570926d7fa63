"""How the feeds are doing, counted."""

from reedbed.store.database import Tx
from reedbed.store.sql import func, select
from reedbed.store.statements import Statement
from reedbed.store.tables import feed_fetch_state

_OF_ALL = Statement(select(feed_fetch_state.c.status, func.count()).group_by(feed_fetch_state.c.status))


async def of_all(tx: Tx) -> dict[str, int]:
    return {row[0]: row[1] for row in await tx.all(_OF_ALL)}
