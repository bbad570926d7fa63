"""Where shared feeds were before they moved, so that who knows an old address still finds the feed."""

from sqlalchemy import bindparam, update
from sqlalchemy.dialects.postgresql import insert

from reedbed.store.database import Tx
from reedbed.store.statements import Statement
from reedbed.store.tables import former_addresses

_left = insert(former_addresses).values(url=bindparam("url"), feed_id=bindparam("feed_id"))
_REMEMBER = Statement(
    _left.on_conflict_do_update(index_elements=["url"], set_={"feed_id": _left.excluded.feed_id})
)
_CARRY_OVER = Statement(
    update(former_addresses)
    .where(former_addresses.c.feed_id == bindparam("old"))
    .values(feed_id=bindparam("new"))
)


async def remember(tx: Tx, url: str, feed_id: int) -> None:
    """What was at this address is now this feed."""
    await tx.run(_REMEMBER, {"url": url, "feed_id": feed_id})


async def carry_over(tx: Tx, old: int, new: int) -> None:
    """One feed becomes part of another: its earlier addresses lead there too."""
    await tx.run(_CARRY_OVER, {"old": old, "new": new})
