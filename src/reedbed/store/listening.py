"""What is read aloud for a user: its state, chapters and sound."""

from typing import Any, cast

import orjson
from sqlalchemy import BigInteger, bindparam, delete, or_, update

from reedbed.domain.failures import Failure, load_failure
from reedbed.domain.listening import SourceKind, Spoken, SpokenChapter
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, func, insert, select, total
from reedbed.store.tables import entry_bodies, recordings, spoken, spoken_parts

PART_BYTES = 1024 * 1024

_COLUMNS = (
    spoken.c.id,
    spoken.c.user_id,
    spoken.c.kind,
    spoken.c.source_id,
    spoken.c.title,
    spoken.c.language,
    spoken.c.status,
    spoken.c.error,
    spoken.c.media_type,
    spoken.c.length,
    spoken.c.seconds,
    spoken.c.chapters,
    spoken.c.transcript,
    spoken.c.created_at,
    spoken.c.entry_id,
)


def _spoken(*columns: Any) -> Spoken:
    id_, user_id, kind, source_id, title, language, status, error, media_type, length, seconds, *rest = columns
    chapters, transcript, created_at, entry_id = rest
    return Spoken(
        id_,
        user_id,
        cast("SourceKind", kind),
        source_id,
        title,
        language,
        status,
        load_failure(error),
        media_type,
        length,
        seconds,
        tuple(SpokenChapter(*chapter) for chapter in orjson.loads(chapters)),
        tuple((start, text) for start, text in orjson.loads(transcript)),
        created_at,
        entry_id,
    )


_is_own = spoken.c.user_id == bindparam("owner", type_=BigInteger)
_GET = Query(select(*_COLUMNS).where(_is_own, spoken.c.id == bindparam("spoken")), into=_spoken)
_OF_SOURCE = Query(
    select(*_COLUMNS).where(_is_own, spoken.c.kind == bindparam("kind"), spoken.c.source_id == bindparam("source")),
    into=_spoken,
)
_NEWEST = Query(
    select(*_COLUMNS).where(_is_own, spoken.c.status == "ready").order_by(spoken.c.id.desc()).limit(bindparam("limit")),
    into=_spoken,
)
_request = insert(spoken).values({name: bindparam(name) for name in ("user_id", "kind", "source_id", "created_at")})
_REQUEST = Query(
    _request.on_conflict_do_update(
        index_elements=["user_id", "kind", "source_id"],
        set_={"status": "pending", "error": None, "created_at": _request.excluded.created_at},
    ).returning(spoken.c.id),
    into=int,
)
_RESULT = ("title", "language", "media_type", "length", "seconds", "chapters", "transcript", "entry_id")
_FINISH = Command(
    update(spoken)
    .where(spoken.c.id == bindparam("spoken"))
    .values(
        status="ready",
        error=None,
        characters=spoken.c.characters + bindparam("new_characters", type_=BigInteger),  # it may be made again
        **{name: bindparam(f"new_{name}") for name in _RESULT},
    )
)
_FAIL = Command(
    update(spoken).where(spoken.c.id == bindparam("spoken")).values(status="failed", error=bindparam("why"))
)
_CHARACTERS = Query(
    select(func.coalesce(total(spoken.c.characters), 0)).where(
        _is_own, spoken.c.created_at >= bindparam("since", type_=BigInteger)
    ),
    into=int,
)
_ADD_PART = Command(insert(spoken_parts), columns=["spoken_id", "number", "data"])
_DELETE_PARTS = Command(delete(spoken_parts).where(spoken_parts.c.spoken_id == bindparam("spoken")))
_PART = Query(
    select(spoken_parts.c.data).where(
        spoken_parts.c.spoken_id == bindparam("spoken"), spoken_parts.c.number == bindparam("part")
    ),
    into=bytes,
)
_place = func.row_number().over(partition_by=spoken.c.user_id, order_by=spoken.c.id.desc()).label("place")
_placed = select(spoken.c.id, spoken.c.entry_id, spoken.c.created_at, _place).subquery()
_is_expired = or_(
    _placed.c.created_at < bindparam("before", type_=BigInteger), _placed.c.place > bindparam("most", type_=BigInteger)
)


def _clear(entry_ids: Any) -> tuple[Command, Command]:
    """Of entries without sound only the show notes are left."""
    return (
        Command(delete(recordings).where(recordings.c.entry_id.in_(entry_ids))),
        Command(update(entry_bodies).where(entry_bodies.c.entry_id.in_(entry_ids)).values(extra="{}")),
    )


_CLEAR_EXPIRED = _clear(select(_placed.c.entry_id).where(_is_expired))
_DELETE_EXPIRED = Command(delete(spoken).where(spoken.c.id.in_(select(_placed.c.id).where(_is_expired))))
_CLEAR_ONE = _clear(select(spoken.c.entry_id).where(spoken.c.id == bindparam("spoken")))
_DELETE_WITHOUT_ENTRY = Command(delete(spoken).where(spoken.c.status == "ready", spoken.c.entry_id.is_(None)))


async def get(tx: Tx, user_id: int, spoken_id: int) -> Spoken | None:
    return await tx.one(_GET, {"owner": user_id, "spoken": spoken_id})


async def of_source(tx: Tx, user_id: int, kind: SourceKind, source_id: int) -> Spoken | None:
    return await tx.one(_OF_SOURCE, {"owner": user_id, "kind": kind, "source": source_id})


async def newest(tx: Tx, user_id: int, *, limit: int) -> list[Spoken]:
    """Only what can be played."""
    return await tx.all(_NEWEST, {"owner": user_id, "limit": limit})


async def request(tx: Tx, user_id: int, kind: SourceKind, source_id: int, now: Instant) -> int:
    return await tx.get(_REQUEST, {"user_id": user_id, "kind": kind, "source_id": source_id, "created_at": now})


async def finish(tx: Tx, made: Spoken, characters: int) -> None:
    chapters = [(chapter.start, chapter.title, chapter.url) for chapter in made.chapters]
    values = {
        "title": made.title,
        "language": made.language,
        "media_type": made.media_type,
        "length": made.length,
        "seconds": made.seconds,
        "characters": characters,
        "chapters": orjson.dumps(chapters).decode(),
        "transcript": orjson.dumps(list(made.transcript)).decode(),
        "entry_id": made.entry_id,
    }
    await tx.run(_FINISH, {"spoken": made.id, **{f"new_{name}": value for name, value in values.items()}})


async def fail(tx: Tx, spoken_id: int, why: Failure) -> None:
    await tx.run(_FAIL, {"spoken": spoken_id, "why": why.dump()})


async def characters_since(tx: Tx, user_id: int, since: Instant) -> int:
    return await tx.get(_CHARACTERS, {"owner": user_id, "since": since})


async def delete_sound(tx: Tx, spoken_id: int) -> None:
    await tx.run(_DELETE_PARTS, {"spoken": spoken_id})


async def add_part(tx: Tx, spoken_id: int, number: int, data: bytes) -> None:
    await tx.run_many(_ADD_PART, [{"spoken_id": spoken_id, "number": number, "data": data}])


async def part(tx: Tx, spoken_id: int, number: int) -> bytes | None:
    return await tx.one(_PART, {"spoken": spoken_id, "part": number})


async def clear(tx: Tx, spoken_id: int) -> None:
    """Before it is made again: its entry loses the sound."""
    for command in _CLEAR_ONE:
        await tx.run(command, {"spoken": spoken_id})


async def delete_expired(tx: Tx, before: Instant, most: int) -> int:
    """Delete old sound, that beyond so many of a user, and that of deleted entries."""
    expired = {"before": before, "most": most}
    for command in _CLEAR_EXPIRED:
        await tx.run(command, expired)
    return await tx.run(_DELETE_EXPIRED, expired) + await tx.run(_DELETE_WITHOUT_ENTRY)
