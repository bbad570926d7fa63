"""Framing analyses: stored by content key, attached to entries, and requested for new texts.

An entry shows the analysis `key` and waits for `asked_key` while a new one is being made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson
from sqlalchemy import Float, and_, bindparam, case, cast, delete, or_, true, update

from reedbed.domain.ai import Usage
from reedbed.domain.failures import Failure, load_failure
from reedbed.domain.framing import SCORES, Analysis, Average, Score
from reedbed.domain.records import record
from reedbed.domain.times import Instant, Millis
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Param, Query, among, func, insert, row_of, select
from reedbed.store.framing.settings import is_served
from reedbed.store.tables import (
    analyses,
    entries,
    entry_analyses,
    entry_bodies,
    feed_framing,
    feeds,
    framing_requests,
    summary_failures,
    summary_queue,
)

_THOUSAND = 1_000
ANALYSIS_NAMES = ("model", "language", "title", "description", "text", "category", *SCORES, "overall", "reasons")
ANALYSIS_COLUMNS = tuple(analyses.c[name] for name in ANALYSIS_NAMES)


def read_analysis(*columns: Any) -> Analysis:
    """From the values of `ANALYSIS_COLUMNS`."""
    values: dict[str, Any] = dict(zip(ANALYSIS_NAMES, columns, strict=True))
    reasons: Mapping[str, Any] = orjson.loads(values["reasons"])

    def score(name: str) -> Score:
        reason, quote = reasons[name]
        return Score(name, values[name] / _THOUSAND, reason, quote)

    return Analysis(
        title=values["title"],
        title_reason=reasons["title"],
        description=values["description"],
        description_reason=reasons["description"],
        text=values["text"],
        category=values["category"],
        scores=tuple(map(score, SCORES)),
        overall=score("overall"),
        model=values["model"],
        language=values["language"],
    )


@record
class AnalysisAttachment:
    """The state of an entry's analysis."""

    key: str | None
    asked_key: str | None
    version: int
    is_queued: bool
    queued_error: Failure | None
    cooldown_until: Instant | None
    failure: Failure | None


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
    for_all_users: bool
    """The operator has enabled analyses for the feed."""
    requested: bool
    """The given user has enabled them for the feed."""


@record
class GeneratedAnalysis:
    key: str
    content_hash: str
    variant: str
    analysis: Analysis
    usage: Usage


_with_queue = entry_analyses.outerjoin(summary_queue, summary_queue.c.key == entry_analyses.c.asked_key).outerjoin(
    summary_failures, summary_failures.c.key == entry_analyses.c.asked_key
)
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


def _attachment(
    entry_id: int,
    key: str | None,
    asked_key: str | None,
    version: int,
    queued_id: int | None,
    queued_error: str | None,
    cooldown_until: Instant | None,
    failure: str | None,
    failed_at: Instant | None,
) -> tuple[int, AnalysisAttachment]:
    loaded = None if failed_at is None else Failure.load(failure or "")
    is_queued, error = queued_id is not None, load_failure(queued_error)
    return entry_id, AnalysisAttachment(key, asked_key, version, is_queued, error, cooldown_until, loaded)


_ATTACHED = Query(
    select(*_ATTACHMENT).select_from(_with_queue).where(among(entry_analyses.c.entry_id, "ids")), into=_attachment
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


def _candidate(*columns: Any) -> AnalysisCandidate:
    """Without its attachment."""
    *entry, has_full, full_attempted_at = columns
    return AnalysisCandidate(*entry, has_full=bool(has_full), full_attempted_at=full_attempted_at, known=None)


_NEWEST = Query(
    select(*_CANDIDATE)
    .join_from(entries, entry_bodies, entry_bodies.c.entry_id == entries.c.id)
    .where(entries.c.feed_id == bindparam("feed_id"), entries.c.audience_id.is_(None))
    .order_by(entries.c.sort_at.desc(), entries.c.id.desc())
    .limit(bindparam("limit")),
    into=_candidate,
)
_BY_ENTRY = Query(
    select(*_CANDIDATE)
    .join_from(entries, entry_bodies, entry_bodies.c.entry_id == entries.c.id)
    .where(entries.c.id == bindparam("entry_id")),
    into=_candidate,
)
_CONTENT = Query(
    select(func.coalesce(entry_bodies.c.full_content, entry_bodies.c.content)).where(
        entry_bodies.c.entry_id == bindparam("entry_id")
    ),
    into=str,
)
_ATTACH_COLUMNS = ("entry_id", "asked_key", "version", "of_full", "url_hash")
_new_attachment = insert(entry_analyses).values({name: bindparam(name) for name in _ATTACH_COLUMNS})
_ATTACH = Command(
    _new_attachment.on_conflict_do_update(
        index_elements=["entry_id"], set_={name: _new_attachment.excluded[name] for name in _ATTACH_COLUMNS[1:]}
    )
)
_ADOPT = Query(
    update(entry_analyses)
    .where(entry_analyses.c.asked_key == bindparam("ready_key"))
    .values(key=entry_analyses.c.asked_key, asked_key=None)
    .returning(entry_analyses.c.entry_id),
    into=int,
)
_FEEDS_OF = Query(select(entries.c.id, entries.c.feed_id).where(among(entries.c.id, "ids")), into=row_of(int, int))
_WAITING = Query(
    select(entries.c.id, entries.c.feed_id)
    .join_from(entry_analyses, entries, entries.c.id == entry_analyses.c.entry_id)
    .where(entry_analyses.c.asked_key == bindparam("key"))
    .limit(bindparam("limit")),
    into=row_of(int, int),
)
_is_requested = (
    select(framing_requests.c.user_id)
    .where(framing_requests.c.feed_id == entries.c.feed_id, framing_requests.c.user_id == bindparam("user_id"))
    .exists()
)
_for_all_users = func.coalesce(is_served(), False)


def _analysis_input(*columns: Any) -> AnalysisInput:
    *text, for_all_users, requested = columns
    return AnalysisInput(*text, for_all_users=bool(for_all_users), requested=bool(requested))


_SOURCE = Query(
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
        _for_all_users,
        _is_requested,
    )
    .join_from(entry_analyses, entries, entries.c.id == entry_analyses.c.entry_id)
    .join(feeds, feeds.c.id == entries.c.feed_id)
    .join(entry_bodies, entry_bodies.c.entry_id == entries.c.id)
    .outerjoin(feed_framing, feed_framing.c.feed_id == feeds.c.id)
    .where(
        entry_analyses.c.asked_key == bindparam("key"),
        entry_analyses.c.version == entries.c.version,
        or_(_for_all_users, _is_requested),
    )
    .order_by(entries.c.id)
    .limit(1),
    into=_analysis_input,
)
_SAVE_COLUMNS = ("key", "content_hash", "variant", *ANALYSIS_NAMES, "tokens_in", "tokens_out", "cost", "created_at")
_SAVE = Command(
    insert(analyses)
    .values({name: bindparam(name) for name in _SAVE_COLUMNS})
    .on_conflict_do_nothing(index_elements=["key"])
)
_EXISTS = Query(select(analyses.c.id).where(analyses.c.key == bindparam("key")), into=int)


@record
class VisibleAnalysis:
    analysis: Analysis
    variant: str
    made_at: Instant


def _visible_analysis(entry_id: int, variant: str, created_at: Instant, *columns: Any) -> tuple[int, VisibleAnalysis]:
    return entry_id, VisibleAnalysis(read_analysis(*columns), variant, created_at)


_VISIBLE = Query(
    select(entry_analyses.c.entry_id, analyses.c.variant, analyses.c.created_at, *ANALYSIS_COLUMNS)
    .join_from(entry_analyses, analyses, analyses.c.key == entry_analyses.c.key)
    .where(among(entry_analyses.c.entry_id, "ids")),
    into=_visible_analysis,
)
_since = entries.c.sort_at - entries.c.sort_at % bindparam("span", type_=entries.c.sort_at.type)
_AVERAGES = Query(
    select(_since.label("since"), cast(func.avg(analyses.c.overall), Float), func.count())
    .join_from(entries, entry_analyses, entry_analyses.c.entry_id == entries.c.id)
    .join(analyses, analyses.c.key == entry_analyses.c.key)
    .where(
        entries.c.feed_id == bindparam("feed_id"),
        entries.c.audience_id.is_(None),
        entries.c.sort_at >= bindparam("after"),
    )
    .group_by("since")
    .order_by("since"),
    into=row_of(int, float, int),
)
_needed = (
    select(entry_analyses.c.entry_id)
    .where(or_(entry_analyses.c.key == analyses.c.key, entry_analyses.c.asked_key == analyses.c.key))
    .exists()
)
_DELETE_UNUSED = Command(delete(analyses).where(and_(analyses.c.created_at < bindparam("before"), ~_needed)))


async def attached(tx: Tx, entry_ids: Sequence[int]) -> dict[int, AnalysisAttachment]:
    return dict(await tx.all(_ATTACHED, {"ids": list(entry_ids)})) if entry_ids else {}


async def newest(tx: Tx, feed_id: int, *, limit: int) -> list[AnalysisCandidate]:
    rows = await tx.all(_NEWEST, {"feed_id": feed_id, "limit": limit})
    attachments = await attached(tx, [row.id for row in rows])
    return [replace(row, known=attachments.get(row.id)) for row in rows]


async def candidate(tx: Tx, entry_id: int) -> AnalysisCandidate | None:
    row = await tx.one(_BY_ENTRY, {"entry_id": entry_id})
    return row and replace(row, known=(await attached(tx, [entry_id])).get(entry_id))


async def content_of(tx: Tx, entry_id: int) -> str:
    """The full article if there is one; sanitised HTML."""
    return await tx.one(_CONTENT, {"entry_id": entry_id}) or ""


async def attach(tx: Tx, of: AnalysisCandidate, key: str, *, url_hash: str | None, of_full: bool) -> None:
    """Let the entry wait for this analysis; until it is ready, the entry shows its previous one."""
    params = {"entry_id": of.id, "asked_key": key, "version": of.version, "of_full": of_full, "url_hash": url_hash}
    await tx.run(_ATTACH, params)


async def adopt(tx: Tx, key: str) -> list[tuple[int, int]]:
    """Show a finished analysis on all entries that wait for it; returns the entry and feed of each."""
    ids = await tx.all(_ADOPT, {"ready_key": key})
    return await tx.all(_FEEDS_OF, {"ids": ids}) if ids else []


async def waiting_for(tx: Tx, key: str, *, limit: int = 50) -> list[tuple[int, int]]:
    return await tx.all(_WAITING, {"key": key, "limit": limit})


async def source_of(tx: Tx, key: str, user_id: int | None) -> AnalysisInput | None:
    """None if all entries with this text were deleted or changed, or no one wants the analysis any more."""
    return await tx.one(_SOURCE, {"key": key, "user_id": user_id})


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
    return await tx.one(_EXISTS, {"key": key}) is not None


async def shown(tx: Tx, entry_ids: Sequence[int]) -> dict[int, VisibleAnalysis]:
    """The analyses of those entries that have one."""
    return dict(await tx.all(_VISIBLE, {"ids": list(entry_ids)})) if entry_ids else {}


async def averages(tx: Tx, feed_id: int, after: Instant, span: Millis) -> list[Average]:
    """The average of each time span with entries, oldest first."""
    rows = await tx.all(_AVERAGES, {"feed_id": feed_id, "after": after, "span": span})
    return [Average(row[0], round(row[1] / _THOUSAND, 3), row[2]) for row in rows]


async def sweep(tx: Tx, before: Instant) -> int:
    """Delete old analyses that no entry needs."""
    return await tx.run(_DELETE_UNUSED, {"before": before})


def thousandths(value: float) -> int:
    return round(value * _THOUSAND)


def _columns_of(analysis: Analysis) -> dict[str, Param]:
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
