"""Framing analyses for users: request and read them, turn them on or off for a feed; the public deframed feeds."""

import asyncio
import hashlib
from collections.abc import Collection, Mapping, Sequence
from urllib.parse import quote

from reedbed.domain.entries import EntryRow
from reedbed.domain.errors import Conflict, Forbidden, NotFound
from reedbed.domain.framing import (
    Analysis,
    AnalysisState,
    Average,
    FramedFeed,
    FramedItem,
    check_root_domain,
    fair,
    is_on_domain,
    rss,
    text_hash,
    url_hash,
    variant_for,
)
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import record
from reedbed.domain.subscriptions import Subscription
from reedbed.domain.summaries import BACKGROUND, OPENED
from reedbed.domain.times import DAY, SECOND, Instant
from reedbed.domain.urls import check_feed_url, normalize_url
from reedbed.domain.users import User
from reedbed.ingest.text import content_hash
from reedbed.services.ai import may_send, must_stay_local
from reedbed.services.articles import fetch_throttled
from reedbed.services.entries import NO_SUCH_ENTRY
from reedbed.services.jobs import Done, Later, enqueue_framing, wake_jobs
from reedbed.services.runtime import Runtime
from reedbed.services.subscriptions.manage import NO_SUCH
from reedbed.services.summaries import MAX_HTML
from reedbed.services.users import preferences_of
from reedbed.store import ai, subscriptions, summaries, users
from reedbed.store.engine.database import Tx
from reedbed.store.entries import read as entries
from reedbed.store.framing import analyses
from reedbed.store.framing import documents as framed_documents
from reedbed.store.framing import settings as framing
from reedbed.store.framing.analyses import AnalysisAttachment, AnalysisCandidate, VisibleAnalysis, thousandths
from reedbed.store.framing.documents import Document
from reedbed.store.framing.settings import FeedFramingRecord
from reedbed.store.jobs import Job

# --- Requesting analyses

BATCH_SIZE = 20
"""Entries processed per run of a job, before other jobs get their turn."""
TEASER_WORDS = 120
"""An entry with fewer words is considered a teaser, and its full article is fetched."""


@record
class BudgetOwner:
    """Who pays for an analysis."""

    user_id: int | None
    """None: the instance, because the admin enabled the feed for all users."""


async def read_feed(runtime: Runtime, job: Job) -> Done | Later:
    """Job handler: enqueue analyses of the newest entries of a feed that are new or have changed."""
    feed_id = int(job.payload["feed_id"])
    async with runtime.db.read() as tx:
        about, payer = await framing.about(tx, feed_id), await budget_owner_for(tx, runtime, feed_id)
        newest = await analyses.newest(tx, feed_id, limit=runtime.framing.items) if payer else []
    if about is None or payer is None:
        return Done()
    pending = [entry for entry in newest if _needs_analysis(entry) and _is_on_allowed_domain(entry, about)]
    for entry in pending[:BATCH_SIZE]:
        if entry.words < TEASER_WORDS and not entry.has_full and entry.full_attempted_at is None and entry.url:
            await fetch_throttled(runtime, entry.id, entry.url)
        await ask(runtime, entry.id, about, payer)
    return Later(runtime.now()) if len(pending) > BATCH_SIZE else Done({"asked": len(pending)})


async def budget_owner_for(tx: Tx, runtime: Runtime, feed_id: int) -> BudgetOwner | None:
    """None if no user wants this feed analysed, or no model may be used for it."""
    if runtime.ai.model is None:
        return None
    if await framing.is_for_all_users(tx, feed_id):
        return BudgetOwner(None)
    for user_id in await framing.requesting_users(tx, feed_id):
        user = await users.get(tx, user_id)
        if user is None or not may_send(runtime, preferences_of(user)):
            continue
        if feed_id not in await must_stay_local(tx, runtime, user_id):
            return BudgetOwner(user_id)
    return None


async def ask(
    runtime: Runtime,
    entry_id: int,
    about: FeedFramingRecord,
    payer: BudgetOwner,
    *,
    priority: int = BACKGROUND,
    again: bool = False,
) -> None:
    """Enqueue the analysis of an entry, or reuse an existing one of the same text and prompt."""
    async with runtime.db.read() as tx:
        entry = await analyses.candidate(tx, entry_id)
        html = (await analyses.content_of(tx, entry_id))[:MAX_HTML]
    if entry is None or runtime.ai.model is None:
        return
    prompt = about.framing.prompt if about.framing else None
    variant = variant_for(runtime.ai.model.name, about.language or entry.language or "", prompt)
    # Hashing parses the whole markup, so it runs in a thread.
    digest = text_hash(entry.title, await asyncio.to_thread(content_hash, html))
    key, now = variant.key(digest), runtime.now()
    async with runtime.db.write() as tx:
        if again:
            await summaries.clear_failure(tx, key)
            await ai.retry(tx, key)
        await analyses.attach(tx, entry, key, url_hash=url_hash(entry.normalized_url), of_full=entry.has_full)
        if await analyses.exists(tx, key):
            updated = await analyses.adopt(tx, key)
            await build_documents(tx, runtime, {feed_id for _, feed_id in updated}, now)
        else:
            await ai.enqueue(tx, digest, variant, user_id=payer.user_id, priority=priority, now=now)
    await runtime.bus.publish(ChangeEvent("wake", data={"for": "ai"}))


def _needs_analysis(entry: AnalysisCandidate) -> bool:
    attached = entry.known
    if attached is None or attached.version != entry.version:
        return True
    return attached.key is None and not attached.is_queued and attached.failure is None


def _is_on_allowed_domain(entry: AnalysisCandidate, feed: FeedFramingRecord) -> bool:
    settings = feed.framing
    if settings is None or not settings.enforce_domain:
        return True
    return is_on_domain(entry.url, feed.url, settings.root_domain)


# --- Reading analyses, settings of a feed

NO_MODEL = "Reading for framing needs a model, and this server has none set up."
NOT_SENT = (
    "The texts of this feed would be sent to the model %(model)s, which a third party runs. "
    "Allow that in your settings first (remote_ai)."
)
SWITCHED_OFF = "Framing is switched off for this feed. Switch it on first."
WEEK = 7 * DAY
MAX_WEEKS = 26


@record
class FramingOfFeed:
    """Framing status and settings of a feed for one user."""

    requested: bool
    """This user has enabled it."""
    for_all_users: bool
    """The admin has enabled it for all users and publishes it at the deframer endpoints."""
    model: str | None
    sends: bool
    """The model is remote: texts leave this server."""
    allowed: bool
    """This user allows sending texts, or the model is local."""
    averages: Sequence[Average]

    @property
    def articles(self) -> int:
        return sum(week.articles for week in self.averages)


async def get_analysis(runtime: Runtime, user: User, entry_id: int) -> AnalysisState:
    """The existing analysis. This does not request a new one."""
    async with runtime.db.read() as tx:
        return await analysis_state(tx, runtime, await _get_entry(tx, user, entry_id))


async def analysis_state(tx: Tx, runtime: Runtime, entry: EntryRow) -> AnalysisState:
    """The caller must have checked that the user can see the entry."""
    attached = (await analyses.attached(tx, [entry.id])).get(entry.id)
    if attached is None:
        return AnalysisState("none")
    visible = (await analyses.shown(tx, [entry.id])).get(entry.id)
    feed = await framing.about(tx, entry.feed_id)
    outdated = visible is not None and _is_outdated(runtime, entry, attached, visible, feed)
    return _state(attached, visible, outdated=outdated)


async def analyses_of(tx: Tx, ids: Sequence[int]) -> Mapping[int, Analysis]:
    """Analyses for the rows of a list; entries without one are left out."""
    return {id_: stored.analysis for id_, stored in (await analyses.shown(tx, ids)).items()}


async def framings_of(runtime: Runtime, user: User, ids: Sequence[int]) -> Mapping[int, Analysis]:
    """Analyses of those entries that the user can see."""
    async with runtime.db.read() as tx:
        visible_ids = [row.id for row in await entries.rows_by_ids(tx, user.id, list(ids))]
        return await analyses_of(tx, visible_ids)


async def request_analysis(runtime: Runtime, user: User, entry_id: int) -> AnalysisState:
    """Request an analysis if there is none, if it failed, or if the model, prompt or text has changed."""
    async with runtime.db.read() as tx:
        entry = await _get_entry(tx, user, entry_id)
        state = await analysis_state(tx, runtime, entry)
        feed = await framing.about(tx, entry.feed_id)
        enabled = await framing.is_for_all_users(tx, entry.feed_id) or await framing.is_analysis_requested(
            tx, user.id, entry.feed_id
        )
    if state.status == "pending" or (state.status == "ready" and not state.outdated):
        return state
    _check_model_allowed(runtime, user)
    if feed is None or not enabled:
        raise Conflict(SWITCHED_OFF)
    await ask(runtime, entry_id, feed, BudgetOwner(user.id), priority=OPENED, again=True)
    return await get_analysis(runtime, user, entry_id)


async def framing_of_feed(runtime: Runtime, user: User, subscription_id: int) -> FramingOfFeed:
    async with runtime.db.read() as tx:
        return await _feed_status(tx, runtime, user, await _get_subscription(tx, user, subscription_id))


async def set_analysis_request(runtime: Runtime, user: User, subscription_id: int, *, requested: bool) -> FramingOfFeed:
    """Turn framing on or off for this user and feed. Turning it on analyses the newest entries at once."""
    async with runtime.db.write() as tx:
        subscription = await _get_subscription(tx, user, subscription_id)
        if requested:
            _check_model_allowed(runtime, user)
        await framing.set_analysis_request(tx, user.id, subscription.feed.id, runtime.now(), requested=requested)
        if requested:
            await enqueue_framing(tx, subscription.feed.id, runtime.now())
        status = await _feed_status(tx, runtime, user, subscription)
    await wake_jobs(runtime)
    return status


async def _feed_status(tx: Tx, runtime: Runtime, user: User, subscription: Subscription) -> FramingOfFeed:
    model, feed_id = runtime.ai.model, subscription.feed.id
    since = runtime.now() // WEEK * WEEK - (MAX_WEEKS - 1) * WEEK
    return FramingOfFeed(
        requested=await framing.is_analysis_requested(tx, user.id, feed_id),
        for_all_users=await framing.is_for_all_users(tx, feed_id),
        model=model.name if model else None,
        sends=model is not None and model.is_remote,
        allowed=may_send(runtime, preferences_of(user)),
        averages=await analyses.averages(tx, feed_id, since, WEEK),
    )


async def _get_entry(tx: Tx, user: User, entry_id: int) -> EntryRow:
    rows = await entries.rows_by_ids(tx, user.id, [entry_id])
    if not rows:
        raise NotFound(NO_SUCH_ENTRY)
    return rows[0]


async def _get_subscription(tx: Tx, user: User, subscription_id: int) -> Subscription:
    subscription = await subscriptions.get(tx, user.id, subscription_id)
    if subscription is None:
        raise NotFound(NO_SUCH)
    return subscription


def _check_model_allowed(runtime: Runtime, user: User) -> None:
    if runtime.ai.model is None:
        raise Conflict(NO_MODEL)
    if not may_send(runtime, preferences_of(user)):
        raise Conflict(NOT_SENT, model=runtime.ai.model.name, field="remote_ai")


def _is_outdated(
    runtime: Runtime,
    entry: EntryRow,
    attached: AnalysisAttachment,
    visible: VisibleAnalysis,
    feed: FeedFramingRecord | None,
) -> bool:
    if attached.version != entry.version:
        return True
    if runtime.ai.model is None or feed is None:
        return False
    prompt = feed.framing.prompt if feed.framing else None
    return variant_for(runtime.ai.model.name, visible.analysis.language, prompt).name != visible.variant


def _state(attached: AnalysisAttachment, visible: VisibleAnalysis | None, *, outdated: bool) -> AnalysisState:
    analysis, made_at = (visible.analysis, visible.made_at) if visible else (None, None)
    if attached.is_queued and attached.cooldown_until is None:
        return AnalysisState("pending", analysis, outdated=outdated, made_at=made_at)
    error = attached.failure if attached.failure is not None else attached.queued_error
    if attached.asked_key is not None and error is not None:
        return AnalysisState("failed", analysis, error=error, outdated=outdated, made_at=made_at)
    if analysis is None:
        return AnalysisState("none")
    return AnalysisState("ready", analysis, outdated=outdated, made_at=made_at)


# --- Public deframed feeds


MAX_WINDOWS = 20
"""How many pages of a feed are searched for items that may be shown."""


# --- Building documents


async def build_documents(tx: Tx, runtime: Runtime, feed_ids: Collection[int], now: Instant) -> None:
    """Rebuild the stored documents of these feeds. An unchanged document keeps its date."""
    # The lock makes concurrent workers build one after the other, so that the last document has all items.
    for feed_id in await framing.lock(tx, sorted(feed_ids)):
        await _build_document(tx, runtime, feed_id, now)


async def shown_items(tx: Tx, feed: FramedFeed, *, limit: int, max_score: int | None = None) -> list[FramedItem]:
    """The newest items that may be shown. Hidden items are filtered out before counting."""
    visible: list[FramedItem] = []
    last: FramedItem | None = None
    for _ in range(MAX_WINDOWS):
        page = await framed_documents.newest(tx, feed.id, limit=limit, max_score=max_score, after=last)
        visible += [item for item in page if item.is_shown_in(feed)]
        if len(visible) >= limit or len(page) < limit:
            break
        last = page[-1]
    return visible[:limit]


def deframed_feed_url(runtime: Runtime, feed: FramedFeed, max_score: float | None = None) -> str:
    limit = f"&max_score={max_score:g}" if max_score else ""
    return f"{runtime.accounts.base_url}/rss?url={quote(feed.url, safe='')}{limit}"


async def _build_document(tx: Tx, runtime: Runtime, feed_id: int, now: Instant) -> None:
    feed = await framed_documents.served_feed(tx, feed_id)
    if feed is None:
        return
    items = await shown_items(tx, feed, limit=runtime.framing.items)
    self_url = deframed_feed_url(runtime, feed)
    digest = hashlib.sha256(rss(feed, items, self_url=self_url, built_at=0)).hexdigest()[:32]
    before = await framed_documents.hash_of(tx, feed_id)
    if digest == before or (before is None and not items):
        return
    built_at = now // SECOND * SECOND
    content = rss(feed, items, self_url=self_url, built_at=built_at)
    await framed_documents.put(tx, feed_id, Document(content, digest, len(items), built_at))


# --- Endpoints

UNKNOWN_FEED = "This feed is not deframed here."
DISABLED = "The operator has disabled this feed."
NOT_BUILT = "Nothing of this feed has been deframed yet."
UNKNOWN_ITEM = "This article has not been deframed here."
TOO_LOUD = "This article is above the score asked for."
UNKNOWN_SITE = "No feed of this site is deframed here."


@record
class ServedDocument:
    content: bytes
    tag: str
    built_at: Instant
    is_whole: bool
    """Not filtered by score, so its date alone shows whether it has changed."""


async def read_document(runtime: Runtime, url: str, max_score: float | None = None) -> ServedDocument:
    feed_url = check_feed_url(url)
    async with runtime.db.read() as tx:
        served = await framed_documents.get_public(tx, feed_url)
        if served is None:
            raise NotFound(UNKNOWN_FEED)
        if not served.enabled:
            raise Forbidden(DISABLED)
        document = served.document
        if document is None or not document.items:
            raise NotFound(NOT_BUILT)
        if not max_score:
            return ServedDocument(document.content, document.content_hash, document.built_at, is_whole=True)
        content = await _filtered_document(tx, runtime, served.feed_id, max_score, document.built_at)
    return ServedDocument(content, hashlib.sha256(content).hexdigest()[:32], document.built_at, is_whole=False)


async def read_item(runtime: Runtime, url: str, max_score: float | None = None) -> tuple[FramedFeed, FramedItem]:
    digest = url_hash(normalize_url(check_feed_url(url)))
    if digest is None:
        raise NotFound(UNKNOWN_ITEM)
    async with runtime.db.read() as tx:
        matches = [
            (feed, item)
            for item in await framed_documents.items_by_url_hash(tx, digest)
            if (feed := await framed_documents.served_feed(tx, item.feed_id)) and item.is_shown_in(feed)
        ]
    if not matches:
        raise NotFound(UNKNOWN_ITEM)
    below_limit = [pair for pair in matches if not max_score or pair[1].analysis.overall.value <= max_score]
    if not below_limit:
        raise NotFound(TOO_LOUD)
    return below_limit[0]


async def read_site(runtime: Runtime, root: str, max_score: float | None = None) -> list[tuple[FramedFeed, FramedItem]]:
    """The newest items of all feeds of a site, alternating between feeds, without duplicate URLs."""
    domain, limit = check_root_domain(root, field="root"), runtime.framing.items
    max_thousandths = thousandths(max_score) if max_score else None
    queues: list[list[tuple[str, tuple[FramedFeed, FramedItem]]]] = []
    async with runtime.db.read() as tx:
        feed_ids = await framing.served_feeds_of(tx, domain)
        if not feed_ids:
            raise NotFound(UNKNOWN_SITE)
        for feed_id in feed_ids:
            feed = await framed_documents.served_feed(tx, feed_id)
            if feed is not None:
                items = await shown_items(tx, feed, limit=limit, max_score=max_thousandths)
                queues.append([(item.normalized_url or f"#{item.id}", (feed, item)) for item in items])
    queues.sort(key=lambda queue: -queue[0][1][1].sort_at if queue else 0)
    return fair(queues, limit)


async def _filtered_document(tx: Tx, runtime: Runtime, feed_id: int, max_score: float, built_at: Instant) -> bytes:
    feed = await framed_documents.served_feed(tx, feed_id)
    if feed is None:
        raise NotFound(UNKNOWN_FEED)
    items = await shown_items(tx, feed, limit=runtime.framing.items, max_score=thousandths(max_score))
    return rss(feed, items, self_url=deframed_feed_url(runtime, feed, max_score), built_at=built_at)
