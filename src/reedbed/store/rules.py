"""Rules: a user's own, and those of all subscribers of a feed."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import orjson
from sqlalchemy import bindparam, delete, insert, update

from reedbed.domain.folders import FolderRow
from reedbed.domain.records import record
from reedbed.domain.rules import Action, ActionKind, Condition, Field, Join, Operator, Rule, RuleRow
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Row, Tx
from reedbed.store.engine.statements import Statement, among, func, select
from reedbed.store.tables import feeds, folders, rules, subscriptions, users


@record
class FollowerRule:
    """A rule of a subscriber of the feed, with this user's own title for the feed."""

    feed_id: int
    user_id: int
    own_title: str | None
    feed_title: str
    folder_id: int | None
    rule: Rule


_RULE_COLUMNS = (rules.c.id, rules.c.name, rules.c.conditions, rules.c.actions, rules.c.enabled)
_ROW_COLUMNS = (*_RULE_COLUMNS, rules.c.position, rules.c.matched, rules.c.created_at)
_is_own = rules.c.user_id == bindparam("owner")

_LIST = Statement(select(*_ROW_COLUMNS).where(_is_own).order_by(rules.c.position, rules.c.id))
_GET = Statement(select(*_ROW_COLUMNS).where(_is_own, rules.c.id == bindparam("rule")))
_IN_USE = Statement(select(rules.c.id).where(_is_own, rules.c.enabled).limit(1))
_LOCK = Statement(select(users.c.id).where(users.c.id == bindparam("owner")).with_for_update(key_share=True))
_NEXT_POSITION = Statement(select(func.coalesce(func.max(rules.c.position), -1) + 1).where(_is_own))
_ADD = Statement(
    insert(rules).returning(*_ROW_COLUMNS),
    columns=["user_id", "name", "conditions", "actions", "enabled", "position", "created_at"],
)
_UPDATE = Statement(
    update(rules)
    .where(_is_own, rules.c.id == bindparam("rule"))
    .values(
        name=bindparam("new_name"),
        conditions=bindparam("new_conditions"),
        actions=bindparam("new_actions"),
        enabled=bindparam("on"),
    )
)
_SET_POSITION = Statement(
    update(rules).where(_is_own, rules.c.id == bindparam("rule")).values(position=bindparam("place"))
)
_DELETE = Statement(delete(rules).where(_is_own, rules.c.id == bindparam("rule")))
_LIST_OF_SUBSCRIBERS = Statement(
    select(
        subscriptions.c.feed_id,
        subscriptions.c.user_id,
        subscriptions.c.title,
        func.coalesce(func.nullif(feeds.c.title, ""), feeds.c.url),
        subscriptions.c.folder_id,
        *_RULE_COLUMNS,
    )
    .join_from(subscriptions, rules, rules.c.user_id == subscriptions.c.user_id)
    .join(feeds, feeds.c.id == subscriptions.c.feed_id)
    .where(
        among(subscriptions.c.feed_id, "feed_ids"),
        subscriptions.c.unsubscribed_at.is_(None),
        ~subscriptions.c.paused,
        rules.c.enabled,
    )
    .order_by(subscriptions.c.feed_id, subscriptions.c.user_id, rules.c.position, rules.c.id)
)
_FOLDERS = Statement(
    select(folders.c.user_id, folders.c.id, folders.c.parent_id, folders.c.name, folders.c.position).where(
        among(folders.c.user_id, "user_ids")
    )
)
_ADD_MATCHES = Statement(
    update(rules).where(rules.c.id == bindparam("rule")).values(matched=rules.c.matched + bindparam("more"))
)


async def of_user(tx: Tx, user_id: int) -> list[RuleRow]:
    return [_row(row) for row in await tx.all(_LIST, {"owner": user_id})]


async def get(tx: Tx, user_id: int, rule_id: int) -> RuleRow | None:
    row = await tx.one(_GET, {"owner": user_id, "rule": rule_id})
    return _row(row) if row else None


async def in_use(tx: Tx, user_id: int) -> bool:
    return await tx.value(_IN_USE, {"owner": user_id}) is not None


async def lock(tx: Tx, user_id: int) -> None:
    """Serialize changes to one user's rules, so that their number and order stay consistent."""
    if tx.engine == "postgresql":
        await tx.run(_LOCK, {"owner": user_id})


async def add(tx: Tx, user_id: int, rule: Rule, now: Instant) -> RuleRow:
    """Add the rule after the others; its `id` is ignored."""
    row = await tx.one(
        _ADD,
        {
            "user_id": user_id,
            "name": rule.name,
            "conditions": _conditions_text(rule),
            "actions": _actions_text(rule),
            "enabled": rule.enabled,
            "position": await tx.value(_NEXT_POSITION, {"owner": user_id}),
            "created_at": now,
        },
    )
    assert row is not None
    return _row(row)


async def change(tx: Tx, user_id: int, rule: Rule) -> None:
    await tx.run(
        _UPDATE,
        {
            "owner": user_id,
            "rule": rule.id,
            "new_name": rule.name,
            "new_conditions": _conditions_text(rule),
            "new_actions": _actions_text(rule),
            "on": rule.enabled,
        },
    )


async def place(tx: Tx, user_id: int, positions: Mapping[int, int]) -> None:
    await tx.run_many(
        _SET_POSITION,
        [{"owner": user_id, "rule": id_, "place": position} for id_, position in sorted(positions.items())],
    )


async def remove(tx: Tx, user_id: int, rule_id: int) -> bool:
    return await tx.run(_DELETE, {"owner": user_id, "rule": rule_id}) == 1


async def of_followers(tx: Tx, feed_ids: Sequence[int]) -> list[FollowerRule]:
    """Return the enabled rules of all subscribers of these feeds, each user's in order.

    Unreadable rules are skipped: they must not block those of other users.
    """
    rules_: list[FollowerRule] = []
    for row in await tx.all(_LIST_OF_SUBSCRIBERS, {"feed_ids": list(feed_ids)}):
        with suppress(ValueError, KeyError, TypeError):
            rules_.append(FollowerRule(*tuple(row)[:5], rule=_rule(tuple(row)[5:])))
    return rules_


async def folders_of(tx: Tx, user_ids: Sequence[int]) -> dict[int, list[FolderRow]]:
    by_user: dict[int, list[FolderRow]] = {}
    for user_id, *folder in await tx.all(_FOLDERS, {"user_ids": list(user_ids)}):
        by_user.setdefault(user_id, []).append(FolderRow(*folder))
    return by_user


async def count_matches(tx: Tx, matches: Mapping[int, int]) -> None:
    """Sorted by id, so that two transactions cannot deadlock."""
    await tx.run_many(_ADD_MATCHES, [{"rule": id_, "more": more} for id_, more in sorted(matches.items())])


# --- JSON


def _conditions_text(rule: Rule) -> str:
    return orjson.dumps({"match": rule.join, "of": rule.conditions}).decode()


def _actions_text(rule: Rule) -> str:
    return orjson.dumps(rule.actions).decode()


def _row(row: Row) -> RuleRow:
    *rule, position, matched, created_at = row
    return RuleRow(_rule(rule), position, matched, created_at)


def _rule(row: Sequence[Any]) -> Rule:
    id_, name, conditions, actions, enabled = row
    fields = orjson.loads(conditions)
    return Rule(
        id_,
        name,
        tuple(_condition(condition) for condition in fields["of"]),
        tuple(_action(action) for action in orjson.loads(actions)),
        Join(fields["match"]),
        bool(enabled),
    )


def _condition(fields: Mapping[str, Any]) -> Condition:
    return Condition(Field(fields["field"]), Operator(fields["operator"]), fields["value"], fields["negated"])


def _action(fields: Mapping[str, Any]) -> Action:
    return Action(ActionKind(fields["kind"]), fields["value"], fields["url"])
