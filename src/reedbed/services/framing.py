"""Framing as readers meet it: what was read in an entry, having it read again, the switch of a feed."""

from collections.abc import Mapping, Sequence

from reedbed.domain.accounts import User
from reedbed.domain.entries import EntryRow
from reedbed.domain.errors import Conflict, NotFound
from reedbed.domain.framing import Analysis, AnalysisState, Average, variant_for
from reedbed.domain.records import record
from reedbed.domain.subscriptions import Subscription
from reedbed.domain.summaries import OPENED
from reedbed.domain.times import DAY
from reedbed.services.entries import NO_SUCH_ENTRY
from reedbed.services.framing_asking import Payer, ask
from reedbed.services.framing_jobs import ask_feed_later
from reedbed.services.jobs import wake_jobs
from reedbed.services.preferences import preferences_of
from reedbed.services.runtime import Runtime
from reedbed.services.subscriptions import NO_SUCH
from reedbed.services.writers import may_send
from reedbed.store import analyses, entries, framing, subscriptions
from reedbed.store.analyses import Attachment, Shown
from reedbed.store.database import Tx
from reedbed.store.framing import About

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
        wanted = await framing.is_for_everybody(tx, entry.feed_id) or await framing.is_wished(
            tx, user.id, entry.feed_id
        )
    if state.status == "pending" or (state.status == "ready" and not state.outdated):
        return state
    _check_may_ask(runtime, user)
    if about is None or not wanted:
        raise Conflict(SWITCHED_OFF)
    await ask(runtime, entry_id, about, Payer(user.id), priority=OPENED, again=True)
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
        for_everybody=await framing.is_for_everybody(tx, feed_id),
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
    runtime: Runtime, entry: EntryRow, known: Attachment, shown: Shown, about: About | None
) -> bool:
    if known.version != entry.version:
        return True
    if runtime.ai.model is None or about is None:
        return False
    prompt = about.framing.prompt if about.framing else None
    return variant_for(runtime.ai.model.name, shown.analysis.language, prompt).name != shown.variant


def _state(known: Attachment, shown: Shown | None, *, outdated: bool) -> AnalysisState:
    analysis, made_at = (shown.analysis, shown.made_at) if shown else (None, None)
    if known.is_queued and known.cooldown_until is None:
        return AnalysisState("pending", analysis, outdated=outdated, made_at=made_at)
    error = known.failure if known.failure is not None else known.queued_error
    if known.asked_key is not None and error is not None:
        return AnalysisState("failed", analysis, error=error, outdated=outdated, made_at=made_at)
    if analysis is None:
        return AnalysisState("none")
    return AnalysisState("ready", analysis, outdated=outdated, made_at=made_at)
