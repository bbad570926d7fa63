"""The daily look at the counts: a drift is an error in the program, repaired and logged."""

import structlog

from reedbed.domain.entries import MarkResult, Selection, StateChange, tag_names
from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.times import DAY, Instant
from reedbed.services.entries import NO_SUCH_ENTRY, NO_SUCH_LIST, make_tags
from reedbed.services.jobs import run_every
from reedbed.services.live import publish_counts, publish_states
from reedbed.services.runtime import Runtime
from reedbed.services.security import new_token, token_hash
from reedbed.store import tags
from reedbed.store.engine.database import Tx
from reedbed.store.entries import read as entries
from reedbed.store.read_state import rows as reading
from reedbed.store.read_state import stars as history
from reedbed.store.read_state import stars as marks
from reedbed.store.read_state import undo, unread
from reedbed.store.read_state.counts import recount, users_to_recount
from reedbed.store.read_state.mark import ResolvedSelection, mark_all
from reedbed.store.read_state.mark import mark as mark_chosen
from reedbed.store.visibility import feeds_of

MAX_IDS = 10_000
HISTORY_KEPT = 90 * DAY


async def mark(runtime: Runtime, user_id: int, selection: Selection, *, read: bool = True) -> MarkResult:
    _check(selection)
    token = new_token()
    async with runtime.db.write() as tx:
        feed_ids = await _feeds(tx, user_id, selection)
        if read and selection.is_whole_scope():
            count = await mark_all(
                tx, user_id, feed_ids, selection.up_to, token_hash=token_hash(token), now=runtime.now()
            )
        else:
            if selection.ids and not read:
                await marks.unmute(tx, user_id, list(selection.ids))
            chosen = await _resolve(tx, user_id, selection, feed_ids)
            count, _ = await mark_chosen(
                tx, user_id, chosen, read=read, token_hash=token_hash(token), now=runtime.now()
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


async def change_entries(runtime: Runtime, user_id: int, entry_ids: list[int], change: StateChange) -> None:
    """Set states of many entries, as reader apps do, without undo; what the user cannot see is left out.

    `tags` are added here, not set: an app names one label at a time.
    """
    names = tag_names(change.tags or ())
    async with runtime.db.write() as tx:
        if change.brings_back:
            await marks.unmute(tx, user_id, entry_ids)
        if change.read is not None:
            await (reading.read if change.read else reading.unread_again)(tx, user_id, entry_ids)
        if change.starred is not None:
            await _set_mark(runtime, tx, user_id, "starred", entry_ids, on=change.starred)
        if change.later is not None:
            await _set_mark(runtime, tx, user_id, "later", entry_ids, on=change.later)
        if names:
            await make_tags(runtime, tx, user_id, names)
            await tags.put(tx, user_id, entry_ids, names)
    await publish_states(runtime, user_id, entry_ids, change)


async def untag_entries(runtime: Runtime, user_id: int, entry_ids: list[int], names: tuple[str, ...]) -> None:
    async with runtime.db.write() as tx:
        await tags.take(tx, user_id, entry_ids, tag_names(names))
    await publish_states(runtime, user_id, entry_ids, StateChange())


async def delete_dead_processes(runtime: Runtime) -> int:
    """A chore: remove what can no longer be undone or shown; how many rows."""
    swept = 0
    while (rows := await _sweep_some(runtime)) is not None:
        swept += rows
    async with runtime.db.write() as tx:
        return swept + await history.delete_reads_before(tx, runtime.now() - HISTORY_KEPT)


async def _sweep_some(runtime: Runtime) -> int | None:
    async with runtime.db.write() as tx:
        return await unread.delete_expired(tx, runtime.now())


def _check(selection: Selection) -> None:
    if selection.ids is not None and len(selection.ids) > MAX_IDS:
        raise Invalid(f"At most {MAX_IDS} entries at once.", field="ids")
    if selection.above is not None and selection.below is not None:
        raise Invalid("Say either above or below an entry.", field="above")
    if selection.view == "history":
        raise Invalid("The history cannot be marked.", field="view")


async def _feeds(tx: Tx, user_id: int, selection: Selection) -> list[int] | None:
    if selection.feed_ids is not None:
        return list(selection.feed_ids)
    if selection.feed_id is None and selection.folder_id is None:
        return None
    found = await feeds_of(tx, user_id, feed_id=selection.feed_id, folder_id=selection.folder_id)
    if found is None:
        raise NotFound(NO_SUCH_LIST)
    return found


async def _resolve(
    tx: Tx, user_id: int, selection: Selection, feed_ids: list[int] | None
) -> ResolvedSelection:
    newer_than, before = await _around(tx, user_id, selection)
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
    )


async def _around(
    tx: Tx, user_id: int, selection: Selection
) -> tuple[tuple[Instant, int] | None, tuple[Instant, int] | None]:
    """The places between which the chosen entries lie."""
    anchor = selection.above if selection.above is not None else selection.below
    if anchor is None:
        return None, None
    place = await entries.place(tx, user_id, anchor)
    if place is None:
        raise NotFound(NO_SUCH_ENTRY)
    newest_on_top = selection.order == "newest"
    is_above = selection.above is not None
    return (place, None) if newest_on_top == is_above else (None, place)


async def _set_mark(
    runtime: Runtime, tx: Tx, user_id: int, mark: marks.Mark, entry_ids: list[int], *, on: bool
) -> None:
    if on:
        await marks.set_flag(tx, user_id, mark, entry_ids, runtime.now())
    else:
        await marks.clear_flag(tx, user_id, mark, entry_ids)


log = structlog.get_logger()


async def recount_each_day(runtime: Runtime) -> int:
    """Counting everything takes too long to do it with every sweep."""
    return await run_every(runtime, "recount", DAY, recount_everyone)


async def recount_everyone(runtime: Runtime) -> int:
    """How many counts were wrong; each user in a transaction of their own."""
    async with runtime.db.read() as tx:
        user_ids = await users_to_recount(tx)
    return sum([await _recount(runtime, user_id) for user_id in user_ids])


async def _recount(runtime: Runtime, user_id: int) -> int:
    async with runtime.db.write() as tx:
        drifts = await recount(tx, user_id)
    for drift in drifts:
        log.error(
            "count had drifted", user=user_id, feed=drift.feed_id, counted=drift.counted, real=drift.real
        )
    if drifts:
        await publish_counts(runtime, user_id)
    return len(drifts)
