"""Digests: asked for by a reader or the clock, written by a job, kept until they are deleted."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

import structlog

from reedbed.ai.answers import CitedParagraph, read_digest
from reedbed.ai.answers import DigestText as CitedDigest
from reedbed.ai.prompts import Reading, digest_prompt
from reedbed.domain.accounts import User
from reedbed.domain.cited import Scope, Sentence, sources_of
from reedbed.domain.digests import (
    FAILED,
    LONGEST_SPAN,
    NO_ENTRIES,
    NOTHING_NEW,
    SPAN,
    Digest,
    DigestText,
    Item,
    Material,
    Paragraph,
    compose,
    group,
)
from reedbed.domain.errors import NotFound, ReedbedError, TooSlow, Unavailable
from reedbed.domain.pushes import digest_note
from reedbed.domain.summaries import EXTRACT, Variant
from reedbed.domain.webhooks import Event
from reedbed.services.digest_letters import send_digest
from reedbed.services.digest_material import find_entries, gather
from reedbed.services.jobs import Done, Later, note_progress, wake_jobs
from reedbed.services.model_calls import ask_model
from reedbed.services.preferences import preferences_of
from reedbed.services.pushes import leave_note
from reedbed.services.runtime import Runtime
from reedbed.services.webhook_calls import leave_event
from reedbed.services.writers import kept_here, variant_for
from reedbed.store import digests, events, jobs, users
from reedbed.store.jobs import Job

log = structlog.get_logger()

JOB_KIND = "digest"
EVERYTHING = Scope()
NO_SUCH_DIGEST = "There is no such digest"


async def ask_digest(
    runtime: Runtime, user: User, scope: Scope = EVERYTHING, *, since_last: bool = False, mail: bool = False
) -> Digest:
    """A pending digest; at once `NotFound` where there is nothing to tell."""
    now, variant = runtime.now(), variant_for(runtime, user)
    async with runtime.db.read() as tx:
        last = await digests.last_until(tx, user.id, scope, now) if since_last else None
    since = now - SPAN if last is None else max(last, now - LONGEST_SPAN)
    if not await find_entries(runtime, user.id, scope, since):
        raise NotFound(NO_ENTRIES if last is None else NOTHING_NEW)
    async with runtime.db.write() as tx:
        digest_id = await digests.add(
            tx, user.id, scope, model=variant.model, language=variant.language, since=since, now=now
        )
        await jobs.add(tx, JOB_KIND, {"digest_id": digest_id, "mail": mail}, now=now, user_id=user.id)
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
        user = await users.by_id(tx, job.user_id)
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
        await events.note(tx, now, "digest_generated", user.id, {"article_count": len(rows)})
    await _send_out(runtime, user, digest.id, mail=bool(job.payload.get("mail")))


async def _send_out(runtime: Runtime, user: User, digest_id: int, *, mail: bool) -> None:
    written = await get_digest(runtime, user.id, digest_id)
    async with runtime.db.write() as tx:
        await leave_event(tx, user.id, Event.DIGEST, {"digest_id": digest_id}, runtime.now())
        if preferences_of(user).push_digests:
            await leave_note(tx, user.id, digest_note(written), runtime.now())
    if mail:
        await send_digest(runtime, user, written.id)


async def _with_model(
    runtime: Runtime, user: User, variant: Variant, materials: Sequence[Material], items: Sequence[Item]
) -> DigestText | None:
    """The model tells what may be sent to it; the rest is told by its own lines. None: it did not answer."""
    async with runtime.db.read() as tx:
        kept = await kept_here(tx, runtime, user.id)
    free = [one for item in items for one in item if one.feed_id not in kept]
    here = [item for item in items if all(one.feed_id in kept for one in item)]
    said = await _by_model(runtime, user, variant, free) if free else CitedDigest((), 0)
    if said is None:
        return None
    numbers = dict(enumerate(free, 1))
    told = tuple(_paragraph(one, numbers) for one in said.paragraphs)
    return _text(materials, items, (*told, *compose(here)), dropped=said.dropped)


async def _by_model(
    runtime: Runtime, user: User, variant: Variant, free: Sequence[Material]
) -> CitedDigest | None:
    numbers = dict(enumerate(free, 1))
    readings = [Reading(number, one.title, one.feed, one.text) for number, one in numbers.items()]
    prompt = digest_prompt(readings, variant.language)
    return await ask_model(runtime, user.id, prompt, lambda answer: read_digest(answer, numbers))


def _paragraph(cited: CitedParagraph, numbers: Mapping[int, Material]) -> Paragraph:
    sentences = (
        Sentence(one.text, tuple(numbers[number].entry_id for number in one.numbers))
        for one in cited.sentences
    )
    return Paragraph(cited.heading, tuple(sentences))


def _text(
    materials: Sequence[Material], items: Sequence[Item], paragraphs: tuple[Paragraph, ...], *, dropped: int
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
