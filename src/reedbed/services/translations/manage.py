"""Translations: read or request one, translate new entries without asking, and what users want translated."""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import replace

from reedbed.domain.entries import Entry
from reedbed.domain.errors import Conflict, NotFound
from reedbed.domain.failures import untranslated
from reedbed.domain.live import ChangeEvent
from reedbed.domain.summaries import BACKGROUND, OPENED, Variant
from reedbed.domain.translations import (
    KIND,
    VERSION,
    VIEWS,
    FeedMode,
    TranslationState,
    View,
    check_mode,
    is_automatic,
    same_language,
    stored_key,
)
from reedbed.domain.users import Preferences, User
from reedbed.ingest.language import detect_language
from reedbed.ingest.text import clean_text
from reedbed.services.ai import must_stay_local
from reedbed.services.entries import NO_SUCH_ENTRY
from reedbed.services.runtime import Runtime
from reedbed.services.users import preferences_of
from reedbed.store import ai, instance, subscriptions, summaries, translations, users
from reedbed.store.engine.database import Tx
from reedbed.store.entries import read as entries
from reedbed.store.translations import ListedTranslation, StoredTranslation, TranslationSource

NEW_PER_RUN = 50
NOT_CONFIGURED = "This server has no translator: its operator has named none in REEDBED_TRANSLATE_PROVIDER."


def target_language(runtime: Runtime, preferences: Preferences) -> str:
    """The language that this user's entries are translated into."""
    return preferences.translation_language or preferences.language or runtime.ai.language or "en"


def may_translate(runtime: Runtime, preferences: Preferences) -> bool:
    """Texts are sent to a remote service only after the user has allowed it."""
    translator = runtime.ai.translator
    return translator is not None and (preferences.remote_ai or not translator.is_remote)


def variant_of(provider: str, language: str) -> Variant:
    return Variant(provider, language, kind=KIND, version=VERSION)


async def translation_of(tx: Tx, runtime: Runtime, user: User, entry: Entry) -> TranslationState:
    """The translation of this entry for this user, without requesting one."""
    if runtime.ai.translator is None:
        return TranslationState("none")
    preferences = preferences_of(user)
    target = target_language(runtime, preferences)
    language = entry.row.language or ""
    if language and same_language(language, target):
        return TranslationState("unneeded", target, language)
    stored = await translations.get(tx, user.id, entry.row.id, target)
    mode = await translations.mode_of(tx, user.id, entry.row.feed_id)
    automatic = is_automatic(mode, language, target, preferences)
    is_refused = await _is_refused(tx, runtime, user, entry.row.feed_id)
    return _state(stored, entry, target, automatic=automatic, is_refused=is_refused)


def _state(
    stored: StoredTranslation | None, entry: Entry, target: str, *, automatic: bool, is_refused: bool
) -> TranslationState:
    status = "refused" if is_refused else "none"
    language = entry.row.language or ""
    view = _as_view(stored.view if stored else None) or ("translation" if automatic else "original")
    if stored is None:
        return TranslationState(status, target, language, view=view, automatic=automatic)
    is_of_entry = stored.version == entry.row.version and stored.of_full == (entry.full_content is not None)
    error = stored.failure
    if error is None and stored.cooldown_until is not None:
        error = stored.queued_error or untranslated("")
    if error is not None and stored.made is None:
        status = "failed"
    elif stored.made is not None:
        status = "ready"
    elif stored.queued_priority is not None:
        status = "pending"
    return TranslationState(
        status,
        target,
        language or (stored.made.source if stored.made else ""),
        stored.made,
        error,
        view,
        automatic,
        outdated=not (is_of_entry and stored.is_current),
    )


def _as_view(text: str | None) -> View | None:
    return next((view for view in VIEWS if view == text), None)


async def get_translation(runtime: Runtime, user: User, entry_id: int) -> TranslationState:
    async with runtime.db.read() as tx:
        return await translation_of(tx, runtime, user, await _entry(tx, user, entry_id))


async def request_translation(
    runtime: Runtime, user: User, entry_id: int, view: View | None = "translation", *, again: bool = False
) -> TranslationState:
    """Show the entry in this view from now on, and request the translation that it needs. `again` makes a new one."""
    async with runtime.db.read() as tx:
        entry = await _entry(tx, user, entry_id)
        state = await translation_of(tx, runtime, user, entry)
    if runtime.ai.translator is None:
        raise Conflict(NOT_CONFIGURED)
    if view is not None:
        async with runtime.db.write() as tx:
            await translations.set_view(tx, user.id, entry_id, view)
    is_made = state.status == "ready" and not state.outdated
    if view == "original" or state.status in ("refused", "unneeded") or (is_made and not again):
        return await get_translation(runtime, user, entry_id)
    await _request(runtime, user, entry, state.language, priority=OPENED, again=again)
    return await get_translation(runtime, user, entry_id)


async def _entry(tx: Tx, user: User, entry_id: int) -> Entry:
    entry = await entries.get(tx, user.id, entry_id)
    if entry is None:
        raise NotFound(NO_SUCH_ENTRY)
    return entry


async def _is_refused(tx: Tx, runtime: Runtime, user: User, feed_id: int) -> bool:
    """Whether this user does not want texts of this feed to be sent to the translator."""
    translator = runtime.ai.translator
    if translator is None or not may_translate(runtime, preferences_of(user)):
        return True
    return translator.is_remote and feed_id in await local_feeds(tx, runtime, user.id)


async def local_feeds(tx: Tx, runtime: Runtime, user_id: int) -> frozenset[int]:
    """The feeds whose texts this user does not want sent to the translator."""
    translator = runtime.ai.translator
    if translator is None or not translator.is_remote:
        return frozenset()
    if translator is runtime.ai.model:
        return await must_stay_local(tx, runtime, user_id)
    return await ai.local_only_feeds(tx, user_id)


async def _request(runtime: Runtime, user: User, entry: Entry, target: str, *, priority: int, again: bool) -> None:
    translator = runtime.ai.translator
    assert translator is not None
    html = entry.full_content or entry.content
    language = entry.row.language or await asyncio.to_thread(_detect, f"{entry.row.title}. {html}") or ""
    if language and same_language(language, target):
        raise Conflict("This entry is in your language already.")
    text_hash = await asyncio.to_thread(hash_of, entry.row.title, html)
    source = TranslationSource(
        entry.row.id,
        entry.row.feed_id,
        entry.row.title,
        html,
        language,
        entry.row.version,
        entry.full_content is not None,
        "",
    )
    first = f"{text_hash}#0"
    variant, now = variant_of(translator.name, target), runtime.now()
    keys = await _block_keys(entry.row.title, html, target) if again else []
    async with runtime.db.write() as tx:
        stored = await translations.get(tx, user.id, entry.row.id, target)
        is_waiting = stored is not None and stored.queued_priority is not None and stored.is_current is False
        if again and stored is not None:
            await summaries.clear_failure(tx, variant.key(first))
        if is_waiting and not again and stored is not None and stored.version == entry.row.version:
            return
        await translations.request(
            tx, source, target, original=language, text_hash=text_hash, queue_key=variant.key(first), now=now
        )
        await ai.enqueue(tx, first, variant, user_id=user.id, priority=priority, now=now)
        if again:
            # The worker translates the same text of several feeds once, for the first of them.
            feed_id = (await translations.source_of(tx, text_hash, target) or source).feed_id
            names = [stored_key(key, feed_id, target, translator.name) for key in keys]
            await translations.delete_failed_blocks(tx, names)
            await ai.retry(tx, variant.key(first))
    await runtime.bus.publish(ChangeEvent("wake", data={"for": "ai"}))


async def _block_keys(title: str, html: str, target: str) -> list[str]:
    from reedbed.services.translations.blocks import block_keys  # which only the worker needs otherwise

    return await asyncio.to_thread(block_keys, title, html, target)


def _detect(html: str) -> str | None:
    return detect_language(clean_text(html))


def hash_of(title: str, html: str) -> str:
    return hashlib.sha256(f"{title}\n{html}".encode("utf-8", "replace")).hexdigest()[:32]


# --- Lists and apps


async def list_translations(tx: Tx, runtime: Runtime, user: User, ids: list[int]) -> dict[int, ListedTranslation]:
    """The translated titles that this user's lists show."""
    if runtime.ai.translator is None:
        return {}
    preferences = preferences_of(user)
    target = target_language(runtime, preferences)
    found = await translations.listed(tx, user.id, ids, target)
    return {id_: row for id_, row in found.items() if _is_shown(row, target, preferences)}


def _is_shown(row: ListedTranslation, target: str, preferences: Preferences) -> bool:
    if row.view is not None:
        return row.view != "original"
    return is_automatic(row.mode, row.source, target, preferences)


async def translations_for_programs(
    tx: Tx, runtime: Runtime, user: User, ids: list[int]
) -> dict[int, tuple[ListedTranslation, str]]:
    """What apps and published feeds get instead of the original, if the user wants that: the row and its markup."""
    if runtime.ai.translator is None or not preferences_of(user).translations_in_apps:
        return {}
    shown = await list_translations(tx, runtime, user, ids)
    contents = await translations.contents(tx, list(shown), target_language(runtime, preferences_of(user)))
    return {id_: (row, contents[id_]) for id_, row in shown.items() if id_ in contents}


async def in_own_language(tx: Tx, runtime: Runtime, user: User, found: Sequence[Entry]) -> list[Entry]:
    """The entries as apps get them: those that are translated for this user, in translation."""
    translated = await translations_for_programs(tx, runtime, user, [entry.row.id for entry in found])
    return [_with_translation(entry, translated.get(entry.row.id)) for entry in found]


def _with_translation(entry: Entry, translated: tuple[ListedTranslation, str] | None) -> Entry:
    if translated is None:
        return entry
    listed, content = translated
    row = replace(entry.row, title=listed.title, summary=listed.summary)
    return replace(entry, row=row, content=content, full_content=entry.full_content and content)


# --- What is translated without asking


async def feed_mode(runtime: Runtime, user_id: int, subscription_id: int) -> FeedMode:
    async with runtime.db.read() as tx:
        feed_id = await _feed_id(tx, user_id, subscription_id)
        return check_mode(await translations.mode_of(tx, user_id, feed_id))


async def set_feed_mode(runtime: Runtime, user_id: int, subscription_id: int, mode: str) -> FeedMode:
    checked = check_mode(mode)
    async with runtime.db.write() as tx:
        await translations.set_mode(tx, user_id, await _feed_id(tx, user_id, subscription_id), checked)
    return checked


async def _feed_id(tx: Tx, user_id: int, subscription_id: int) -> int:
    subscription = await subscriptions.get(tx, user_id, subscription_id)
    if subscription is None:
        raise NotFound("You do not follow this feed")
    return subscription.feed.id


class TranslationRequester:
    """Requests translations of new entries; remembers the newest entry, so that an idle server asks for nothing."""

    def __init__(self) -> None:
        self._newest: int | None = None

    async def request_new(self, runtime: Runtime) -> int:
        """Return how many were requested."""
        async with runtime.db.read() as tx:
            newest = await summaries.newest_entry(tx)
            if newest == self._newest:
                return 0
            owners = [await users.get(tx, id_) for id_ in await translations.automatic_users(tx)]
        counts = [await _request_new(runtime, user, newest) for user in owners if user is not None]
        self._newest = newest
        return sum(counts)


async def _request_new(runtime: Runtime, user: User, newest: int) -> int:
    """Only the newest of very many: an import brings more than anyone reads. Entries from before are left alone."""
    key, preferences = f"translations:{user.id}", preferences_of(user)
    target = target_language(runtime, preferences)
    async with runtime.db.read() as tx:
        seen = await instance.get_setting(tx, key)
        new = (
            []
            if seen is None or not may_translate(runtime, preferences)
            else await translations.newest_unread(tx, user.id, after=int(seen), limit=NEW_PER_RUN)
        )
        private = await local_feeds(tx, runtime, user.id) if new else frozenset[int]()
        wanted = [
            row.id
            for row in new
            if row.feed_id not in private and is_automatic(row.mode, row.language or "", target, preferences)
        ]
        found = await entries.by_ids(tx, user.id, wanted) if wanted else []
        done = await translations.listed(tx, user.id, wanted, target) if wanted else {}
    for entry in found:
        if entry.row.id not in done:
            await _request(runtime, user, entry, target, priority=BACKGROUND, again=False)
    async with runtime.db.write() as tx:
        await instance.set_setting(tx, key, str(newest), runtime.now())
    return len(found)
