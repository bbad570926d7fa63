"""Tags: made by using them, renamed, deleted."""

from collections.abc import Sequence

from reedbed.domain.entries import TagCount
from reedbed.domain.errors import Conflict, NotFound
from reedbed.domain.tags import MOST_TAGS, tag_name
from reedbed.services.announcing import announce_counts
from reedbed.services.runtime import Runtime
from reedbed.store import tags
from reedbed.store.database import Tx

NO_SUCH = "There is no such tag"


async def list_tags(runtime: Runtime, user_id: int) -> list[TagCount]:
    async with runtime.db.read() as tx:
        return await tags.counts(tx, user_id)


async def create_tag(runtime: Runtime, user_id: int, name: str) -> TagCount:
    wanted = tag_name(name)
    async with runtime.db.write() as tx:
        if await tags.id_of(tx, user_id, wanted) is not None:
            raise Conflict("You have a tag of this name already", field="name")
        await make_tags(runtime, tx, user_id, [wanted])
        made = await tags.id_of(tx, user_id, wanted)
    assert made is not None
    await announce_counts(runtime, user_id)
    return TagCount(made, wanted, 0, 0)


async def rename_tag(runtime: Runtime, user_id: int, tag_id: int, name: str) -> TagCount:
    wanted = tag_name(name)
    async with runtime.db.write() as tx:
        if await tags.name_of(tx, user_id, tag_id) is None:
            raise NotFound(NO_SUCH)
        if not await tags.rename(tx, user_id, tag_id, wanted):
            raise Conflict("You have a tag of this name already", field="name")
        renamed = next(tag for tag in await tags.counts(tx, user_id) if tag.id == tag_id)
    await announce_counts(runtime, user_id)
    return renamed


async def merge_tag(runtime: Runtime, user_id: int, tag_id: int, name: str) -> None:
    """Rename a tag to what another is called: the two become one."""
    async with runtime.db.write() as tx:
        into = await tags.id_of(tx, user_id, tag_name(name))
        if into is not None and into != tag_id:
            await tags.merge(tx, user_id, tag_id, into)
    await announce_counts(runtime, user_id)


async def delete_tag(runtime: Runtime, user_id: int, tag_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await tags.remove(tx, user_id, tag_id):
            raise NotFound(NO_SUCH)
    await announce_counts(runtime, user_id)


async def make_tags(runtime: Runtime, tx: Tx, user_id: int, names: Sequence[str]) -> None:
    """Make those that are missing; the names are checked already."""
    if not names:
        return
    await tags.add(tx, user_id, names, runtime.now())
    if await tags.count(tx, user_id) > MOST_TAGS:
        raise Conflict(f"There can be at most {MOST_TAGS} tags. Delete some first.")
