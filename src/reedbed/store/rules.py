"""Rules: a user's own, and those of all subscribers of a feed."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import orjson
from sqlalchemy import bindparam, delete, insert, update

from reedbed.domain.folders import FolderRow
from reedbed.domain.records import record
from reedbed.domain.rules import Action, ActionKind, Condition, Field, Join, Operator, Rule, RuleRow
from reedbed.domain.subscriptions import all_folders
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, among, func, keyed, select
from reedbed.store.folders import other_folders_of_row, parse_folders
from reedbed.store.tables import feeds, folders, rules, subscriptions, users


@record
class FollowerRule:
    """A rule of a subscriber of the feed, with this user's own title for the feed."""

    feed_id: int
    user_id: int
    own_title: str | None
    feed_title: str
    folder_id: int | None
    other_folders: tuple[int, ...]
    rule: Rule

    @property
    def folder_ids(self) -> tuple[int, ...]:
        return all_folders(self.folder_id, self.other_folders)


_RULE_COLUMNS = (rules.c.id, rules.c.name, rules.c.conditions, rules.c.actions, rules.c.enabled)
_ROW_COLUMNS = (*_RULE_COLUMNS, rules.c.position, rules.c.matched, rules.c.created_at)
_is_own = rules.c.user_id == bindparam("owner")


def _row(*columns: Any) -> RuleRow:
    *rule, position, matched, created_at = columns
    return RuleRow(_rule(*rule), position, matched, created_at)


def _rule_of_subscriber(*columns: Any) -> FollowerRule | None:
    """None if it is unreadable: it must not block the rules of other users."""
    with suppress(ValueError, KeyError, TypeError):
        return FollowerRule(*columns[:5], other_folders=parse_folders(columns[5]), rule=_rule(*columns[6:]))
    return None


_LIST = Query(select(*_ROW_COLUMNS).where(_is_own).order_by(rules.c.position, rules.c.id), into=_row)
_GET = Query(select(*_ROW_COLUMNS).where(_is_own, rules.c.id == bindparam("rule")), into=_row)
_IN_USE = Query(select(rules.c.id).where(_is_own, rules.c.enabled).limit(1), into=int)
_LOCK = Command(select(users.c.id).where(users.c.id == bindparam("owner")).with_for_update(key_share=True))
_NEXT_POSITION = Query(select(func.coalesce(func.max(rules.c.position), -1) + 1).where(_is_own), into=int)
_ADD = Query(
    insert(rules).returning(*_ROW_COLUMNS),
    columns=["user_id", "name", "conditions", "actions", "enabled", "position", "created_at"],
    into=_row,
)
_UPDATE = Command(
    update(rules)
    .where(_is_own, rules.c.id == bindparam("rule"))
    .values(
        name=bindparam("new_name"),
        conditions=bindparam("new_conditions"),
        actions=bindparam("new_actions"),
        enabled=bindparam("on"),
    )
)
_SET_POSITION = Command(
    update(rules).where(_is_own, rules.c.id == bindparam("rule")).values(position=bindparam("place"))
)
_DELETE = Command(delete(rules).where(_is_own, rules.c.id == bindparam("rule")))
_LIST_OF_SUBSCRIBERS = Query(
    select(
        subscriptions.c.feed_id,
        subscriptions.c.user_id,
        subscriptions.c.title,
        func.coalesce(func.nullif(feeds.c.title, ""), feeds.c.url),
        subscriptions.c.folder_id,
        other_folders_of_row,
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
    .order_by(subscriptions.c.feed_id, subscriptions.c.user_id, rules.c.position, rules.c.id),
    into=_rule_of_subscriber,
)
_FOLDERS = Query(
    select(folders.c.user_id, folders.c.id, folders.c.parent_id, folders.c.name, folders.c.position).where(
        among(folders.c.user_id, "user_ids")
    ),
    into=keyed(int, FolderRow),
)
_ADD_MATCHES = Command(
    update(rules).where(rules.c.id == bindparam("rule")).values(matched=rules.c.matched + bindparam("more"))
)


async def of_user(tx: Tx, user_id: int) -> list[RuleRow]:
    return await tx.all(_LIST, {"owner": user_id})


async def get(tx: Tx, user_id: int, rule_id: int) -> RuleRow | None:
    return await tx.one(_GET, {"owner": user_id, "rule": rule_id})


async def in_use(tx: Tx, user_id: int) -> bool:
    return await tx.one(_IN_USE, {"owner": user_id}) is not None


async def lock(tx: Tx, user_id: int) -> None:
    """Serialize changes to one user's rules, so that their number and order stay consistent."""
    if tx.engine == "postgresql":
        await tx.run(_LOCK, {"owner": user_id})


async def add(tx: Tx, user_id: int, rule: Rule, now: Instant) -> RuleRow:
    """Add the rule after the others; its `id` is ignored."""
    return await tx.get(
        _ADD,
        {
            "user_id": user_id,
            "name": rule.name,
            "conditions": _conditions_text(rule),
            "actions": _actions_text(rule),
            "enabled": rule.enabled,
            "position": await tx.get(_NEXT_POSITION, {"owner": user_id}),
            "created_at": now,
        },
    )


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
    """Return the enabled rules of all subscribers of these feeds, each user's in order."""
    return [rule for rule in await tx.all(_LIST_OF_SUBSCRIBERS, {"feed_ids": list(feed_ids)}) if rule is not None]


async def folders_of(tx: Tx, user_ids: Sequence[int]) -> dict[int, list[FolderRow]]:
    by_user: dict[int, list[FolderRow]] = {}
    for user_id, folder in await tx.all(_FOLDERS, {"user_ids": list(user_ids)}):
        by_user.setdefault(user_id, []).append(folder)
    return by_user


async def count_matches(tx: Tx, matches: Mapping[int, int]) -> None:
    """Sorted by id, so that two transactions cannot deadlock."""
    await tx.run_many(_ADD_MATCHES, [{"rule": id_, "more": more} for id_, more in sorted(matches.items())])


# --- JSON


def _conditions_text(rule: Rule) -> str:
    return orjson.dumps({"match": rule.join, "of": rule.conditions}).decode()


def _actions_text(rule: Rule) -> str:
    return orjson.dumps(rule.actions).decode()


def _rule(id_: int, name: str, conditions: str, actions: str, enabled: bool) -> Rule:
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
