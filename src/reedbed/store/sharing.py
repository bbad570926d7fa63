"""A user's share targets: services that save links."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson
from sqlalchemy import bindparam, delete, insert, update

from reedbed.domain.failures import Failure, load_failure
from reedbed.domain.sharing.targets import ShareTarget
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, func, row_of, select
from reedbed.store.tables import share_targets, subscriptions

_COLUMNS = (
    share_targets.c.id,
    share_targets.c.user_id,
    share_targets.c.kind,
    share_targets.c.name,
    share_targets.c.url,
    share_targets.c.secrets,
    share_targets.c.created_at,
    share_targets.c.used_at,
    share_targets.c.problem,
    share_targets.c.digests,
    share_targets.c.stopped_feeds,
)
_SECRETS = "share_targets.secrets"  # their name in the vault
_is_own = share_targets.c.user_id == bindparam("owner")
_is_this = (_is_own, share_targets.c.id == bindparam("target"))

_Target = tuple[str, ShareTarget]
"""The encrypted secrets, and the target without them."""


def _target(id_: int, user_id: int, kind: str, name: str, url: str, secrets: str, *rest: Any) -> _Target:
    created_at, used_at, problem, digests, stopped_feeds = rest
    target = ShareTarget(
        id_,
        user_id,
        kind,
        name,
        url,
        {},
        created_at,
        used_at,
        load_failure(problem),
        digests=bool(digests),
        stopped_feeds=bool(stopped_feeds),
    )
    return secrets, target


_LIST = Query(select(*_COLUMNS).where(_is_own).order_by(share_targets.c.id), into=_target)
_NAMES = Query(
    select(share_targets.c.id, share_targets.c.name).where(_is_own).order_by(share_targets.c.id), into=row_of(int, str)
)
_GET = Query(select(*_COLUMNS).where(*_is_this), into=_target)
_COUNT = Query(select(func.count()).select_from(share_targets).where(_is_own), into=int)
_ADD = Query(
    insert(share_targets).returning(*_COLUMNS),
    columns=["user_id", "kind", "name", "url", "secrets", "created_at"],
    into=_target,
)
_DELETE = Command(delete(share_targets).where(*_is_this))
_SET_MESSAGES = Command(
    update(share_targets)
    .where(*_is_this)
    .values(digests=bindparam("digests"), stopped_feeds=bindparam("stopped_feeds"))
)
_TARGETS_FOR_DIGESTS = Query(select(share_targets.c.id).where(_is_own, share_targets.c.digests), into=int)
_TARGETS_FOR_STOPPED = Query(select(share_targets.c.id).where(_is_own, share_targets.c.stopped_feeds), into=int)
_WANTING = Query(
    select(share_targets.c.user_id)
    .distinct()
    .join(subscriptions, subscriptions.c.user_id == share_targets.c.user_id)
    .where(
        subscriptions.c.feed_id == bindparam("feed_id"),
        subscriptions.c.unsubscribed_at.is_(None),
        share_targets.c.stopped_feeds,
    ),
    into=int,
)
_RECORD_SUCCESS = Command(update(share_targets).where(*_is_this).values(used_at=bindparam("now"), problem=""))
_RECORD_PROBLEM = Command(update(share_targets).where(*_is_this).values(problem=bindparam("why")))


async def of_user(tx: Tx, user_id: int) -> list[ShareTarget]:
    return [_with_secrets(tx, target) for target in await tx.all(_LIST, {"owner": user_id})]


async def names(tx: Tx, user_id: int) -> list[tuple[int, str]]:
    """Return ids and names for a menu, without secrets."""
    return await tx.all(_NAMES, {"owner": user_id})


async def get(tx: Tx, user_id: int, target_id: int) -> ShareTarget | None:
    target = await tx.one(_GET, {"owner": user_id, "target": target_id})
    return target and _with_secrets(tx, target)


async def count(tx: Tx, user_id: int) -> int:
    return await tx.get(_COUNT, {"owner": user_id})


async def add(
    tx: Tx, user_id: int, *, kind: str, name: str, url: str, secrets: Mapping[str, str], now: Instant
) -> ShareTarget:
    target = await tx.get(
        _ADD,
        {
            "user_id": user_id,
            "kind": kind,
            "name": name,
            "url": url,
            "secrets": tx.vault.encrypt(_SECRETS, orjson.dumps(secrets).decode()),
            "created_at": now,
        },
    )
    return _with_secrets(tx, target)


async def remove(tx: Tx, user_id: int, target_id: int) -> bool:
    return await tx.run(_DELETE, {"owner": user_id, "target": target_id}) == 1


async def set_messages(tx: Tx, user_id: int, target_id: int, *, digests: bool, stopped_feeds: bool) -> bool:
    """Set whether the target gets digests and feeds that stop; False if there is no such target."""
    params = {"owner": user_id, "target": target_id, "digests": digests, "stopped_feeds": stopped_feeds}
    return await tx.run(_SET_MESSAGES, params) == 1


async def targets_for_digests(tx: Tx, user_id: int) -> Sequence[int]:
    return await tx.all(_TARGETS_FOR_DIGESTS, {"owner": user_id})


async def targets_for_stopped_feeds(tx: Tx, user_id: int) -> Sequence[int]:
    return await tx.all(_TARGETS_FOR_STOPPED, {"owner": user_id})


async def subscribers_telling(tx: Tx, feed_id: int) -> Sequence[int]:
    """Subscribers of the feed with a target that gets a message when it stops."""
    return await tx.all(_WANTING, {"feed_id": feed_id})


async def record_shared(tx: Tx, target: ShareTarget, now: Instant) -> None:
    await tx.run(_RECORD_SUCCESS, {"owner": target.user_id, "target": target.id, "now": now})


async def record_share_problem(tx: Tx, target: ShareTarget, why: Failure) -> None:
    await tx.run(_RECORD_PROBLEM, {"owner": target.user_id, "target": target.id, "why": why.dump()})


def _with_secrets(tx: Tx, target: _Target) -> ShareTarget:
    encrypted, shared = target
    return replace(shared, secrets=orjson.loads(tx.vault.decrypt(_SECRETS, encrypted) or "{}"))
