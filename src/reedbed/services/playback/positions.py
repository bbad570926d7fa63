"""Playback: positions in recordings and the queue, which every device of a user shares."""

from collections.abc import AsyncGenerator, Sequence

from reedbed.domain.errors import Invalid, NotFound
from reedbed.domain.live import ChangeEvent
from reedbed.domain.playback import (
    MAX_QUEUE,
    Position,
    PositionReport,
    QueuedRecording,
    QueuePlace,
    RecordingId,
    check_report,
    check_speed,
    next_position,
    queue_with,
)
from reedbed.domain.records import record
from reedbed.services.runtime import Runtime
from reedbed.store.engine.database import Tx
from reedbed.store.playback import positions, recordings
from reedbed.store.visibility import lock_entry

BATCH_SIZE = 200
NO_SUCH = "There is no such recording."


@record
class StoredPosition:
    position: Position
    applied: bool
    """False: a newer position was known, which is returned instead."""


async def get_recording(runtime: Runtime, user_id: int, id: RecordingId) -> QueuedRecording:
    async with runtime.db.read() as tx:
        return await _visible(tx, user_id, id)


async def report_position(
    runtime: Runtime, user_id: int, id: RecordingId, report: PositionReport, *, source: str = ""
) -> StoredPosition:
    """Store the position unless a newer one is known. `source` names the player, which ignores its own events."""
    checked = check_report(report)
    async with runtime.db.read() as tx:
        await _visible(tx, user_id, id)
    async with runtime.db.write() as tx:
        if not await lock_entry(tx, id.entry_id):
            raise NotFound(NO_SUCH)
        stored = await apply_report(tx, runtime, user_id, id, checked)
    if stored.applied:
        await _publish(runtime, user_id, _position_event(id, stored.position, source))
    return stored


async def apply_report(
    tx: Tx, runtime: Runtime, user_id: int, id: RecordingId, report: PositionReport
) -> StoredPosition:
    """Part of a transaction; the caller has checked that the user can see the entry."""
    current = await positions.get(tx, user_id, id)
    new = next_position(current, report, runtime.now())
    started = report.seconds if report.started is None else report.started
    if new is None or not await positions.put(tx, user_id, id, new, started=started):
        newest = current or await positions.get(tx, user_id, id)
        assert newest is not None
        return StoredPosition(newest, applied=False)
    return StoredPosition(new, applied=True)


async def iter_played(runtime: Runtime, user_id: int) -> AsyncGenerator[QueuedRecording]:
    """Every recording with a position, in the order in which the positions were stored."""
    offset = 0
    while True:
        async with runtime.db.read() as tx:
            stored = await positions.changed_since(tx, user_id, 0, limit=BATCH_SIZE, offset=offset)
            found = {
                item.id: item for item in await recordings.of_entries(tx, user_id, [id.entry_id for id, _ in stored])
            }
        for id, _ in stored:
            if id in found:
                yield found[id]
        if len(stored) < BATCH_SIZE:
            return
        offset += BATCH_SIZE


async def forget_position(runtime: Runtime, user_id: int, id: RecordingId) -> None:
    """As if it had never been played."""
    async with runtime.db.write() as tx:
        forgotten = await positions.forget(tx, user_id, id)
    if forgotten:
        await _publish(runtime, user_id, {"what": "position", "entry_id": str(id.entry_id), "number": id.number})


async def set_feed_speed(runtime: Runtime, user_id: int, subscription_id: int, speed: int | None) -> None:
    """The speed of all recordings of a feed; None: the user's own speed."""
    checked = check_speed(speed, "speed")
    async with runtime.db.write() as tx:
        if not await recordings.set_speed(tx, user_id, subscription_id, checked):
            raise NotFound("Feed not found")
    await publish_queue(runtime, user_id, "")


# --- The queue


async def list_queue(runtime: Runtime, user_id: int) -> list[QueuedRecording]:
    async with runtime.db.read() as tx:
        return await positions.queue(tx, user_id)


async def enqueue(
    runtime: Runtime, user_id: int, id: RecordingId, place: QueuePlace, *, source: str = ""
) -> list[QueuedRecording]:
    """Put a recording at this place of the queue; the first one is what plays."""
    async with runtime.db.write() as tx:
        await _visible(tx, user_id, id)
        await positions.lock_queue(tx, user_id)
        queue = await _write_queue(tx, runtime, user_id, queue_with(await positions.queue_ids(tx, user_id), id, place))
    await publish_queue(runtime, user_id, source)
    return queue


async def remove_from_queue(
    runtime: Runtime, user_id: int, id: RecordingId, *, source: str = ""
) -> list[QueuedRecording]:
    async with runtime.db.write() as tx:
        await positions.lock_queue(tx, user_id)
        ids = await positions.queue_ids(tx, user_id)
        if id not in ids:
            raise NotFound("It is not in the queue.")
        queue = await _write_queue(tx, runtime, user_id, [item for item in ids if item != id])
    await publish_queue(runtime, user_id, source)
    return queue


async def replace_queue(
    runtime: Runtime, user_id: int, ids: Sequence[RecordingId], *, source: str = ""
) -> list[QueuedRecording]:
    """The whole queue in this order: to sort, clear and undo. Recordings the user cannot see are left out."""
    distinct = list(dict.fromkeys(ids))
    async with runtime.db.write() as tx:
        visible = {item.id for item in await recordings.of_entries(tx, user_id, [id.entry_id for id in distinct])}
        await positions.lock_queue(tx, user_id)
        queue = await _write_queue(tx, runtime, user_id, [id for id in distinct if id in visible])
    await publish_queue(runtime, user_id, source)
    return queue


async def _write_queue(tx: Tx, runtime: Runtime, user_id: int, ids: Sequence[RecordingId]) -> list[QueuedRecording]:
    if len(ids) > MAX_QUEUE:
        raise Invalid("There can be at most %(limit)s recordings in the queue.", field="items", limit=MAX_QUEUE)
    await positions.set_queue(tx, user_id, ids, runtime.now())
    return await positions.queue(tx, user_id)


async def _visible(tx: Tx, user_id: int, id: RecordingId) -> QueuedRecording:
    found = await recordings.get(tx, user_id, id)
    if found is None:
        raise NotFound(NO_SUCH)
    return found


# --- Events


def _position_event(id: RecordingId, position: Position, source: str) -> dict[str, object]:
    return {
        "what": "position",
        "entry_id": str(id.entry_id),
        "number": id.number,
        "position": position.seconds,
        "total": position.total,
        "done": position.done,
        "source": source,
    }


async def publish_queue(runtime: Runtime, user_id: int, source: str) -> None:
    await _publish(runtime, user_id, {"what": "queue", "source": source})


async def _publish(runtime: Runtime, user_id: int, data: dict[str, object]) -> None:
    await runtime.bus.publish(ChangeEvent("state_changed", user_id=user_id, data=data))
