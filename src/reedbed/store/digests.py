"""A user's digests and their schedule."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import orjson
from sqlalchemy import BigInteger, bindparam, delete, false, insert, true, update

from reedbed.domain.digests import Digest, DigestScope, DigestText, Paragraph, Sentence, Source, Status
from reedbed.domain.failures import Failure, load_failure
from reedbed.domain.records import record
from reedbed.domain.times import LEEWAY, Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import HIGHEST, Command, Query, func, row_of, select
from reedbed.store.engine.statements import insert as upsert
from reedbed.store.tables import digest_schedules, digests, entries, starred


def scope_text(scope: DigestScope) -> str:
    """Return the same text for the same scope, so that queries can compare it."""
    fields = {name: value for name, value in asdict(scope).items() if value is not None}
    return orjson.dumps(fields, option=orjson.OPT_SORT_KEYS).decode()


def scope_of(text: str) -> DigestScope:
    return DigestScope(**orjson.loads(text))


def sentences_of(stored: Iterable[Mapping[str, Any]]) -> tuple[Sentence, ...]:
    return tuple(
        Sentence(one["text"], tuple(one["entry_ids"]), one["language"], one.get("quote", "")) for one in stored
    )


def sources_of(stored: Iterable[Mapping[str, Any]]) -> tuple[Source, ...]:
    return tuple(Source(**source) for source in stored)


@record
class Schedule:
    user_id: int
    minute: int
    zone: str
    scope: DigestScope
    mail: bool
    next_at: Instant


_DIGEST_COLUMNS = (
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
_is_own = digests.c.user_id == bindparam("owner")
_STARS = Query(
    select(entries.c.feed_id, func.count())
    .join_from(starred, entries, entries.c.id == starred.c.entry_id)
    .where(starred.c.user_id == bindparam("owner"), starred.c.marked_at >= bindparam("since", type_=BigInteger))
    .group_by(entries.c.feed_id),
    into=row_of(int, int),
)
_ADD = Query(
    insert(digests).returning(digests.c.id),
    columns=["user_id", "scope", "model", "language", "since", "until", "created_at"],
    into=int,
)


def _digest(
    id_: int,
    user_id: int,
    status: Status,
    scope: str,
    model: str,
    language: str,
    entries: int,
    error: str | None,
    since: int,
    until: int,
    created_at: int,
    finished_at: int | None,
    content: str,
) -> Digest:
    return Digest(
        id=id_,
        user_id=user_id,
        status=status,
        scope=scope_of(scope),
        model=model,
        language=language,
        entries=entries,
        error=load_failure(error),
        since=since,
        until=until,
        created_at=created_at,
        finished_at=finished_at,
        text=_load_text(content),
    )


_GET = Query(
    select(*_DIGEST_COLUMNS, digests.c.content).where(digests.c.id == bindparam("digest"), _is_own), into=_digest
)
_NEWEST = Query(
    select(*_DIGEST_COLUMNS, digests.c.content)
    .where(_is_own, digests.c.id < bindparam("before", type_=BigInteger))
    .order_by(digests.c.id.desc())
    .limit(bindparam("limit")),
    into=_digest,
)
_LAST_UNTIL = Query(
    select(digests.c.until)
    .where(
        _is_own,
        digests.c.status == "ready",
        digests.c.scope == bindparam("about"),
        digests.c.until <= bindparam("limit"),
    )
    .order_by(digests.c.id.desc())
    .limit(1),
    into=int,
)
_is_pending = (digests.c.id == bindparam("digest"), digests.c.status == "pending")
_FINISH = Command(
    update(digests)
    .where(*_is_pending)
    .values(
        status="ready",
        content=bindparam("words"),
        model=bindparam("by"),
        language=bindparam("spoken"),
        entries=bindparam("number"),
        finished_at=bindparam("now"),
    )
)
_FAIL = Command(
    update(digests).where(*_is_pending).values(status="failed", error=bindparam("why"), finished_at=bindparam("now"))
)
_DELETE = Command(delete(digests).where(digests.c.id == bindparam("digest"), _is_own))

_SCHEDULE_NAMES = ("user_id", "minute", "zone", "scope", "mail", "next_at")
_new_schedule = upsert(digest_schedules).values({name: bindparam(name) for name in _SCHEDULE_NAMES})
_SCHEDULE = Command(
    _new_schedule.on_conflict_do_update(
        index_elements=["user_id"], set_={name: _new_schedule.excluded[name] for name in _SCHEDULE_NAMES[1:]}
    )
)
_SCHEDULE_COLUMNS = tuple(digest_schedules.c[name] for name in _SCHEDULE_NAMES)


def _load_schedule(user_id: int, minute: int, zone: str, scope: str, mail: bool, next_at: int) -> Schedule:
    return Schedule(user_id, minute, zone, scope_of(scope), bool(mail), next_at)


_GET_SCHEDULE = Query(
    select(*_SCHEDULE_COLUMNS).where(digest_schedules.c.user_id == bindparam("owner")), into=_load_schedule
)
_DUE = Query(
    select(*_SCHEDULE_COLUMNS)
    .where(digest_schedules.c.next_at <= bindparam("now"))
    .order_by(digest_schedules.c.next_at)
    .limit(bindparam("limit")),
    into=_load_schedule,
)
_MOVE_SCHEDULE = Command(
    update(digest_schedules)
    .where(digest_schedules.c.user_id == bindparam("owner"), digest_schedules.c.next_at == bindparam("was"))
    .values(next_at=bindparam("then"))
)
_STOP_MAIL = Command(
    update(digest_schedules)
    .where(digest_schedules.c.user_id == bindparam("owner"), digest_schedules.c.mail == true())
    .values(mail=false())
)
_UNSCHEDULE = Command(delete(digest_schedules).where(digest_schedules.c.user_id == bindparam("owner")))


async def stars_by_feed(tx: Tx, user_id: int, since: Instant) -> dict[int, int]:
    """How many entries of each feed the user has starred since."""
    return dict(await tx.all(_STARS, {"owner": user_id, "since": since}))


async def add(
    tx: Tx, user_id: int, scope: DigestScope, *, model: str, language: str, since: Instant, now: Instant
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
    return await tx.get(_ADD, params)


async def get(tx: Tx, user_id: int, digest_id: int) -> Digest | None:
    return await tx.one(_GET, {"owner": user_id, "digest": digest_id})


async def newest(tx: Tx, user_id: int, *, limit: int, before: int | None = None) -> Sequence[Digest]:
    params = {"owner": user_id, "before": HIGHEST if before is None else before, "limit": limit}
    return await tx.all(_NEWEST, params)


async def last_until(tx: Tx, user_id: int, scope: DigestScope, now: Instant) -> Instant | None:
    """Return the end of the last digest with this scope. Ignores future times, written by a wrong clock."""
    params = {"owner": user_id, "about": scope_text(scope), "limit": now + LEEWAY}
    return await tx.one(_LAST_UNTIL, params)


async def finish(
    tx: Tx, digest_id: int, text: DigestText, *, model: str, language: str, entries: int, now: Instant
) -> None:
    content = orjson.dumps(asdict(text)).decode()
    params = {"digest": digest_id, "words": content, "by": model, "spoken": language, "number": entries, "now": now}
    await tx.run(_FINISH, params)


async def fail(tx: Tx, digest_id: int, error: Failure, now: Instant) -> None:
    await tx.run(_FAIL, {"digest": digest_id, "why": error.dump(), "now": now})


async def remove(tx: Tx, user_id: int, digest_id: int) -> bool:
    return await tx.run(_DELETE, {"owner": user_id, "digest": digest_id}) == 1


async def schedule(tx: Tx, options: Schedule) -> None:
    await tx.run(
        _SCHEDULE,
        {
            "user_id": options.user_id,
            "minute": options.minute,
            "zone": options.zone,
            "scope": scope_text(options.scope),
            "mail": options.mail,
            "next_at": options.next_at,
        },
    )


async def schedule_of(tx: Tx, user_id: int) -> Schedule | None:
    return await tx.one(_GET_SCHEDULE, {"owner": user_id})


async def due(tx: Tx, now: Instant, *, limit: int) -> list[Schedule]:
    return await tx.all(_DUE, {"now": now, "limit": limit})


async def move_on(tx: Tx, current: Schedule, to: Instant) -> bool:
    """Return False if another process was faster."""
    return await tx.run(_MOVE_SCHEDULE, {"owner": current.user_id, "was": current.next_at, "then": to}) == 1


async def stop_mail(tx: Tx, user_id: int) -> bool:
    """Return False if digests were not mailed anyway."""
    return await tx.run(_STOP_MAIL, {"owner": user_id}) == 1


async def unschedule(tx: Tx, user_id: int) -> None:
    await tx.run(_UNSCHEDULE, {"owner": user_id})


def _load_text(content: str) -> DigestText:
    fields: dict[str, Any] = orjson.loads(content)
    return DigestText(
        paragraphs=tuple(_load_paragraph(paragraph) for paragraph in fields.get("paragraphs", ())),
        sources=sources_of(fields.get("sources", ())),
        feeds=fields.get("feeds", 0),
        items=fields.get("items", 0),
        dropped=fields.get("dropped", 0),
        fallback=fields.get("fallback", False),
        image=fields.get("image", ""),
        left_out=fields.get("left_out", 0),
        liked_ids=tuple(fields.get("liked_ids", ())),
    )


def _load_paragraph(fields: dict[str, Any]) -> Paragraph:
    return Paragraph(fields["heading"], sentences_of(fields["sentences"]), fields.get("kind", ""))
