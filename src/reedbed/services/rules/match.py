"""New entries arrive: what rules say about them, then who finds them unread."""

import asyncio
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import field, replace
from itertools import groupby

import structlog

from reedbed.domain.errors import Unavailable
from reedbed.domain.folders import FolderRow, ancestors
from reedbed.domain.records import record
from reedbed.domain.retention import removed_keys
from reedbed.domain.rules import MAX_SUBJECT, Effects, Field, PlannedNotice, Rule, Subject, apply
from reedbed.domain.times import Instant
from reedbed.ingest.text import clean_text
from reedbed.services.runtime import Runtime
from reedbed.store import articles, jobs, rules, tags, transfer
from reedbed.store.engine.database import Tx
from reedbed.store.entries.read import EntryWords
from reedbed.store.entries.write import NewEntryRow
from reedbed.store.feeds import merge as feed_merge
from reedbed.store.read_state import stars as marks
from reedbed.store.read_state import unread
from reedbed.store.read_state.unread import Arrival
from reedbed.store.refresh import CheckResult
from reedbed.store.rules import FollowerRule

log = structlog.get_logger()

# Compiled patterns are shared and remember what they have met; one thread at a time walks them.
_walking = threading.Lock()


@record
class Case:
    """The rules of one user before one entry."""

    key: int
    """Whatever the caller knows it by."""
    rules: Sequence[Rule]
    subject: Subject


@record
class MatchedRules:
    effects: dict[int, Effects]
    """By the key of the case; only where a rule matched."""
    open: list[int]
    """The keys of those for which no time was left."""


async def judge(cases: Iterable[Case], *, seconds: float) -> MatchedRules:
    return await asyncio.to_thread(_judge, cases, seconds)


def _judge(cases: Iterable[Case], seconds: float) -> MatchedRules:
    judged = MatchedRules({}, [])
    ends_at = time.monotonic() + seconds
    for case in cases:
        if time.monotonic() > ends_at:
            judged.open.append(case.key)
        elif (effects := _apply(case)).matched:
            judged.effects[case.key] = effects
    return judged


def _apply(case: Case) -> Effects:
    try:
        with _walking:
            return apply(case.rules, case.subject)
    except Exception:
        log.exception("rules could not be applied", rules=[rule.id for rule in case.rules])
        return Effects()


def subject_of(entry: EntryWords, folders: Sequence[FolderRow]) -> Subject:
    return Subject(
        feed_id=entry.feed_id,
        feed_title=entry.feed_title,
        folders=folders_around(entry.folder_id, folders),
        title=entry.title,
        authors=authors_of(entry.author),
        content=clean_text(entry.content)[:MAX_SUBJECT],
        url=entry.url or "",
        language=entry.language or "",
    )


def folders_around(folder_id: int | None, rows: Sequence[FolderRow]) -> tuple[tuple[int, str], ...]:
    """The folder and those around it, as rules ask about them."""
    if folder_id is None:
        return ()
    names = {row.id: row.name for row in rows}
    return tuple((id_, names[id_]) for id_ in ancestors(rows, folder_id))


def authors_of(author: str | None) -> tuple[str, ...]:
    return tuple(author.split(", ")) if author else ()


NOTICE_JOB = "notify"
MAX_IN_A_NOTICE = 50


@record
class MatchOutcome:
    """What one user's rules do to one entry."""

    user_id: int
    entry_id: int
    effects: Effects


async def set_states(tx: Tx, verdicts: Sequence[MatchOutcome], now: Instant) -> None:
    """Stars, the later list and tags; what is muted gets nothing else. User by user in the order of ids:
    nobody waits in a circle."""
    for user_id in sorted({verdict.user_id for verdict in verdicts}):
        all_mine = [verdict for verdict in verdicts if verdict.user_id == user_id]
        mine = [verdict for verdict in all_mine if not verdict.effects.muted]
        if muted := [each.entry_id for each in all_mine if each.effects.muted]:
            await marks.mute(tx, user_id, muted, now)
        if starred := [each.entry_id for each in mine if each.effects.starred]:
            await marks.set_flag(tx, user_id, "starred", starred, now)
        if later := [each.entry_id for each in mine if each.effects.later]:
            await marks.set_flag(tx, user_id, "later", later, now)
        for tag, ids in sorted(_by_tag(mine).items()):
            await tags.add(tx, user_id, [tag], now)
            await tags.put(tx, user_id, ids, [tag])


async def leave_notices(tx: Tx, verdicts: Iterable[MatchOutcome], now: Instant) -> None:
    """A worker sends them: one for all entries that a rule met at a time."""
    waiting: dict[tuple[int, PlannedNotice], list[int]] = {}
    for verdict in verdicts:
        for notice in verdict.effects.notify:
            waiting.setdefault((verdict.user_id, notice), []).append(verdict.entry_id)
    told: set[tuple[int, int]] = set()
    for (user_id, notice), ids in waiting.items():
        payload = {
            # A rule may tell by several ways; who hears of every match hears of it once.
            "first": (user_id, notice.rule_id) not in told,
            "rule_id": notice.rule_id,
            "channel": notice.channel,
            "url": notice.url,
            "entry_ids": ids[:MAX_IN_A_NOTICE],
            "count": len(ids),
        }
        told.add((user_id, notice.rule_id))
        await jobs.add(tx, NOTICE_JOB, payload, now=now, user_id=user_id)


async def count_matches(tx: Tx, verdicts: Iterable[MatchOutcome]) -> None:
    matches: dict[int, int] = {}
    for verdict in verdicts:
        for rule_id in verdict.effects.matched:
            matches[rule_id] = matches.get(rule_id, 0) + 1
    await rules.count_matches(tx, matches)


def _by_tag(verdicts: Iterable[MatchOutcome]) -> dict[str, list[int]]:
    tagged: dict[str, list[int]] = {}
    for verdict in verdicts:
        for tag in verdict.effects.tags:
            tagged.setdefault(tag, []).append(verdict.entry_id)
    return tagged


SECONDS = 0.5
"""For all that arrives in one transaction."""


@record
class Forecast:
    """By entry, the users whose rules matched and those whose rules have not been asked yet."""

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
        """By user, the entries their rules are still to be asked about."""
        waiting: dict[int, list[int]] = {}
        for entry_id, row in stored if self.open else ():
            for user_id in self.open.get(row, ()):
                waiting.setdefault(user_id, []).append(entry_id)
        return waiting


NOTHING = Forecast()


async def foresee(runtime: Runtime, findings: Sequence[CheckResult]) -> Forecast:
    """Rules never stop a crawl: when they cannot be asked, entries arrive without them."""
    news = {finding.due.id: finding for finding in findings if finding.news}
    if not news:
        return NOTHING
    try:
        return await _foresee(runtime, news)
    except Unavailable:
        raise
    except Exception:
        log.exception("rules could not be asked", feeds=list(news))
        return NOTHING


async def _foresee(runtime: Runtime, news: Mapping[int, CheckResult]) -> Forecast:
    async with runtime.db.read() as tx:
        found = await rules.of_followers(tx, list(news))
        asking = sorted({each.user_id for each in found if _asks_for_folders(each.rule)})
        folders = await rules.folders_of(tx, asking) if asking else {}
    if not found:
        return NOTHING
    questions = list(_questions(news, found))
    judged = await judge(_cases(questions, folders), seconds=SECONDS)
    verdicts: dict[NewEntryRow, list[tuple[int, Effects]]] = {}
    still_open: dict[NewEntryRow, list[int]] = {}
    for key, effects in judged.effects.items():
        question = questions[key]
        verdicts.setdefault(question.row, []).append((question.follower.user_id, question.allowed(effects)))
    for key in judged.open:
        still_open.setdefault(questions[key].row, []).append(questions[key].follower.user_id)
    return Forecast(verdicts, still_open)


@record
class _Question:
    row: NewEntryRow
    follower: FollowerRule
    """The first of this user's rules; it tells what they call the feed."""
    rules: Sequence[Rule]
    feed_title: str
    first_fetch: bool

    def allowed(self, effects: Effects) -> Effects:
        """What a feed held before anybody here followed it is no news to be told of."""
        return replace(effects, notify=()) if self.first_fetch else effects


def _questions(news: Mapping[int, CheckResult], found: Sequence[FollowerRule]) -> Iterator[_Question]:
    """Entry by entry, so that one text is looked at by everybody's rules in a row."""
    for feed_id, of_feed in groupby(found, key=lambda each: each.feed_id):
        finding = news[feed_id]
        users = [list(mine) for _, mine in groupby(of_feed, key=lambda each: each.user_id)]
        said = finding.about.title if finding.about else ""
        for row in finding.news:
            for mine in users:
                title = mine[0].own_title or said or mine[0].feed_title
                own = [each.rule for each in mine]
                yield _Question(row, mine[0], own, title, finding.due.first_fetch)


def _cases(questions: Sequence[_Question], folders: Mapping[int, Sequence[FolderRow]]) -> Iterator[Case]:
    content: dict[NewEntryRow, str] = {}
    for key, question in enumerate(questions):
        row = question.row
        if row not in content:
            content = {row: row.text.plain[:MAX_SUBJECT]}
        yield Case(key, question.rules, _subject(question, content[row], folders))


def _subject(question: _Question, content: str, folders: Mapping[int, Sequence[FolderRow]]) -> Subject:
    row, follower = question.row, question.follower
    return Subject(
        feed_id=row.feed_id,
        feed_title=question.feed_title,
        folders=folders_around(follower.folder_id, folders.get(follower.user_id, ())),
        title=row.text.title,
        authors=authors_of(row.text.author),
        content=content,
        url=row.url or "",
        language=row.text.language or "",
    )


def _asks_for_folders(rule: Rule) -> bool:
    return any(condition.field is Field.FOLDER for condition in rule.conditions)


RULES_JOB = "rules"
ARTICLES_JOB = "articles"


NewRows = Mapping[int, Sequence[tuple[int, NewEntryRow]]]
"""By feed, the entries that were stored, with their ids."""


async def decide_on_arrival(
    tx: Tx, new: NewRows, now: Instant, forecast: Forecast = NOTHING
) -> Mapping[int, Set[int]]:
    """Called in the transaction that stored the entries, before anybody sees them.

    By feed, the users reached.
    """
    if not new:
        return {}
    verdicts = {feed_id: forecast.verdicts_on(stored) for feed_id, stored in new.items()}
    silent = {feed_id: _silent(said) for feed_id, said in verdicts.items()}
    for feed_id in await transfer.feeds_with_imported(tx, list(new)):
        await _hush_read_elsewhere(tx, feed_id, new[feed_id], silent[feed_id])
    twins = await feed_merge.arriving_twins(
        tx, {feed_id: [entry_id for entry_id, _ in stored] for feed_id, stored in new.items()}
    )
    for each in twins:
        for user_id, ids in each.read.items():
            silent[each.feed_id].setdefault(user_id, set()).update(ids)
    reached = await unread.fan_out(
        tx,
        [
            Arrival(feed_id, [entry_id for entry_id, _ in stored], silent[feed_id])
            for feed_id, stored in new.items()
        ],
    )
    for each in twins:
        await feed_merge.replace_twins(tx, each)
    # Whoever left since the rules were asked is not reached, and nothing of theirs is written.
    heeded = [each for feed_id, said in verdicts.items() for each in said if each.user_id in reached[feed_id]]
    if heeded:
        await set_states(tx, heeded, now)
        await leave_notices(tx, heeded, now)
        await count_matches(tx, heeded)
    for feed_id, stored in new.items():
        for user_id, ids in forecast.open_for(stored).items():
            if user_id in reached[feed_id]:
                await jobs.add(tx, RULES_JOB, {"entry_ids": ids}, now=now, user_id=user_id)
    for feed_id in await articles.wants_full_text(tx, list(new)):
        await jobs.add(tx, ARTICLES_JOB, {"entry_ids": [entry_id for entry_id, _ in new[feed_id]]}, now=now)
    return reached


async def ask_rules_later(tx: Tx, user_id: int, feed_id: int, now: Instant) -> None:
    """Who follows a feed that others follow already finds entries in it: their rules are asked by a job."""
    if await rules.in_use(tx, user_id):
        await jobs.add(tx, RULES_JOB, {"feed_id": feed_id}, now=now, user_id=user_id)


async def _hush_read_elsewhere(
    tx: Tx, feed_id: int, stored: Sequence[tuple[int, NewEntryRow]], silent: dict[int, set[int]]
) -> None:
    """What those who came from another reader had read there arrives as read."""
    by_key = {
        key: entry_id
        for entry_id, row in stored
        for key in removed_keys(row.guid, row.normalized_url, row.change_hash)
    }
    for user_id, key in await transfer.take_imported(tx, feed_id, list(by_key)):
        silent.setdefault(user_id, set()).add(by_key[key])


def _silent(verdicts: Sequence[MatchOutcome]) -> dict[int, set[int]]:
    silent: dict[int, set[int]] = {}
    for verdict in verdicts:
        if verdict.effects.silent:
            silent.setdefault(verdict.user_id, set()).add(verdict.entry_id)
    return silent
