"""A user's share targets: services that save links."""

from collections.abc import Mapping

import orjson
from sqlalchemy import bindparam, delete, insert, update

from reedbed.domain.sharing import Kind, ShareTarget
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Row, Tx
from reedbed.store.engine.statements import Statement, func, select
from reedbed.store.tables import share_targets

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
)
_SECRETS = "share_targets.secrets"  # their name in the vault
_is_own = share_targets.c.user_id == bindparam("owner")
_is_this = (_is_own, share_targets.c.id == bindparam("target"))

_LIST = Statement(select(*_COLUMNS).where(_is_own).order_by(share_targets.c.id))
_NAMES = Statement(
    select(share_targets.c.id, share_targets.c.name).where(_is_own).order_by(share_targets.c.id)
)
_GET = Statement(select(*_COLUMNS).where(*_is_this))
_COUNT = Statement(select(func.count()).select_from(share_targets).where(_is_own))
_ADD = Statement(
    insert(share_targets).returning(*_COLUMNS),
    columns=["user_id", "kind", "name", "url", "secrets", "created_at"],
)
_DELETE = Statement(delete(share_targets).where(*_is_this))
_RECORD_SUCCESS = Statement(
    update(share_targets).where(*_is_this).values(used_at=bindparam("now"), problem="")
)
_RECORD_PROBLEM = Statement(update(share_targets).where(*_is_this).values(problem=bindparam("why")))


async def of_user(tx: Tx, user_id: int) -> list[ShareTarget]:
    return [_target(tx, row) for row in await tx.all(_LIST, {"owner": user_id})]


async def names(tx: Tx, user_id: int) -> list[tuple[int, str]]:
    """Return ids and names for a menu, without secrets."""
    return [(row[0], row[1]) for row in await tx.all(_NAMES, {"owner": user_id})]


async def get(tx: Tx, user_id: int, target_id: int) -> ShareTarget | None:
    row = await tx.one(_GET, {"owner": user_id, "target": target_id})
    return _target(tx, row) if row else None


async def count(tx: Tx, user_id: int) -> int:
    return await tx.value(_COUNT, {"owner": user_id})


async def add(
    tx: Tx, user_id: int, *, kind: Kind, name: str, url: str, secrets: Mapping[str, str], now: Instant
) -> ShareTarget:
    row = await tx.one(
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
    assert row is not None
    return _target(tx, row)


async def remove(tx: Tx, user_id: int, target_id: int) -> bool:
    return await tx.run(_DELETE, {"owner": user_id, "target": target_id}) == 1


async def record_shared(tx: Tx, target: ShareTarget, now: Instant) -> None:
    await tx.run(_RECORD_SUCCESS, {"owner": target.user_id, "target": target.id, "now": now})


async def record_share_problem(tx: Tx, target: ShareTarget, why: str) -> None:
    await tx.run(_RECORD_PROBLEM, {"owner": target.user_id, "target": target.id, "why": why})


def _target(tx: Tx, row: Row) -> ShareTarget:
    id_, user_id, kind, name, url, secrets, created_at, used_at, problem = row
    decrypted = orjson.loads(tx.vault.decrypt(_SECRETS, secrets) or "{}")
    return ShareTarget(id_, user_id, Kind(kind), name, url, decrypted, created_at, used_at, problem)
