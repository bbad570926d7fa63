"""Read an entry or a digest aloud in a job: text to passages, passages to sound, sound to chapters and an entry."""

import asyncio
import tempfile
import wave
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from zoneinfo import ZoneInfo

import orjson
import structlog

from reedbed.ai.extractive import sentences
from reedbed.ai.speech import Sound, Speaker, SpeechFailed, encode
from reedbed.domain.ai import MILLIONTHS, Breaker, Usage, day_start, failed, refusal, succeeded
from reedbed.domain.digests import Digest
from reedbed.domain.errors import Conflict, NotFound, ReedbedError, Unavailable
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.listening import (
    CHAPTER_PAUSE,
    FEED_URL,
    PART_PAUSE,
    Spoken,
    SpokenChapter,
    SpokenPassage,
    bounded_passages,
    requests_of,
    show_notes,
    speakable,
    voice_for,
)
from reedbed.domain.live import ChangeEvent
from reedbed.domain.playback import Recording
from reedbed.domain.records import record
from reedbed.domain.refresh.dedupe import change_hash
from reedbed.domain.search.indexing import search_words
from reedbed.domain.times import Instant, to_datetime
from reedbed.domain.users import User
from reedbed.ingest.sanitize.cleaner import clean_html
from reedbed.ingest.text import clean_text, cut, preview, spoken_sections
from reedbed.services.ai import ModelUnavailable, admit_call, book
from reedbed.services.email import texts_for
from reedbed.services.jobs import Done, Later
from reedbed.services.listening.manage import NO_SUCH, ShownText, may_read_aloud, shown_text
from reedbed.services.live import publish_subscriptions
from reedbed.services.runtime import Runtime
from reedbed.services.users import preferences_of
from reedbed.store import ai, digests, listening, search, subscriptions, users
from reedbed.store import ai as ai_state
from reedbed.store.engine.database import Tx
from reedbed.store.entries import read as entries
from reedbed.store.entries import write as entry_writes
from reedbed.store.entries.write import NewEntryRow, NewEntryText
from reedbed.store.feeds import feeds
from reedbed.store.jobs import Job
from reedbed.store.listening import PART_BYTES
from reedbed.store.playback import recordings
from reedbed.store.read_state import unread
from reedbed.store.read_state.unread import Arrival
from reedbed.store.visibility import lock_feed

log = structlog.get_logger()

DEFAULT_RATE = 22_050
MIN_CHAPTER = 600
"""Characters; shorter sections of an article belong to the chapter before."""
MAX_TITLE = 80
"""Characters of the beginning of an entry without a title, which stand for it."""
_SPENT = "You have reached the limit of texts read aloud for today."
_NOTHING = "There is no text to read aloud."


@record
class _Read:
    """What was read: the file, and when each chapter and sentence begins."""

    path: Path
    seconds: float
    chapters: tuple[SpokenChapter, ...]
    transcript: tuple[tuple[float, str], ...]
    characters: int


async def read_aloud(runtime: Runtime, job: Job) -> Done | Later:
    """The handler of the job. Errors end up in the recording's status."""
    user_id, spoken_id = job.user_id or 0, int(job.payload["spoken_id"])
    async with runtime.db.read() as tx:
        user, spoken = await users.get(tx, user_id), await listening.get(tx, user_id, spoken_id)
    if user is None or spoken is None or spoken.status != "pending":
        return Done()
    failure: Failure | None = None
    try:
        await _read(runtime, user, spoken)
    except Unavailable as error:
        if job.attempts < 3:
            raise
        failure = error.failure
    except ReedbedError as error:
        failure = error.failure
    except Exception:
        log.exception("reading aloud broke down", spoken=spoken_id)
        failure = Failure(FailureCode.UNEXPECTED)
    if failure is not None:
        async with runtime.db.write() as tx:
            await listening.fail(tx, spoken_id, failure)
    await _tell(runtime, job, user_id, spoken_id)
    return Done({"spoken_id": spoken_id})


async def _tell(runtime: Runtime, job: Job, user_id: int, spoken_id: int) -> None:
    """Open pages say that it is ready, and play its entry."""
    async with runtime.db.read() as tx:
        made = await listening.get(tx, user_id, spoken_id)
    if made is None:
        return
    data = {
        "kind": "listening",
        "job": str(job.id),
        "done": 1,
        "total": 1,
        "spoken_id": str(spoken_id),
        "status": made.status,
        "title": made.title,
        "entry_id": "" if made.entry_id is None else str(made.entry_id),
    }
    await runtime.bus.publish(ChangeEvent("progress", user_id=user_id, data=data))


async def _read(runtime: Runtime, user: User, spoken: Spoken) -> None:
    if not may_read_aloud(runtime, preferences_of(user)):
        raise Conflict("Reading aloud sends the text to a service. You have not allowed that.")
    title, url, passages = await _passages(runtime, user, spoken)
    kept = bounded_passages(passages, runtime.speech.max_characters, sentences)
    characters = sum(passage.size for passage in kept)
    if not any(passage.text for passage in kept):
        raise NotFound(_NOTHING)
    async with runtime.db.read() as tx:
        spent = await listening.characters_since(tx, user.id, day_start(runtime.now()))
    if spent + characters > runtime.speech.daily_characters:
        raise Conflict(_SPENT)
    await check_budget(runtime, user.id, characters)
    with tempfile.TemporaryDirectory(prefix="reedbed-speech-") as folder:
        read = await _speak(runtime, user.id, kept, Path(folder) / "sound.wav", preferences_of(user).voice)
        content, media_type = await encode(await asyncio.to_thread(read.path.read_bytes))
    made = replace(
        spoken,
        title=title,
        language=_main_language(kept),
        media_type=media_type,
        length=len(content),
        seconds=round(read.seconds),
        chapters=read.chapters,
        transcript=read.transcript,
    )
    await _store(runtime, user, made, url, content, characters)


def _main_language(passages: Sequence[SpokenPassage]) -> str:
    sizes: Counter[str] = Counter()
    for passage in passages:
        sizes[passage.language] += passage.size
    return sizes.most_common(1)[0][0] if sizes else ""


# --- What is read


async def _passages(runtime: Runtime, user: User, spoken: Spoken) -> tuple[str, str, list[SpokenPassage]]:
    """The title, the URL and the chapters."""
    if spoken.kind == "digest":
        return await _of_digest(runtime, user, spoken.source_id)
    async with runtime.db.read() as tx:
        shown = await shown_text(tx, runtime, user, spoken.source_id)
    if shown is None:
        raise NotFound(NO_SUCH)
    passages = await asyncio.to_thread(_of_article, shown)
    return passages[0].title, shown.url, passages


def _of_article(shown: ShownText) -> list[SpokenPassage]:
    """Each long section is a chapter."""
    (_, beginning), *sections = spoken_sections(shown.html)
    title = shown.title or cut(beginning or " ".join(text for _, text in sections), MAX_TITLE)
    passages = [SpokenPassage(title, speakable(beginning), shown.url, shown.language)]
    for heading, section in sections:
        text = speakable(section)
        if heading and len(text) >= MIN_CHAPTER and passages[-1].text:
            passages.append(SpokenPassage(heading, text, language=shown.language))
        else:
            own = heading if heading.casefold() != title.casefold() else ""
            joined = [part for part in (passages[-1].text, speakable(own), text) if part]
            passages[-1] = replace(passages[-1], text="\n".join(joined))
    return passages


async def _of_digest(runtime: Runtime, user: User, digest_id: int) -> tuple[str, str, list[SpokenPassage]]:
    """A chapter for each item. What may not be sent to a remote endpoint is left out."""
    async with runtime.db.read() as tx:
        digest = await digests.get(tx, user.id, digest_id)
        if digest is None:
            raise NotFound(NO_SUCH)
        schedule = await digests.schedule_of(tx, user.id)
        private = await _private_entries(tx, runtime, user.id, digest)
    texts, base_url = texts_for(runtime, user), runtime.accounts.base_url
    day = to_datetime(digest.until).astimezone(ZoneInfo(schedule.zone) if schedule and schedule.zone else UTC)
    title = texts.conventions.full_date(day)
    titles = {source.entry_id: source.title for source in digest.text.sources}
    passages: list[SpokenPassage] = []
    for paragraph in digest.text.paragraphs:
        opening, own_language = (paragraph.heading, "") if passages else (title, texts.language)
        for sentence in paragraph.sentences:
            if private.intersection(sentence.entry_ids):
                continue
            first = next(iter(sentence.entry_ids), None)
            name = titles.get(first or 0) or paragraph.heading
            url = f"{base_url}/entry/{first}" if first is not None else ""
            language = sentence.language or digest.language
            text = speakable(sentence.text)
            passages.append(SpokenPassage(name, text, url, language, speakable(opening), own_language or language))
            opening = ""
    return title, f"{base_url}/digests/{digest.id}", passages


async def _private_entries(tx: Tx, runtime: Runtime, user_id: int, digest: Digest) -> frozenset[int]:
    """Entries of feeds that the user keeps from remote services, and those whose feed is not known any more."""
    speaker = runtime.speech.speaker
    feeds_kept = (
        await ai.local_only_feeds(tx, user_id) if speaker is not None and speaker.is_remote else frozenset[int]()
    )
    if not feeds_kept:
        return frozenset()
    ids = {id_ for paragraph in digest.text.paragraphs for one in paragraph.sentences for id_ in one.entry_ids}
    rows = await entries.rows_by_ids(tx, user_id, list(ids))
    return frozenset(ids - {row.id for row in rows if row.feed_id not in feeds_kept})


# --- Sound


async def _speak(runtime: Runtime, user_id: int, passages: Sequence[SpokenPassage], path: Path, voices: str) -> _Read:
    speaker = runtime.speech.speaker
    assert speaker is not None
    chapters: list[SpokenChapter] = []
    transcript: list[tuple[float, str]] = []
    written = rate = characters = 0
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(DEFAULT_RATE)  # closing a file without one would hide why nothing was written
        for passage in passages:
            at = written / rate if rate else 0.0
            chapters.append(SpokenChapter(at, passage.title, passage.url))
            parts = _parts_of(passage)
            for number, (part, code) in enumerate(parts, 1):
                language = code.partition("-")[0]
                sound = await speak(runtime, speaker, user_id, part, language, voice_for(voices, language))
                if rate and sound.rate != rate:
                    raise SpeechFailed(Failure(FailureCode.SPEECH_FAILED, {"reason": "another rate"}))
                if not rate:
                    rate = sound.rate
                    file.setframerate(rate)
                transcript += _timed(part, written / rate, len(sound.frames) / 2 / rate)
                pause = int(rate * (CHAPTER_PAUSE if number == len(parts) else PART_PAUSE))
                await asyncio.to_thread(file.writeframes, sound.frames + b"\0\0" * pause)
                written += len(sound.frames) // 2 + pause
                characters += len(part)
    return _Read(path, written / max(1, rate), tuple(chapters), tuple(transcript), characters)


def _parts_of(passage: SpokenPassage) -> list[tuple[str, str]]:
    """What is sent, each with its language: the opening, the title unless the text begins with it, and the text."""
    title = passage.title.rstrip(". …")
    begins_with_title = bool(title) and passage.text.casefold().startswith(title.casefold())
    parts = ["" if begins_with_title else speakable(passage.title), *requests_of(sentences(passage.text))]
    own = [(part, passage.language) for part in parts if part]
    return [(passage.opening, passage.language_of_opening), *own] if passage.opening else own


def _timed(text: str, start: float, seconds: float) -> list[tuple[float, str]]:
    """Each sentence with about the time when it begins, by its share of the text."""
    timed: list[tuple[float, str]] = []
    done = 0
    for _, sentence in sentences(text):
        timed.append((round(start + seconds * done / max(1, len(text)), 2), sentence))
        done += len(sentence) + 1
    return timed


# --- The entry in the user's own feed, through which the player, its queue and its positions work


async def _store(runtime: Runtime, user: User, made: Spoken, url: str, content: bytes, characters: int) -> None:
    async with runtime.db.write() as tx:
        await listening.delete_sound(tx, made.id)
    for number, start in enumerate(range(0, len(content), PART_BYTES)):
        async with runtime.db.write() as tx:
            await listening.add_part(tx, made.id, number, content[start : start + PART_BYTES])
    now = runtime.now()
    async with runtime.db.write() as tx:
        feed_id, is_new = await _own_feed(tx, user, texts_for(runtime, user).translate("Read aloud"), now)
        entry_id = await _store_entry(tx, user.id, feed_id, made, url, now)
        await listening.finish(tx, replace(made, entry_id=entry_id), characters)
    if is_new:
        await publish_subscriptions(runtime, user.id)


async def _own_feed(tx: Tx, user: User, title: str, now: Instant) -> tuple[int, bool]:
    """Kept out of the list of everything unread, because the texts read aloud were in that list before."""
    feed_id, _ = await feeds.find_or_add(tx, FEED_URL, now, owner_id=user.id, kind="listening", title=title)
    await lock_feed(tx, feed_id)
    is_new = await subscriptions.subscribe_to_own_feed(tx, now, user.id, feed_id)
    found = await subscriptions.get_by_feed(tx, user.id, feed_id)
    subscription = await subscriptions.get(tx, user.id, found[0]) if is_new and found else None
    if subscription is not None:
        await subscriptions.change(tx, user.id, replace(subscription, in_unread=False))
    return feed_id, is_new


async def _store_entry(tx: Tx, user_id: int, feed_id: int, made: Spoken, url: str, now: Instant) -> int | None:
    notes = clean_html(show_notes(made), None)
    sound_url = f"/api/v1/listening/{made.id}/sound"
    enclosure = {"url": sound_url, "type": made.media_type, "length": made.length, "duration": made.seconds}
    vtt = {"url": f"/api/v1/listening/{made.id}/transcript.vtt", "type": "text/vtt", "language": made.language or None}
    chapters = [(f"{chapter.start:.3f}", chapter.title) for chapter in made.chapters]
    about = {"chapters": chapters, "chapters_url": None, "transcripts": [vtt]}
    plain = clean_text(notes)
    text = NewEntryText(
        title=made.title,
        content=notes,
        plain=plain,
        summary=preview(notes),
        language=made.language or None,
        words=len(plain.split()),
        extra=orjson.dumps({"enclosures": [enclosure], "texts": about}).decode(),
        search=search_words(made.title, plain),
        recordings=(Recording(0, "audio", sound_url, made.media_type, made.seconds, made.length),),
    )
    guid, hashed = f"spoken:{made.id}:{now}", change_hash(made.title, notes)
    row = NewEntryRow(
        feed_id=feed_id,
        guid=guid,
        url=url or None,
        normalized_url=None,
        change_hash=hashed,
        published_at=now,
        fetched_at=now,
        sort_at=now,
        text=text,
    )
    stored = await entry_writes.insert_new(tx, [row])
    if not stored:
        return None
    entry_id = stored[0][0]
    await recordings.put(tx, [(entry_id, feed_id, text.recordings)])
    await search.index(tx, [(entry_id, text.search)])
    await unread.fan_out(tx, [Arrival(feed_id, [entry_id], silent={user_id: {entry_id}})])
    rows = orjson.dumps([(start, sentence, "") for start, sentence in made.transcript]).decode()
    await recordings.put_transcript(tx, entry_id, rows, now)
    return entry_id


# --- Calls of a speech endpoint


_UNIT = 1_000
"""Characters that the price is for."""


def usage_of(runtime: Runtime, characters: int) -> Usage:
    """Its characters have a limit of their own, so only the money counts."""
    return Usage(calls=1, cost=round(characters * runtime.speech.price * MILLIONTHS / _UNIT))


async def check_budget(runtime: Runtime, user_id: int, characters: int) -> None:
    """Before the first part is paid for: whether there is money for all of them."""
    speaker = runtime.speech.speaker
    if speaker is None or not speaker.is_remote:
        return
    async with runtime.db.read() as tx:
        spent = await ai_state.spent_today(tx, user_id, runtime.now())
    exceeded = refusal(runtime.ai.budget, spent, usage_of(runtime, characters))
    if exceeded is not None:
        raise SpeechFailed(Failure(FailureCode.BUDGET_EXCEEDED, cause=Failure(exceeded)))


async def speak(runtime: Runtime, speaker: Speaker, user_id: int, text: str, language: str, voice: str) -> Sound:
    if not speaker.is_remote:
        return await speaker.speak(text, language, voice)
    usage, at = usage_of(runtime, len(text)), runtime.now()
    await _enter(runtime, speaker.name, user_id, usage)
    try:
        sound = await speaker.speak(text, language, voice)
    except Unavailable:
        await _record_result(runtime, speaker.name, worked=False)
        async with runtime.db.write() as tx:
            await ai_state.add_usage(tx, Usage(cost=-usage.cost), user_id, at)
        raise
    await _record_result(runtime, speaker.name, worked=True)
    return sound


async def _enter(runtime: Runtime, name: str, user_id: int, usage: Usage) -> None:
    now = runtime.now()
    policy = replace(runtime.ai.breaker, min_interval=0)  # the parts of a text follow each other
    async with runtime.db.write() as tx:
        admitted = await admit_call(tx, runtime, [_row_of(name)], policy, now)
        if not isinstance(admitted, ModelUnavailable):
            refused = await book(tx, runtime, _row_of(name), admitted[1], usage, user_id, now)
        else:
            refused = admitted
    if refused is None:
        return
    if refused.why.code in (FailureCode.BUDGET_EXCEEDED, FailureCode.BUDGET_SPENT):
        raise SpeechFailed(refused.why)
    raise Unavailable(refused.why)


async def _record_result(runtime: Runtime, name: str, *, worked: bool) -> None:
    now = runtime.now()
    async with runtime.db.write() as tx:
        before: Breaker = (await ai_state.lock_breakers(tx, [_row_of(name)]))[_row_of(name)]
        change = succeeded if worked else failed
        after = change(before, runtime.ai.breaker, now)
        if after != before:
            await ai_state.save_breaker(tx, _row_of(name), after)


def _row_of(name: str) -> str:
    """Its breaker is not that of a model with the same name."""
    return f"speech:{name}"
