"""New entries arrive: what rules say about them, then who finds them unread."""

from collections.abc import Sequence

from reedbed.store import unread
from reedbed.store.database import Tx
from reedbed.store.unread import NewEntry


async def decide_on_arrival(tx: Tx, feed_id: int, entries: Sequence[NewEntry]) -> list[int]:
    """Called in the transaction that stored the entries, before anybody sees them; the users reached."""
    return await unread.fan_out(tx, feed_id, entries)
