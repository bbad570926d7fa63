"""What a user is interested in: learn from their own acts, rank lists by it, explain, and let them correct it.

Off until the user switches it on. A model is changed in the transaction of the act; nothing runs in the background.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

import orjson

from reedbed.domain.entries import EntryPage, EntryRow, ViewQuery
from reedbed.domain.errors import Invalid, NotFound
from reedbed.domain.interest.features import Candidate, Feature, read_feature
from reedbed.domain.interest.model import (
    ENOUGH_ACTS,
    PINS,
    Act,
    Belief,
    InterestModel,
    MeasuredRates,
    ScoreTerm,
    Verdict,
)
from reedbed.domain.interest.order import RankedEntry, care, is_worth_it, rank
from reedbed.domain.pagination import Cursor
from reedbed.domain.records import record
from reedbed.domain.times import DAY, Instant
from reedbed.domain.users import Preferences, User, read_preferences
from reedbed.services.runtime import Runtime
from reedbed.services.users import preferences_of
from reedbed.store import interest
from reedbed.store.engine.database import Tx
from reedbed.store.entries import read as entries
from reedbed.store.interest import Ranking

OFF = "The order by interest is switched off."
WINDOW = 500
"""The number of newest entries of a list that are ranked; the others follow by time."""
START_SPAN = 90 * DAY
MAX_REPORTED = 100
MAX_STARRED_ENTRIES = 20
"""An act on more entries than this is a clean-up or an import, so nothing is learnt from it."""
DEFAULT_GLANCE = 2_000
"""A row counts once it was on the screen for this many milliseconds."""

# --- Learning


@record
class Glimpse:
    """A row that was on the screen and not opened."""

    entry_id: int
    ms: int


def wants(preferences: str) -> Preferences | None:
    """The preferences of a user who has switched it on."""
    if '"interest":true' not in preferences:
        return None
    return read_preferences(orjson.loads(preferences))


async def learn(runtime: Runtime, tx: Tx, user_id: int, entry_ids: Sequence[int], act: Act) -> None:
    """Runs in the transaction of the act. Ignores entries that the user cannot see, and acts on many entries."""
    if not 0 < len(entry_ids) <= MAX_STARRED_ENTRIES or not wants(await interest.preferences(tx, user_id)):
        return
    await _learn(runtime, tx, user_id, [_LearntAct(id_, act) for id_ in entry_ids])


async def report_seen(runtime: Runtime, user_id: int, *, passed: Sequence[Glimpse], read: Sequence[int]) -> int:
    """Learn from what a page reports: rows that were passed by, entries that stayed open. Return how many counted."""
    if len(passed) + len(read) > MAX_REPORTED:
        raise Invalid("At most %(limit)s entries at once.", field="passed", limit=MAX_REPORTED)
    acts = [_LearntAct(id_, "read") for id_ in read]
    acts += [_LearntAct(one.entry_id, "passed", min(1.5, max(0.5, one.ms / DEFAULT_GLANCE))) for one in passed]
    async with runtime.db.write() as tx:
        if not wants(await interest.preferences(tx, user_id)):
            raise Invalid(OFF, field="passed")
        return await _learn(runtime, tx, user_id, acts)


@record
class _LearntAct:
    entry_id: int
    act: Act
    strength: float = 1.0


async def _learn(runtime: Runtime, tx: Tx, user_id: int, acts: Sequence[_LearntAct]) -> int:
    now = runtime.now()
    named = await interest.candidates(tx, user_id, [one.entry_id for one in acts])
    found = {entry.id: (title, entry) for title, entry in named}
    model = await _model_to_change(tx, user_id, now) if found else None
    if model is None:
        return 0
    learnt = 0
    for one in acts:
        if one.entry_id in found:
            title, entry = found[one.entry_id]
            learnt += model.learn(entry, title, one.act, now, strength=one.strength)
    if learnt:
        await interest.put(tx, user_id, model.dump(), now)
    return learnt


async def _model_to_change(tx: Tx, user_id: int, now: Instant) -> InterestModel | None:
    state = await interest.to_learn(tx, user_id)
    if state is None:
        return None
    if state.stored is not None:
        return InterestModel.load(state.stored)
    model = InterestModel()
    opened = await interest.opened_sources(tx, user_id, now - START_SPAN)
    model.start_with(
        (Feature("source", str(source.feed_id), source.title), source.came, source.opened) for source in opened
    )
    return model


# --- Lists


@record
class RankedList:
    page: EntryPage
    verdict: Verdict
    acts: int = 0
    """How many acts the model knows."""
    is_ranked: bool = False
    """False: the list is ordered by time."""
    has_older: bool = False
    """Entries that are not ranked follow."""
    outside: frozenset[int] = frozenset()
    """Entries of the page from outside the user's taste."""
    to_keep: Ranking | None = None
    """For `keep_ranking`, once the page was read."""
    terms: Mapping[int, Sequence[ScoreTerm]] = field(default_factory=dict[int, Sequence[ScoreTerm]])
    """Why each ranked entry of the page has its place; sources are not named."""


IN_RANKING = 2**62
"""A cursor with an id from here on is a place in a ranking, else a position in time."""


async def list_ranked(
    tx: Tx, user_id: int, query: ViewQuery, start: Cursor | None, limit: int, now: Instant
) -> RankedList | None:
    """None if the requested feed or folder does not belong to this user."""
    model = await _model(tx, user_id)
    verdict, acts = model.verdict(), model.chosen + model.passed
    if start is not None and start.id < IN_RANKING:
        return await _by_time(tx, user_id, query, start, limit, verdict, acts)
    if start is not None:
        kept = await interest.ranking(tx, user_id, start.sort_at)
        if kept is not None:
            return _explained(model, await _page_of(tx, user_id, query, kept, start.id - IN_RANKING, limit))
    elif verdict not in ("better", "unmeasured"):
        return await _by_time(tx, user_id, query, None, limit, verdict, acts)
    candidates = await entries.newest(tx, user_id, query, WINDOW)
    if candidates is None:
        return None
    if not candidates:
        return RankedList(EntryPage((), None), verdict, acts, is_ranked=True)
    ranking = Ranking(random.getrandbits(50), rank(candidates, model, now), _end_of(candidates))
    offset = 0 if start is None else start.id - IN_RANKING
    ranked = _explained(model, await _page_of(tx, user_id, query, ranking, offset, limit))
    is_longer = ranked.page.next is not None and ranked.page.next.id >= IN_RANKING
    return replace(ranked, has_older=len(candidates) == WINDOW, to_keep=ranking if is_longer else None)


def _explained(model: InterestModel, ranked: RankedList) -> RankedList:
    terms = {row.id: model.explain(candidate_of(row), "") for row in ranked.page.rows}
    return replace(ranked, verdict=model.verdict(), acts=model.chosen + model.passed, terms=terms)


def _end_of(candidates: Sequence[Candidate]) -> Cursor:
    return Cursor(candidates[-1].sort_at, candidates[-1].id)


async def _by_time(
    tx: Tx, user_id: int, query: ViewQuery, start: Cursor | None, limit: int, verdict: Verdict, acts: int
) -> RankedList | None:
    page = await entries.page(tx, user_id, replace(query, order="newest"), start, limit)
    return None if page is None else RankedList(page, verdict, acts)


async def _page_of(tx: Tx, user_id: int, query: ViewQuery, ranking: Ranking, offset: int, limit: int) -> RankedList:
    """The ranking from this place on, without entries that have left the view. Older entries follow by time."""
    rows: list[EntryRow] = []
    outside: set[int] = set()
    while offset < len(ranking.entries) and len(rows) < limit:
        part: Sequence[RankedEntry] = ranking.entries[offset : offset + limit - len(rows)]
        rows += await entries.shown_rows(tx, user_id, query, [entry.id for entry in part])
        outside |= {entry.id for entry in part if entry.outside}
        offset += len(part)
    following: Cursor | None = Cursor(ranking.id, IN_RANKING + offset)
    if offset >= len(ranking.entries):
        after = await entries.page(tx, user_id, replace(query, order="newest"), ranking.end, 1)
        following = ranking.end if after is not None and after.rows else None
    page = EntryPage(tuple(rows), following)
    return RankedList(page, "better", is_ranked=True, outside=frozenset(outside))


async def keep_ranking(runtime: Runtime, user_id: int, ranking: Ranking | None) -> None:
    """The next pages follow it, whatever is marked or learnt until then."""
    if ranking is not None:
        kept = ranking
        await runtime.db.write_now(lambda tx: interest.keep_ranking(tx, user_id, kept, runtime.now()))


async def worth_it(tx: Tx, user: User, rows: Sequence[EntryRow]) -> frozenset[int]:
    """Entries to mark in a list. Runs no statement unless the user wants marks."""
    preferences = preferences_of(user)
    if not rows or not preferences.interest or not preferences.interest_marks:
        return frozenset()
    model = await _model(tx, user.id)
    if model.verdict() not in ("better", "unmeasured"):
        return frozenset()
    return frozenset(row.id for row in rows if is_worth_it(candidate_of(row), model))


async def digest_interest(tx: Tx, user: User, rows: Sequence[EntryRow], limit: float) -> Mapping[int, float] | None:
    """The score of each entry; None if digests do not use it, or cannot yet."""
    preferences = preferences_of(user)
    if not preferences.interest or not preferences.interest_digests:
        return None
    model = await _model(tx, user.id)
    if model.verdict() not in ("better", "unmeasured"):
        return None
    return {row.id: care(candidate_of(row), model, limit) for row in rows}


def candidate_of(row: EntryRow) -> Candidate:
    return Candidate(row.id, row.feed_id, row.title, row.url, row.author, row.language, row.words, row.sort_at)


async def _model(tx: Tx, user_id: int) -> InterestModel:
    """The model to score with; an empty one if nothing was learnt yet."""
    stored = await interest.scores(tx, user_id)
    return InterestModel() if stored is None else InterestModel.load(stored)


# --- What it believes


@record
class InterestReport:
    """What the model believes, and how well it does."""

    verdict: Verdict
    chosen: int
    passed: int
    needed: int
    """Acts after which lists may be ordered by it."""
    rates: MeasuredRates | None
    beliefs: tuple[Belief, ...]


async def get_report(tx: Tx, user_id: int) -> InterestReport:
    stored = await interest.whole(tx, user_id)
    model = InterestModel() if stored is None else InterestModel.load(stored)
    beliefs = tuple(model.beliefs())
    return InterestReport(model.verdict(), model.chosen, model.passed, ENOUGH_ACTS, model.hits.rates(), beliefs)


@record
class Explanation:
    verdict: Verdict
    score: float
    terms: tuple[ScoreTerm, ...]
    """They add up to the score."""


async def explain(tx: Tx, user_id: int, row: EntryRow, source: str) -> Explanation:
    model = await _model(tx, user_id)
    terms = tuple(model.explain(candidate_of(row), source))
    return Explanation(model.verdict(), sum(term.value for term in terms), terms)


async def explain_entry(runtime: Runtime, user_id: int, entry_id: int) -> Explanation:
    async with runtime.db.read() as tx:
        found = await entries.rows_by_ids(tx, user_id, [entry_id])
        if not found:
            raise NotFound("There is no such entry")
        named = await interest.candidates(tx, user_id, [entry_id])
        return await explain(tx, user_id, found[0], named[0][0] if named else "")


async def set_pin(runtime: Runtime, user_id: int, kind: str, label: str, pin: str) -> str:
    """More, less or never; an empty text lets the model decide again. Returns what was set before."""
    if pin not in ("", *PINS):
        raise Invalid("Choose more, less or never.", field="pin")
    feature = read_feature(kind, label)
    async with runtime.db.write() as tx:
        model = await _model_to_change(tx, user_id, runtime.now())
        if model is None:
            raise NotFound("This account is gone.")
        if kind == "source":
            title = await interest.source_title(tx, user_id, int(feature.value))
            if pin and not title:
                raise NotFound("There is no such feed.")
            feature = replace(feature, label=title)
        before = model.pin(feature, pin)
        await interest.put(tx, user_id, model.dump(), runtime.now())
    return before


async def reset(runtime: Runtime, user_id: int) -> None:
    """Forget everything that was learnt and set."""
    async with runtime.db.write() as tx:
        await interest.remove(tx, user_id)
