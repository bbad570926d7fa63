"""Digests by the clock: each user's own time of day, in their own zone."""

import asyncio
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from zoneinfo import ZoneInfo

import structlog

from reedbed.ai.prompts import Reading, digest_prompt
from reedbed.ai.responses import CitedParagraph, read_digest
from reedbed.ai.responses import DigestDraft as CitedDigest
from reedbed.domain.ai import Usage
from reedbed.domain.digests import (
    FAILED,
    MAX_ENTRIES,
    MAX_SPAN,
    NO_ENTRIES,
    NOTHING_NEW,
    SPAN,
    Digest,
    DigestScope,
    DigestText,
    Item,
    Paragraph,
    PromptContext,
    Sentence,
    compose,
    digest_email,
    group,
    next_time,
    sources_of,
)
from reedbed.domain.email import NotSent
from reedbed.domain.entries import EntryRow, ViewQuery
from reedbed.domain.errors import Conflict, Invalid, NotFound, ReedbedError, TooSlow, Unavailable
from reedbed.domain.push import digest_note
from reedbed.domain.records import record
from reedbed.domain.subscriptions import FollowedFeedRow
from reedbed.domain.summaries import EXTRACT, Summary, Variant
from reedbed.domain.times import HOUR, Instant
from reedbed.domain.users import User
from reedbed.domain.webhooks import WebhookEvent
from reedbed.ingest.text import clean_text, content_hash
from reedbed.services.ai import ask_model, must_stay_local, variant_for
from reedbed.services.jobs import Done, Later, enqueue, note_progress, try_again, wake_jobs
from reedbed.services.push import leave_note
from reedbed.services.runtime import Runtime
from reedbed.services.search import search_entries
from reedbed.services.summaries import MAX_HTML
from reedbed.services.users import preferences_of
from reedbed.services.webhooks import leave_event
from reedbed.store import digests, folders, jobs, subscriptions, summaries, users
from reedbed.store.digests import Schedule
from reedbed.store.entries import read as entries
from reedbed.store.entries import read as entry_texts
from reedbed.store.entries.read import EntryWords
from reedbed.store.jobs import Job
from reedbed.store.summaries import GeneratedSummary

log = structlog.get_logger()

JOB_KIND = "digest_mail"
GIVE_UP_AFTER = 12 * HOUR
UNKNOWN_LINK = "This link does not end anything. Log in and look under Digests."


async def send_digest(runtime: Runtime, user: User, digest_id: int) -> None:
    """Note the wish; the digest is on the page whether or not the letter goes out."""
    if runtime.mailer is not None:
        await enqueue(runtime, JOB_KIND, {"digest_id": digest_id}, user_id=user.id)


async def post_digest(runtime: Runtime, job: Job) -> Done | Later:
    """The handler of the job. Whoever has ended digests by mail meanwhile gets no more."""
    assert job.user_id is not None
    async with runtime.db.read() as tx:
        user = await users.get(tx, job.user_id)
        digest = await digests.get(tx, job.user_id, job.payload["digest_id"])
        planned = await digests.schedule_of(tx, job.user_id)
    unwanted = planned is not None and not planned.mail
    if user is None or user.disabled_at is not None or digest is None or unwanted or runtime.mailer is None:
        return Done()
    link = unsubscribe_link(runtime, user.id)
    letter = digest_email(user.email, digest, runtime.accounts.base_url, link)
    posted = await runtime.mailer.send(letter, runtime.now())
    if not isinstance(posted, NotSent):
        return Done({"sent": "mail"})
    log.warning("a digest was not mailed", digest=digest.id, error=posted.reason)
    later = try_again(runtime, job, give_up_after=GIVE_UP_AFTER) if posted.try_again else None
    return later or Done({"error": posted.reason})


def unsubscribe_link(runtime: Runtime, user_id: int) -> str:
    token = f"{user_id}-{_signature(runtime, user_id)}"
    return f"{runtime.accounts.base_url}/digests/unsubscribe/{token}"


def reader_of(runtime: Runtime, token: str) -> int:
    """Whose digests the link ends. Nobody but this server can write one."""
    number, _, given = token.partition("-")
    user_id = int(number) if number.isascii() and number.isdigit() and len(number) <= 16 else 0
    if not hmac.compare_digest(_signature(runtime, user_id).encode(), given.encode("utf-8", "replace")):
        raise NotFound(UNKNOWN_LINK)
    return user_id


async def end_digest_mail(runtime: Runtime, token: str) -> None:
    """By the link in a letter. Twice is harmless; the digests themselves go on."""
    user_id = reader_of(runtime, token)
    async with runtime.db.write() as tx:
        if await digests.stop_mail(tx, user_id):
            await users.record_event(tx, runtime.now(), "digest_mail_ended", user_id)


def _signature(runtime: Runtime, user_id: int) -> str:
    return hmac.new(runtime.secret, f"digest-mail\0{user_id}".encode(), sha256).hexdigest()[:40]


@record
class _Extracted:
    words: EntryWords
    content_hash: str
    summary: Summary


async def find_entries(
    runtime: Runtime, user_id: int, scope: DigestScope, since: Instant
) -> Sequence[EntryRow]:
    """The newest ones of the scope, at most a hundred."""
    query = ViewQuery(view="all", folder_id=scope.folder_id, tag=scope.tag, since=since)
    if scope.q:
        found = await search_entries(
            runtime, user_id, scope.q, within=query, limit=MAX_ENTRIES, thorough=True
        )
        return found.rows
    async with runtime.db.read() as tx:
        found = await entries.page(tx, user_id, query, None, MAX_ENTRIES)
    if found is None:
        raise NotFound("There is no such folder.")
    return found.rows


async def gather(
    runtime: Runtime, user_id: int, rows: Sequence[EntryRow], variant: Variant
) -> list[PromptContext]:
    """With the summaries that are there, in the wanted variant first; the rest is extracted and kept."""
    ids = [row.id for row in rows]
    async with runtime.db.read() as tx:
        have = await summaries.texts(tx, ids, Variant(EXTRACT))
        if variant.model != EXTRACT:
            have |= await summaries.texts(tx, ids, variant)
        missing = await entry_texts.seen_by(tx, user_id, [id_ for id_ in ids if id_ not in have])
        feeds = {one.feed_id: one for one in await subscriptions.sidebar_feeds(tx, user_id)}
        names = {one.id: one.name for one in await folders.of_user(tx, user_id)}
    made = await asyncio.to_thread(_extract_all, missing)
    await _keep(runtime, made, {row.id: row.version for row in rows})
    have |= {one.words.id: (one.summary.text, one.summary.one_line) for one in made}
    return [_material(row, *have.get(row.id, ("", "")), feeds.get(row.feed_id), names) for row in rows]


def _extract_all(found: Sequence[EntryWords]) -> list[_Extracted]:
    return [one for words in found if (one := _extracted(words)) is not None]


def _extracted(words: EntryWords) -> _Extracted | None:
    from reedbed.ai.extractive import extract  # three megabytes of words and patterns, once they are needed

    html = words.content[:MAX_HTML]
    found = extract(words.title, clean_text(html))
    if not found.text:
        return None
    summary = Summary(found.text, found.one_line, EXTRACT, words.language or "")
    return _Extracted(words, content_hash(html), summary)


async def _keep(runtime: Runtime, made: Sequence[_Extracted], versions: Mapping[int, int]) -> None:
    """The next digest, the list and the article find them."""
    if not made:
        return
    variant, now = Variant(EXTRACT), runtime.now()
    async with runtime.db.write() as tx:
        for one in made:
            key = variant.key(one.content_hash)
            await summaries.save(
                tx, GeneratedSummary(key, one.content_hash, variant.name, one.summary, Usage()), now
            )
            await summaries.attach(
                tx,
                one.words.id,
                variant,
                key,
                version=versions[one.words.id],
                of_full=one.words.content != one.words.feed_content,
            )


def _material(
    row: EntryRow, text: str, line: str, feed: FollowedFeedRow | None, folders: Mapping[int, str]
) -> PromptContext:
    folder_id = feed.folder_id if feed else None
    return PromptContext(
        entry_id=row.id,
        title=row.title,
        line=line or row.title,
        text=text or row.summary,
        feed_id=row.feed_id,
        feed=feed.title if feed else "",
        folder=folders.get(folder_id, "") if folder_id is not None else "",
        at=row.sort_at,
        language=row.language or "",
    )


DIGEST_JOB = "digest"
EVERYTHING = DigestScope()
NO_SUCH_DIGEST = "There is no such digest"


async def ask_digest(
    runtime: Runtime,
    user: User,
    scope: DigestScope = EVERYTHING,
    *,
    since_last: bool = False,
    mail: bool = False,
) -> Digest:
    """A pending digest; at once `NotFound` where there is nothing to tell."""
    now, variant = runtime.now(), variant_for(runtime, user)
    async with runtime.db.read() as tx:
        last = await digests.last_until(tx, user.id, scope, now) if since_last else None
    since = now - SPAN if last is None else max(last, now - MAX_SPAN)
    if not await find_entries(runtime, user.id, scope, since):
        raise NotFound(NO_ENTRIES if last is None else NOTHING_NEW)
    async with runtime.db.write() as tx:
        digest_id = await digests.add(
            tx, user.id, scope, model=variant.model, language=variant.language, since=since, now=now
        )
        await jobs.add(tx, DIGEST_JOB, {"digest_id": digest_id, "mail": mail}, now=now, user_id=user.id)
        made = await digests.get(tx, user.id, digest_id)
    assert made is not None
    await wake_jobs(runtime)
    return made


async def get_digest(runtime: Runtime, user_id: int, digest_id: int) -> Digest:
    async with runtime.db.read() as tx:
        found = await digests.get(tx, user_id, digest_id)
    if found is None:
        raise NotFound(NO_SUCH_DIGEST)
    return found


async def delete_digest(runtime: Runtime, user_id: int, digest_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await digests.remove(tx, user_id, digest_id):
            raise NotFound(NO_SUCH_DIGEST)


async def write_digest(runtime: Runtime, job: Job) -> Done | Later:
    """The handler of the job: whatever goes wrong becomes the digest's status."""
    assert job.user_id is not None
    async with runtime.db.read() as tx:
        user = await users.get(tx, job.user_id)
        digest = await digests.get(tx, job.user_id, job.payload["digest_id"])
    if user is None or digest is None or digest.status != "pending":
        return Done()
    try:
        await _write(runtime, job, user, digest)
    except TooSlow as error:
        await _fail(runtime, digest, error.message)
    except Unavailable:
        raise
    except ReedbedError as error:
        await _fail(runtime, digest, error.message)
    except Exception:
        log.exception("a digest broke down", digest=digest.id)
        await _fail(runtime, digest, FAILED)
    await note_progress(runtime, job, 1, 1, {"digest_id": digest.id})
    return Done({"digest_id": digest.id})


async def _write(runtime: Runtime, job: Job, user: User, digest: Digest) -> None:
    variant = variant_for(runtime, user)
    rows = await find_entries(runtime, user.id, digest.scope, digest.since)
    if not rows:
        raise NotFound(NO_ENTRIES)
    materials = await gather(runtime, user.id, rows, variant)
    items = await asyncio.to_thread(group, materials)
    await note_progress(runtime, job, 1, 2, {"digest_id": digest.id})
    text = None if variant.model == EXTRACT else await _with_model(runtime, user, variant, materials, items)
    if text is None:
        fallback = variant.model != EXTRACT
        text = replace(_text(materials, items, compose(items), dropped=0), fallback=fallback)
        variant = Variant(EXTRACT)
    async with runtime.db.write() as tx:
        now = runtime.now()
        await digests.finish(
            tx,
            digest.id,
            text,
            model=variant.model,
            language=variant.language,
            entries=len(rows),
            now=now,
        )
        await users.record_event(tx, now, "digest_generated", user.id, {"article_count": len(rows)})
    await _send_out(runtime, user, digest.id, mail=bool(job.payload.get("mail")))


async def _send_out(runtime: Runtime, user: User, digest_id: int, *, mail: bool) -> None:
    written = await get_digest(runtime, user.id, digest_id)
    async with runtime.db.write() as tx:
        await leave_event(tx, user.id, WebhookEvent.DIGEST, {"digest_id": digest_id}, runtime.now())
        if preferences_of(user).push_digests:
            await leave_note(tx, user.id, digest_note(written), runtime.now())
    if mail:
        await send_digest(runtime, user, written.id)


async def _with_model(
    runtime: Runtime, user: User, variant: Variant, materials: Sequence[PromptContext], items: Sequence[Item]
) -> DigestText | None:
    """The model tells what may be sent to it; the rest is told by its own lines. None: it did not answer."""
    async with runtime.db.read() as tx:
        kept = await must_stay_local(tx, runtime, user.id)
    free = [one for item in items for one in item if one.feed_id not in kept]
    here = [item for item in items if all(one.feed_id in kept for one in item)]
    said = await _by_model(runtime, user, variant, free) if free else CitedDigest((), 0)
    if said is None:
        return None
    numbers = dict(enumerate(free, 1))
    told = tuple(_paragraph(one, numbers) for one in said.paragraphs)
    return _text(materials, items, (*told, *compose(here)), dropped=said.dropped)


async def _by_model(
    runtime: Runtime, user: User, variant: Variant, free: Sequence[PromptContext]
) -> CitedDigest | None:
    numbers = dict(enumerate(free, 1))
    readings = [Reading(number, one.title, one.feed, one.text) for number, one in numbers.items()]
    prompt = digest_prompt(readings, variant.language)
    return await ask_model(runtime, user.id, prompt, lambda answer: read_digest(answer, numbers))


def _paragraph(cited: CitedParagraph, numbers: Mapping[int, PromptContext]) -> Paragraph:
    sentences = (
        Sentence(one.text, tuple(numbers[number].entry_id for number in one.numbers))
        for one in cited.sentences
    )
    return Paragraph(cited.heading, tuple(sentences))


def _text(
    materials: Sequence[PromptContext],
    items: Sequence[Item],
    paragraphs: tuple[Paragraph, ...],
    *,
    dropped: int,
) -> DigestText:
    return DigestText(
        paragraphs=paragraphs,
        sources=sources_of((one for part in paragraphs for one in part.sentences), materials),
        feeds=len({one.feed_id for one in materials}),
        items=len(items),
        dropped=dropped,
    )


async def _fail(runtime: Runtime, digest: Digest, why: str) -> None:
    async with runtime.db.write() as tx:
        await digests.fail(tx, digest.id, why, runtime.now())


NO_MAIL = "This server cannot send mail: its operator has set no REEDBED_SMTP_HOST."
MINUTES_OF_DAY = 24 * 60
AT_A_TIME = 50


async def set_schedule(
    runtime: Runtime, user: User, *, minute: int, zone: str, scope: DigestScope, mail: bool
) -> Schedule:
    if not 0 <= minute < MINUTES_OF_DAY:
        raise Invalid("The time must be between 00:00 and 23:59.", field="time")
    if mail and runtime.mailer is None:
        raise Conflict(NO_MAIL, field="mail")
    wanted = Schedule(user.id, minute, zone, scope, mail, next_time(minute, _zone(zone), runtime.now()))
    async with runtime.db.write() as tx:
        if scope.folder_id is not None and await folders.get(tx, user.id, scope.folder_id) is None:
            raise NotFound("There is no such folder.")
        await digests.schedule(tx, wanted)
    return wanted


async def end_schedule(runtime: Runtime, user_id: int) -> None:
    async with runtime.db.write() as tx:
        await digests.unschedule(tx, user_id)


async def ask_due_digests(runtime: Runtime) -> int:
    """A chore: how many were asked for. A time missed while nothing ran is made good once."""
    now, asked = runtime.now(), 0
    async with runtime.db.read() as tx:
        due = await digests.due(tx, now, most=AT_A_TIME)
    for one in due:
        async with runtime.db.write() as tx:
            mine = await digests.move_on(tx, one, next_time(one.minute, _zone(one.zone), now))
            user = await users.get(tx, one.user_id)
        if mine and user is not None and user.disabled_at is None:
            asked += await _ask(runtime, user, one)
    return asked


async def _ask(runtime: Runtime, user: User, due: Schedule) -> int:
    try:
        await ask_digest(runtime, user, due.scope, since_last=True, mail=due.mail)
    except (NotFound, Unavailable) as error:
        log.info("no digest today", user=user.id, why=error.message)
        return 0
    return 1


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name or "UTC")
    except (KeyError, ValueError, OSError) as error:
        raise Invalid("There is no such time zone.", field="time_zone") from error
