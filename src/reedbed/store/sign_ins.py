"""Sign-ins by others that are under way; each can be ended once."""

from dataclasses import asdict

import orjson
from sqlalchemy import bindparam, delete, insert

from reedbed.domain.identities import Identity, SignIn
from reedbed.domain.times import Instant
from reedbed.store.database import Row, Tx
from reedbed.store.sql import select
from reedbed.store.statements import Statement
from reedbed.store.tables import sign_ins

_COLUMNS = (
    sign_ins.c.provider,
    sign_ins.c.browser_hash,
    sign_ins.c.nonce,
    sign_ins.c.verifier,
    sign_ins.c.next_path,
    sign_ins.c.invite,
    sign_ins.c.user_id,
    sign_ins.c.identity,
)
_open = (
    sign_ins.c.state_hash == bindparam("state_hash"),
    sign_ins.c.browser_hash == bindparam("browser_hash"),
    sign_ins.c.expires_at > bindparam("now"),
)
_ADD = Statement(
    insert(sign_ins),
    columns=["state_hash", *(column.name for column in _COLUMNS), "created_at", "expires_at"],
)
_TAKE = Statement(delete(sign_ins).where(*_open).returning(*_COLUMNS))
_FIND = Statement(select(*_COLUMNS).where(*_open))
_SWEEP = Statement(delete(sign_ins).where(sign_ins.c.expires_at <= bindparam("now")))


async def add(tx: Tx, state_hash: str, sign_in: SignIn, now: Instant, expires_at: Instant) -> None:
    identity = sign_in.identity
    await tx.run(
        _ADD,
        {
            "state_hash": state_hash,
            "provider": sign_in.provider,
            "browser_hash": sign_in.browser_hash,
            "nonce": sign_in.nonce,
            "verifier": sign_in.verifier,
            "next_path": sign_in.next_path,
            "invite": sign_in.invite,
            "user_id": sign_in.user_id,
            "identity": None if identity is None else orjson.dumps(asdict(identity)).decode(),
            "created_at": now,
            "expires_at": expires_at,
        },
    )


async def take(tx: Tx, state_hash: str, browser_hash: str, now: Instant) -> SignIn | None:
    """It is gone after this: nobody ends the same one twice."""
    row = await tx.one(_TAKE, {"state_hash": state_hash, "browser_hash": browser_hash, "now": now})
    return _sign_in(row) if row else None


async def find(tx: Tx, state_hash: str, browser_hash: str, now: Instant) -> SignIn | None:
    row = await tx.one(_FIND, {"state_hash": state_hash, "browser_hash": browser_hash, "now": now})
    return _sign_in(row) if row else None


async def sweep(tx: Tx, now: Instant) -> int:
    return await tx.run(_SWEEP, {"now": now})


def _sign_in(row: Row) -> SignIn:
    *plain, identity = row
    return SignIn(*plain, identity=None if identity is None else Identity(**orjson.loads(identity)))
