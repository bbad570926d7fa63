"""Having entries read: which of a feed's need it, for whom, and the row in the queue."""

import asyncio

from reedbed.domain.framing import is_on_domain, text_hash, url_hash, variant_for
from reedbed.domain.hints import Hint
from reedbed.domain.records import record
from reedbed.domain.summaries import BACKGROUND
from reedbed.ingest.content_hash import content_hash
from reedbed.services.framed_documents import build_documents
from reedbed.services.full_articles import fetch_politely
from reedbed.services.jobs import Done, Later
from reedbed.services.preferences import preferences_of
from reedbed.services.runtime import Runtime
from reedbed.services.summaries import MOST_HTML
from reedbed.services.writers import kept_here, may_send
from reedbed.store import analyses, framing, summaries, summary_queue, users
from reedbed.store.analyses import Candidate
from reedbed.store.database import Tx
from reedbed.store.framing import About
from reedbed.store.jobs import Job

AT_ONCE = 20
"""Entries of one job before it makes room for others."""
TEASER_WORDS = 120
"""With fewer, an entry is taken for a teaser, and its article is fetched to be read whole."""


@record
class Payer:
    """For whom entries are read."""

    user_id: int | None
    """None: for everybody, at the operator's word."""


async def read_feed(runtime: Runtime, job: Job) -> Done | Later:
    """The job: the newest entries of a feed that were not read yet, or have changed since."""
    feed_id = int(job.payload["feed_id"])
    async with runtime.db.read() as tx:
        about, payer = await framing.about(tx, feed_id), await payer_for(tx, runtime, feed_id)
        newest = await analyses.newest(tx, feed_id, most=runtime.framing.items) if payer else []
    if about is None or payer is None:
        return Done()
    wanted = [one for one in newest if _needs_reading(one) and _is_inside(one, about)]
    for one in wanted[:AT_ONCE]:
        if one.words < TEASER_WORDS and not one.has_full and one.full_attempted_at is None and one.url:
            await fetch_politely(runtime, one.id, one.url)
        await ask(runtime, one.id, about, payer)
    return Later(runtime.now()) if len(wanted) > AT_ONCE else Done({"asked": len(wanted)})


async def payer_for(tx: Tx, runtime: Runtime, feed_id: int) -> Payer | None:
    """None when nobody wants this feed read, or there is no model that may be asked."""
    if runtime.ai.model is None:
        return None
    if await framing.is_for_everybody(tx, feed_id):
        return Payer(None)
    for user_id in await framing.wishers(tx, feed_id):
        user = await users.by_id(tx, user_id)
        if user is None or not may_send(runtime, preferences_of(user)):
            continue
        if feed_id not in await kept_here(tx, runtime, user_id):
            return Payer(user_id)
    return None


async def ask(
    runtime: Runtime,
    entry_id: int,
    about: About,
    payer: Payer,
    *,
    priority: int = BACKGROUND,
    again: bool = False,
) -> None:
    """Queue the reading of an entry; a text that was read already with the same question is there at once."""
    async with runtime.db.read() as tx:
        entry = await analyses.candidate(tx, entry_id)
        html = (await analyses.content_of(tx, entry_id))[:MOST_HTML]
    if entry is None or runtime.ai.model is None:
        return
    prompt = about.framing.prompt if about.framing else None
    variant = variant_for(runtime.ai.model.name, about.language or entry.language or "", prompt)
    # Hashing walks the whole markup; elsewhere, so that other work goes on meanwhile.
    digest = text_hash(entry.title, await asyncio.to_thread(content_hash, html))
    key, now = variant.key(digest), runtime.now()
    async with runtime.db.write() as tx:
        if again:
            await summaries.forgive(tx, key)
            await summary_queue.retry(tx, key)
        await analyses.attach(tx, entry, key, url_hash=url_hash(entry.normalized_url), of_full=entry.has_full)
        if await analyses.exists(tx, key):
            told = await analyses.adopt(tx, key)
            await build_documents(tx, runtime, {feed_id for _, feed_id in told}, now)
        else:
            await summary_queue.add(tx, digest, variant, user_id=payer.user_id, priority=priority, now=now)
    await runtime.bus.publish(Hint("wake", data={"for": "ai"}))


def _needs_reading(one: Candidate) -> bool:
    known = one.known
    if known is None or known.version != one.version:
        return True
    return known.key is None and not known.is_queued and known.failure is None


def _is_inside(one: Candidate, about: About) -> bool:
    settings = about.framing
    if settings is None or not settings.enforce_domain:
        return True
    return is_on_domain(one.url, about.url, settings.root_domain)
