"""Framing as readers meet it: what was read in an entry, having it read again, the switch of a feed."""

import asyncio
from collections.abc import Mapping, Sequence

from reedbed.domain.entries import EntryRow
from reedbed.domain.errors import Conflict, NotFound
from reedbed.domain.framing import (
    Analysis,
    AnalysisState,
    Average,
    is_on_domain,
    text_hash,
    url_hash,
    variant_for,
)
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import record
from reedbed.domain.subscriptions import Subscription
from reedbed.domain.summaries import BACKGROUND, OPENED
from reedbed.domain.times import DAY
from reedbed.domain.users import User
from reedbed.ingest.text import content_hash
from reedbed.services.ai import may_send, must_stay_local
from reedbed.services.articles import fetch_politely
from reedbed.services.entries import NO_SUCH_ENTRY
from reedbed.services.framing.public import build_documents
from reedbed.services.jobs import Done, Later, ask_feed_later, wake_jobs
from reedbed.services.runtime import Runtime
from reedbed.services.subscriptions.manage import NO_SUCH
from reedbed.services.summaries import MAX_HTML
from reedbed.services.users import preferences_of
from reedbed.store import ai, subscriptions, summaries, users
from reedbed.store.engine.database import Tx
from reedbed.store.entries import read as entries
from reedbed.store.framing import analyses
from reedbed.store.framing import settings as framing
from reedbed.store.framing.analyses import AnalysisAttachment, AnalysisCandidate, ShownAnalysis
from reedbed.store.framing.settings import FramedFeed
from reedbed.store.jobs import Job

AT_ONCE = 20
"""Entries of one job before it makes room for others."""
TEASER_WORDS = 120
"""With fewer, an entry is taken for a teaser, and its article is fetched to be read whole."""


@record
class BudgetOwner:
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


async def payer_for(tx: Tx, runtime: Runtime, feed_id: int) -> BudgetOwner | None:
    """None when nobody wants this feed read, or there is no model that may be asked."""
    if runtime.ai.model is None:
        return None
    if await framing.is_for_all_users(tx, feed_id):
        return BudgetOwner(None)
    for user_id in await framing.wishers(tx, feed_id):
        user = await users.get(tx, user_id)
        if user is None or not may_send(runtime, preferences_of(user)):
            continue
        if feed_id not in await must_stay_local(tx, runtime, user_id):
            return BudgetOwner(user_id)
    return None


async def ask(
    runtime: Runtime,
    entry_id: int,
    about: FramedFeed,
    payer: BudgetOwner,
    *,
    priority: int = BACKGROUND,
    again: bool = False,
) -> None:
    """Queue the reading of an entry; a text that was read already with the same question is there at once."""
    async with runtime.db.read() as tx:
        entry = await analyses.candidate(tx, entry_id)
        html = (await analyses.content_of(tx, entry_id))[:MAX_HTML]
    if entry is None or runtime.ai.model is None:
        return
    prompt = about.framing.prompt if about.framing else None
    variant = variant_for(runtime.ai.model.name, about.language or entry.language or "", prompt)
    # Hashing walks the whole markup; elsewhere, so that other work goes on meanwhile.
    digest = text_hash(entry.title, await asyncio.to_thread(content_hash, html))
    key, now = variant.key(digest), runtime.now()
    async with runtime.db.write() as tx:
        if again:
            await summaries.clear_failure(tx, key)
            await ai.retry(tx, key)
        await analyses.attach(tx, entry, key, url_hash=url_hash(entry.normalized_url), of_full=entry.has_full)
        if await analyses.exists(tx, key):
            told = await analyses.adopt(tx, key)
            await build_documents(tx, runtime, {feed_id for _, feed_id in told}, now)
        else:
            await ai.enqueue(tx, digest, variant, user_id=payer.user_id, priority=priority, now=now)
    await runtime.bus.publish(ChangeEvent("wake", data={"for": "ai"}))


def _needs_reading(one: AnalysisCandidate) -> bool:
    known = one.known
    if known is None or known.version != one.version:
        return True
    return known.key is None and not known.is_queued and known.failure is None


def _is_inside(one: AnalysisCandidate, about: FramedFeed) -> bool:
    settings = about.framing
    if settings is None or not settings.enforce_domain:
        return True
    return is_on_domain(one.url, about.url, settings.root_domain)


NO_MODEL = "Reading for framing needs a model, and this server has none set up."
NOT_SENT = (
    "The texts of this feed would be sent to the model {model}, which somebody else runs. "
    "Allow that in your settings first (remote_ai)."
)
SWITCHED_OFF = "Framing is switched off for this feed. Switch it on first."
WEEK = 7 * DAY
WEEKS_SHOWN = 26


@record
class FramingOfFeed:
    """What a follower can know and choose of a feed."""

    wished: bool
    """This user wants it read."""
    for_everybody: bool
    """The operator has it read, and shows it at the deframer's doors."""
    model: str | None
    sends: bool
    """The model is somebody else's: texts leave this server."""
    allowed: bool
    """This user lets texts be sent, or none are."""
    averages: Sequence[Average]

    @property
    def articles(self) -> int:
        return sum(week.articles for week in self.averages)


async def get_analysis(runtime: Runtime, user: User, entry_id: int) -> AnalysisState:
    """What there is; nothing is asked for by looking."""
    async with runtime.db.read() as tx:
        return await analysis_state(tx, runtime, await _entry(tx, user, entry_id))


async def analysis_state(tx: Tx, runtime: Runtime, entry: EntryRow) -> AnalysisState:
    """Of an entry that whoever asks may see."""
    known = (await analyses.attached(tx, [entry.id])).get(entry.id)
    if known is None:
        return AnalysisState("none")
    shown = (await analyses.shown(tx, [entry.id])).get(entry.id)
    about = await framing.about(tx, entry.feed_id)
    outdated = shown is not None and _is_outdated(runtime, entry, known, shown, about)
    return _state(known, shown, outdated=outdated)


async def analyses_of(tx: Tx, ids: Sequence[int]) -> Mapping[int, Analysis]:
    """For the rows of a list; an entry that was not read is left out."""
    return {id_: found.analysis for id_, found in (await analyses.shown(tx, ids)).items()}


async def framings_of(runtime: Runtime, user: User, ids: Sequence[int]) -> Mapping[int, Analysis]:
    """Of those of these entries that the user may see and that were read."""
    async with runtime.db.read() as tx:
        seen = [row.id for row in await entries.rows_by_ids(tx, user.id, list(ids))]
        return await analyses_of(tx, seen)


async def read_again(runtime: Runtime, user: User, entry_id: int) -> AnalysisState:
    """Have an entry read that never was, that failed, or whose model or prompt is another one now."""
    async with runtime.db.read() as tx:
        entry = await _entry(tx, user, entry_id)
        state = await analysis_state(tx, runtime, entry)
        about = await framing.about(tx, entry.feed_id)
        wanted = await framing.is_for_all_users(tx, entry.feed_id) or await framing.is_wished(
            tx, user.id, entry.feed_id
        )
    if state.status == "pending" or (state.status == "ready" and not state.outdated):
        return state
    _check_may_ask(runtime, user)
    if about is None or not wanted:
        raise Conflict(SWITCHED_OFF)
    await ask(runtime, entry_id, about, BudgetOwner(user.id), priority=OPENED, again=True)
    return await get_analysis(runtime, user, entry_id)


async def framing_of_feed(runtime: Runtime, user: User, subscription_id: int) -> FramingOfFeed:
    async with runtime.db.read() as tx:
        return await _of_feed(tx, runtime, user, await _followed(tx, user, subscription_id))


async def set_wish(runtime: Runtime, user: User, subscription_id: int, *, wished: bool) -> FramingOfFeed:
    """Switch a followed feed on or off for this user; its newest entries are read at once."""
    async with runtime.db.write() as tx:
        followed = await _followed(tx, user, subscription_id)
        if wished:
            _check_may_ask(runtime, user)
        await framing.set_wish(tx, user.id, followed.feed.id, runtime.now(), wished=wished)
        if wished:
            await ask_feed_later(tx, followed.feed.id, runtime.now())
        now = await _of_feed(tx, runtime, user, followed)
    await wake_jobs(runtime)
    return now


async def _of_feed(tx: Tx, runtime: Runtime, user: User, followed: Subscription) -> FramingOfFeed:
    model, feed_id = runtime.ai.model, followed.feed.id
    since = runtime.now() // WEEK * WEEK - (WEEKS_SHOWN - 1) * WEEK
    return FramingOfFeed(
        wished=await framing.is_wished(tx, user.id, feed_id),
        for_everybody=await framing.is_for_all_users(tx, feed_id),
        model=model.name if model else None,
        sends=model is not None and model.is_remote,
        allowed=may_send(runtime, preferences_of(user)),
        averages=await analyses.averages(tx, feed_id, since, WEEK),
    )


async def _entry(tx: Tx, user: User, entry_id: int) -> EntryRow:
    found = await entries.rows_by_ids(tx, user.id, [entry_id])
    if not found:
        raise NotFound(NO_SUCH_ENTRY)
    return found[0]


async def _followed(tx: Tx, user: User, subscription_id: int) -> Subscription:
    found = await subscriptions.get(tx, user.id, subscription_id)
    if found is None:
        raise NotFound(NO_SUCH)
    return found


def _check_may_ask(runtime: Runtime, user: User) -> None:
    if runtime.ai.model is None:
        raise Conflict(NO_MODEL)
    if not may_send(runtime, preferences_of(user)):
        raise Conflict(NOT_SENT.format(model=runtime.ai.model.name), field="remote_ai")


def _is_outdated(
    runtime: Runtime,
    entry: EntryRow,
    known: AnalysisAttachment,
    shown: ShownAnalysis,
    about: FramedFeed | None,
) -> bool:
    if known.version != entry.version:
        return True
    if runtime.ai.model is None or about is None:
        return False
    prompt = about.framing.prompt if about.framing else None
    return variant_for(runtime.ai.model.name, shown.analysis.language, prompt).name != shown.variant


def _state(known: AnalysisAttachment, shown: ShownAnalysis | None, *, outdated: bool) -> AnalysisState:
    analysis, made_at = (shown.analysis, shown.made_at) if shown else (None, None)
    if known.is_queued and known.cooldown_until is None:
        return AnalysisState("pending", analysis, outdated=outdated, made_at=made_at)
    error = known.failure if known.failure is not None else known.queued_error
    if known.asked_key is not None and error is not None:
        return AnalysisState("failed", analysis, error=error, outdated=outdated, made_at=made_at)
    if analysis is None:
        return AnalysisState("none")
    return AnalysisState("ready", analysis, outdated=outdated, made_at=made_at)
