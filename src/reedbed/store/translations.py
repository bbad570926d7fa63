"""Translations of entries, the blocks they are made of, and what users want to see translated."""

from collections.abc import Mapping, Sequence

from sqlalchemy import BigInteger, Text, and_, bindparam, delete, or_, update

from reedbed.domain.failures import Failure, load_failure
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.domain.translations import Translation
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, among, func, insert, keyed, optional, row_of, select
from reedbed.store.tables import (
    entries,
    entry_bodies,
    feed_translations,
    feeds,
    summary_failures,
    summary_queue,
    translated_blocks,
    translation_views,
    translations,
    unread,
    users,
)


@record
class StoredTranslation:
    """The translation of an entry for one user: the last one that was made, and the state of a request."""

    made: Translation | None
    version: int
    of_full: bool
    is_current: bool
    """What was made is of the text that was requested last."""
    view: str | None
    queued_priority: int | None
    queued_error: Failure | None
    cooldown_until: Instant | None
    failure: Failure | None


@record
class TranslationSource:
    """An entry to translate."""

    entry_id: int
    feed_id: int
    title: str
    content: str
    """Sanitised HTML."""
    language: str | None
    version: int
    of_full: bool
    feed_title: str


@record
class ListedTranslation:
    """What a list shows of a translated entry."""

    entry_id: int
    title: str
    summary: str
    source: str
    view: str | None
    mode: str
    """Of the feed, as the user set it."""


@record
class KnownBlock:
    text: str | None
    tries: int


@record
class NewForeignEntry:
    id: int
    feed_id: int
    language: str | None
    mode: str


# --- Translations of entries


def _stored(
    entry_id: int,
    language: str,
    source: str,
    title: str,
    summary: str,
    content: str,
    pairs: str,
    provider: str,
    made_at: Instant | None,
    blocks: int,
    kept: int,
    version: int,
    of_full: bool,
    made_hash: str,
    text_hash: str,
    view: str | None,
    priority: int | None,
    last_error: str | None,
    cooldown_until: Instant | None,
    failure: str | None,
    failed_at: Instant | None,
) -> StoredTranslation:
    made = None
    if made_at is not None:
        made = Translation(entry_id, language, source, title, summary, content, pairs, provider, made_at, blocks, kept)
    return StoredTranslation(
        made,
        version,
        bool(of_full),
        made_hash == text_hash,
        view,
        priority,
        load_failure(last_error),
        cooldown_until,
        None if failed_at is None else Failure.load(failure or ""),
    )


_table = translations.c
_MADE = (
    _table.entry_id,
    _table.language,
    _table.source,
    _table.title,
    _table.summary,
    _table.content,
    _table.pairs,
    _table.provider,
    _table.made_at,
    _table.blocks,
    _table.kept,
)
_view_of_user = and_(
    translation_views.c.entry_id == translations.c.entry_id, translation_views.c.user_id == bindparam("user_id")
)
_GET = Query(
    select(
        *_MADE,
        _table.version,
        _table.of_full,
        _table.made_hash,
        _table.text_hash,
        translation_views.c.view,
        summary_queue.c.priority,
        summary_queue.c.last_error,
        summary_queue.c.cooldown_until,
        summary_failures.c.last_error.label("failure"),
        summary_failures.c.failed_at,
    )
    .select_from(
        translations.outerjoin(translation_views, _view_of_user)
        .outerjoin(summary_queue, summary_queue.c.key == _table.queue_key)
        .outerjoin(summary_failures, summary_failures.c.key == _table.queue_key)
    )
    .where(_table.entry_id == bindparam("entry_id"), _table.language == bindparam("language")),
    into=_stored,
)
_REQUESTED = ("entry_id", "language", "source", "text_hash", "version", "of_full", "queue_key", "created_at")
_request = insert(translations).values({name: bindparam(name) for name in _REQUESTED})
_REQUEST = Command(
    _request.on_conflict_do_update(
        index_elements=["entry_id", "language"],
        set_={name: _request.excluded[name] for name in ("source", "text_hash", "version", "of_full", "queue_key")},
    )
)
_SET_QUEUE_KEY = Command(
    update(translations)
    .where(_table.text_hash == bindparam("hash"), _table.language == bindparam("into"))
    .values(queue_key=bindparam("key"))
)
_RESULT = ("title", "summary", "content", "pairs", "provider", "blocks", "kept", "made_at")
_SAVE = Query(
    update(translations)
    .where(_table.text_hash == bindparam("hash"), _table.language == bindparam("into"))
    .values(**{name: bindparam(f"new_{name}") for name in _RESULT}, made_hash=bindparam("hash"))
    .returning(_table.entry_id),
    into=int,
)
_SOURCE = Query(
    select(
        entries.c.id,
        entries.c.feed_id,
        entries.c.title,
        func.coalesce(entry_bodies.c.full_content, entry_bodies.c.content, ""),
        entries.c.language,
        entries.c.version,
        entry_bodies.c.full_content.is_not(None),
        feeds.c.title,
    )
    .join_from(translations, entries, entries.c.id == _table.entry_id)
    .join(feeds, feeds.c.id == entries.c.feed_id)
    .join(entry_bodies, entry_bodies.c.entry_id == entries.c.id)
    .where(
        _table.text_hash == bindparam("hash"),
        _table.language == bindparam("language"),
        _table.version == entries.c.version,
        _table.of_full == entry_bodies.c.full_content.is_not(None),
    )
    .order_by(entries.c.id)
    .limit(1),
    into=TranslationSource,
)
_READERS = Query(
    select(entries.c.id, entries.c.feed_id)
    .join_from(translations, entries, entries.c.id == _table.entry_id)
    .where(_table.text_hash == bindparam("hash"), _table.language == bindparam("language")),
    into=row_of(int, int),
)
_mode_of_feed = and_(
    feed_translations.c.feed_id == entries.c.feed_id, feed_translations.c.user_id == bindparam("user_id")
)
_of_entries = (
    translations.join(entries, and_(entries.c.id == _table.entry_id, entries.c.version == _table.version))
    .outerjoin(translation_views, _view_of_user)
    .outerjoin(feed_translations, _mode_of_feed)
)
_LIST_COLUMNS = (
    _table.entry_id,
    _table.title,
    _table.summary,
    _table.source,
    translation_views.c.view,
    func.coalesce(feed_translations.c.mode, ""),
)
_is_listed = (
    among(_table.entry_id, "ids"),
    _table.language == bindparam("language"),
    _table.made_at.is_not(None),
    _table.made_hash == _table.text_hash,
)
_LISTED = Query(select(*_LIST_COLUMNS).select_from(_of_entries).where(*_is_listed), into=ListedTranslation)
_CONTENTS = Query(
    select(_table.entry_id, _table.content).where(
        among(_table.entry_id, "ids"), _table.language == bindparam("language"), _table.made_at.is_not(None)
    ),
    into=row_of(int, str),
)
_ALL_CONTENTS = Query(
    select(_table.title, _table.content)
    .where(_table.entry_id == bindparam("entry_id"), _table.made_at.is_not(None), _table.made_hash == _table.text_hash)
    .order_by(_table.language),
    into=row_of(str, str),
)
_SET_TEXT_TO_INDEX = Command(
    update(entry_bodies).where(entry_bodies.c.entry_id == bindparam("id")).values(translated=bindparam("text"))
)


async def get(tx: Tx, user_id: int, entry_id: int, language: str) -> StoredTranslation | None:
    """Whether the user can see the entry is not checked here."""
    return await tx.one(_GET, {"user_id": user_id, "entry_id": entry_id, "language": language})


async def request(
    tx: Tx, source: TranslationSource, language: str, *, original: str, text_hash: str, queue_key: str, now: Instant
) -> None:
    await tx.run(
        _REQUEST,
        {
            "entry_id": source.entry_id,
            "language": language,
            "source": original,
            "text_hash": text_hash,
            "version": source.version,
            "of_full": source.of_full,
            "queue_key": queue_key,
            "created_at": now,
        },
    )


async def set_queue_key(tx: Tx, text_hash: str, language: str, key: str) -> None:
    await tx.run(_SET_QUEUE_KEY, {"hash": text_hash, "into": language, "key": key})


async def save(tx: Tx, text_hash: str, made: Translation) -> list[int]:
    """Keep what was made for all entries with this text; return them."""
    values = {f"new_{name}": getattr(made, name) for name in _RESULT}
    return await tx.all(_SAVE, {"hash": text_hash, "into": made.language, **values})


async def source_of(tx: Tx, text_hash: str, language: str) -> TranslationSource | None:
    """None if every entry with this text was deleted or has changed."""
    return await tx.one(_SOURCE, {"hash": text_hash, "language": language})


async def entries_of(tx: Tx, text_hash: str, language: str) -> list[tuple[int, int]]:
    """Entry and feed ids of the entries that were to be translated with this text."""
    return await tx.all(_READERS, {"hash": text_hash, "language": language})


async def listed(tx: Tx, user_id: int, ids: Sequence[int], language: str) -> dict[int, ListedTranslation]:
    """Only of entries that are as they were when they were translated."""
    rows = await tx.all(_LISTED, {"user_id": user_id, "ids": list(ids), "language": language}) if ids else []
    return {row.entry_id: row for row in rows}


async def contents(tx: Tx, ids: Sequence[int], language: str) -> dict[int, str]:
    return dict(await tx.all(_CONTENTS, {"ids": list(ids), "language": language})) if ids else {}


async def update_text_to_index(tx: Tx, entry_id: int) -> None:
    """Collect the translations of the entry for the search index. The caller indexes it."""
    found = await tx.all(_ALL_CONTENTS, {"entry_id": entry_id})
    text = "\n".join(f"<p>{_escaped(title)}</p>\n{content}" for title, content in found)
    await tx.run(_SET_TEXT_TO_INDEX, {"id": entry_id, "text": text or None})


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


# --- Blocks

_BLOCKS = Query(
    select(translated_blocks.c.key, translated_blocks.c.text, translated_blocks.c.tries).where(
        among(translated_blocks.c.key, "keys", Text())
    ),
    into=keyed(str, KnownBlock),
)
_block = insert(translated_blocks).values({name: bindparam(name) for name in ("key", "text", "tries", "created_at")})
_SAVE_BLOCK = Command(
    _block.on_conflict_do_update(
        index_elements=["key"],
        set_={
            "text": func.coalesce(_block.excluded.text, translated_blocks.c.text),
            "tries": translated_blocks.c.tries + _block.excluded.tries,
            "created_at": _block.excluded.created_at,
        },
    )
)
_DELETE_TRIES = Command(
    delete(translated_blocks).where(among(translated_blocks.c.key, "keys", Text()), translated_blocks.c.text.is_(None))
)
_DELETE_OLD_BLOCKS = Command(delete(translated_blocks).where(translated_blocks.c.created_at < bindparam("before")))
BATCH_SIZE = 500


async def known_blocks(tx: Tx, keys: Sequence[str]) -> dict[str, KnownBlock]:
    known: dict[str, KnownBlock] = {}
    for start in range(0, len(keys), BATCH_SIZE):
        known.update(await tx.all(_BLOCKS, {"keys": list(keys[start : start + BATCH_SIZE])}))
    return known


async def save_blocks(tx: Tx, texts: Mapping[str, str | None], now: Instant) -> None:
    """None counts a try that failed."""
    rows = [{"key": key, "text": text, "tries": 1, "created_at": now} for key, text in sorted(texts.items())]
    await tx.run_many(_SAVE_BLOCK, rows)


async def delete_failed_blocks(tx: Tx, keys: Sequence[str]) -> None:
    for start in range(0, len(keys), BATCH_SIZE):
        await tx.run(_DELETE_TRIES, {"keys": list(keys[start : start + BATCH_SIZE])})


async def delete_old_blocks(tx: Tx, before: Instant) -> int:
    return await tx.run(_DELETE_OLD_BLOCKS, {"before": before})


# --- What users want

_set_view = insert(translation_views).values({name: bindparam(name) for name in ("user_id", "entry_id", "view")})
_SET_VIEW = Command(
    _set_view.on_conflict_do_update(index_elements=["user_id", "entry_id"], set_={"view": _set_view.excluded["view"]})
)
_MODE = Query(
    select(feed_translations.c.mode).where(
        feed_translations.c.user_id == bindparam("user_id"), feed_translations.c.feed_id == bindparam("feed_id")
    ),
    into=optional(str),
)
_set_mode = insert(feed_translations).values({name: bindparam(name) for name in ("user_id", "feed_id", "mode")})
_SET_MODE = Command(
    _set_mode.on_conflict_do_update(index_elements=["user_id", "feed_id"], set_={"mode": _set_mode.excluded["mode"]})
)
_CLEAR_MODE = Command(
    delete(feed_translations).where(
        feed_translations.c.user_id == bindparam("user_id"), feed_translations.c.feed_id == bindparam("feed_id")
    )
)
_COPY_MODES = Command(
    insert(feed_translations)
    .from_select(
        ["user_id", "feed_id", "mode"],
        select(feed_translations.c.user_id, bindparam("new", type_=BigInteger), feed_translations.c.mode).where(
            feed_translations.c.feed_id == bindparam("old", type_=BigInteger)
        ),
    )
    .on_conflict_do_nothing()
)
_has_feed = (
    select(feed_translations.c.feed_id)
    .where(feed_translations.c.user_id == users.c.id, feed_translations.c.mode == "always")
    .exists()
)
# Preferences are JSON without spaces. This may match too many users; the caller parses their preferences.
_AUTOMATIC_USERS = Query(
    select(users.c.id)
    .where(users.c.disabled_at.is_(None), or_(users.c.preferences.like('%"auto_translate":true%'), _has_feed))
    .order_by(users.c.id),
    into=int,
)
_NEW = Query(
    select(unread.c.entry_id, unread.c.feed_id, entries.c.language, func.coalesce(feed_translations.c.mode, ""))
    .join_from(unread, entries, entries.c.id == unread.c.entry_id)
    .outerjoin(feed_translations, _mode_of_feed)
    .where(unread.c.user_id == bindparam("user_id"), unread.c.entry_id > bindparam("after", type_=BigInteger))
    .order_by(unread.c.entry_id.desc())
    .limit(bindparam("limit")),
    into=NewForeignEntry,
)


async def set_view(tx: Tx, user_id: int, entry_id: int, view: str) -> None:
    await tx.run(_SET_VIEW, {"user_id": user_id, "entry_id": entry_id, "view": view})


async def mode_of(tx: Tx, user_id: int, feed_id: int) -> str:
    """`always`, `never`, or nothing."""
    return await tx.one(_MODE, {"user_id": user_id, "feed_id": feed_id}) or ""


async def set_mode(tx: Tx, user_id: int, feed_id: int, mode: str) -> None:
    if mode:
        await tx.run(_SET_MODE, {"user_id": user_id, "feed_id": feed_id, "mode": mode})
    else:
        await tx.run(_CLEAR_MODE, {"user_id": user_id, "feed_id": feed_id})


async def copy_modes(tx: Tx, old: int, new: int) -> None:
    """When a feed is merged into another, copy its modes to the other, unless that has one."""
    await tx.run(_COPY_MODES, {"old": old, "new": new})


async def automatic_users(tx: Tx) -> list[int]:
    """Users who may have entries translated without asking."""
    return await tx.all(_AUTOMATIC_USERS)


async def newest_unread(tx: Tx, user_id: int, *, after: int, limit: int) -> list[NewForeignEntry]:
    return await tx.all(_NEW, {"user_id": user_id, "after": after, "limit": limit})
