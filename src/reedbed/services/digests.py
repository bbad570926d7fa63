"""Digests: request, write, mail and schedule summaries of a user's new entries."""

import asyncio
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from zoneinfo import ZoneInfo

import structlog

from reedbed.ai.prompts import MAX_EXCERPT_LENGTH, Reading, digest_prompt
from reedbed.ai.responses import read_digest
from reedbed.domain.digests import (
    FAILED,
    MAX_CARE,
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
    group,
    interest_of,
    lead_image,
    liked_ids,
    next_time,
    sources_of,
)
from reedbed.domain.email import DigestMail, NotSent, digest_email
from reedbed.domain.entries import EntryRow, ViewQuery
from reedbed.domain.errors import Conflict, Invalid, NotFound, Unavailable
from reedbed.domain.listening import FEED_URL as READ_ALOUD_URL
from reedbed.domain.push import digest_note
from reedbed.domain.records import record
from reedbed.domain.subscriptions import SubscribedFeedRow
from reedbed.domain.summaries import BUILT_IN, EXTRACT, Variant
from reedbed.domain.times import DAY, HOUR, Instant
from reedbed.domain.users import User
from reedbed.domain.webhooks import WebhookEvent
from reedbed.ingest.text import prose_text
from reedbed.services.ai import ask_model, must_stay_local, variant_for
from reedbed.services.email import texts_for
from reedbed.services.images import image_urls_for_apps
from reedbed.services.jobs import (
    BOOK_JOB,
    Done,
    Later,
    enqueue,
    enqueue_shared_note,
    failure_of,
    report_job_progress,
    try_again,
    wake_jobs,
)
from reedbed.services.push import enqueue_push_notes
from reedbed.services.runtime import Runtime
from reedbed.services.search.find import search_entries
from reedbed.services.summaries import MAX_HTML, extract_summaries
from reedbed.services.users import preferences_of
from reedbed.services.webhooks import enqueue_webhook_event
from reedbed.store import digests, folders, jobs, sidebar, summaries, users
from reedbed.store.digests import Schedule
from reedbed.store.entries import read as entries
from reedbed.store.entries.read import EntryText
from reedbed.store.feeds import feeds
from reedbed.store.jobs import Job
from reedbed.store.stories.read import known_stories

log = structlog.get_logger()

# --- Digest mail

JOB_KIND = "digest_mail"
GIVE_UP_AFTER = 12 * HOUR
UNKNOWN_LINK = "This link is not valid. Log in and look under Digests."


async def send_digest(runtime: Runtime, user: User, digest_id: int) -> None:
    """Enqueue the email. The digest is on the page whether or not the email is sent."""
    if runtime.mailer is not None:
        await enqueue(runtime, JOB_KIND, {"digest_id": digest_id}, user_id=user.id)


async def send_digest_now(runtime: Runtime, user: User, digest_id: int) -> None:
    """Enqueue the email because the user asks for this one, whether or not digests come by email every day."""
    if (await get_digest(runtime, user.id, digest_id)).status != "ready":
        raise Conflict("This digest is not ready yet.")
    if runtime.mailer is None:
        raise Conflict(NO_MAIL, field="mail")
    await enqueue(runtime, JOB_KIND, {"digest_id": digest_id, "asked": True}, user_id=user.id)


async def mail_digest(runtime: Runtime, job: Job) -> Done | Later:
    """Job handler: mail a digest, unless the user has unsubscribed from digest mail since."""
    assert job.user_id is not None
    async with runtime.db.read() as tx:
        user = await users.get(tx, job.user_id)
        digest = await digests.get(tx, job.user_id, job.payload["digest_id"])
        schedule = await digests.schedule_of(tx, job.user_id)
    unwanted = schedule is not None and not schedule.mail and not job.payload.get("asked")
    if user is None or user.disabled_at is not None or digest is None or unwanted or runtime.mailer is None:
        return Done()
    email = digest_email(user.email, digest, _mail_of(runtime, user, digest, schedule))
    result = await runtime.mailer.send(email, runtime.now())
    if not isinstance(result, NotSent):
        return Done({"sent": "mail"})
    log.warning("a digest was not mailed", digest=digest.id, error=result.reason)
    later = try_again(runtime, job, give_up_after=GIVE_UP_AFTER) if result.try_again else None
    return later or Done({"error": result.reason})


def _mail_of(runtime: Runtime, user: User, digest: Digest, schedule: Schedule | None) -> DigestMail:
    base_url = runtime.accounts.base_url
    # Through this server only: a picture from elsewhere would show its owner who opens the mail.
    through_server = image_urls_for_apps(runtime, base_url).one(digest.text.image or None)
    return DigestMail(
        base_url=base_url,
        unsubscribe_url=unsubscribe_link(runtime, user.id),
        texts=texts_for(runtime, user),
        zone=_zone(schedule.zone if schedule is not None else ""),
        image=through_server if through_server and through_server.startswith(f"{base_url}/") else "",
    )


def unsubscribe_link(runtime: Runtime, user_id: int) -> str:
    return f"{runtime.accounts.base_url}/digests/unsubscribe/{user_id}-{_signature(runtime, user_id)}"


def verify_unsubscribe_token(runtime: Runtime, token: str) -> int:
    """The id of the user in the unsubscribe token, which is signed with this server's secret."""
    number, _, signature = token.partition("-")
    user_id = int(number) if number.isascii() and number.isdigit() and len(number) <= 16 else 0
    if not hmac.compare_digest(_signature(runtime, user_id).encode(), signature.encode("utf-8", "replace")):
        raise NotFound(UNKNOWN_LINK)
    return user_id


async def end_digest_mail(runtime: Runtime, token: str) -> None:
    """Unsubscribe by the link in an email. Repeating it is harmless; the digests themselves continue."""
    user_id = verify_unsubscribe_token(runtime, token)
    async with runtime.db.write() as tx:
        if await digests.stop_mail(tx, user_id):
            await users.record_event(tx, runtime.now(), "digest_mail_ended", user_id)


def _signature(runtime: Runtime, user_id: int) -> str:
    return hmac.new(runtime.secret, f"digest-mail\0{user_id}".encode(), sha256).hexdigest()[:40]


# --- Source entries and their summaries


async def find_entries(runtime: Runtime, user_id: int, scope: DigestScope, since: Instant) -> Sequence[EntryRow]:
    """The newest entries of the scope, at most `MAX_ENTRIES`, without recordings of what is an entry already."""
    query = ViewQuery(view="all", folder_id=scope.folder_id, tag=scope.tag, since=since)
    if scope.q:
        page = await search_entries(
            runtime, user_id, scope.q, within=query, limit=MAX_ENTRIES, thorough=True, excerpts=False
        )
        rows = page.rows
    else:
        rows = await _newest_entries(runtime, user_id, query)
    async with runtime.db.read() as tx:
        read_aloud = await feeds.get_by_url(tx, READ_ALOUD_URL, user_id)
    return [row for row in rows if row.feed_id != read_aloud]


async def _newest_entries(runtime: Runtime, user_id: int, query: ViewQuery) -> Sequence[EntryRow]:
    async with runtime.db.read() as tx:
        page = await entries.page(tx, user_id, query, None, MAX_ENTRIES)
    if page is None:
        raise NotFound("There is no such folder.")
    return page.rows


async def gather(runtime: Runtime, user_id: int, rows: Sequence[EntryRow], variant: Variant) -> list[PromptContext]:
    """Entries with their existing summaries, preferring `variant`. Missing ones are extracted and saved."""
    ids = [row.id for row in rows]
    async with runtime.db.read() as tx:
        texts = await summaries.texts(tx, ids, BUILT_IN)
        if variant.model != EXTRACT:
            texts |= await summaries.texts(tx, ids, variant)
        loaded = await entries.visible_texts(tx, user_id, ids)
        followed = {feed.feed_id: feed for feed in await sidebar.sidebar_feeds(tx, user_id)}
        names = {folder.id: folder.name for folder in await folders.of_user(tx, user_id)}
    missing = [entry for entry in loaded if entry.id not in texts]
    leads = await asyncio.to_thread(_leads, loaded)
    extracted = await extract_summaries(runtime, missing, {row.id: row.version for row in rows})
    texts |= {id_: (summary.text, summary.one_line) for id_, summary in extracted.items()}
    contexts = [_context(row, *texts.get(row.id, ("", "")), followed.get(row.feed_id), names) for row in rows]
    return [
        replace(one, leads=leads.get(one.entry_id, ((), ""))[0], text=leads.get(one.entry_id, ((), one.text))[1])
        for one in contexts
    ]


def _leads(loaded: Sequence[EntryText]) -> dict[int, tuple[tuple[str, ...], str]]:
    """The clean first sentences and the beginning of each entry."""
    from reedbed.ai.extractive import clean_sentences  # loads three megabytes of words and patterns on first use

    texts = ((entry.id, prose_text(entry.content[:MAX_HTML]) or entry.summary) for entry in loaded)
    return {id_: (tuple(clean_sentences(text)), " ".join(text[:MAX_EXCERPT_LENGTH].split())) for id_, text in texts}


def _context(
    row: EntryRow, text: str, one_line: str, feed: SubscribedFeedRow | None, folders: Mapping[int, str]
) -> PromptContext:
    folder_id = feed.folder_id if feed else None
    return PromptContext(
        entry_id=row.id,
        title=row.title,
        line=one_line or row.title,
        text=text or row.summary,
        feed_id=row.feed_id,
        feed=feed.title if feed else "",
        folder=folders.get(folder_id, "") if folder_id is not None else "",
        at=row.sort_at,
        language=row.language or "",
        place=list(folders).index(folder_id) if folder_id is not None and folder_id in folders else len(folders),
        image=row.image or "",
    )


# --- Writing

DIGEST_JOB = "digest"
EVERYTHING = DigestScope()
INTEREST_SPAN = 90 * DAY
READ_PER_ITEM = 3
"""So many articles of an item are given to a model."""
NO_SUCH_DIGEST = "There is no such digest"


async def ask_digest(
    runtime: Runtime,
    user: User,
    scope: DigestScope = EVERYTHING,
    *,
    since_last: bool = False,
    mail: bool = False,
    plan_id: int | None = None,
) -> Digest:
    """Create a pending digest. Raises `NotFound` immediately if it would have no entries.

    `plan_id` is the plan that makes a book of it.
    """
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
        payload = {"digest_id": digest_id, "mail": mail, "plan_id": plan_id}
        await jobs.add(tx, DIGEST_JOB, payload, now=now, user_id=user.id)
        digest = await digests.get(tx, user.id, digest_id)
    assert digest is not None
    await wake_jobs(runtime)
    return digest


async def get_digest(runtime: Runtime, user_id: int, digest_id: int) -> Digest:
    async with runtime.db.read() as tx:
        digest = await digests.get(tx, user_id, digest_id)
    if digest is None:
        raise NotFound(NO_SUCH_DIGEST)
    return digest


async def delete_digest(runtime: Runtime, user_id: int, digest_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await digests.remove(tx, user_id, digest_id):
            raise NotFound(NO_SUCH_DIGEST)


async def write_digest(runtime: Runtime, job: Job) -> Done | Later:
    """Job handler: write the digest. An error becomes the digest's status."""
    assert job.user_id is not None
    async with runtime.db.read() as tx:
        user = await users.get(tx, job.user_id)
        digest = await digests.get(tx, job.user_id, job.payload["digest_id"])
    if user is None or digest is None or digest.status != "pending":
        return Done()
    work = _write(runtime, job, user, digest)
    failure = await failure_of(work, FAILED, event="a digest broke down", digest=digest.id)
    if failure is not None:
        async with runtime.db.write() as tx:
            await digests.fail(tx, digest.id, failure, runtime.now())
    await report_job_progress(runtime, job, 1, 1, {"digest_id": digest.id})
    return Done({"digest_id": digest.id})


async def _write(runtime: Runtime, job: Job, user: User, digest: Digest) -> None:
    from reedbed.services.interest import digest_interest  # digests are rare

    variant = variant_for(runtime, user)
    rows = await find_entries(runtime, user.id, digest.scope, digest.since)
    if not rows:
        raise NotFound(NO_ENTRIES)
    contexts = await gather(runtime, user.id, rows, variant)
    async with runtime.db.read() as tx:
        stars = await digests.stars_by_feed(tx, user.id, runtime.now() - INTEREST_SPAN)
        cares = await digest_interest(tx, user, rows, MAX_CARE)
        known = await known_stories(tx, user.id, [row.id for row in rows])
    interest = interest_of(stars)
    items = await asyncio.to_thread(group, contexts, interest, cares, known)
    await report_job_progress(runtime, job, 1, 2, {"digest_id": digest.id})
    uses_model = variant.model != EXTRACT
    text = await _text_from_model(runtime, user, variant, contexts, items, known.apart) if uses_model else None
    if text is None:
        text = replace(_text(contexts, items, compose(items, known.apart), dropped=0), fallback=uses_model)
        variant = BUILT_IN
    liked = liked_ids(contexts, interest, cares)
    text = replace(text, liked_ids=tuple(source.entry_id for source in text.sources if source.entry_id in liked))
    async with runtime.db.write() as tx:
        now = runtime.now()
        await digests.finish(
            tx, digest.id, text, model=variant.model, language=variant.language, entries=len(rows), now=now
        )
        await users.record_event(tx, now, "digest_generated", user.id, {"article_count": len(rows)})
    await _deliver(runtime, user, digest.id, mail=bool(job.payload.get("mail")))
    if (plan_id := job.payload.get("plan_id")) is not None:
        await enqueue(runtime, BOOK_JOB, {"plan_id": plan_id, "digest_id": digest.id}, user_id=user.id)


async def _deliver(runtime: Runtime, user: User, digest_id: int, *, mail: bool) -> None:
    from reedbed.services.listening.manage import may_read_aloud, request_spoken
    from reedbed.store import sharing

    digest = await get_digest(runtime, user.id, digest_id)
    async with runtime.db.write() as tx:
        await enqueue_webhook_event(tx, user.id, WebhookEvent.DIGEST, {"digest_id": digest_id}, runtime.now())
        if preferences_of(user).push_digests:
            await enqueue_push_notes(tx, user.id, digest_note(digest), runtime.now())
        targets = await sharing.targets_for_digests(tx, user.id)
        await enqueue_shared_note(tx, user.id, targets, digest_note(digest), runtime.now())
    if preferences_of(user).spoken_digests and may_read_aloud(runtime, preferences_of(user)):
        await request_spoken(runtime, user, "digest", digest_id)
    if mail:
        await send_digest(runtime, user, digest.id)


async def _text_from_model(
    runtime: Runtime,
    user: User,
    variant: Variant,
    contexts: Sequence[PromptContext],
    items: Sequence[Item],
    apart: frozenset[int],
) -> DigestText | None:
    """The front page with the model's sentences, where its sources bear them out; else the built-in ones stand.

    Use the model for entries that may be sent to it only. None if the model failed.
    """
    async with runtime.db.read() as tx:
        local_feeds = await must_stay_local(tx, runtime, user.id)
    paragraphs = compose(items, apart)
    sendable = {context.entry_id: context for context in contexts if context.feed_id not in local_feeds}
    cited = [
        [sendable[id_] for id_ in sentence.entry_ids if id_ in sendable][:READ_PER_ITEM]
        for paragraph in paragraphs
        if paragraph.kind != "more"
        for sentence in paragraph.sentences
    ]
    draft = (
        await _ask_model_for_digest(runtime, user, variant, [item for item in cited if item]) if any(cited) else None
    )
    if draft is None and any(cited):
        return None
    rewritten = tuple(_rewritten(paragraph, draft) for paragraph in paragraphs) if draft is not None else paragraphs
    return _text(contexts, items, rewritten, dropped=draft.dropped if draft is not None else 0)


@record
class _Rewritten:
    sentences: Mapping[int, Sentence]
    """By each entry that they cite."""
    dropped: int


async def _ask_model_for_digest(
    runtime: Runtime, user: User, variant: Variant, items: Sequence[Sequence[PromptContext]]
) -> _Rewritten | None:
    numbers = dict(enumerate((context for item in items for context in item), 1))
    number_of = {context.entry_id: number for number, context in numbers.items()}
    readings = [[Reading(number_of[one.entry_id], one.title, one.feed, one.text) for one in item] for item in items]
    texts = {number: f"{context.title} {context.text}" for number, context in numbers.items()}
    languages = {context.language[:2] for context in numbers.values()}
    skip_single_names = "de" in languages or bool(variant.language and languages != {variant.language[:2]})
    draft = await ask_model(
        runtime,
        user.id,
        digest_prompt(readings, variant.language),
        lambda response: read_digest(response, texts, skip_single_names=skip_single_names),
    )
    if draft is None:
        return None
    sentences: dict[int, Sentence] = {}
    for cited in draft.sentences:
        ids = tuple(numbers[number].entry_id for number in cited.numbers)
        language = variant.language or numbers[cited.numbers[0]].language
        for id_ in ids:
            sentences.setdefault(id_, Sentence(cited.text, ids, language))
    return _Rewritten(sentences, draft.dropped)


def _rewritten(paragraph: Paragraph, by_model: _Rewritten) -> Paragraph:
    if paragraph.kind == "more":
        return paragraph
    sentences: list[Sentence] = []
    for built_in in paragraph.sentences:
        new = next((new for id_ in built_in.entry_ids if (new := by_model.sentences.get(id_))), None)
        # The sentence of another item, which cites this one as well, must not be used twice.
        if new is None or new.entry_ids[0] not in built_in.entry_ids:
            sentences.append(built_in)
            continue
        sentences.append(replace(new, entry_ids=tuple(dict.fromkeys((*new.entry_ids, *built_in.entry_ids)))))
    return replace(paragraph, sentences=tuple(sentences))


def _text(
    contexts: Sequence[PromptContext], items: Sequence[Item], paragraphs: tuple[Paragraph, ...], *, dropped: int
) -> DigestText:
    return DigestText(
        paragraphs=paragraphs,
        sources=sources_of((sentence for paragraph in paragraphs for sentence in paragraph.sentences), contexts),
        feeds=len({context.feed_id for context in contexts}),
        items=len(items),
        dropped=dropped,
        image=lead_image(paragraphs, contexts),
        left_out=max(0, len(items) - sum(len(paragraph.sentences) for paragraph in paragraphs)),
    )


# --- Schedules: a time of day in the user's own time zone

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
    schedule = Schedule(user.id, minute, zone, scope, mail, next_time(minute, _zone(zone), runtime.now()))
    async with runtime.db.write() as tx:
        if scope.folder_id is not None and await folders.get(tx, user.id, scope.folder_id) is None:
            raise NotFound("There is no such folder.")
        await digests.schedule(tx, schedule)
    return schedule


async def end_schedule(runtime: Runtime, user_id: int) -> None:
    async with runtime.db.write() as tx:
        await digests.unschedule(tx, user_id)


async def enqueue_due_digests(runtime: Runtime) -> int:
    """Periodic task: enqueue the due digests and count them. Missed times are made up for once."""
    now, count = runtime.now(), 0
    async with runtime.db.read() as tx:
        due = await digests.due(tx, now, limit=AT_A_TIME)
    for schedule in due:
        async with runtime.db.write() as tx:
            claimed = await digests.move_on(tx, schedule, next_time(schedule.minute, _zone(schedule.zone), now))
            user = await users.get(tx, schedule.user_id)
        if claimed and user is not None and user.disabled_at is None:
            count += await _ask_unless_empty(runtime, user, schedule)
    return count


async def _ask_unless_empty(runtime: Runtime, user: User, schedule: Schedule) -> int:
    try:
        await ask_digest(runtime, user, schedule.scope, since_last=True, mail=schedule.mail)
    except (NotFound, Unavailable) as error:
        log.info("no digest today", user=user.id, why=error.message)
        return 0
    return 1


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name or "UTC")
    except (KeyError, ValueError, OSError) as error:
        raise Invalid("There is no such time zone.", field="time_zone") from error
