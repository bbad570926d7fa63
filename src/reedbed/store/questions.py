"""A user's questions to the AI, and the answers."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import orjson
from sqlalchemy import BigInteger, bindparam, delete, insert, update

from reedbed.domain.digests import DigestScope
from reedbed.domain.failures import Failure
from reedbed.domain.questions import AnswerText, Question, Status
from reedbed.domain.times import Instant
from reedbed.store.digests import scope_of, scope_text, sentences_of, sources_of
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import HIGHEST, Command, Query, among, func, row_of, select, with_failure
from reedbed.store.tables import questions, story_entries

_COLUMNS = (
    questions.c.id,
    questions.c.user_id,
    questions.c.question,
    questions.c.status,
    questions.c.scope,
    questions.c.model,
    questions.c.error,
    questions.c.created_at,
    questions.c.finished_at,
    questions.c.watched_at,
    questions.c.answer,
)
_is_own = questions.c.user_id == bindparam("owner")
_is_this = (questions.c.id == bindparam("question"), _is_own)
_ADD = Query(
    insert(questions).returning(questions.c.id),
    columns=["user_id", "question", "scope", "model", "created_at"],
    into=int,
)


def _question_of(id_: int, user_id: int, question: str, status: Status, scope: str, *columns: Any) -> Question:
    *rest, answer = columns
    return Question(id_, user_id, question, status, scope_of(scope), *rest, answer=_answer(orjson.loads(answer)))


_question = with_failure(_question_of, 6)


_GET = Query(select(*_COLUMNS).where(*_is_this), into=_question)
_NEWEST = Query(
    select(*_COLUMNS)
    .where(_is_own, questions.c.id < bindparam("before", type_=BigInteger))
    .order_by(questions.c.id.desc())
    .limit(bindparam("limit")),
    into=_question,
)
_is_pending = (questions.c.id == bindparam("number"), questions.c.status == "pending")
_FINISH = Command(
    update(questions)
    .where(*_is_pending)
    .values(status="ready", answer=bindparam("text"), model=bindparam("by"), finished_at=bindparam("now"))
)
_FAIL = Command(
    update(questions).where(*_is_pending).values(status="failed", error=bindparam("why"), finished_at=bindparam("now"))
)
_DELETE = Command(delete(questions).where(*_is_this))
_WATCH = Command(update(questions).where(*_is_this).values(watched_at=bindparam("at", type_=BigInteger)))
_POSTPONE = Command(
    update(questions)
    .where(questions.c.id == bindparam("number"), questions.c.watched_at.is_not(None))
    .values(watched_at=bindparam("at"))
)
_COUNT_WATCHED = Query(
    select(func.count()).select_from(questions).where(_is_own, questions.c.watched_at.is_not(None)), into=int
)
_LONGEST_WATCHED = Query(
    select(*_COLUMNS)
    .where(questions.c.watched_at.is_not(None), questions.c.watched_at < bindparam("before", type_=BigInteger))
    .order_by(questions.c.watched_at)
    .limit(bindparam("limit")),
    into=_question,
)
_ANSWER_WATCHED = Command(
    update(questions)
    .where(questions.c.id == bindparam("number"), questions.c.watched_at.is_not(None))
    .values(answer=bindparam("text"), model=bindparam("by"), finished_at=bindparam("now"), watched_at=None)
)
_STORIES = Query(
    select(story_entries.c.entry_id, story_entries.c.story_id).where(among(story_entries.c.entry_id, "ids")),
    into=row_of(int, int),
)
_NEWEST_TO_DELETE = Query(
    select(questions.c.id).where(_is_own).order_by(questions.c.id.desc()).offset(bindparam("kept")).limit(1), into=int
)
_DELETE_OLD = Command(delete(questions).where(_is_own, questions.c.id <= bindparam("last", type_=BigInteger)))


async def add(tx: Tx, user_id: int, question: str, scope: DigestScope, *, model: str, now: Instant) -> int:
    params = {"user_id": user_id, "question": question, "scope": scope_text(scope), "model": model, "created_at": now}
    return await tx.get(_ADD, params)


async def get(tx: Tx, user_id: int, question_id: int) -> Question | None:
    return await tx.one(_GET, {"owner": user_id, "question": question_id})


async def newest(tx: Tx, user_id: int, *, limit: int, before: int | None = None) -> Sequence[Question]:
    params = {"owner": user_id, "before": HIGHEST if before is None else before, "limit": limit}
    return await tx.all(_NEWEST, params)


async def finish(tx: Tx, question_id: int, answer: AnswerText, *, model: str, now: Instant) -> None:
    content = orjson.dumps(asdict(answer)).decode()
    await tx.run(_FINISH, {"number": question_id, "text": content, "by": model, "now": now})


async def fail(tx: Tx, question_id: int, error: Failure, now: Instant) -> None:
    await tx.run(_FAIL, {"number": question_id, "why": error.dump(), "now": now})


async def watch(tx: Tx, user_id: int, question_id: int, at: Instant | None) -> None:
    await tx.run(_WATCH, {"owner": user_id, "question": question_id, "at": at})


async def count_watched(tx: Tx, user_id: int) -> int:
    return await tx.get(_COUNT_WATCHED, {"owner": user_id})


async def longest_watched(tx: Tx, before: Instant, limit: int) -> Sequence[Question]:
    """Of all users: those that were not asked again since `before`."""
    return await tx.all(_LONGEST_WATCHED, {"before": before, "limit": limit})


async def postpone_watched(tx: Tx, question_id: int, at: Instant) -> None:
    """Note that it was asked again, unless it is no longer watched."""
    await tx.run(_POSTPONE, {"number": question_id, "at": at})


async def answer_watched(tx: Tx, question_id: int, answer: AnswerText, *, model: str, now: Instant) -> bool:
    content = orjson.dumps(asdict(answer)).decode()
    return await tx.run(_ANSWER_WATCHED, {"number": question_id, "text": content, "by": model, "now": now}) == 1


async def remove(tx: Tx, user_id: int, question_id: int) -> bool:
    return await tx.run(_DELETE, {"owner": user_id, "question": question_id}) == 1


async def stories_of(tx: Tx, entry_ids: Sequence[int]) -> dict[int, int]:
    """The stories of entries that the caller may see."""
    return dict(await tx.all(_STORIES, {"ids": list(entry_ids)})) if entry_ids else {}


async def delete_old_questions(tx: Tx, user_id: int, keep_count: int) -> None:
    """Delete all but the newest `keep_count`."""
    last = await tx.one(_NEWEST_TO_DELETE, {"owner": user_id, "kept": keep_count})
    if last is not None:
        await tx.run(_DELETE_OLD, {"owner": user_id, "last": last})


def _answer(fields: dict[str, Any]) -> AnswerText:
    return AnswerText(
        claims=sentences_of(fields.get("claims", ())),
        sources=sources_of(fields.get("sources", ())),
        read=fields.get("read", 0),
        dropped=fields.get("dropped", 0),
        fallback=fields.get("fallback", False),
        nearest=sources_of(fields.get("nearest", ())),
        missing=tuple(fields.get("missing", ())),
    )
