"""A user's digests and when the next one is to be written."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import orjson
from sqlalchemy import BigInteger, bindparam, delete, false, insert, true, update
from sqlalchemy.dialects.postgresql import insert as upsert

from reedbed.domain.digests import Digest, DigestScope, DigestText, Paragraph, Sentence, Source
from reedbed.domain.records import record
from reedbed.domain.times import LEEWAY, Instant
from reedbed.store.engine.database import Row, Tx
from reedbed.store.engine.statements import HIGHEST, Statement, select
from reedbed.store.tables import digest_schedules, digests


def scope_text(scope: DigestScope) -> str:
    """The same scope is always the same text, so that it can be looked for."""
    given = {name: value for name, value in asdict(scope).items() if value is not None}
    return orjson.dumps(given, option=orjson.OPT_SORT_KEYS).decode()


def scope_of(text: str) -> DigestScope:
    return DigestScope(**orjson.loads(text))


def sentences_of(kept: Iterable[Mapping[str, Any]]) -> tuple[Sentence, ...]:
    return tuple(Sentence(one["text"], tuple(one["entry_ids"]), one["language"]) for one in kept)


def sources_of(kept: Iterable[Mapping[str, Any]]) -> tuple[Source, ...]:
    return tuple(Source(**one) for one in kept)


@record
class Schedule:
    user_id: int
    minute: int
    zone: str
    scope: DigestScope
    mail: bool
    next_at: Instant


_FACTS = (
    digests.c.id,
    digests.c.user_id,
    digests.c.status,
    digests.c.scope,
    digests.c.model,
    digests.c.language,
    digests.c.entries,
    digests.c.error,
    digests.c.since,
    digests.c.until,
    digests.c.created_at,
    digests.c.finished_at,
)
_mine = digests.c.user_id == bindparam("owner")
_ADD = Statement(
    insert(digests).returning(digests.c.id),
    columns=["user_id", "scope", "model", "language", "since", "until", "created_at"],
)
_GET = Statement(select(*_FACTS, digests.c.content).where(digests.c.id == bindparam("digest"), _mine))
_NEWEST = Statement(
    select(*_FACTS, digests.c.content)
    .where(_mine, digests.c.id < bindparam("before", type_=BigInteger))
    .order_by(digests.c.id.desc())
    .limit(bindparam("most"))
)
_LAST_READY = Statement(
    select(digests.c.until)
    .where(
        _mine,
        digests.c.status == "ready",
        digests.c.scope == bindparam("about"),
        digests.c.until <= bindparam("limit"),
    )
    .order_by(digests.c.id.desc())
    .limit(1)
)
_pending = (digests.c.id == bindparam("digest"), digests.c.status == "pending")
_FINISH = Statement(
    update(digests)
    .where(*_pending)
    .values(
        status="ready",
        content=bindparam("words"),
        model=bindparam("by"),
        language=bindparam("spoken"),
        entries=bindparam("number"),
        finished_at=bindparam("now"),
    )
)
_FAIL = Statement(
    update(digests)
    .where(*_pending)
    .values(status="failed", error=bindparam("why"), finished_at=bindparam("now"))
)
_DELETE = Statement(delete(digests).where(digests.c.id == bindparam("digest"), _mine))

_SCHEDULED = ("user_id", "minute", "zone", "scope", "mail", "next_at")
_schedule = upsert(digest_schedules).values({name: bindparam(name) for name in _SCHEDULED})
_SCHEDULE = Statement(
    _schedule.on_conflict_do_update(
        index_elements=["user_id"], set_={name: _schedule.excluded[name] for name in _SCHEDULED[1:]}
    )
)
_COLUMNS = tuple(digest_schedules.c[name] for name in _SCHEDULED)
_OF = Statement(select(*_COLUMNS).where(digest_schedules.c.user_id == bindparam("owner")))
_DUE = Statement(
    select(*_COLUMNS)
    .where(digest_schedules.c.next_at <= bindparam("now"))
    .order_by(digest_schedules.c.next_at)
    .limit(bindparam("most"))
)
_MOVE = Statement(
    update(digest_schedules)
    .where(digest_schedules.c.user_id == bindparam("owner"), digest_schedules.c.next_at == bindparam("was"))
    .values(next_at=bindparam("then"))
)
_STOP_MAIL = Statement(
    update(digest_schedules)
    .where(digest_schedules.c.user_id == bindparam("owner"), digest_schedules.c.mail == true())
    .values(mail=false())
)
_UNSCHEDULE = Statement(delete(digest_schedules).where(digest_schedules.c.user_id == bindparam("owner")))


async def add(
    tx: Tx,
    user_id: int,
    scope: DigestScope,
    *,
    model: str,
    language: str,
    since: Instant,
    now: Instant,
) -> int:
    params = {
        "user_id": user_id,
        "scope": scope_text(scope),
        "model": model,
        "language": language,
        "since": since,
        "until": now,
        "created_at": now,
    }
    return await tx.value(_ADD, params)


async def get(tx: Tx, user_id: int, digest_id: int) -> Digest | None:
    row = await tx.one(_GET, {"owner": user_id, "digest": digest_id})
    return None if row is None else _digest(row)


async def newest(tx: Tx, user_id: int, *, limit: int, before: int | None = None) -> Sequence[Digest]:
    params = {"owner": user_id, "before": HIGHEST if before is None else before, "most": limit}
    return [_digest(row) for row in await tx.all(_NEWEST, params)]


async def last_until(tx: Tx, user_id: int, scope: DigestScope, now: Instant) -> Instant | None:
    """Up to when the last one of this kind tells; what only a wrong clock can have written does not count."""
    params = {"owner": user_id, "about": scope_text(scope), "limit": now + LEEWAY}
    return await tx.value(_LAST_READY, params)


async def finish(
    tx: Tx, digest_id: int, text: DigestText, *, model: str, language: str, entries: int, now: Instant
) -> None:
    words = orjson.dumps(asdict(text)).decode()
    params = {
        "digest": digest_id,
        "words": words,
        "by": model,
        "spoken": language,
        "number": entries,
        "now": now,
    }
    await tx.run(_FINISH, params)


async def fail(tx: Tx, digest_id: int, error: str, now: Instant) -> None:
    await tx.run(_FAIL, {"digest": digest_id, "why": error, "now": now})


async def remove(tx: Tx, user_id: int, digest_id: int) -> bool:
    return await tx.run(_DELETE, {"owner": user_id, "digest": digest_id}) == 1


async def schedule(tx: Tx, wanted: Schedule) -> None:
    await tx.run(
        _SCHEDULE,
        {
            "user_id": wanted.user_id,
            "minute": wanted.minute,
            "zone": wanted.zone,
            "scope": scope_text(wanted.scope),
            "mail": wanted.mail,
            "next_at": wanted.next_at,
        },
    )


async def schedule_of(tx: Tx, user_id: int) -> Schedule | None:
    row = await tx.one(_OF, {"owner": user_id})
    return None if row is None else _scheduled(row)


async def due(tx: Tx, now: Instant, *, most: int) -> list[Schedule]:
    return [_scheduled(row) for row in await tx.all(_DUE, {"now": now, "most": most})]


async def move_on(tx: Tx, found: Schedule, to: Instant) -> bool:
    """False when another process was quicker."""
    return await tx.run(_MOVE, {"owner": found.user_id, "was": found.next_at, "then": to}) == 1


async def stop_mail(tx: Tx, user_id: int) -> bool:
    """False when there was nothing to stop."""
    return await tx.run(_STOP_MAIL, {"owner": user_id}) == 1


async def unschedule(tx: Tx, user_id: int) -> None:
    await tx.run(_UNSCHEDULE, {"owner": user_id})


def _scheduled(row: Row) -> Schedule:
    return Schedule(
        row["user_id"],
        row["minute"],
        row["zone"],
        scope_of(row["scope"]),
        bool(row["mail"]),
        row["next_at"],
    )


def _digest(row: Row) -> Digest:
    return Digest(
        id=row["id"],
        user_id=row["user_id"],
        status=row["status"],
        scope=scope_of(row["scope"]),
        model=row["model"],
        language=row["language"],
        entries=row["entries"],
        error=row["error"],
        since=row["since"],
        until=row["until"],
        created_at=row["created_at"],
        finished_at=row["finished_at"],
        text=_text(row["content"]),
    )


def _text(content: str) -> DigestText:
    said: dict[str, Any] = orjson.loads(content)
    return DigestText(
        paragraphs=tuple(_paragraph(one) for one in said.get("paragraphs", ())),
        sources=sources_of(said.get("sources", ())),
        feeds=said.get("feeds", 0),
        items=said.get("items", 0),
        dropped=said.get("dropped", 0),
        fallback=said.get("fallback", False),
    )


def _paragraph(said: dict[str, Any]) -> Paragraph:
    return Paragraph(said["heading"], sentences_of(said["sentences"]))
