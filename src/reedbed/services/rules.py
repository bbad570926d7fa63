"""Rules: made, ordered, switched on and off, tried and applied."""

from collections.abc import Sequence
from dataclasses import replace

from reedbed.domain.errors import Conflict, NotFound
from reedbed.domain.hints import Hint
from reedbed.domain.records import record
from reedbed.domain.rules import Action, Condition, Rule, RuleRow, check_rule, reordered
from reedbed.services import rule_runs
from reedbed.services.arrival import RULES_JOB
from reedbed.services.jobs import enqueue
from reedbed.services.rule_runs import DryRun
from reedbed.services.runtime import Runtime
from reedbed.store import rules

MOST_RULES = 200
NO_SUCH = "There is no such rule"


@record
class RuleDraft:
    """A rule as it is asked for; `None` leaves a part as it is."""

    name: str | None = None
    join: str | None = None
    conditions: Sequence[Condition] | None = None
    actions: Sequence[Action] | None = None
    enabled: bool | None = None


async def get_rule(runtime: Runtime, user_id: int, rule_id: int) -> RuleRow:
    async with runtime.db.read() as tx:
        found = await rules.get(tx, user_id, rule_id)
    if found is None:
        raise NotFound(NO_SUCH)
    return found


async def create_rule(runtime: Runtime, user_id: int, draft: RuleDraft) -> RuleRow:
    rule = _drafted(_EMPTY, draft)
    async with runtime.db.write() as tx:
        await rules.lock(tx, user_id)
        if len(await rules.of_user(tx, user_id)) >= MOST_RULES:
            raise Conflict(f"There can be at most {MOST_RULES} rules. Delete some first.")
        made = await rules.add(tx, user_id, rule, runtime.now())
    await _announce(runtime, user_id)
    return made


async def change_rule(runtime: Runtime, user_id: int, rule_id: int, draft: RuleDraft) -> RuleRow:
    async with runtime.db.write() as tx:
        await rules.lock(tx, user_id)
        current = await rules.get(tx, user_id, rule_id)
        if current is None:
            raise NotFound(NO_SUCH)
        changed = replace(current, rule=_drafted(current.rule, draft))
        await rules.change(tx, user_id, changed.rule)
    await _announce(runtime, user_id)
    return changed


async def reorder_rules(runtime: Runtime, user_id: int, ids: Sequence[int]) -> None:
    async with runtime.db.write() as tx:
        await rules.lock(tx, user_id)
        known = [row.rule.id for row in await rules.of_user(tx, user_id)]
        await rules.place(tx, user_id, reordered(known, ids))
    await _announce(runtime, user_id)


async def delete_rule(runtime: Runtime, user_id: int, rule_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await rules.remove(tx, user_id, rule_id):
            raise NotFound(NO_SUCH)
    await _announce(runtime, user_id)


async def try_rule(runtime: Runtime, user_id: int, draft: RuleDraft) -> DryRun:
    """What a rule that need not exist would match among the newest entries."""
    rule = replace(_drafted(_EMPTY, draft), enabled=True)
    return await rule_runs.dry_run(runtime, user_id, rule)


async def apply_rule(runtime: Runtime, user_id: int, rule_id: int) -> int:
    """Ask for a rule to be applied to what is there; the job that does it."""
    row = await get_rule(runtime, user_id, rule_id)
    return await enqueue(runtime, RULES_JOB, {"rule_id": row.rule.id}, user_id=user_id)


_EMPTY = Rule(0, "", (), ())


def _drafted(current: Rule, draft: RuleDraft) -> Rule:
    name, join, conditions, actions = check_rule(
        current.name if draft.name is None else draft.name,
        current.join if draft.join is None else draft.join,
        current.conditions if draft.conditions is None else draft.conditions,
        current.actions if draft.actions is None else draft.actions,
    )
    enabled = current.enabled if draft.enabled is None else draft.enabled
    return Rule(current.id, name, conditions, actions, join, enabled)


async def _announce(runtime: Runtime, user_id: int) -> None:
    await runtime.bus.publish(Hint("state_changed", user_id=user_id, data={"what": "rules", "ids": []}))
