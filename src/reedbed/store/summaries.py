"""Summaries of entries, failed attempts, and the options of users who get summaries of new entries."""

from collections.abc import Sequence

from sqlalchemy import BigInteger, ClauseElement, ColumnElement, Text, and_, bindparam, delete, or_

from reedbed.domain.ai import Usage
from reedbed.domain.failures import Failure, load_failure
from reedbed.domain.records import record
from reedbed.domain.summaries import Summary, Variant
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, among, func, insert, keyed, row_of, select, with_failure
from reedbed.store.tables import (
    entries,
    entry_bodies,
    entry_summaries,
    feeds,
    folders,
    subscriptions,
    summaries,
    summary_failures,
    summary_queue,
    unread,
    users,
)


@record
class SummaryAttachment:
    """An entry's summary in one variant: the text, or its state in the queue."""

    key: str
    version: int
    of_full: bool
    summary: Summary | None
    queued_priority: int | None
    queued_error: Failure | None
    cooldown_until: Instant | None
    failure: Failure | None


@record
class TextSource:
    """An entry whose text has this key."""

    entry_id: int
    feed_id: int
    title: str
    content: str
    """Sanitised HTML."""
    language: str | None
    source: str
    transcript: str


@record
class SummaryFailure:
    """A text whose summary failed for good."""

    content_hash: str
    last_error: Failure | None
    failed_at: Instant


@record
class GeneratedSummary:
    key: str
    content_hash: str
    variant: str
    summary: Summary
    usage: Usage


_joined = (
    entry_summaries.outerjoin(summaries, summaries.c.key == entry_summaries.c.key)
    .outerjoin(summary_queue, summary_queue.c.key == entry_summaries.c.key)
    .outerjoin(summary_failures, summary_failures.c.key == entry_summaries.c.key)
)


def _attachment(
    key: str,
    version: int,
    of_full: bool,
    text: str | None,
    one_line: str,
    model: str,
    language: str,
    priority: int | None,
    last_error: str | None,
    cooldown_until: Instant | None,
    failure: str | None,
    failed_at: Instant | None,
) -> SummaryAttachment:
    return SummaryAttachment(
        key=key,
        version=version,
        of_full=bool(of_full),
        summary=None if text is None else Summary(text, one_line, model, language),
        queued_priority=priority,
        queued_error=load_failure(last_error),
        cooldown_until=cooldown_until,
        failure=None if failed_at is None else Failure.load(failure or ""),
    )


_ATTACHED = Query(
    select(
        entry_summaries.c.key,
        entry_summaries.c.version,
        entry_summaries.c.of_full,
        summaries.c.text,
        summaries.c.one_line,
        summaries.c.model,
        summaries.c.language,
        summary_queue.c.priority,
        summary_queue.c.last_error,
        summary_queue.c.cooldown_until,
        summary_failures.c.last_error.label("failure"),
        summary_failures.c.failed_at,
    )
    .select_from(_joined)
    .where(entry_summaries.c.entry_id == bindparam("entry_id"), entry_summaries.c.variant == bindparam("variant")),
    into=_attachment,
)
_ATTACHMENT_NAMES = ("entry_id", "variant", "key", "version", "of_full")
_attach = insert(entry_summaries).values({name: bindparam(name) for name in _ATTACHMENT_NAMES})
_ATTACH = Command(
    _attach.on_conflict_do_update(
        index_elements=["entry_id", "variant"],
        set_={name: _attach.excluded[name] for name in ("key", "version", "of_full")},
    )
)


# Only entries with the same text: an older version of an entry has a different key.
_attach_other = insert(entry_summaries).from_select(
    list(_ATTACHMENT_NAMES),
    select(
        entry_summaries.c.entry_id,
        bindparam("variant", type_=Text()),
        bindparam("also", type_=Text()),
        entry_summaries.c.version,
        entry_summaries.c.of_full,
    ).where(entry_summaries.c.key == bindparam("key")),
)
_ATTACH_OTHER_VARIANT = Command(
    _attach_other.on_conflict_do_update(
        index_elements=["entry_id", "variant"],
        set_={name: _attach_other.excluded[name] for name in ("key", "version", "of_full")},
    )
)


def _select_for_entries(*columns: ColumnElement[str]) -> ClauseElement:
    """Select summaries of the entries' current versions only."""
    current = and_(entries.c.id == entry_summaries.c.entry_id, entries.c.version == entry_summaries.c.version)
    return (
        select(entry_summaries.c.entry_id, *columns)
        .join_from(entry_summaries, summaries, summaries.c.key == entry_summaries.c.key)
        .join(entries, current)
        .where(among(entry_summaries.c.entry_id, "ids"), entry_summaries.c.variant == bindparam("variant"))
    )


_ONE_LINES = Query(_select_for_entries(summaries.c.one_line), into=row_of(int, str))
_TEXTS = Query(_select_for_entries(summaries.c.text, summaries.c.one_line), into=keyed(int, row_of(str, str)))
_SUMMARY_NAMES = (
    "key",
    "content_hash",
    "variant",
    "model",
    "language",
    "one_line",
    "text",
    "tokens_in",
    "tokens_out",
    "cost",
    "created_at",
)
_SAVE = Command(
    insert(summaries)
    .values({name: bindparam(name) for name in _SUMMARY_NAMES})
    .on_conflict_do_nothing(index_elements=["key"])
)
_EXISTS = Query(select(summaries.c.id).where(summaries.c.key == bindparam("key")), into=int)
_DELETE_BY_TEXT = Command(delete(summaries).where(summaries.c.content_hash == bindparam("content_hash")))
_ENTRIES = Query(
    select(entries.c.id, entries.c.feed_id)
    .join_from(entry_summaries, entries, entries.c.id == entry_summaries.c.entry_id)
    .where(entry_summaries.c.key == bindparam("key"))
    .limit(bindparam("limit")),
    into=row_of(int, int),
)
_SOURCE = Query(
    select(
        entries.c.id,
        entries.c.feed_id,
        entries.c.title,
        func.coalesce(entry_bodies.c.full_content, entry_bodies.c.content, ""),
        entries.c.language,
        feeds.c.title,
        func.coalesce(entry_bodies.c.transcript, ""),
    )
    .join_from(entry_summaries, entries, entries.c.id == entry_summaries.c.entry_id)
    .join(feeds, feeds.c.id == entries.c.feed_id)
    .join(entry_bodies, entry_bodies.c.entry_id == entries.c.id)
    .where(
        entry_summaries.c.key == bindparam("key"),
        entry_summaries.c.version == entries.c.version,
        entry_summaries.c.of_full == entry_bodies.c.full_content.is_not(None),
    )
    .order_by(entries.c.id)
    .limit(1),
    into=TextSource,
)
_DETACH = Command(delete(entry_summaries).where(entry_summaries.c.entry_id == bindparam("entry_id")))
_FAILURE_NAMES = ("key", "content_hash", "last_error", "failed_at")
_failure = insert(summary_failures).values({name: bindparam(name) for name in _FAILURE_NAMES})
_RECORD_FAILURE = Command(
    _failure.on_conflict_do_update(
        index_elements=["key"], set_={name: _failure.excluded[name] for name in ("last_error", "failed_at")}
    )
)
_CLEAR_FAILURE = Command(delete(summary_failures).where(summary_failures.c.key == bindparam("key")))
_CLEAR_FAILURES_OF_TEXT = Command(
    delete(summary_failures).where(summary_failures.c.content_hash == bindparam("content_hash"))
)
_is_attached = select(entry_summaries.c.key).where(entry_summaries.c.key == summaries.c.key).exists()
_DELETE_ORPHANS = Command(delete(summaries).where(summaries.c.created_at < bindparam("before"), ~_is_attached))
_COUNT_FAILURES = Query(select(func.count()).select_from(summary_failures), into=int)
_NEWEST_FAILURES = Query(
    select(summary_failures.c.content_hash, summary_failures.c.last_error, summary_failures.c.failed_at)
    .order_by(summary_failures.c.id.desc())
    .limit(bindparam("limit")),
    into=with_failure(SummaryFailure, 1),
)


async def attached(tx: Tx, entry_id: int, variant: Variant) -> SummaryAttachment | None:
    return await tx.one(_ATTACHED, {"entry_id": entry_id, "variant": variant.name})


async def attach(tx: Tx, entry_id: int, variant: Variant, key: str, *, version: int, of_full: bool) -> None:
    params = {"entry_id": entry_id, "variant": variant.name, "key": key, "version": version, "of_full": of_full}
    await tx.run(_ATTACH, params)


async def detach(tx: Tx, entry_id: int) -> int:
    """The entry has other text now; its summaries are deleted later, when no entry uses them."""
    return await tx.run(_DETACH, {"entry_id": entry_id})


async def attach_other_variant(tx: Tx, key: str, variant: Variant, also: str) -> None:
    """Attach the key `also`, of another variant of the same text, to all entries with `key`."""
    await tx.run(_ATTACH_OTHER_VARIANT, {"key": key, "variant": variant.name, "also": also})


async def one_lines(tx: Tx, ids: Sequence[int], variant: Variant) -> dict[int, str]:
    """Return the one-line summaries, for entries that have one."""
    return dict(await tx.all(_ONE_LINES, {"ids": list(ids), "variant": variant.name})) if ids else {}


async def texts(tx: Tx, ids: Sequence[int], variant: Variant) -> dict[int, tuple[str, str]]:
    """Return text and one-line summary, for entries that have them."""
    return dict(await tx.all(_TEXTS, {"ids": list(ids), "variant": variant.name})) if ids else {}


async def save(tx: Tx, generated: GeneratedSummary, now: Instant) -> None:
    """Keep an existing summary with the same key."""
    await tx.run(
        _SAVE,
        {
            "key": generated.key,
            "content_hash": generated.content_hash,
            "variant": generated.variant,
            "model": generated.summary.model,
            "language": generated.summary.language,
            "one_line": generated.summary.one_line,
            "text": generated.summary.text,
            "tokens_in": generated.usage.tokens_in,
            "tokens_out": generated.usage.tokens_out,
            "cost": generated.usage.cost,
            "created_at": now,
        },
    )


async def exists(tx: Tx, key: str) -> bool:
    return await tx.one(_EXISTS, {"key": key}) is not None


async def delete_old(tx: Tx, content_hash: str) -> int:
    return await tx.run(_DELETE_BY_TEXT, {"content_hash": content_hash})


async def entries_of(tx: Tx, key: str, *, limit: int = 50) -> list[tuple[int, int]]:
    """Return entry and feed ids of the entries with this text."""
    return await tx.all(_ENTRIES, {"key": key, "limit": limit})


async def source_of(tx: Tx, key: str) -> TextSource | None:
    """Return None if every entry with this text was deleted or has changed."""
    return await tx.one(_SOURCE, {"key": key})


async def record_failure(tx: Tx, key: str, content_hash: str, error: Failure, now: Instant) -> None:
    await tx.run(
        _RECORD_FAILURE, {"key": key, "content_hash": content_hash, "last_error": error.dump(), "failed_at": now}
    )


async def clear_failure(tx: Tx, key: str) -> None:
    await tx.run(_CLEAR_FAILURE, {"key": key})


async def clear_failures_of_text(tx: Tx, content_hash: str) -> int:
    return await tx.run(_CLEAR_FAILURES_OF_TEXT, {"content_hash": content_hash})


async def count_failures(tx: Tx) -> int:
    return await tx.get(_COUNT_FAILURES)


async def newest_failures(tx: Tx, *, limit: int) -> list[SummaryFailure]:
    return await tx.all(_NEWEST_FAILURES, {"limit": limit})


async def delete_expired(tx: Tx, before: Instant) -> int:
    """Delete summaries that no entry uses any more."""
    return await tx.run(_DELETE_ORPHANS, {"before": before})


# --- Automatic summaries of new entries

_has_feed = (
    select(subscriptions.c.id).where(subscriptions.c.user_id == users.c.id, subscriptions.c.summary_words >= 0).exists()
)
_has_folder = select(folders.c.id).where(folders.c.user_id == users.c.id, folders.c.summary_words >= 0).exists()
# Preferences are JSON without spaces. This may match too many users; the caller parses their preferences.
_CANDIDATE_USERS = Query(
    select(users.c.id)
    .where(users.c.disabled_at.is_(None), or_(users.c.preferences.like(bindparam("setting")), _has_feed, _has_folder))
    .order_by(users.c.id),
    into=int,
)
_USERS_WITH_LINES = Query(
    select(users.c.id)
    .where(users.c.disabled_at.is_(None), ~users.c.preferences.like(bindparam("refusal")))
    .order_by(users.c.id),
    into=int,
)
_NEWEST_ENTRY = Query(select(func.coalesce(func.max(entries.c.id), 0)), into=int)


@record
class AutoSummaryFeed:
    feed_id: int
    folder_id: int | None
    summary_words: int | None


_AUTO_SUMMARY_FEEDS = Query(
    select(subscriptions.c.feed_id, subscriptions.c.folder_id, subscriptions.c.summary_words).where(
        subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.unsubscribed_at.is_(None)
    ),
    into=AutoSummaryFeed,
)
_select_unread = (
    select(unread.c.entry_id, unread.c.feed_id, entries.c.words)
    .join_from(unread, entries, entries.c.id == unread.c.entry_id)
    .where(unread.c.user_id == bindparam("user_id"), among(unread.c.feed_id, "feeds"))
    .limit(bindparam("limit"))
)


@record
class SummarizableEntry:
    id: int
    feed_id: int
    words: int


_UNREAD_AFTER = Query(
    _select_unread.where(unread.c.entry_id > bindparam("after", type_=BigInteger)).order_by(unread.c.entry_id),
    into=SummarizableEntry,
)
_NEWEST_UNREAD = Query(_select_unread.order_by(unread.c.entry_id.desc()), into=SummarizableEntry)


async def newest_entry(tx: Tx) -> int:
    return await tx.get(_NEWEST_ENTRY)


async def users_with_lines(tx: Tx, *, with_lines: bool) -> list[int]:
    """Users with automatic summaries; `with_lines`: also those who have only the built-in lines."""
    with_models = await tx.all(_CANDIDATE_USERS, {"setting": '%"auto_summaries":true%'})
    others = await tx.all(_USERS_WITH_LINES, {"refusal": '%"one_lines":false%'}) if with_lines else []
    return sorted({*with_models, *others})


async def auto_summary_options(tx: Tx, user_id: int) -> list[AutoSummaryFeed]:
    return await tx.all(_AUTO_SUMMARY_FEEDS, {"user_id": user_id})


async def new_entries(
    tx: Tx, user_id: int, feeds: Sequence[int], *, after: int | None, limit: int
) -> list[SummarizableEntry]:
    """Return unread entries of these feeds, oldest first; the newest ones if `after` is None."""
    params = {"user_id": user_id, "feeds": list(feeds), "limit": limit}
    if after is None:
        newest = await tx.all(_NEWEST_UNREAD, params)
        return newest[::-1]
    return await tx.all(_UNREAD_AFTER, {**params, "after": after})
