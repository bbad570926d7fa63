"""Rules meet entries: away from the event loop, within a time, and never with an error."""

import asyncio
import threading
import time
from collections.abc import Iterable, Sequence

import structlog

from reedbed.domain.folders import FolderRow, ancestors
from reedbed.domain.records import record
from reedbed.domain.rules import MAX_SUBJECT, Effects, Rule, Subject, apply
from reedbed.ingest.text import clean_text
from reedbed.store.entry_texts import EntryWords

log = structlog.get_logger()

# Compiled patterns are shared and remember what they have met; one thread at a time walks them.
_walking = threading.Lock()


@record
class Case:
    """The rules of one user before one entry."""

    key: int
    """Whatever the caller knows it by."""
    rules: Sequence[Rule]
    subject: Subject


@record
class Judged:
    effects: dict[int, Effects]
    """By the key of the case; only where a rule matched."""
    open: list[int]
    """The keys of those for which no time was left."""


async def judge(cases: Iterable[Case], *, seconds: float) -> Judged:
    return await asyncio.to_thread(_judge, cases, seconds)


def _judge(cases: Iterable[Case], seconds: float) -> Judged:
    judged = Judged({}, [])
    ends_at = time.monotonic() + seconds
    for case in cases:
        if time.monotonic() > ends_at:
            judged.open.append(case.key)
        elif (effects := _apply(case)).matched:
            judged.effects[case.key] = effects
    return judged


def _apply(case: Case) -> Effects:
    try:
        with _walking:
            return apply(case.rules, case.subject)
    except Exception:
        log.exception("rules could not be applied", rules=[rule.id for rule in case.rules])
        return Effects()


def subject_of(entry: EntryWords, folders: Sequence[FolderRow]) -> Subject:
    return Subject(
        feed_id=entry.feed_id,
        feed_title=entry.feed_title,
        folders=folders_around(entry.folder_id, folders),
        title=entry.title,
        authors=authors_of(entry.author),
        content=clean_text(entry.content)[:MAX_SUBJECT],
        url=entry.url or "",
        language=entry.language or "",
    )


def folders_around(folder_id: int | None, rows: Sequence[FolderRow]) -> tuple[tuple[int, str], ...]:
    """The folder and those around it, as rules ask about them."""
    if folder_id is None:
        return ()
    names = {row.id: row.name for row in rows}
    return tuple((id_, names[id_]) for id_ in ancestors(rows, folder_id))


def authors_of(author: str | None) -> tuple[str, ...]:
    return tuple(author.split(", ")) if author else ()
