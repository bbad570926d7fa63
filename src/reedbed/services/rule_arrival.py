"""What the rules of a feed's followers say about entries that are about to arrive.

They are asked before the transaction that stores the entries, so that no pattern ever holds up a write, and
what they answer is done inside it. Whoever's rules take too long gets them applied by a job right after.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import groupby

import structlog

from reedbed.domain.errors import Unavailable
from reedbed.domain.folders import FolderRow
from reedbed.domain.records import record
from reedbed.domain.rules import MAX_SUBJECT, Effects, Field, Rule, Subject
from reedbed.services.findings import Finding
from reedbed.services.rule_actions import Verdict
from reedbed.services.rule_matching import Case, authors_of, folders_around, judge
from reedbed.services.runtime import Runtime
from reedbed.store import rules
from reedbed.store.entry_writes import EntryRow
from reedbed.store.rules import FollowerRule

log = structlog.get_logger()

SECONDS = 0.5
"""For all that arrives in one transaction."""


@record
class Forecast:
    """By entry, the users whose rules matched and those whose rules have not been asked yet."""

    verdicts: Mapping[EntryRow, Sequence[tuple[int, Effects]]] = field(
        default_factory=dict[EntryRow, Sequence[tuple[int, Effects]]]
    )
    open: Mapping[EntryRow, Sequence[int]] = field(default_factory=dict[EntryRow, Sequence[int]])

    def verdicts_on(self, stored: Sequence[tuple[int, EntryRow]]) -> list[Verdict]:
        if not self.verdicts:
            return []
        return [
            Verdict(user_id, entry_id, effects)
            for entry_id, row in stored
            for user_id, effects in self.verdicts.get(row, ())
        ]

    def open_for(self, stored: Sequence[tuple[int, EntryRow]]) -> dict[int, list[int]]:
        """By user, the entries their rules are still to be asked about."""
        waiting: dict[int, list[int]] = {}
        for entry_id, row in stored if self.open else ():
            for user_id in self.open.get(row, ()):
                waiting.setdefault(user_id, []).append(entry_id)
        return waiting


NOTHING = Forecast()


async def foresee(runtime: Runtime, findings: Sequence[Finding]) -> Forecast:
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


async def _foresee(runtime: Runtime, news: Mapping[int, Finding]) -> Forecast:
    async with runtime.db.read() as tx:
        found = await rules.of_followers(tx, list(news))
        asking = sorted({each.user_id for each in found if _asks_for_folders(each.rule)})
        folders = await rules.folders_of(tx, asking) if asking else {}
    if not found:
        return NOTHING
    questions = list(_questions(news, found))
    judged = await judge(_cases(questions, folders), seconds=SECONDS)
    verdicts: dict[EntryRow, list[tuple[int, Effects]]] = {}
    still_open: dict[EntryRow, list[int]] = {}
    for key, effects in judged.effects.items():
        question = questions[key]
        verdicts.setdefault(question.row, []).append((question.follower.user_id, question.allowed(effects)))
    for key in judged.open:
        still_open.setdefault(questions[key].row, []).append(questions[key].follower.user_id)
    return Forecast(verdicts, still_open)


@record
class _Question:
    row: EntryRow
    follower: FollowerRule
    """The first of this user's rules; it tells what they call the feed."""
    rules: Sequence[Rule]
    feed_title: str
    first_fetch: bool

    def allowed(self, effects: Effects) -> Effects:
        """What a feed held before anybody here followed it is no news to be told of."""
        return replace(effects, notify=()) if self.first_fetch else effects


def _questions(news: Mapping[int, Finding], found: Sequence[FollowerRule]) -> Iterator[_Question]:
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
    content: dict[EntryRow, str] = {}
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
