"""Apply rules to entries: match them, set the resulting states, queue notices.

Rules for new entries are evaluated before the write transaction (`evaluate_new_entries`) and applied in it
(`apply_rules_to_new`), together with the unread rows of the subscribers.
"""

import asyncio
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import field, replace
from itertools import groupby

import orjson
import structlog

from reedbed.domain.errors import Unavailable
from reedbed.domain.folders import FolderRow, ancestors
from reedbed.domain.records import record
from reedbed.domain.retention import removed_keys
from reedbed.domain.rules import MAX_SUBJECT, Effects, Field, PlannedNotice, PlannedShare, Rule, Subject, apply
from reedbed.domain.subscriptions import is_short_video
from reedbed.domain.times import Instant
from reedbed.domain.users import read_preferences
from reedbed.ingest.text import clean_text
from reedbed.services.jobs import enqueue_shared_matches
from reedbed.services.runtime import Runtime
from reedbed.store import articles, jobs, rules, tags, transfer
from reedbed.store.engine.database import Tx
from reedbed.store.entries import repeats
from reedbed.store.entries.read import EntryText
from reedbed.store.entries.repeats import RepeatedEntry
from reedbed.store.entries.write import NewEntryRow
from reedbed.store.feeds import merge as feed_merge
from reedbed.store.read_state import rows as reading
from reedbed.store.read_state import stars as marks
from reedbed.store.read_state import unread
from reedbed.store.read_state.unread import Arrival
from reedbed.store.refresh import CheckResult
from reedbed.store.rules import FollowerRule

log = structlog.get_logger()

# Compiled patterns are shared and cache their matches, so only one thread at a time may use them.
_matching_lock = threading.Lock()


# --- Evaluating rules


@record
class Case:
    """One entry to match against the rules of one user."""

    key: int
    """Chosen by the caller to identify the case."""
    rules: Sequence[Rule]
    subject: Subject


@record
class MatchedRules:
    effects: dict[int, Effects]
    """By the key of the case, for cases where a rule matched."""
    open: list[int]
    """The keys of cases that were not evaluated in time."""


async def match_rules(cases: Iterable[Case], *, seconds: float) -> MatchedRules:
    return await asyncio.to_thread(_evaluate, cases, seconds)


def _evaluate(cases: Iterable[Case], seconds: float) -> MatchedRules:
    result = MatchedRules({}, [])
    deadline = time.monotonic() + seconds
    for case in cases:
        if time.monotonic() > deadline:
            result.open.append(case.key)
        elif (effects := _apply(case)).matched:
            result.effects[case.key] = effects
    return result


def _apply(case: Case) -> Effects:
    try:
        with _matching_lock:
            return apply(case.rules, case.subject)
    except Exception:
        log.exception("rules could not be applied", rules=[rule.id for rule in case.rules])
        return Effects()


def rule_subject(entry: EntryText, folders: Sequence[FolderRow]) -> Subject:
    return Subject(
        feed_id=entry.feed_id,
        feed_title=entry.feed_title,
        folders=parent_folders(entry.folder_ids, folders),
        title=entry.title,
        authors=split_authors(entry.author),
        content=clean_text(entry.content)[:MAX_SUBJECT],
        url=entry.url or "",
        language=entry.language or "",
        categories=entry.categories,
    )


def parent_folders(folder_ids: Sequence[int], rows: Sequence[FolderRow]) -> tuple[tuple[int, str], ...]:
    """The folders and their parents, for conditions on folders."""
    if not folder_ids:
        return ()
    names = {row.id: row.name for row in rows}
    around = dict.fromkeys(id_ for folder_id in folder_ids for id_ in ancestors(rows, folder_id))
    return tuple((id_, names[id_]) for id_ in around)


def split_authors(author: str | None) -> tuple[str, ...]:
    return tuple(author.split(", ")) if author else ()


# --- Effects of matched rules

NOTICE_JOB = "notify"
MAX_NOTICE_ENTRIES = 50


@record
class MatchOutcome:
    """What one user's rules do to one entry."""

    user_id: int
    entry_id: int
    effects: Effects


async def set_states(tx: Tx, outcomes: Sequence[MatchOutcome], now: Instant) -> None:
    """Set stars, the later flag and tags. Muted entries get nothing else.

    Users are processed in the order of their ids, which avoids deadlocks.
    """
    for user_id in sorted({outcome.user_id for outcome in outcomes}):
        user_outcomes = [outcome for outcome in outcomes if outcome.user_id == user_id]
        not_muted = [outcome for outcome in user_outcomes if not outcome.effects.muted]
        if muted := [outcome.entry_id for outcome in user_outcomes if outcome.effects.muted]:
            await marks.mute(tx, user_id, muted, now)
        if starred := [outcome.entry_id for outcome in not_muted if outcome.effects.starred]:
            await marks.set_flag(tx, user_id, "starred", starred, now)
        if later := [outcome.entry_id for outcome in not_muted if outcome.effects.later]:
            await marks.set_flag(tx, user_id, "later", later, now)
        for tag, ids in sorted(_by_tag(not_muted).items()):
            await tags.add(tx, user_id, [tag], now)
            await tags.put(tx, user_id, ids, [tag])


async def enqueue_notices(tx: Tx, outcomes: Iterable[MatchOutcome], now: Instant) -> None:
    """Enqueue the notices: one job for all entries that a rule matched at a time."""
    entry_ids: dict[tuple[int, PlannedNotice], list[int]] = {}
    for outcome in outcomes:
        for notice in outcome.effects.notify:
            entry_ids.setdefault((outcome.user_id, notice), []).append(outcome.entry_id)
    seen: set[tuple[int, int]] = set()
    for (user_id, notice), ids in entry_ids.items():
        payload = {
            # A rule may notify through several channels; webhooks for every match are called only once.
            "first": (user_id, notice.rule_id) not in seen,
            "rule_id": notice.rule_id,
            "channel": notice.channel,
            "url": notice.url,
            "entry_ids": ids[:MAX_NOTICE_ENTRIES],
            "count": len(ids),
        }
        seen.add((user_id, notice.rule_id))
        await jobs.add(tx, NOTICE_JOB, payload, now=now, user_id=user_id)


async def enqueue_shares(tx: Tx, outcomes: Iterable[MatchOutcome], now: Instant) -> None:
    """Enqueue what rules send to services; muted entries are not sent."""
    entry_ids: dict[tuple[int, PlannedShare], list[int]] = {}
    for outcome in outcomes:
        for share in () if outcome.effects.muted else outcome.effects.share:
            entry_ids.setdefault((outcome.user_id, share), []).append(outcome.entry_id)
    for (user_id, share), ids in entry_ids.items():
        await enqueue_shared_matches(tx, user_id, share.target_id, share.rule_name, ids, now)


async def count_matches(tx: Tx, outcomes: Iterable[MatchOutcome]) -> None:
    matches: dict[int, int] = {}
    for outcome in outcomes:
        for rule_id in outcome.effects.matched:
            matches[rule_id] = matches.get(rule_id, 0) + 1
    await rules.count_matches(tx, matches)


def _by_tag(outcomes: Iterable[MatchOutcome]) -> dict[str, list[int]]:
    tagged: dict[str, list[int]] = {}
    for outcome in outcomes:
        for tag in outcome.effects.tags:
            tagged.setdefault(tag, []).append(outcome.entry_id)
    return tagged


# --- Evaluating rules before entries are stored

SECONDS = 0.5
"""Time limit for all entries of one transaction."""


@record
class RuleForecast:
    """By entry, the users whose rules matched and those whose rules were not evaluated in time."""

    verdicts: Mapping[NewEntryRow, Sequence[tuple[int, Effects]]] = field(
        default_factory=dict[NewEntryRow, Sequence[tuple[int, Effects]]]
    )
    open: Mapping[NewEntryRow, Sequence[int]] = field(default_factory=dict[NewEntryRow, Sequence[int]])

    def verdicts_on(self, stored: Sequence[tuple[int, NewEntryRow]]) -> list[MatchOutcome]:
        if not self.verdicts:
            return []
        return [
            MatchOutcome(user_id, entry_id, effects)
            for entry_id, row in stored
            for user_id, effects in self.verdicts.get(row, ())
        ]

    def open_for(self, stored: Sequence[tuple[int, NewEntryRow]]) -> dict[int, list[int]]:
        """By user, the entries their rules still have to be evaluated for."""
        waiting: dict[int, list[int]] = {}
        for entry_id, row in stored if self.open else ():
            for user_id in self.open.get(row, ()):
                waiting.setdefault(user_id, []).append(entry_id)
        return waiting


NOTHING = RuleForecast()


async def evaluate_new_entries(runtime: Runtime, results: Sequence[CheckResult]) -> RuleForecast:
    """Evaluate the rules for new entries. An error is logged and ignored: rules never stop a refresh."""
    with_new_entries = {result.due.id: result for result in results if result.news}
    if not with_new_entries:
        return NOTHING
    try:
        return await _evaluate_new(runtime, with_new_entries)
    except Unavailable:
        raise
    except Exception:
        log.exception("rules could not be evaluated", feeds=list(with_new_entries))
        return NOTHING


async def _evaluate_new(runtime: Runtime, results: Mapping[int, CheckResult]) -> RuleForecast:
    async with runtime.db.read() as tx:
        follower_rules = await rules.of_followers(tx, list(results))
        users_with_folder_rules = sorted({row.user_id for row in follower_rules if _uses_folders(row.rule)})
        folders = await rules.folders_of(tx, users_with_folder_rules) if users_with_folder_rules else {}
    if not follower_rules:
        return NOTHING
    pending = list(_pending_cases(results, follower_rules))
    matched = await match_rules(_cases(pending, folders), seconds=SECONDS)
    effects_by_row: dict[NewEntryRow, list[tuple[int, Effects]]] = {}
    open_by_row: dict[NewEntryRow, list[int]] = {}
    for key, effects in matched.effects.items():
        item = pending[key]
        effects_by_row.setdefault(item.row, []).append((item.follower.user_id, item.allowed(effects)))
    for key in matched.open:
        open_by_row.setdefault(pending[key].row, []).append(pending[key].follower.user_id)
    return RuleForecast(effects_by_row, open_by_row)


@record
class _PendingCase:
    row: NewEntryRow
    follower: FollowerRule
    """The first of this user's rules. It has the user's title for the feed."""
    rules: Sequence[Rule]
    feed_title: str
    first_fetch: bool

    def allowed(self, effects: Effects) -> Effects:
        """No notices for a first fetch: its entries are older than the subscription."""
        return replace(effects, notify=()) if self.first_fetch else effects


def _pending_cases(
    results: Mapping[int, CheckResult], follower_rules: Sequence[FollowerRule]
) -> Iterator[_PendingCase]:
    """Ordered by entry, so that each text is prepared once for the rules of all users."""
    for feed_id, feed_rules in groupby(follower_rules, key=lambda rule: rule.feed_id):
        result = results[feed_id]
        by_user = [list(follower_rows) for _, follower_rows in groupby(feed_rules, key=lambda rule: rule.user_id)]
        new_title = result.about.title if result.about else ""
        for row in result.news:
            for follower_rows in by_user:
                title = follower_rows[0].own_title or new_title or follower_rows[0].feed_title
                user_rules = [follower.rule for follower in follower_rows]
                yield _PendingCase(row, follower_rows[0], user_rules, title, result.due.first_fetch)


def _cases(pending: Sequence[_PendingCase], folders: Mapping[int, Sequence[FolderRow]]) -> Iterator[Case]:
    content: dict[NewEntryRow, str] = {}
    for key, item in enumerate(pending):
        row = item.row
        if row not in content:
            content = {row: row.text.plain[:MAX_SUBJECT]}
        yield Case(key, item.rules, _subject(item, content[row], folders))


def _subject(pending: _PendingCase, content: str, folders: Mapping[int, Sequence[FolderRow]]) -> Subject:
    row, follower = pending.row, pending.follower
    return Subject(
        feed_id=row.feed_id,
        feed_title=pending.feed_title,
        folders=parent_folders(follower.folder_ids, folders.get(follower.user_id, ())),
        title=row.text.title,
        authors=split_authors(row.text.author),
        content=content,
        url=row.url or "",
        language=row.text.language or "",
        categories=row.text.categories,
    )


def _uses_folders(rule: Rule) -> bool:
    return any(condition.field is Field.FOLDER for condition in rule.conditions)


# --- Applying rules when entries are stored

RULES_JOB = "rules"
ARTICLES_JOB = "articles"


NewRows = Mapping[int, Sequence[tuple[int, NewEntryRow]]]
"""By feed, the stored entries with their ids."""


async def apply_rules_to_new(
    tx: Tx, new: NewRows, now: Instant, forecast: RuleForecast = NOTHING
) -> Mapping[int, Set[int]]:
    """Apply rules and create unread rows, in the transaction that stores the entries.

    Returns the users who got the entries, by feed.
    """
    if not new:
        return {}
    outcomes_by_feed = {feed_id: forecast.verdicts_on(stored) for feed_id, stored in new.items()}
    silent = {feed_id: _silent(outcomes) for feed_id, outcomes in outcomes_by_feed.items()}
    for feed_id in await transfer.feeds_with_imported(tx, list(new)):
        await _silence_imported_reads(tx, feed_id, new[feed_id], silent[feed_id])
    duplicates = await feed_merge.arriving_duplicates(
        tx, {feed_id: [entry_id for entry_id, _ in stored] for feed_id, stored in new.items()}
    )
    for duplicate in duplicates:
        for user_id, ids in duplicate.read.items():
            silent[duplicate.feed_id].setdefault(user_id, set()).update(ids)
    found = await _silence_repeats(tx, new, silent)
    shorts = await _silence_shorts(tx, new, silent)
    reached = await unread.fan_out(
        tx, [Arrival(feed_id, [entry_id for entry_id, _ in stored], silent[feed_id]) for feed_id, stored in new.items()]
    )
    for user_id, ids in sorted(shorts.items()):
        await marks.mute(tx, user_id, sorted(ids), now)
    await keep_unread_limits(tx, list(new))
    await repeats.add(tx, [one for one in found if one.user_id in reached[one.feed_id]])
    for duplicate in duplicates:
        await feed_merge.replace_duplicates(tx, duplicate)
    # Users who unsubscribed since the rules were evaluated are not in `reached`; skip their outcomes.
    applied = [
        outcome
        for feed_id, outcomes in outcomes_by_feed.items()
        for outcome in outcomes
        if outcome.user_id in reached[feed_id]
    ]
    if applied:
        await set_states(tx, applied, now)
        await enqueue_notices(tx, applied, now)
        await enqueue_shares(tx, applied, now)
        await count_matches(tx, applied)
    for feed_id, stored in new.items():
        for user_id, ids in forecast.open_for(stored).items():
            if user_id in reached[feed_id]:
                await jobs.add(tx, RULES_JOB, {"entry_ids": ids}, now=now, user_id=user_id)
    for feed_id in await articles.wants_full_text(tx, list(new)):
        await jobs.add(tx, ARTICLES_JOB, {"entry_ids": [entry_id for entry_id, _ in new[feed_id]]}, now=now)
    return reached


async def keep_unread_limits(tx: Tx, feed_ids: Sequence[int]) -> None:
    """Of feeds of which only the newest entries stay unread, mark the older ones read."""
    for user_id, feed_id, limit in await unread.over_limit(tx, feed_ids):
        await reading.mark_read(tx, user_id, await unread.beyond_limit(tx, user_id, feed_id, limit))


async def _silence_shorts(tx: Tx, new: NewRows, silent: Mapping[int, dict[int, set[int]]]) -> Mapping[int, set[int]]:
    """Let short videos arrive as read for those who leave them out; return by user what to mute."""
    short = {feed_id: {id_ for id_, row in stored if is_short_video(row.url)} for feed_id, stored in new.items()}
    feed_ids = [feed_id for feed_id, ids in short.items() if ids]
    muted: dict[int, set[int]] = {}
    for feed_id, user_id in await unread.without_shorts(tx, feed_ids) if feed_ids else ():
        silent[feed_id].setdefault(user_id, set()).update(short[feed_id])
        muted.setdefault(user_id, set()).update(short[feed_id])
    return muted


async def _silence_repeats(tx: Tx, new: NewRows, silent: Mapping[int, dict[int, set[int]]]) -> list[RepeatedEntry]:
    """Let entries arrive as read for those who have their address from another feed, and want it once."""
    candidates = await repeats.arriving(tx, [entry_id for stored in new.values() for entry_id, _ in stored])
    wanted = _wanted_repeats(candidates)
    for one in wanted:
        silent[one.feed_id].setdefault(one.user_id, set()).add(one.entry_id)
    return wanted


def _wanted_repeats(candidates: Sequence[tuple[RepeatedEntry, str]]) -> list[RepeatedEntry]:
    wants = {stored: read_preferences(orjson.loads(stored)).same_address_once for _, stored in candidates}
    return [one for one, stored in candidates if wants[stored]]


def muted_by_user(forecast: RuleForecast, stored: Sequence[tuple[int, NewEntryRow]]) -> Mapping[int, Sequence[int]]:
    """The new entries that rules mute, by user: no live update announces them."""
    muted: dict[int, list[int]] = {}
    for outcome in forecast.verdicts_on(stored):
        if outcome.effects.muted:
            muted.setdefault(outcome.user_id, []).append(outcome.entry_id)
    return muted


async def enqueue_rules(tx: Tx, user_id: int, feed_id: int, now: Instant) -> None:
    """Enqueue the rules of a new subscriber for entries that the shared feed already has."""
    if await rules.in_use(tx, user_id):
        await jobs.add(tx, RULES_JOB, {"feed_id": feed_id}, now=now, user_id=user_id)


async def _silence_imported_reads(
    tx: Tx, feed_id: int, stored: Sequence[tuple[int, NewEntryRow]], silent: dict[int, set[int]]
) -> None:
    """Entries that users had already read in another reader arrive as read."""
    by_key = {
        key: entry_id for entry_id, row in stored for key in removed_keys(row.guid, row.normalized_url, row.change_hash)
    }
    for user_id, key in await transfer.pop_imported(tx, feed_id, list(by_key)):
        silent.setdefault(user_id, set()).add(by_key[key])


def _silent(outcomes: Sequence[MatchOutcome]) -> dict[int, set[int]]:
    silent: dict[int, set[int]] = {}
    for outcome in outcomes:
        if outcome.effects.silent:
            silent.setdefault(outcome.user_id, set()).add(outcome.entry_id)
    return silent
