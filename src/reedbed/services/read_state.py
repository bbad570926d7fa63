"""Read state: mark entries read or unread, undo, star, tag, and verify the unread counts daily."""

from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from reedbed.domain.entries import MarkResult, Selection, StateChange, tag_names
from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.times import DAY, Instant
from reedbed.services.entries import NO_SUCH_ENTRY, NO_SUCH_LIST, make_tags
from reedbed.services.live import publish_counts, publish_states
from reedbed.services.runtime import Runtime
from reedbed.services.security import new_token, token_hash
from reedbed.store import tags
from reedbed.store.engine.database import Tx
from reedbed.store.entries import read as entries
from reedbed.store.entries import repeats
from reedbed.store.read_state import rows as reading
from reedbed.store.read_state import stars, undo, unread
from reedbed.store.read_state.counts import recount, users_to_recount
from reedbed.store.read_state.mark import ResolvedSelection, mark_all
from reedbed.store.read_state.mark import mark as mark_chosen
from reedbed.store.visibility import feeds_of, has_hidden_feeds

if TYPE_CHECKING:
    from reedbed.domain.interest.model import Act

MAX_IDS = 10_000
HISTORY_RETENTION = 90 * DAY


async def mark(runtime: Runtime, user_id: int, selection: Selection, *, read: bool = True) -> MarkResult:
    _check_selection(selection)
    token = new_token()
    async with runtime.db.write() as tx:
        feed_ids = await _feed_ids(tx, user_id, selection)
        if read and selection.is_whole_scope():
            count = await mark_all(
                tx, user_id, feed_ids, selection.up_to, token_hash=token_hash(token), now=runtime.now()
            )
        else:
            if selection.ids and not read:
                await stars.unmute(tx, user_id, list(selection.ids))
            selection = await _with_repeated(tx, user_id, selection, read=read)
            resolved = await _resolve(tx, user_id, selection, feed_ids)
            count, _ = await mark_chosen(
                tx, user_id, resolved, read=read, token_hash=token_hash(token), now=runtime.now()
            )
    if count:
        await publish_states(runtime, user_id, selection.ids or (), StateChange(read=read))
    return MarkResult(count, token)


async def undo_last(runtime: Runtime, user_id: int, token: str) -> None:
    async with runtime.db.write() as tx:
        step = await undo.find(tx, user_id, token_hash(token), runtime.now())
        if step is None:
            raise NotFound("This cannot be undone any more.")
        if not await undo.apply_undo(tx, step):
            raise Conflict("Something newer was marked read. Undo that first.")
    await publish_states(runtime, user_id, (), StateChange(read=step.kind == "unread"))


async def change_entries(
    runtime: Runtime, user_id: int, entry_ids: list[int], change: StateChange, *, by_app: bool = False
) -> None:
    """Set states of many entries, as reader apps do, without undo. Entries the user cannot see are ignored.

    `tags` are added, not replaced: an app sends one label at a time. `by_app`: the user did it in a reader app, so
    that one entry marked read was probably opened there.
    """
    names = tag_names(change.tags or ())
    async with runtime.db.write() as tx:
        if change.unmutes:
            await stars.unmute(tx, user_id, entry_ids)
        together = entry_ids
        if change.read:
            together = await reading.mark_read(tx, user_id, entry_ids)
        elif change.read is not None:
            await reading.mark_unread(tx, user_id, entry_ids)
        if change.starred is not None:
            await _set_mark(runtime, tx, user_id, "starred", entry_ids, on=change.starred)
        if change.later is not None:
            await _set_mark(runtime, tx, user_id, "later", entry_ids, on=change.later)
        if names:
            await make_tags(runtime, tx, user_id, names)
            await tags.put(tx, user_id, entry_ids, names)
        if change.starred or change.later:
            await _learn(runtime, tx, user_id, entry_ids, "starred" if change.starred else "later")
        elif change.read and by_app and len(entry_ids) == 1:
            await _learn(runtime, tx, user_id, entry_ids, "app")
    await publish_states(runtime, user_id, entry_ids, change)
    if together != entry_ids:
        await publish_states(runtime, user_id, together[len(entry_ids) :], StateChange(read=True))


async def _learn(runtime: Runtime, tx: Tx, user_id: int, entry_ids: list[int], act: "Act") -> None:
    from reedbed.services import interest  # loaded with the first act

    await interest.learn(runtime, tx, user_id, entry_ids, act)


async def untag_entries(runtime: Runtime, user_id: int, entry_ids: list[int], names: tuple[str, ...]) -> None:
    async with runtime.db.write() as tx:
        await tags.take(tx, user_id, entry_ids, tag_names(names))
    await publish_states(runtime, user_id, entry_ids, StateChange())


async def delete_expired_undo(runtime: Runtime) -> int:
    """Chore: delete rows that can no longer be undone or shown; return how many."""
    deleted = 0
    while (rows := await _delete_some(runtime)) is not None:
        deleted += rows
    async with runtime.db.write() as tx:
        return deleted + await stars.delete_reads_before(tx, runtime.now() - HISTORY_RETENTION)


async def _delete_some(runtime: Runtime) -> int | None:
    async with runtime.db.write() as tx:
        return await unread.delete_expired(tx, runtime.now())


def _check_selection(selection: Selection) -> None:
    if selection.ids is not None and len(selection.ids) > MAX_IDS:
        raise Invalid("At most %(limit)s entries at once.", field="ids", limit=MAX_IDS)
    if selection.above is not None and selection.below is not None:
        raise Invalid("Say either above or below an entry.", field="above")
    if selection.view == "history":
        raise Invalid("The history cannot be marked.", field="view")


async def _feed_ids(tx: Tx, user_id: int, selection: Selection) -> list[int] | None:
    if selection.feed_ids is not None:
        return list(selection.feed_ids)
    if selection.feed_id is None and selection.folder_id is None:
        is_everything = selection.ids is None and selection.tag is None and selection.view in ("unread", "all")
        if not is_everything or not await has_hidden_feeds(tx, user_id, selection.view):
            return None
    of_unread = selection.view == "unread"
    feed_ids = await feeds_of(
        tx, user_id, feed_id=selection.feed_id, folder_id=selection.folder_id, of_unread=of_unread
    )
    if feed_ids is None:
        raise NotFound(NO_SUCH_LIST)
    return feed_ids


async def _resolve(tx: Tx, user_id: int, selection: Selection, feed_ids: list[int] | None) -> ResolvedSelection:
    newer_than, before = await _bounds(tx, user_id, selection)
    return ResolvedSelection(
        view=selection.view,
        ids=None if selection.ids is None else list(selection.ids),
        feed_ids=feed_ids,
        tag=selection.tag,
        up_to=selection.up_to,
        older_than=selection.older_than,
        arrived_by=selection.arrived_by,
        newer_than=newer_than,
        before=before,
        except_starred=selection.except_starred or None,
    )


async def _with_repeated(tx: Tx, user_id: int, selection: Selection, *, read: bool) -> Selection:
    """Add the entries whose URLs these repeat. An entry that is marked unread no longer counts as a repeat."""
    if selection.ids is None:
        return selection
    if not read:
        await repeats.forget(tx, user_id, selection.ids)
        return selection
    return replace(selection, ids=(*selection.ids, *await repeats.firsts_of(tx, user_id, selection.ids)))


async def _bounds(
    tx: Tx, user_id: int, selection: Selection
) -> tuple[tuple[Instant, int] | None, tuple[Instant, int] | None]:
    """The positions between which the selected entries lie."""
    anchor = selection.above if selection.above is not None else selection.below
    if anchor is None:
        return None, None
    position = await entries.place(tx, user_id, anchor)
    if position is None:
        raise NotFound(NO_SUCH_ENTRY)
    newest_on_top = selection.order == "newest"
    is_above = selection.above is not None
    return (position, None) if newest_on_top == is_above else (None, position)


async def _set_mark(
    runtime: Runtime, tx: Tx, user_id: int, mark: stars.Mark, entry_ids: list[int], *, on: bool
) -> None:
    if on:
        await stars.set_flag(tx, user_id, mark, entry_ids, runtime.now())
    else:
        await stars.clear_flag(tx, user_id, mark, entry_ids)


# --- Daily recount. A wrong count is a bug: it is repaired and logged.

log = structlog.get_logger()


async def recount_everyone(runtime: Runtime) -> int:
    """Recount each user in a separate transaction; return how many counts were wrong."""
    async with runtime.db.read() as tx:
        user_ids = await users_to_recount(tx)
    return sum([await _recount(runtime, user_id) for user_id in user_ids])


async def _recount(runtime: Runtime, user_id: int) -> int:
    async with runtime.db.write() as tx:
        mismatches = await recount(tx, user_id)
    for mismatch in mismatches:
        log.error(
            "count had drifted", user=user_id, feed=mismatch.feed_id, counted=mismatch.counted, real=mismatch.real
        )
    if mismatches:
        await publish_counts(runtime, user_id)
    return len(mismatches)
