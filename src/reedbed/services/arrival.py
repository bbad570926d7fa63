"""New entries arrive: what rules say about them, then who finds them unread."""

from collections.abc import Mapping, Sequence, Set

from reedbed.domain.retention import removed_keys
from reedbed.domain.times import Instant
from reedbed.services.rule_actions import Verdict, count_matches, leave_notices, set_states
from reedbed.services.rule_arrival import NOTHING, Forecast
from reedbed.store import feed_merge, full_articles, imported, jobs, rules, unread
from reedbed.store.database import Tx
from reedbed.store.entry_writes import EntryRow
from reedbed.store.unread import Arrival

RULES_JOB = "rules"
ARTICLES_JOB = "articles"


NewRows = Mapping[int, Sequence[tuple[int, EntryRow]]]
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
    for feed_id in await imported.feeds_with_any(tx, list(new)):
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
    for feed_id in await full_articles.always_wanted(tx, list(new)):
        await jobs.add(tx, ARTICLES_JOB, {"entry_ids": [entry_id for entry_id, _ in new[feed_id]]}, now=now)
    return reached


async def ask_rules_later(tx: Tx, user_id: int, feed_id: int, now: Instant) -> None:
    """Who follows a feed that others follow already finds entries in it: their rules are asked by a job."""
    if await rules.in_use(tx, user_id):
        await jobs.add(tx, RULES_JOB, {"feed_id": feed_id}, now=now, user_id=user_id)


async def _hush_read_elsewhere(
    tx: Tx, feed_id: int, stored: Sequence[tuple[int, EntryRow]], silent: dict[int, set[int]]
) -> None:
    """What those who came from another reader had read there arrives as read."""
    by_key = {
        key: entry_id
        for entry_id, row in stored
        for key in removed_keys(row.guid, row.normalized_url, row.change_hash)
    }
    for user_id, key in await imported.take(tx, feed_id, list(by_key)):
        silent.setdefault(user_id, set()).add(by_key[key])


def _silent(verdicts: Sequence[Verdict]) -> dict[int, set[int]]:
    silent: dict[int, set[int]] = {}
    for verdict in verdicts:
        if verdict.effects.silent:
            silent.setdefault(verdict.user_id, set()).add(verdict.entry_id)
    return silent
