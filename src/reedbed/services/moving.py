"""Moving a whole collection to another database: every row, then a search index of its own."""

from collections.abc import Callable

from reedbed.domain.errors import CannotStart
from reedbed.services.search_upkeep import index_everything
from reedbed.store.moving import Moved, Tell, copy_everything
from reedbed.store.opening import open_database


async def move_collection(
    source_url: str, target_url: str, tell: Tell, tell_indexed: Callable[[int], None]
) -> Moved:
    """All or nothing: the source is only read, and a target that fails half-way is left empty."""
    if source_url == target_url:
        raise CannotStart("This is the database that is in use already.")
    moved = await copy_everything(source_url, target_url, tell)
    db = await open_database(target_url, pool_size=2)
    try:
        await index_everything(db, tell_indexed)
        await db.vacuum()
    finally:
        await db.close()
    return moved
