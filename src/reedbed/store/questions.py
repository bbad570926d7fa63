"""A user's questions to the AI, and the answers."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import orjson
from sqlalchemy import BigInteger, bindparam, delete, insert, update

from reedbed.domain.digests import DigestScope
from reedbed.domain.questions import AnswerText, Question
from reedbed.domain.times import Instant
from reedbed.store.digests import scope_of, scope_text, sentences_of, sources_of
from reedbed.store.engine.database import Row, Tx
from reedbed.store.engine.statements import HIGHEST, Statement, select
from reedbed.store.tables import questions

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
    questions.c.answer,
)
_is_own = questions.c.user_id == bindparam("owner")
_is_this = (questions.c.id == bindparam("question"), _is_own)
_ADD = Statement(
    insert(questions).returning(questions.c.id),
    columns=["user_id", "question", "scope", "model", "created_at"],
)
_GET = Statement(select(*_COLUMNS).where(*_is_this))
_NEWEST = Statement(
    select(*_COLUMNS)
    .where(_is_own, questions.c.id < bindparam("before", type_=BigInteger))
    .order_by(questions.c.id.desc())
    .limit(bindparam("most"))
)
_is_pending = (questions.c.id == bindparam("number"), questions.c.status == "pending")
_FINISH = Statement(
    update(questions)
    .where(*_is_pending)
    .values(status="ready", answer=bindparam("said"), model=bindparam("by"), finished_at=bindparam("now"))
)
_FAIL = Statement(
    update(questions)
    .where(*_is_pending)
    .values(status="failed", error=bindparam("why"), finished_at=bindparam("now"))
)
_DELETE = Statement(delete(questions).where(*_is_this))
_NEWEST_TO_DELETE = Statement(
    select(questions.c.id).where(_is_own).order_by(questions.c.id.desc()).offset(bindparam("kept")).limit(1)
)
_DELETE_OLD = Statement(
    delete(questions).where(_is_own, questions.c.id <= bindparam("last", type_=BigInteger))
)


async def add(tx: Tx, user_id: int, question: str, scope: DigestScope, *, model: str, now: Instant) -> int:
    params = {
        "user_id": user_id,
        "question": question,
        "scope": scope_text(scope),
        "model": model,
        "created_at": now,
    }
    return await tx.value(_ADD, params)


async def get(tx: Tx, user_id: int, question_id: int) -> Question | None:
    row = await tx.one(_GET, {"owner": user_id, "question": question_id})
    return None if row is None else _question(row)


async def newest(tx: Tx, user_id: int, *, limit: int, before: int | None = None) -> Sequence[Question]:
    params = {"owner": user_id, "before": HIGHEST if before is None else before, "most": limit}
    return [_question(row) for row in await tx.all(_NEWEST, params)]


async def finish(tx: Tx, question_id: int, answer: AnswerText, *, model: str, now: Instant) -> None:
    content = orjson.dumps(asdict(answer)).decode()
    await tx.run(_FINISH, {"number": question_id, "said": content, "by": model, "now": now})


async def fail(tx: Tx, question_id: int, error: str, now: Instant) -> None:
    await tx.run(_FAIL, {"number": question_id, "why": error, "now": now})


async def remove(tx: Tx, user_id: int, question_id: int) -> bool:
    return await tx.run(_DELETE, {"owner": user_id, "question": question_id}) == 1


async def delete_old_questions(tx: Tx, user_id: int, keep_count: int) -> None:
    """Delete all but the newest `keep_count`."""
    last = await tx.value(_NEWEST_TO_DELETE, {"owner": user_id, "kept": keep_count})
    if last is not None:
        await tx.run(_DELETE_OLD, {"owner": user_id, "last": last})


def _question(row: Row) -> Question:
    *columns, answer = row
    columns[4] = scope_of(columns[4])
    return Question(*columns, answer=_answer(orjson.loads(answer)))


def _answer(fields: dict[str, Any]) -> AnswerText:
    return AnswerText(
        claims=sentences_of(fields.get("claims", ())),
        sources=sources_of(fields.get("sources", ())),
        read=fields.get("read", 0),
        dropped=fields.get("dropped", 0),
        fallback=fields.get("fallback", False),
    )
