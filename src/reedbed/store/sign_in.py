"""External sign-in (OIDC, Google, Apple, Facebook): linked identities, and sign-ins in progress."""

from collections.abc import Sequence
from dataclasses import asdict

import orjson
from sqlalchemy import bindparam, delete, insert, update
from sqlalchemy.dialects.postgresql import insert as upsert

from reedbed.domain.sign_in import Identity, LinkedIdentity, SignIn
from reedbed.domain.times import Instant
from reedbed.domain.users import User
from reedbed.store.engine.database import Row, Tx
from reedbed.store.engine.statements import Statement, func, select
from reedbed.store.tables import identities, identity_sessions, sessions, sign_ins, users
from reedbed.store.users import USER_COLUMNS, user_from_row

# --- Identities

_IDENTITY_COLUMNS = (
    identities.c.id,
    identities.c.user_id,
    identities.c.provider,
    identities.c.email,
    identities.c.created_at,
    identities.c.last_used_at,
)
_own_identities = identities.c.user_id == bindparam("user_id")

_USER_OF_IDENTITY = Statement(
    select(*USER_COLUMNS, identities.c.id.label("identity_id"))
    .join_from(identities, users, users.c.id == identities.c.user_id)
    .where(identities.c.issuer == bindparam("issuer"), identities.c.subject == bindparam("subject"))
)
_ADD_IDENTITY = Statement(
    upsert(identities).on_conflict_do_nothing().returning(identities.c.id),
    columns=["user_id", "provider", "issuer", "subject", "email", "created_at", "last_used_at"],
)
_RECORD_USE = Statement(
    update(identities)
    .where(identities.c.id == bindparam("one"))
    .values(last_used_at=bindparam("now"), email=bindparam("address"))
)
_LIST_IDENTITIES = Statement(select(*_IDENTITY_COLUMNS).where(_own_identities).order_by(identities.c.id))
_COUNT_IDENTITIES = Statement(select(func.count()).select_from(identities).where(_own_identities))
_DELETE_IDENTITY = Statement(delete(identities).where(_own_identities, identities.c.id == bindparam("id")))
_LINK_SESSION = Statement(insert(identity_sessions), columns=["session_id", "identity_id"])
_SESSION_ID = Statement(select(sessions.c.id).where(sessions.c.token_hash == bindparam("token_hash")))
_PROVIDER_OF_SESSION = Statement(
    select(identities.c.provider)
    .join_from(identity_sessions, identities, identities.c.id == identity_sessions.c.identity_id)
    .where(identity_sessions.c.session_id == bindparam("session_id"))
)


async def user_of_identity(tx: Tx, identity: Identity) -> tuple[User, int] | None:
    """Return the account linked to this identity, and the link's id."""
    row = await tx.one(_USER_OF_IDENTITY, {"issuer": identity.issuer, "subject": identity.subject})
    return (user_from_row(row), row["identity_id"]) if row else None


async def add_identity(tx: Tx, user_id: int, identity: Identity, now: Instant) -> int | None:
    """Return None if it is already linked to an account."""
    params = {
        "user_id": user_id,
        "provider": identity.provider,
        "issuer": identity.issuer,
        "subject": identity.subject,
        "email": identity.email,
        "created_at": now,
        "last_used_at": now,
    }
    return await tx.value(_ADD_IDENTITY, params)


async def record_use(tx: Tx, identity_id: int, email: str, now: Instant) -> None:
    await tx.run(_RECORD_USE, {"one": identity_id, "address": email, "now": now})


async def list_identities(tx: Tx, user_id: int) -> Sequence[LinkedIdentity]:
    return [LinkedIdentity(*row) for row in await tx.all(_LIST_IDENTITIES, {"user_id": user_id})]


async def count_identities(tx: Tx, user_id: int) -> int:
    return await tx.value(_COUNT_IDENTITIES, {"user_id": user_id})


async def delete_identity(tx: Tx, user_id: int, identity_id: int) -> bool:
    return await tx.run(_DELETE_IDENTITY, {"user_id": user_id, "id": identity_id}) == 1


async def link_session(tx: Tx, token_hash: str, identity_id: int) -> None:
    """Record that this identity opened the session."""
    session_id = await tx.value(_SESSION_ID, {"token_hash": token_hash})
    await tx.run(_LINK_SESSION, {"session_id": session_id, "identity_id": identity_id})


async def provider_of_session(tx: Tx, session_id: int) -> str | None:
    return await tx.value(_PROVIDER_OF_SESSION, {"session_id": session_id})


# --- Sign-ins in progress

_SIGN_IN_COLUMNS = (
    sign_ins.c.provider,
    sign_ins.c.browser_hash,
    sign_ins.c.nonce,
    sign_ins.c.verifier,
    sign_ins.c.next_path,
    sign_ins.c.invite,
    sign_ins.c.user_id,
    sign_ins.c.identity,
)
_is_valid = (
    sign_ins.c.state_hash == bindparam("state_hash"),
    sign_ins.c.browser_hash == bindparam("browser_hash"),
    sign_ins.c.expires_at > bindparam("now"),
)
_ADD_SIGN_IN = Statement(
    insert(sign_ins),
    columns=["state_hash", *(column.name for column in _SIGN_IN_COLUMNS), "created_at", "expires_at"],
)
_POP_SIGN_IN = Statement(delete(sign_ins).where(*_is_valid).returning(*_SIGN_IN_COLUMNS))
_GET_SIGN_IN = Statement(select(*_SIGN_IN_COLUMNS).where(*_is_valid))
_DELETE_EXPIRED = Statement(delete(sign_ins).where(sign_ins.c.expires_at <= bindparam("now")))


async def add_sign_in(tx: Tx, state_hash: str, sign_in: SignIn, now: Instant, expires_at: Instant) -> None:
    identity = sign_in.identity
    await tx.run(
        _ADD_SIGN_IN,
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


async def pop_sign_in(tx: Tx, state_hash: str, browser_hash: str, now: Instant) -> SignIn | None:
    """Delete and return it, so that each can be completed only once."""
    row = await tx.one(_POP_SIGN_IN, {"state_hash": state_hash, "browser_hash": browser_hash, "now": now})
    return _sign_in(row) if row else None


async def get_sign_in(tx: Tx, state_hash: str, browser_hash: str, now: Instant) -> SignIn | None:
    row = await tx.one(_GET_SIGN_IN, {"state_hash": state_hash, "browser_hash": browser_hash, "now": now})
    return _sign_in(row) if row else None


async def delete_expired(tx: Tx, now: Instant) -> int:
    return await tx.run(_DELETE_EXPIRED, {"now": now})


def _sign_in(row: Row) -> SignIn:
    *columns, identity = row
    return SignIn(*columns, identity=None if identity is None else Identity(**orjson.loads(identity)))
