"""What rules do to entries, in bulk: the states they set and the notices they leave to be sent."""

from collections.abc import Iterable, Sequence

from reedbed.domain.records import record
from reedbed.domain.rules import Effects, Notice
from reedbed.domain.times import Instant
from reedbed.store import jobs, marks, rules, tags
from reedbed.store.database import Tx

NOTICE_JOB = "notify"
MOST_IN_A_NOTICE = 50


@record
class Verdict:
    """What one user's rules do to one entry."""

    user_id: int
    entry_id: int
    effects: Effects


async def set_states(tx: Tx, verdicts: Sequence[Verdict], now: Instant) -> None:
    """Stars, the later list and tags; what is muted gets nothing else. User by user in the order of ids:
    nobody waits in a circle."""
    for user_id in sorted({verdict.user_id for verdict in verdicts}):
        all_mine = [verdict for verdict in verdicts if verdict.user_id == user_id]
        mine = [verdict for verdict in all_mine if not verdict.effects.muted]
        if muted := [each.entry_id for each in all_mine if each.effects.muted]:
            await marks.mute(tx, user_id, muted, now)
        if starred := [each.entry_id for each in mine if each.effects.starred]:
            await marks.put(tx, user_id, "starred", starred, now)
        if later := [each.entry_id for each in mine if each.effects.later]:
            await marks.put(tx, user_id, "later", later, now)
        for tag, ids in sorted(_by_tag(mine).items()):
            await tags.add(tx, user_id, [tag], now)
            await tags.put(tx, user_id, ids, [tag])


async def leave_notices(tx: Tx, verdicts: Iterable[Verdict], now: Instant) -> None:
    """A worker sends them: one for all entries that a rule met at a time."""
    waiting: dict[tuple[int, Notice], list[int]] = {}
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
            "entry_ids": ids[:MOST_IN_A_NOTICE],
            "count": len(ids),
        }
        told.add((user_id, notice.rule_id))
        await jobs.add(tx, NOTICE_JOB, payload, now=now, user_id=user_id)


async def count_matches(tx: Tx, verdicts: Iterable[Verdict]) -> None:
    matches: dict[int, int] = {}
    for verdict in verdicts:
        for rule_id in verdict.effects.matched:
            matches[rule_id] = matches.get(rule_id, 0) + 1
    await rules.count_matches(tx, matches)


def _by_tag(verdicts: Iterable[Verdict]) -> dict[str, list[int]]:
    tagged: dict[str, list[int]] = {}
    for verdict in verdicts:
        for tag in verdict.effects.tags:
            tagged.setdefault(tag, []).append(verdict.entry_id)
    return tagged
