"""Framing analyses for users: request and read them, and turn them on or off for a feed."""

import asyncio
from collections.abc import Mapping, Sequence

from reedbed.domain.entries import EntryRow
from reedbed.domain.errors import Conflict, NotFound
from reedbed.domain.framing import Analysis, AnalysisState, Average, is_on_domain, text_hash, url_hash, variant_for
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import record
from reedbed.domain.subscriptions import Subscription
from reedbed.domain.summaries import BACKGROUND, OPENED
from reedbed.domain.times import DAY
from reedbed.domain.users import User
from reedbed.ingest.text import content_hash
from reedbed.services.ai import may_send, must_stay_local
from reedbed.services.articles import fetch_throttled
from reedbed.services.entries import NO_SUCH_ENTRY
from reedbed.services.framing.public import build_documents
from reedbed.services.jobs import Done, Later, enqueue_framing, wake_jobs
from reedbed.services.runtime import Runtime
from reedbed.services.subscriptions.manage import NO_SUCH
from reedbed.services.summaries import MAX_HTML
from reedbed.services.users import preferences_of
from reedbed.store import ai, subscriptions, summaries, users
from reedbed.store.engine.database import Tx
from reedbed.store.entries import read as entries
from reedbed.store.framing import analyses
from reedbed.store.framing import settings as framing
from reedbed.store.framing.analyses import AnalysisAttachment, AnalysisCandidate, VisibleAnalysis
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
