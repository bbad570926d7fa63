"""Framing analyses: stored by content key, attached to entries, and requested for new texts.

An entry shows the analysis `key` and waits for `asked_key` while a new one is being made.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import and_, bindparam, case, delete, or_, true, update
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.ai import Usage
from reedbed.domain.framing import SCORES, Analysis, Average, Score
from reedbed.domain.records import record
from reedbed.domain.times import Instant, Millis
from reedbed.store.engine.database import Row, Tx
from reedbed.store.engine.statements import Statement, among, func, select
from reedbed.store.framing.settings import is_served
from reedbed.store.tables import (
    analyses,
    entries,
    entry_analyses,
    entry_bodies,
    feed_framing,
    feeds,
    framing_wishes,
    summary_failures,
    summary_queue,
)

_THOUSAND = 1_000
ANALYSIS_NAMES = (
    "model",
    "language",
    "title",
    "description",
    "text",
    "category",
    *SCORES,
    "overall",
    "reasons",
)
ANALYSIS_COLUMNS = tuple(analyses.c[name] for name in ANALYSIS_NAMES)


@record
class AnalysisAttachment:
    """The state of an entry's analysis."""

    key: str | None
    asked_key: str | None
    version: int
    is_queued: bool
    queued_error: str | None
    cooldown_until: Instant | None
    failure: str | None


@record
class AnalysisCandidate:
    """An entry that may need an analysis."""

    id: int
    feed_id: int
    title: str
    url: str | None
    normalized_url: str | None
    language: str | None
    words: int
    version: int
    has_full: bool
    full_attempted_at: Instant | None
    known: AnalysisAttachment | None


@record
class AnalysisInput:
    """The text to analyse for a key, from one of its entries."""

    entry_id: int
    feed_id: int
    title: str
    content: str
    """Sanitised HTML."""
    source: str
    prompt: str | None
    for_everybody: bool
    """The operator has enabled analyses for the feed."""
    wished: bool
    """The given user has enabled them for the feed."""


@record
class GeneratedAnalysis:
    key: str
    content_hash: str
    variant: str
    analysis: Analysis
    usage: Usage


_with_queue = entry_analyses.outerjoin(
    summary_queue, summary_queue.c.key == entry_analyses.c.asked_key
).outerjoin(summary_failures, summary_failures.c.key == entry_analyses.c.asked_key)
_ATTACHMENT = (
    entry_analyses.c.entry_id,
    entry_analyses.c.key,
    entry_analyses.c.asked_key,
    entry_analyses.c.version,
    summary_queue.c.id.label("queued_id"),
    summary_queue.c.last_error.label("queued_error"),
    summary_queue.c.cooldown_until,
    summary_failures.c.last_error.label("failure"),
    summary_failures.c.failed_at,
)
_ATTACHED = Statement(
    select(*_ATTACHMENT).select_from(_with_queue).where(among(entry_analyses.c.entry_id, "ids"))
)
_CANDIDATE = (
    entries.c.id,
    entries.c.feed_id,
    entries.c.title,
    entries.c.url,
    entries.c.normalized_url,
    entries.c.language,
    entries.c.words,
    entries.c.version,
    entry_bodies.c.full_content.is_not(None).label("has_full"),
    entry_bodies.c.full_attempted_at,
)
_NEWEST = Statement(
    select(*_CANDIDATE)
    .join_from(entries, entry_bodies, entry_bodies.c.entry_id == entries.c.id)
    .where(entries.c.feed_id == bindparam("feed_id"), entries.c.audience_id.is_(None))
    .order_by(entries.c.sort_at.desc(), entries.c.id.desc())
    .limit(bindparam("most"))
)
_BY_ENTRY = Statement(
    select(*_CANDIDATE)
    .join_from(entries, entry_bodies, entry_bodies.c.entry_id == entries.c.id)
    .where(entries.c.id == bindparam("entry_id"))
)
_CONTENT = Statement(
    select(func.coalesce(entry_bodies.c.full_content, entry_bodies.c.content)).where(
        entry_bodies.c.entry_id == bindparam("entry_id")
    )
)
_ATTACH_COLUMNS = ("entry_id", "asked_key", "version", "of_full", "url_hash")
_new_attachment = insert(entry_analyses).values({name: bindparam(name) for name in _ATTACH_COLUMNS})
_ATTACH = Statement(
    _new_attachment.on_conflict_do_update(
        index_elements=["entry_id"],
        set_={name: _new_attachment.excluded[name] for name in _ATTACH_COLUMNS[1:]},
    )
)
_ADOPT = Statement(
    update(entry_analyses)
    .where(entry_analyses.c.asked_key == bindparam("ready_key"))
    .values(key=entry_analyses.c.asked_key, asked_key=None)
    .returning(entry_analyses.c.entry_id)
)
_FEEDS_OF = Statement(select(entries.c.id, entries.c.feed_id).where(among(entries.c.id, "ids")))
_WAITING = Statement(
    select(entries.c.id, entries.c.feed_id)
    .join_from(entry_analyses, entries, entries.c.id == entry_analyses.c.entry_id)
    .where(entry_analyses.c.asked_key == bindparam("key"))
    .limit(bindparam("most"))
)
_is_wished = (
    select(framing_wishes.c.user_id)
    .where(framing_wishes.c.feed_id == entries.c.feed_id, framing_wishes.c.user_id == bindparam("user_id"))
    .exists()
)
_for_everybody = func.coalesce(is_served(), False)
_SOURCE = Statement(
    select(
        entries.c.id,
        entries.c.feed_id,
        entries.c.title,
        case(
            (entry_analyses.c.of_full == true(), func.coalesce(entry_bodies.c.full_content, "")),
            else_=entry_bodies.c.content,
        ),
        feeds.c.title,
        feed_framing.c.prompt,
        _for_everybody,
        _is_wished,
    )
    .join_from(entry_analyses, entries, entries.c.id == entry_analyses.c.entry_id)
    .join(feeds, feeds.c.id == entries.c.feed_id)
    .join(entry_bodies, entry_bodies.c.entry_id == entries.c.id)
    .outerjoin(feed_framing, feed_framing.c.feed_id == feeds.c.id)
    .where(
        entry_analyses.c.asked_key == bindparam("key"),
        entry_analyses.c.version == entries.c.version,
        or_(_for_everybody, _is_wished),
    )
    .order_by(entries.c.id)
    .limit(1)
)
_SAVE_COLUMNS = (
    "key",
    "content_hash",
    "variant",
    *ANALYSIS_NAMES,
    "tokens_in",
    "tokens_out",
    "cost",
    "created_at",
)
_SAVE = Statement(
    insert(analyses)
    .values({name: bindparam(name) for name in _SAVE_COLUMNS})
    .on_conflict_do_nothing(index_elements=["key"])
)
_EXISTS = Statement(select(analyses.c.id).where(analyses.c.key == bindparam("key")))
_VISIBLE = Statement(
    select(entry_analyses.c.entry_id, analyses.c.variant, analyses.c.created_at, *ANALYSIS_COLUMNS)
    .join_from(entry_analyses, analyses, analyses.c.key == entry_analyses.c.key)
    .where(among(entry_analyses.c.entry_id, "ids"))
)
_since = entries.c.sort_at - entries.c.sort_at % bindparam("span", type_=entries.c.sort_at.type)
_AVERAGES = Statement(
    select(_since.label("since"), func.avg(analyses.c.overall), func.count())
    .join_from(entries, entry_analyses, entry_analyses.c.entry_id == entries.c.id)
    .join(analyses, analyses.c.key == entry_analyses.c.key)
    .where(
        entries.c.feed_id == bindparam("feed_id"),
        entries.c.audience_id.is_(None),
        entries.c.sort_at >= bindparam("after"),
    )
    .group_by("since")
    .order_by("since")
)
_needed = (
    select(entry_analyses.c.entry_id)
    .where(or_(entry_analyses.c.key == analyses.c.key, entry_analyses.c.asked_key == analyses.c.key))
    .exists()
)
_DELETE_UNUSED = Statement(
    delete(analyses).where(and_(analyses.c.created_at < bindparam("before"), ~_needed))
)


async def attached(tx: Tx, entry_ids: Sequence[int]) -> dict[int, AnalysisAttachment]:
    rows = await tx.all(_ATTACHED, {"ids": list(entry_ids)}) if entry_ids else ()
    return {row["entry_id"]: _attachment(row) for row in rows}


async def newest(tx: Tx, feed_id: int, *, most: int) -> list[AnalysisCandidate]:
    rows = await tx.all(_NEWEST, {"feed_id": feed_id, "most": most})
    attachments = await attached(tx, [row["id"] for row in rows])
    return [_candidate(row, attachments) for row in rows]


async def candidate(tx: Tx, entry_id: int) -> AnalysisCandidate | None:
    row = await tx.one(_BY_ENTRY, {"entry_id": entry_id})
    return None if row is None else _candidate(row, await attached(tx, [entry_id]))


async def content_of(tx: Tx, entry_id: int) -> str:
    """The full article if there is one; sanitised HTML."""
    return await tx.value(_CONTENT, {"entry_id": entry_id}) or ""


async def attach(tx: Tx, of: AnalysisCandidate, key: str, *, url_hash: str | None, of_full: bool) -> None:
    """Let the entry wait for this analysis; until it is ready, the entry shows its previous one."""
    params = {
        "entry_id": of.id,
        "asked_key": key,
        "version": of.version,
        "of_full": of_full,
        "url_hash": url_hash,
    }
    await tx.run(_ATTACH, params)


async def adopt(tx: Tx, key: str) -> list[tuple[int, int]]:
    """Show a finished analysis on all entries that wait for it; returns the entry and feed of each."""
    ids = [row[0] for row in await tx.all(_ADOPT, {"ready_key": key})]
    return [(row[0], row[1]) for row in await tx.all(_FEEDS_OF, {"ids": ids})] if ids else []


async def waiting_for(tx: Tx, key: str, *, most: int = 50) -> list[tuple[int, int]]:
    return [(row[0], row[1]) for row in await tx.all(_WAITING, {"key": key, "most": most})]


async def source_of(tx: Tx, key: str, user_id: int | None) -> AnalysisInput | None:
    """None if all entries with this text were deleted or changed, or no one wants the analysis any more."""
    row = await tx.one(_SOURCE, {"key": key, "user_id": user_id})
    if row is None:
        return None
    return AnalysisInput(*tuple(row)[:6], for_everybody=bool(row[6]), wished=bool(row[7]))


async def save(tx: Tx, generated: GeneratedAnalysis, now: Instant) -> None:
    """If there is one with this key already, keep that."""
    await tx.run(
        _SAVE,
        {
            "key": generated.key,
            "content_hash": generated.content_hash,
            "variant": generated.variant,
            **_columns_of(generated.analysis),
            "tokens_in": generated.usage.tokens_in,
            "tokens_out": generated.usage.tokens_out,
            "cost": generated.usage.cost,
            "created_at": now,
        },
    )


async def exists(tx: Tx, key: str) -> bool:
    return await tx.value(_EXISTS, {"key": key}) is not None


@record
class VisibleAnalysis:
    analysis: Analysis
    variant: str
    made_at: Instant


async def shown(tx: Tx, entry_ids: Sequence[int]) -> dict[int, VisibleAnalysis]:
    """The analyses of those entries that have one."""
    rows = await tx.all(_VISIBLE, {"ids": list(entry_ids)}) if entry_ids else ()
    return {row[0]: VisibleAnalysis(read_analysis(row), row["variant"], row["created_at"]) for row in rows}


async def averages(tx: Tx, feed_id: int, after: Instant, span: Millis) -> list[Average]:
    """The average of each time span with entries, oldest first."""
    rows = await tx.all(_AVERAGES, {"feed_id": feed_id, "after": after, "span": span})
    return [Average(row[0], round(float(row[1]) / _THOUSAND, 3), row[2]) for row in rows]


async def sweep(tx: Tx, before: Instant) -> int:
    """Delete old analyses that no entry needs."""
    return await tx.run(_DELETE_UNUSED, {"before": before})


def thousandths(value: float) -> int:
    return round(value * _THOUSAND)


def read_analysis(row: Row) -> Analysis:
    reasons: Mapping[str, Any] = orjson.loads(row["reasons"])
    return Analysis(
        title=row["title"],
        title_reason=reasons["title"],
        description=row["description"],
        description_reason=reasons["description"],
        text=row["text"],
        category=row["category"],
        scores=tuple(_score(row, name, reasons) for name in SCORES),
        overall=_score(row, "overall", reasons),
        model=row["model"],
        language=row["language"],
    )


def _score(row: Row, name: str, reasons: Mapping[str, Any]) -> Score:
    reason, quote = reasons[name]
    return Score(name, row[name] / _THOUSAND, reason, quote)


def _columns_of(analysis: Analysis) -> dict[str, Any]:
    scores = (*analysis.scores, analysis.overall)
    reasons = {
        "title": analysis.title_reason,
        "description": analysis.description_reason,
        **{score.name: [score.reason, score.quote] for score in scores},
    }
    return {
        "model": analysis.model,
        "language": analysis.language,
        "title": analysis.title,
        "description": analysis.description,
        "text": analysis.text,
        "category": analysis.category,
        **{score.name: thousandths(score.value) for score in scores},
        "reasons": orjson.dumps(reasons).decode(),
    }


def _attachment(row: Row) -> AnalysisAttachment:
    return AnalysisAttachment(
        key=row["key"],
        asked_key=row["asked_key"],
        version=row["version"],
        is_queued=row["queued_id"] is not None,
        queued_error=row["queued_error"],
        cooldown_until=row["cooldown_until"],
        failure=None if row["failed_at"] is None else row["failure"] or "",
    )


def _candidate(row: Row, attachments: Mapping[int, AnalysisAttachment]) -> AnalysisCandidate:
    return AnalysisCandidate(
        *tuple(row)[:8],
        has_full=bool(row["has_full"]),
        full_attempted_at=row["full_attempted_at"],
        known=attachments.get(row["id"]),
    )
