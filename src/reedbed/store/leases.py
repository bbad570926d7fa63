"""Named leases: one process at a time does a thing, and another takes over when it falls silent."""

from sqlalchemy import bindparam, delete, or_, update
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.times import Instant, Millis
from reedbed.store.database import Tx
from reedbed.store.statements import Statement
from reedbed.store.tables import leases

_new = insert(leases).values(
    {name: bindparam(name) for name in ("name", "holder", "taken_at", "heartbeat_at", "expires_at")}
)
_ACQUIRE = Statement(
    _new.on_conflict_do_update(
        index_elements=["name"],
        set_={name: _new.excluded[name] for name in ("holder", "taken_at", "heartbeat_at", "expires_at")},
        where=or_(leases.c.expires_at <= bindparam("taken_at"), leases.c.holder == bindparam("holder")),
    ).returning(leases.c.name)
)
_HEARTBEAT = Statement(
    update(leases)
    .where(leases.c.name == bindparam("lease"), leases.c.holder == bindparam("who"))
    .values(heartbeat_at=bindparam("now"), expires_at=bindparam("until"))
)
_RELEASE = Statement(
    delete(leases).where(leases.c.name == bindparam("lease"), leases.c.holder == bindparam("who"))
)


async def acquire(tx: Tx, name: str, holder: str, now: Instant, ttl: Millis) -> bool:
    """Take the lease if it is free, expired or ours already."""
    row = await tx.one(
        _ACQUIRE,
        {"name": name, "holder": holder, "taken_at": now, "heartbeat_at": now, "expires_at": now + ttl},
    )
    return row is not None


async def heartbeat(tx: Tx, name: str, holder: str, now: Instant, ttl: Millis) -> bool:
    """False when another has taken it."""
    return await tx.run(_HEARTBEAT, {"lease": name, "who": holder, "now": now, "until": now + ttl}) == 1


async def release(tx: Tx, name: str, holder: str) -> None:
    await tx.run(_RELEASE, {"lease": name, "who": holder})
