"""A user's rules, and the rules of all who follow a feed."""

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
    """A rule of somebody who follows a feed, with what this user calls the feed."""

    feed_id: int
    user_id: int
    own_title: str | None
    feed_title: str
    folder_id: int | None
    rule: Rule


_RULE = (rules.c.id, rules.c.name, rules.c.conditions, rules.c.actions, rules.c.enabled)
_ROW = (*_RULE, rules.c.position, rules.c.matched, rules.c.created_at)
_mine = rules.c.user_id == bindparam("owner")

_LIST = Statement(select(*_ROW).where(_mine).order_by(rules.c.position, rules.c.id))
_GET = Statement(select(*_ROW).where(_mine, rules.c.id == bindparam("rule")))
_IN_USE = Statement(select(rules.c.id).where(_mine, rules.c.enabled).limit(1))
_LOCK = Statement(select(users.c.id).where(users.c.id == bindparam("owner")).with_for_update(key_share=True))
_NEXT_POSITION = Statement(select(func.coalesce(func.max(rules.c.position), -1) + 1).where(_mine))
_ADD = Statement(
    insert(rules).returning(*_ROW),
    columns=["user_id", "name", "conditions", "actions", "enabled", "position", "created_at"],
)
_CHANGE = Statement(
    update(rules)
    .where(_mine, rules.c.id == bindparam("rule"))
    .values(
        name=bindparam("new_name"),
        conditions=bindparam("new_conditions"),
        actions=bindparam("new_actions"),
        enabled=bindparam("on"),
    )
)
_PLACE = Statement(
    update(rules).where(_mine, rules.c.id == bindparam("rule")).values(position=bindparam("place"))
)
_DELETE = Statement(delete(rules).where(_mine, rules.c.id == bindparam("rule")))
_OF_FOLLOWERS = Statement(
    select(
        subscriptions.c.feed_id,
        subscriptions.c.user_id,
        subscriptions.c.title,
        func.coalesce(func.nullif(feeds.c.title, ""), feeds.c.url),
        subscriptions.c.folder_id,
        *_RULE,
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
_MATCHED = Statement(
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
    """Changes of one user's list take turns, so that its length and order hold."""
    if tx.engine == "postgresql":
        await tx.run(_LOCK, {"owner": user_id})


async def add(tx: Tx, user_id: int, rule: Rule, now: Instant) -> RuleRow:
    """Behind the others; the id of the given rule does not matter."""
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
        _CHANGE,
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
        _PLACE, [{"owner": user_id, "rule": id_, "place": place} for id_, place in sorted(positions.items())]
    )


async def remove(tx: Tx, user_id: int, rule_id: int) -> bool:
    return await tx.run(_DELETE, {"owner": user_id, "rule": rule_id}) == 1


async def of_followers(tx: Tx, feed_ids: Sequence[int]) -> list[FollowerRule]:
    """The rules in use of everybody who follows one of these feeds, each user's in order.

    One that cannot be read is left out: it must not stand in the way of other people's.
    """
    found: list[FollowerRule] = []
    for row in await tx.all(_OF_FOLLOWERS, {"feed_ids": list(feed_ids)}):
        with suppress(ValueError, KeyError, TypeError):
            found.append(FollowerRule(*tuple(row)[:5], rule=_rule(tuple(row)[5:])))
    return found


async def folders_of(tx: Tx, user_ids: Sequence[int]) -> dict[int, list[FolderRow]]:
    found: dict[int, list[FolderRow]] = {}
    for user_id, *folder in await tx.all(_FOLDERS, {"user_ids": list(user_ids)}):
        found.setdefault(user_id, []).append(FolderRow(*folder))
    return found


async def count_matches(tx: Tx, matches: Mapping[int, int]) -> None:
    """In the order of ids, so that two transactions never wait in a circle."""
    await tx.run_many(_MATCHED, [{"rule": id_, "more": more} for id_, more in sorted(matches.items())])


# ---- rules as JSON ---------------------------------------------------------------------------------


def _conditions_text(rule: Rule) -> str:
    return orjson.dumps({"match": rule.join, "of": rule.conditions}).decode()


def _actions_text(rule: Rule) -> str:
    return orjson.dumps(rule.actions).decode()


def _row(row: Row) -> RuleRow:
    *rule, position, matched, created_at = row
    return RuleRow(_rule(rule), position, matched, created_at)


def _rule(row: Sequence[Any]) -> Rule:
    id_, name, conditions, actions, enabled = row
    said = orjson.loads(conditions)
    return Rule(
        id_,
        name,
        tuple(_condition(each) for each in said["of"]),
        tuple(_action(each) for each in orjson.loads(actions)),
        Join(said["match"]),
        bool(enabled),
    )


def _condition(said: Mapping[str, Any]) -> Condition:
    return Condition(Field(said["field"]), Operator(said["operator"]), said["value"], said["negated"])


def _action(said: Mapping[str, Any]) -> Action:
    return Action(ActionKind(said["kind"]), said["value"], said["url"])
