"""Read entries, their lists and their revisions; change an entry's state; manage tags."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from reedbed.domain.entries import (
    EVERY_LIST,
    MAX_TAGS,
    Entry,
    EntryPage,
    EntryRow,
    EntryVersion,
    ListSettings,
    Post,
    StateChange,
    States,
    TagCount,
    ViewQuery,
    check_list_settings,
    is_post,
    parse_list_name,
    read_post,
    tag_name,
    tag_names,
)
from reedbed.domain.errors import Conflict, NotFound
from reedbed.domain.images import size_in
from reedbed.domain.pagination import Cursor
from reedbed.domain.records import record
from reedbed.domain.text import Difference, differences
from reedbed.ingest.text import clean_text
from reedbed.services.live import publish_counts, publish_states
from reedbed.services.runtime import Runtime
from reedbed.store import folders, subscriptions, tags
from reedbed.store.engine.database import Tx
from reedbed.store.entries import read as entries
from reedbed.store.entries import read as list_settings
from reedbed.store.read_state import rows as reading
from reedbed.store.read_state import stars as marks
from reedbed.store.read_state.stars import Mark

NO_SUCH = "There is no such tag"

# --- Tags


async def list_tags(runtime: Runtime, user_id: int) -> list[TagCount]:
    async with runtime.db.read() as tx:
        return await tags.counts(tx, user_id)


async def create_tag(runtime: Runtime, user_id: int, name: str) -> TagCount:
    checked_name = tag_name(name)
    async with runtime.db.write() as tx:
        if await tags.id_of(tx, user_id, checked_name) is not None:
            raise Conflict("You have a tag of this name already", field="name")
        await make_tags(runtime, tx, user_id, [checked_name])
        tag_id = await tags.id_of(tx, user_id, checked_name)
    assert tag_id is not None
    await publish_counts(runtime, user_id)
    return TagCount(tag_id, checked_name, 0, 0)


async def rename_tag(runtime: Runtime, user_id: int, tag_id: int, name: str) -> TagCount:
    checked_name = tag_name(name)
    async with runtime.db.write() as tx:
        if await tags.name_of(tx, user_id, tag_id) is None:
            raise NotFound(NO_SUCH)
        if not await tags.rename(tx, user_id, tag_id, checked_name):
            raise Conflict("You have a tag of this name already", field="name")
        renamed = next(tag for tag in await tags.counts(tx, user_id) if tag.id == tag_id)
    await publish_counts(runtime, user_id)
    return renamed


async def merge_tag(runtime: Runtime, user_id: int, tag_id: int, name: str) -> None:
    """Merge a tag into the tag with this name, if there is another one."""
    async with runtime.db.write() as tx:
        target_id = await tags.id_of(tx, user_id, tag_name(name))
        if target_id is not None and target_id != tag_id:
            await tags.merge(tx, user_id, tag_id, target_id)
    await publish_counts(runtime, user_id)


async def delete_tag(runtime: Runtime, user_id: int, tag_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await tags.remove(tx, user_id, tag_id):
            raise NotFound(NO_SUCH)
    await publish_counts(runtime, user_id)


async def make_tags(runtime: Runtime, tx: Tx, user_id: int, names: Sequence[str]) -> None:
    """Create the tags that do not exist yet. The names must be checked already."""
    if not names:
        return
    await tags.add(tx, user_id, names, runtime.now())
    if await tags.count(tx, user_id) > MAX_TAGS:
        raise Conflict("There can be at most %(limit)s tags. Delete some first.", limit=MAX_TAGS)


# --- Entries

NO_SUCH_ENTRY = "There is no such entry"
NO_SUCH_LIST = "There is no such feed or folder"
PICTURE_WITHIN = 4_000
"""Characters of a text in which the picture of its row is looked for."""


@record
class Revision:
    """The difference between a version and the one before it."""

    version: EntryVersion
    title: tuple[Difference, ...]
    text: tuple[Difference, ...]


async def list_entries(
    runtime: Runtime, user_id: int, query: ViewQuery, cursor: Cursor | None, limit: int
) -> EntryPage:
    if query.order == "interest":
        return await _list_by_interest(runtime, user_id, query, cursor, limit)
    async with runtime.db.read() as tx:
        page = await entries.page(tx, user_id, query, cursor, limit)
    if page is None:
        raise NotFound(NO_SUCH_LIST)
    return page


async def _list_by_interest(
    runtime: Runtime, user_id: int, query: ViewQuery, cursor: Cursor | None, limit: int
) -> EntryPage:
    from reedbed.services import interest  # off until wanted

    async with runtime.db.read() as tx:
        ranked = await interest.list_ranked(tx, user_id, query, cursor, limit, runtime.now())
    if ranked is None:
        raise NotFound(NO_SUCH_LIST)
    await interest.keep_ranking(runtime, user_id, ranked.to_keep)
    return ranked.page


async def get_entry(runtime: Runtime, user_id: int, entry_id: int) -> Entry:
    async with runtime.db.read() as tx:
        entry = await entries.get(tx, user_id, entry_id)
    if entry is None:
        raise NotFound(NO_SUCH_ENTRY)
    return entry


async def posts_of(tx: Tx, user_id: int, rows: Iterable[EntryRow]) -> dict[int, Post]:
    """What those of these entries hold that have no title of their own, by id."""
    posts = {row.id: row for row in rows if is_post(row)}
    if not posts:
        return {}
    sources = await entries.post_sources(tx, user_id, list(posts))
    return {source.entry_id: read_post(posts[source.entry_id], source) for source in sources}


async def picture_sizes(tx: Tx, user_id: int, rows: Iterable[EntryRow]) -> dict[int, tuple[int, int]]:
    """The width and height of the pictures in lists, by entry, as far as their texts give them."""
    images = {row.id: row.image for row in rows if row.image}
    if not images:
        return {}
    sources = await entries.post_sources(tx, user_id, list(images), PICTURE_WITHIN)
    sizes = ((source.entry_id, size_in(source.content, images[source.entry_id])) for source in sources)
    return {entry_id: size for entry_id, size in sizes if size}


async def read_posts(runtime: Runtime, user_id: int, rows: Sequence[EntryRow]) -> dict[int, Post]:
    if not any(map(is_post, rows)):
        return {}
    async with runtime.db.read() as tx:
        return await posts_of(tx, user_id, rows)


async def get_revisions(runtime: Runtime, user_id: int, entry_id: int) -> list[Revision]:
    """All versions, the current one first, each with its differences from the previous one."""
    async with runtime.db.read() as tx:
        entry = await entries.get(tx, user_id, entry_id)
        if entry is None:
            raise NotFound(NO_SUCH_ENTRY)
        older = await entries.versions(tx, entry_id)
    current = EntryVersion(entry.row.version, entry.row.title, entry.content, None)
    return _revisions([current, *older])


async def change_entry(runtime: Runtime, user_id: int, entry_id: int, change: StateChange) -> EntryRow:
    """Set states of one entry. Marking it read also adds it to the reading history."""
    names = None if change.tags is None else tag_names(change.tags)
    async with runtime.db.write() as tx:
        if change.unmutes:
            await marks.unmute(tx, user_id, [entry_id])
        before = await entries.rows_by_ids(tx, user_id, [entry_id])
        if not before:
            raise NotFound(NO_SUCH_ENTRY)
        together = await _set_read(runtime, tx, user_id, entry_id, change.read)
        await _set_mark(runtime, tx, user_id, entry_id, "starred", change.starred)
        await _set_mark(runtime, tx, user_id, entry_id, "later", change.later)
        await _learn(runtime, tx, user_id, entry_id, change)
        if names is not None:
            await make_tags(runtime, tx, user_id, names)
            await tags.replace(tx, user_id, [entry_id], names)
        after = await entries.rows_by_ids(tx, user_id, [entry_id])
        if not after and (change.starred or change.later or names):
            # It was removed concurrently: otherwise the new star or tag would make it visible.
            raise NotFound(NO_SUCH_ENTRY)
    await publish_states(runtime, user_id, [entry_id], change)
    if len(together) > 1:
        await publish_states(runtime, user_id, together[1:], StateChange(read=True))
    # An entry of an unsubscribed feed is visible only while it is starred, saved or tagged.
    return after[0] if after else replace(before[0], states=States(read=True, starred=False, later=False))


async def _learn(runtime: Runtime, tx: Tx, user_id: int, entry_id: int, change: StateChange) -> None:
    """Being marked read says nothing: the page reports separately how long an entry was open."""
    if not (change.starred or change.later):
        return
    from reedbed.services import interest

    if change.starred:
        await interest.learn(runtime, tx, user_id, [entry_id], "starred")
    if change.later:
        await interest.learn(runtime, tx, user_id, [entry_id], "later")


async def _set_read(runtime: Runtime, tx: Tx, user_id: int, entry_id: int, read: bool | None) -> list[int]:
    """Return the entries that were marked, with what the entry repeats."""
    if read:
        together = await reading.mark_read(tx, user_id, [entry_id])
        await marks.record_reads(tx, user_id, [entry_id], runtime.now())
        return together
    if read is not None:
        await reading.mark_unread(tx, user_id, [entry_id])
    return [entry_id]


async def _set_mark(runtime: Runtime, tx: Tx, user_id: int, entry_id: int, mark: Mark, value: bool | None) -> None:
    if value:
        await marks.set_flag(tx, user_id, mark, [entry_id], runtime.now())
    elif value is not None:
        await marks.clear_flag(tx, user_id, mark, [entry_id])


def _revisions(versions: Sequence[EntryVersion]) -> list[Revision]:
    texts = [clean_text(version.content) for version in versions]
    return [
        Revision(
            version=version,
            title=differences(versions[index + 1].title if index + 1 < len(versions) else "", version.title),
            text=differences(texts[index + 1] if index + 1 < len(versions) else "", texts[index]),
        )
        for index, version in enumerate(versions)
    ]


# --- Settings of lists


async def get_list_settings(runtime: Runtime, user_id: int) -> Mapping[str, ListSettings]:
    """By the name of the list; `EVERY_LIST` for all lists without their own."""
    async with runtime.db.read() as tx:
        return await list_settings.of_user(tx, user_id)


async def keep_list_settings(
    runtime: Runtime, user_id: int, name: str, settings: ListSettings, *, for_every_list: bool = False
) -> None:
    """Keep how this list is shown; `for_every_list` removes the settings of single lists."""
    checked = check_list_settings(settings)
    kind, rest = parse_list_name(name)
    async with runtime.db.write() as tx:
        if not await _list_exists(tx, user_id, kind, rest):
            raise NotFound("There is no such list.")
        if for_every_list:
            await list_settings.remove_all(tx, user_id)
        await list_settings.keep(tx, user_id, EVERY_LIST if for_every_list else name, checked)


async def _list_exists(tx: Tx, user_id: int, kind: str, rest: str) -> bool:
    match kind:
        case "feed":
            return await subscriptions.get(tx, user_id, int(rest)) is not None
        case "folder":
            return await folders.get(tx, user_id, int(rest)) is not None
        case "tag":
            return await tags.id_of(tx, user_id, rest) is not None
        case _:
            return True
