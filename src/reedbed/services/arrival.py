"""New entries arrive: what rules say about them, then who finds them unread."""

from collections.abc import Mapping, Sequence

from reedbed.domain.full_articles import AUTOMATIC_AT_ONCE, wants_whole
from reedbed.domain.retention import removed_keys
from reedbed.domain.times import Instant
from reedbed.services.rule_actions import Verdict, count_matches, leave_notices, set_states
from reedbed.services.rule_arrival import NOTHING, Forecast
from reedbed.store import full_articles, imported, jobs, rules, unread
from reedbed.store.database import Tx
from reedbed.store.entry_writes import EntryRow
from reedbed.store.unread import NewEntry

RULES_JOB = "rules"
ARTICLES_JOB = "articles"


async def decide_on_arrival(
    tx: Tx,
    feed_id: int,
    stored: Sequence[tuple[int, EntryRow]],
    now: Instant,
    forecast: Forecast = NOTHING,
) -> list[int]:
    """Called in the transaction that stored the entries, before anybody sees them; the users reached."""
    verdicts = forecast.verdicts_on(stored)
    news = [NewEntry(entry_id, row.sort_at) for entry_id, row in stored]
    silent = await _read_elsewhere(tx, feed_id, stored, _silent(verdicts))
    reached = await unread.fan_out(tx, feed_id, news, silent=silent)
    # Whoever left since the rules were asked is not reached, and nothing of theirs is written.
    heeded = [verdict for verdict in verdicts if verdict.user_id in reached]
    if heeded:
        await set_states(tx, heeded, now)
        await leave_notices(tx, heeded, now)
        await count_matches(tx, heeded)
    for user_id, ids in forecast.open_for(stored).items():
        if user_id in reached:
            await jobs.add(tx, RULES_JOB, {"entry_ids": ids}, now=now, user_id=user_id)
    if wanted := _whole(stored, await full_articles.modes(tx, feed_id)) if stored else []:
        await jobs.add(tx, ARTICLES_JOB, {"entry_ids": wanted}, now=now)
    return reached


def _whole(stored: Sequence[tuple[int, EntryRow]], modes: set[str]) -> list[int]:
    """The entries whose articles somebody wants whole."""
    if "always" in modes:
        return [entry_id for entry_id, _ in stored]
    if "auto" not in modes:
        return []
    short = [
        (row.sort_at, entry_id)
        for entry_id, row in stored
        if row.url and wants_whole("auto", row.text.summary)
    ]
    return [entry_id for _, entry_id in sorted(short)[-AUTOMATIC_AT_ONCE:]]


async def ask_rules_later(tx: Tx, user_id: int, feed_id: int, now: Instant) -> None:
    """Who follows a feed that others follow already finds entries in it: their rules are asked by a job."""
    if await rules.in_use(tx, user_id):
        await jobs.add(tx, RULES_JOB, {"feed_id": feed_id}, now=now, user_id=user_id)


async def _read_elsewhere(
    tx: Tx, feed_id: int, stored: Sequence[tuple[int, EntryRow]], silent: dict[int, set[int]]
) -> Mapping[int, set[int]]:
    """With what those who came from another reader had read there."""
    by_key = {
        key: entry_id
        for entry_id, row in stored
        for key in removed_keys(row.guid, row.normalized_url, row.change_hash)
    }
    for user_id, key in await imported.take(tx, feed_id, list(by_key)):
        silent.setdefault(user_id, set()).add(by_key[key])
    return silent


def _silent(verdicts: Sequence[Verdict]) -> dict[int, set[int]]:
    silent: dict[int, set[int]] = {}
    for verdict in verdicts:
        if verdict.effects.silent:
            silent.setdefault(verdict.user_id, set()).add(verdict.entry_id)
    return silent
