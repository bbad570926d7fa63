"""A user's books, their files in parts, and the plans that make them."""

from dataclasses import asdict
from typing import Any

import orjson
from sqlalchemy import BigInteger, Text, bindparam, delete, insert, update

from reedbed.domain.books import Book, BookPlan, BookSource, LeftOut
from reedbed.domain.failures import Failure, dump_failure, load_failure
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, among, func, row_of, select
from reedbed.store.tables import book_parts, book_plans, books

PART_BYTES = 1024 * 1024

_COLUMNS = tuple(column for column in books.c)
_PLAN_COLUMNS = tuple(column for column in book_plans.c if column.name != "created_at")


def _source_text(source: BookSource) -> str:
    fields = {name: value for name, value in asdict(source).items() if value is not None}
    return orjson.dumps(fields, option=orjson.OPT_SORT_KEYS).decode()


def _book(*columns: Any) -> Book:
    (
        id_, user_id, source, title, language, status, error, progress, entries, pictures, left_out, length, created_at,
        finished_at, plan_id, mail_to, mail_status, mail_error,
    ) = columns  # fmt: skip
    return Book(
        id=id_,
        user_id=user_id,
        source=BookSource(**orjson.loads(source)),
        title=title,
        language=language,
        status=status,
        error=load_failure(error),
        progress=progress,
        entries=entries,
        pictures=pictures,
        left_out=LeftOut(**orjson.loads(left_out)),
        length=length,
        created_at=created_at,
        finished_at=finished_at,
        plan_id=plan_id,
        mail_to=mail_to,
        mail_status=mail_status,
        mail_error=load_failure(mail_error),
    )


def _plan(*columns: Any) -> BookPlan:
    id_, user_id, source, minute, weekday, zone, mail, next_at, last_at, sent, error = columns
    return BookPlan(
        id=id_,
        user_id=user_id,
        source=BookSource(**orjson.loads(source)),
        minute=minute,
        weekday=weekday,
        zone=zone,
        mail=bool(mail),
        next_at=next_at,
        last_at=last_at,
        sent=tuple(orjson.loads(sent)),
        error=load_failure(error),
    )


# --- Books

_is_own = books.c.user_id == bindparam("owner", type_=BigInteger)
_is_this = books.c.id == bindparam("book", type_=BigInteger)
_ADD = Query(
    insert(books).returning(*_COLUMNS),
    columns=["user_id", "source", "title", "created_at", "plan_id", "mail_to", "mail_status"],
    into=_book,
)
_GET = Query(select(*_COLUMNS).where(_is_own, _is_this), into=_book)
_NEWEST = Query(select(*_COLUMNS).where(_is_own).order_by(books.c.id.desc()).limit(bindparam("limit")), into=_book)
_LATEST_OF_SOURCE = Query(
    select(*_COLUMNS)
    .where(
        _is_own,
        books.c.source == bindparam("about", type_=Text),
        books.c.plan_id.is_(None),
        books.c.created_at >= bindparam("since", type_=BigInteger),
        books.c.status != "failed",
    )
    .order_by(books.c.id.desc())
    .limit(1),
    into=_book,
)
_COUNT_PENDING = Query(select(func.count()).select_from(books).where(_is_own, books.c.status == "pending"), into=int)
_COUNT_MAILED = Query(
    select(func.count())
    .select_from(books)
    .where(_is_own, books.c.mail_status != "", books.c.created_at >= bindparam("since", type_=BigInteger)),
    into=int,
)
_RESULT = ("title", "language", "entries", "pictures", "left_out", "length", "finished_at")
_FINISH = Command(
    update(books)
    .where(_is_this)
    .values(status="ready", error=None, progress=100, **{name: bindparam(f"new_{name}") for name in _RESULT})
)
_SET_PROGRESS = Command(update(books).where(_is_this).values(progress=bindparam("percent")))
_FAIL = Command(
    update(books).where(_is_this).values(status="failed", error=bindparam("why"), finished_at=bindparam("now"))
)
_SET_MAIL = Command(
    update(books)
    .where(_is_this)
    .values(
        mail_to=bindparam("new_to", type_=Text),
        mail_status=bindparam("new_status", type_=Text),
        mail_error=bindparam("new_error", type_=Text),
    )
)
_DELETE = Command(delete(books).where(_is_own, _is_this))
_DELETE_SOME = Command(delete(books).where(_is_own, among(books.c.id, "ids")))
_DELETE_OLD = Command(delete(books).where(books.c.created_at < bindparam("before", type_=BigInteger)))
_SIZES = Query(
    select(books.c.id, books.c.length).where(_is_own, books.c.status == "ready").order_by(books.c.id.desc()),
    into=row_of(int, int),
)
_ADD_PART = Command(insert(book_parts), columns=["book_id", "number", "data"])
_DELETE_PARTS = Command(delete(book_parts).where(book_parts.c.book_id == bindparam("book")))
_PART = Query(
    select(book_parts.c.data).where(
        book_parts.c.book_id == bindparam("book"), book_parts.c.number == bindparam("part")
    ),
    into=bytes,
)


async def add(
    tx: Tx, user_id: int, source: BookSource, title: str, now: Instant, *, plan_id: int | None = None, mail_to: str = ""
) -> Book:
    params = {
        "user_id": user_id,
        "source": _source_text(source),
        "title": title,
        "created_at": now,
        "plan_id": plan_id,
        "mail_to": mail_to,
        "mail_status": "pending" if mail_to else "",
    }
    return await tx.get(_ADD, params)


async def get(tx: Tx, user_id: int, book_id: int) -> Book | None:
    return await tx.one(_GET, {"owner": user_id, "book": book_id})


async def newest(tx: Tx, user_id: int, *, limit: int) -> list[Book]:
    return await tx.all(_NEWEST, {"owner": user_id, "limit": limit})


async def latest_of(tx: Tx, user_id: int, source: BookSource, since: Instant) -> Book | None:
    """The newest book of this source that no plan made, and that did not fail."""
    return await tx.one(_LATEST_OF_SOURCE, {"owner": user_id, "about": _source_text(source), "since": since})


async def count_pending(tx: Tx, user_id: int) -> int:
    return await tx.get(_COUNT_PENDING, {"owner": user_id})


async def count_mailed(tx: Tx, user_id: int, since: Instant) -> int:
    return await tx.get(_COUNT_MAILED, {"owner": user_id, "since": since})


async def finish(tx: Tx, made: Book) -> None:
    values = {
        "title": made.title,
        "language": made.language,
        "entries": made.entries,
        "pictures": made.pictures,
        "left_out": orjson.dumps(asdict(made.left_out)).decode(),
        "length": made.length,
        "finished_at": made.finished_at,
    }
    await tx.run(_FINISH, {"book": made.id, **{f"new_{name}": value for name, value in values.items()}})


async def set_progress(tx: Tx, book_id: int, percent: int) -> None:
    await tx.run(_SET_PROGRESS, {"book": book_id, "percent": percent})


async def fail(tx: Tx, book_id: int, why: Failure, now: Instant) -> None:
    await tx.run(_FAIL, {"book": book_id, "why": why.dump(), "now": now})


async def set_mail(tx: Tx, book_id: int, to: str, status: str, error: Failure | None = None) -> None:
    stored = "" if error is None else error.dump()
    await tx.run(_SET_MAIL, {"book": book_id, "new_to": to, "new_status": status, "new_error": stored})


async def remove(tx: Tx, user_id: int, book_id: int) -> bool:
    return await tx.run(_DELETE, {"owner": user_id, "book": book_id}) == 1


async def remove_some(tx: Tx, user_id: int, ids: list[int]) -> None:
    await tx.run(_DELETE_SOME, {"owner": user_id, "ids": ids})


async def sizes(tx: Tx, user_id: int) -> list[tuple[int, int]]:
    """Ids and bytes of the finished ones, newest first."""
    return await tx.all(_SIZES, {"owner": user_id})


async def delete_old(tx: Tx, before: Instant) -> int:
    return await tx.run(_DELETE_OLD, {"before": before})


async def delete_file(tx: Tx, book_id: int) -> None:
    await tx.run(_DELETE_PARTS, {"book": book_id})


async def add_part(tx: Tx, book_id: int, number: int, data: bytes) -> None:
    await tx.run_many(_ADD_PART, [{"book_id": book_id, "number": number, "data": data}])


async def part(tx: Tx, book_id: int, number: int) -> bytes | None:
    return await tx.one(_PART, {"book": book_id, "part": number})


# --- Plans

_is_own_plan = (
    book_plans.c.user_id == bindparam("owner", type_=BigInteger),
    book_plans.c.id == bindparam("plan", type_=BigInteger),
)
_ADD_PLAN = Query(
    insert(book_plans).returning(*_PLAN_COLUMNS),
    columns=["user_id", "source", "minute", "weekday", "zone", "mail", "next_at", "created_at"],
    into=_plan,
)
_GET_PLAN = Query(select(*_PLAN_COLUMNS).where(*_is_own_plan), into=_plan)
_PLANS = Query(
    select(*_PLAN_COLUMNS)
    .where(book_plans.c.user_id == bindparam("owner", type_=BigInteger))
    .order_by(book_plans.c.id),
    into=_plan,
)
_COUNT_PLANS = Query(
    select(func.count()).select_from(book_plans).where(book_plans.c.user_id == bindparam("owner", type_=BigInteger)),
    into=int,
)
_DELETE_PLAN = Command(delete(book_plans).where(*_is_own_plan))
_DUE = Query(
    select(*_PLAN_COLUMNS)
    .where(book_plans.c.next_at <= bindparam("now", type_=BigInteger))
    .order_by(book_plans.c.next_at)
    .limit(bindparam("limit")),
    into=_plan,
)
_MOVE = Command(
    update(book_plans)
    .where(book_plans.c.id == bindparam("plan"), book_plans.c.next_at == bindparam("was"))
    .values(next_at=bindparam("then"))
)
_REMEMBER = Command(
    update(book_plans)
    .where(*_is_own_plan)
    .values(sent=bindparam("new_sent", type_=Text), last_at=bindparam("now", type_=BigInteger))
)
_NOTE = Command(update(book_plans).where(*_is_own_plan).values(error=bindparam("why", type_=Text)))


async def add_plan(tx: Tx, plan: BookPlan, now: Instant) -> BookPlan:
    """`plan` without an id yet."""
    params = {
        "user_id": plan.user_id,
        "source": _source_text(plan.source),
        "minute": plan.minute,
        "weekday": plan.weekday,
        "zone": plan.zone,
        "mail": plan.mail,
        "next_at": plan.next_at,
        "created_at": now,
    }
    return await tx.get(_ADD_PLAN, params)


async def get_plan(tx: Tx, user_id: int, plan_id: int) -> BookPlan | None:
    return await tx.one(_GET_PLAN, {"owner": user_id, "plan": plan_id})


async def plans(tx: Tx, user_id: int) -> list[BookPlan]:
    return await tx.all(_PLANS, {"owner": user_id})


async def count_plans(tx: Tx, user_id: int) -> int:
    return await tx.get(_COUNT_PLANS, {"owner": user_id})


async def remove_plan(tx: Tx, user_id: int, plan_id: int) -> bool:
    return await tx.run(_DELETE_PLAN, {"owner": user_id, "plan": plan_id}) == 1


async def due(tx: Tx, now: Instant, *, limit: int) -> list[BookPlan]:
    return await tx.all(_DUE, {"now": now, "limit": limit})


async def move_on(tx: Tx, plan: BookPlan, to: Instant) -> bool:
    """Return False if another process was faster."""
    return await tx.run(_MOVE, {"plan": plan.id, "was": plan.next_at, "then": to}) == 1


async def remember(tx: Tx, plan: BookPlan, sent: tuple[int, ...], now: Instant) -> None:
    params = {"owner": plan.user_id, "plan": plan.id, "new_sent": orjson.dumps(sent).decode(), "now": now}
    await tx.run(_REMEMBER, params)


async def note_failure(tx: Tx, plan: BookPlan, why: Failure | None) -> None:
    """None: the last book could be made and mailed."""
    await tx.run(_NOTE, {"owner": plan.user_id, "plan": plan.id, "why": dump_failure(why)})
