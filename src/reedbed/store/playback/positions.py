"""How far each user has played each recording, and the queue of what comes next."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import BigInteger, bindparam, delete

from reedbed.domain.playback import Position, QueuedRecording, RecordingId
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, insert, row_of, select
from reedbed.store.entries.columns import visible
from reedbed.store.playback.recordings import SHOWN, queued_recording, with_everything
from reedbed.store.tables import playback_positions, playback_queue, recordings, users

_of_user = playback_positions.c.user_id == bindparam("owner", type_=BigInteger)
_COLUMNS = (
    playback_positions.c.seconds,
    playback_positions.c.total,
    playback_positions.c.done,
    playback_positions.c.played_at,
    playback_positions.c.changed_at,
)


def _position(seconds: int, total: int | None, done: bool, played_at: int, changed_at: int) -> Position:
    return Position(seconds, total, bool(done), played_at, changed_at)


def _with_id(entry_id: int, number: int, *columns: Any) -> tuple[RecordingId, Position]:
    return RecordingId(entry_id, number), _position(*columns)


_GET = Query(
    select(*_COLUMNS).where(
        _of_user,
        playback_positions.c.entry_id == bindparam("entry"),
        playback_positions.c.number == bindparam("of_number"),
    ),
    into=_position,
)
_PUT = Command(
    (_insert := insert(playback_positions)).on_conflict_do_update(
        index_elements=["user_id", "entry_id", "number"],
        set_={
            name: _insert.excluded[name] for name in ("started", "seconds", "total", "done", "played_at", "changed_at")
        },
        # A newer one may have been stored since it was compared.
        where=playback_positions.c.played_at <= _insert.excluded.played_at,
    ),
    columns=["user_id", "entry_id", "number", "started", "seconds", "total", "done", "played_at", "changed_at"],
)
_DELETE = Command(
    delete(playback_positions).where(
        _of_user,
        playback_positions.c.entry_id == bindparam("entry"),
        playback_positions.c.number == bindparam("of_number"),
    )
)
_CHANGED_SINCE = Query(
    select(playback_positions.c.entry_id, playback_positions.c.number, *_COLUMNS)
    .where(_of_user, playback_positions.c.changed_at >= bindparam("since"))
    .order_by(playback_positions.c.changed_at, playback_positions.c.entry_id, playback_positions.c.number)
    .limit(bindparam("limit", type_=BigInteger))
    .offset(bindparam("skipped", type_=BigInteger)),
    into=_with_id,
)


async def get(tx: Tx, user_id: int, id: RecordingId) -> Position | None:
    return await tx.one(_GET, _params(user_id, id))


async def put(tx: Tx, user_id: int, id: RecordingId, position: Position, *, started: int) -> bool:
    """False if a newer position is stored."""
    values = {
        "user_id": user_id,
        "entry_id": id.entry_id,
        "number": id.number,
        "started": started,
        "seconds": position.seconds,
        "total": position.total,
        "done": position.done,
        "played_at": position.played_at,
        "changed_at": position.changed_at,
    }
    return await tx.run(_PUT, values) == 1


async def forget(tx: Tx, user_id: int, id: RecordingId) -> bool:
    return await tx.run(_DELETE, _params(user_id, id)) == 1


async def changed_since(
    tx: Tx, user_id: int, since: Instant, *, limit: int, offset: int = 0
) -> list[tuple[RecordingId, Position]]:
    """In the order in which the server stored them."""
    params = {"owner": user_id, "since": since, "limit": limit, "skipped": offset}
    return await tx.all(_CHANGED_SINCE, params)


def _params(user_id: int, id: RecordingId) -> dict[str, int]:
    return {"owner": user_id, "entry": id.entry_id, "of_number": id.number}


# --- The queue

_is_own = playback_queue.c.user_id == bindparam("owner", type_=BigInteger)
_order = (playback_queue.c.place, playback_queue.c.entry_id, playback_queue.c.number)
_IDS = Query(
    select(playback_queue.c.entry_id, playback_queue.c.number).where(_is_own).order_by(*_order), into=RecordingId
)
_QUEUE = Query(
    select(*SHOWN)
    .select_from(
        with_everything(
            playback_queue.join(
                recordings,
                (recordings.c.entry_id == playback_queue.c.entry_id) & (recordings.c.number == playback_queue.c.number),
            )
        )
    )
    .where(playback_queue.c.user_id == bindparam("user_id", type_=BigInteger), visible(with_muted=True))
    .order_by(*_order),
    into=queued_recording,
)
_CLEAR = Command(delete(playback_queue).where(_is_own))
_ENQUEUE = Command(insert(playback_queue), columns=["user_id", "entry_id", "number", "place", "added_at"])
_ADDED = Query(
    select(playback_queue.c.entry_id, playback_queue.c.number, playback_queue.c.added_at).where(_is_own),
    into=row_of(int, int, int),
)
_LOCK = Command(select(users.c.id).where(users.c.id == bindparam("owner")).with_for_update(key_share=True))


async def lock_queue(tx: Tx, user_id: int) -> None:
    """Serialize changes of the user's queue. SQLite has one writer."""
    if tx.engine == "postgresql":
        await tx.run(_LOCK, {"owner": user_id})


async def queue_ids(tx: Tx, user_id: int) -> list[RecordingId]:
    return await tx.all(_IDS, {"owner": user_id})


async def queue(tx: Tx, user_id: int) -> list[QueuedRecording]:
    """Without entries that the user cannot see any more."""
    return await tx.all(_QUEUE, {"user_id": user_id})


async def set_queue(tx: Tx, user_id: int, ids: Sequence[RecordingId], now: Instant) -> None:
    added = {(entry_id, number): at for entry_id, number, at in await tx.all(_ADDED, {"owner": user_id})}
    await tx.run(_CLEAR, {"owner": user_id})
    rows = [
        {
            "user_id": user_id,
            "entry_id": id.entry_id,
            "number": id.number,
            "place": place,
            "added_at": added.get((id.entry_id, id.number), now),
        }
        for place, id in enumerate(ids)
    ]
    if rows:
        await tx.run_many(_ENQUEUE, rows)
