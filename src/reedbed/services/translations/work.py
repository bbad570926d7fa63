"""The translation of one entry in the AI worker: one call for each batch of blocks, then the whole is put together."""

from collections.abc import Mapping, Sequence
from functools import partial

from reedbed.ai.model import ModelError, Prompt
from reedbed.ai.prompts import translation_prompt
from reedbed.ai.responses import read_translation
from reedbed.domain.ai import Usage
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.domain.translations import MAX_TRIES, batches, stored_key
from reedbed.ingest.blocks import Block, CutMarkup
from reedbed.ingest.language import detect_language
from reedbed.services.ai import SaveResult, Updated
from reedbed.services.runtime import Runtime
from reedbed.services.search.upkeep import reindex
from reedbed.services.translations.blocks import (
    Texts,
    check_blocks,
    cut_article,
    first_words,
    put_translation,
    title_block,
    to_translate,
)
from reedbed.services.translations.manage import local_feeds, may_translate, variant_of
from reedbed.services.users import preferences_of
from reedbed.store import ai, search, summaries, translations, users
from reedbed.store.ai import Queued
from reedbed.store.engine.database import Tx
from reedbed.store.search import texts
from reedbed.store.translations import KnownBlock, TranslationSource


@record
class TranslationWork:
    row: Queued
    source: TranslationSource
    language: str
    """The language of the original."""
    title: Block | None
    markup: CutMarkup
    known: Mapping[str, KnownBlock]
    """Translations from earlier calls, by the key of the block."""
    batch: Sequence[tuple[str, str]]
    """Keys and texts to send with this call."""
    prompt: Prompt | None
    name: str = "translation"

    @property
    def user_id(self) -> int | None:
        return self.row.user_id

    @property
    def text_hash(self) -> str:
        return self.row.content_hash.partition("#")[0]

    def write(self) -> SaveResult | ModelError:
        """Every block is known already."""
        return partial(self._save, {}, "")

    def read(self, answer: str, model: str) -> SaveResult | ModelError:
        keys = [key for key, _ in self.batch]
        found = read_translation(answer, {str(number) for number in range(1, len(keys) + 1)})
        if found is None:
            return ModelError("unreadable", Failure(FailureCode.MODEL_UNREADABLE_ANSWER))
        by_key = {key: found.get(str(number)) for number, key in enumerate(keys, 1)}
        checked = check_blocks(dict(self.batch), by_key, source=self.language, target=self.row.language)
        return partial(self._save, checked, model)

    async def _save(self, checked: Texts, model: str, tx: Tx, runtime: Runtime, used: Usage, now: Instant) -> Updated:
        stored = {self._stored_key(key): text for key, text in checked.items()}
        await translations.save_blocks(tx, stored, now)
        known = dict(self.known)
        for key, text in checked.items():
            known[key] = KnownBlock(text, known[key].tries + 1 if key in known else 1)
        if _missing(self.title, self.markup, known, self.row.language):
            await self._enqueue_next(tx, now)
            return []
        by_key = {key: block.text for key, block in known.items()}
        made = put_translation(
            self.source,
            self.title,
            self.markup,
            by_key,
            language=self.language,
            target=self.row.language,
            provider=model or self.row.model,
            now=now,
        )
        if all(by_key.get(key) in (None, text) for key, text in self._texts().items()):
            await self._give_up(tx, now)
        else:
            await self._index(tx, runtime, await translations.save(tx, self.text_hash, made))
        return await self.readers(tx)

    def _texts(self) -> Mapping[str, str]:
        return to_translate(self.title, self.markup, self.row.language)

    async def _enqueue_next(self, tx: Tx, now: Instant) -> None:
        row = self.row
        following = f"{self.text_hash}#{int(row.content_hash.partition('#')[2]) + 1}"
        variant = variant_of(row.model, row.language)
        await ai.enqueue(tx, following, variant, user_id=row.user_id, priority=row.priority, now=now)
        await translations.set_queue_key(tx, self.text_hash, row.language, variant.key(following))

    async def _give_up(self, tx: Tx, now: Instant) -> None:
        row = self.row
        await summaries.record_failure(tx, row.key, row.content_hash, Failure(FailureCode.NOTHING_TRANSLATED), now)

    async def _index(self, tx: Tx, runtime: Runtime, entry_ids: Sequence[int]) -> None:
        for entry_id in entry_ids:
            needs_old = search.needs_text_to_delete(tx.engine)
            before = await texts.possibly_indexed(tx, [entry_id]) if needs_old else []
            await translations.update_text_to_index(tx, entry_id)
            await reindex(tx, runtime.known_words, [entry_id], before)

    async def stand_in(self, tx: Tx, now: Instant) -> None:
        """There is no translation without a translator."""

    async def readers(self, tx: Tx) -> Updated:
        return await translations.entries_of(tx, self.text_hash, self.row.language)

    def _stored_key(self, key: str) -> str:
        return stored_key(key, self.source.feed_id, self.row.language, self.row.model)


async def find(tx: Tx, runtime: Runtime, row: Queued) -> TranslationWork | None:
    text_hash = row.content_hash.partition("#")[0]
    source = await translations.source_of(tx, text_hash, row.language)
    user = None if row.user_id is None else await users.get(tx, row.user_id)
    translator = runtime.ai.translator
    if source is None or user is None or translator is None or translator.name != row.model:
        return None
    if not may_translate(runtime, preferences_of(user)) or source.feed_id in await local_feeds(tx, runtime, user.id):
        return None  # the user left or withdrew consent, so nothing is sent
    markup, title = cut_article(source.content), title_block(source.title)
    language = source.language or detect_language(f"{source.title}. {first_words(markup)}") or ""
    blocks = to_translate(title, markup, row.language)
    names = {key: stored_key(key, source.feed_id, row.language, row.model) for key in blocks}
    stored = await translations.known_blocks(tx, list(names.values()))
    known = {key: stored[name] for key, name in names.items() if name in stored}
    missing = _missing(title, markup, known, row.language)
    batch = batches(list(missing.items()))[0] if missing else []
    numbered = {str(number): text for number, (_, text) in enumerate(batch, 1)}
    prompt = translation_prompt(numbered, language, row.language) if batch else None
    return TranslationWork(row, source, language, title, markup, known, batch, prompt)


def _missing(title: Block | None, markup: CutMarkup, known: Mapping[str, KnownBlock], target: str) -> dict[str, str]:
    return {
        key: text
        for key, text in to_translate(title, markup, target).items()
        if (block := known.get(key)) is None or (block.text is None and block.tries < MAX_TRIES)
    }
