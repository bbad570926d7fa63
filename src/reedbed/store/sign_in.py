"""External sign-in (OIDC, Google, Apple, Facebook): linked identities, and sign-ins in progress."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import orjson
from sqlalchemy import bindparam, delete, insert, update

from reedbed.domain.sign_in import Identity, LinkedIdentity, SignIn
from reedbed.domain.times import Instant
from reedbed.domain.users import User
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, func, select
from reedbed.store.engine.statements import insert as upsert
from reedbed.store.tables import identities, identity_sessions, sessions, sign_ins, users
from reedbed.store.users import USER_COLUMNS

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


def _user_and_identity(*columns: Any) -> tuple[User, int]:
    *user, identity_id = columns
    return User(*user), identity_id


_USER_OF_IDENTITY = Query(
    select(*USER_COLUMNS, identities.c.id.label("identity_id"))
    .join_from(identities, users, users.c.id == identities.c.user_id)
    .where(identities.c.issuer == bindparam("issuer"), identities.c.subject == bindparam("subject")),
    into=_user_and_identity,
)
_ADD_IDENTITY = Query(
    upsert(identities).on_conflict_do_nothing().returning(identities.c.id),
    columns=["user_id", "provider", "issuer", "subject", "email", "created_at", "last_used_at"],
    into=int,
)
_RECORD_USE = Command(
    update(identities)
    .where(identities.c.id == bindparam("one"))
    .values(last_used_at=bindparam("now"), email=bindparam("address"))
)
_LIST_IDENTITIES = Query(
    select(*_IDENTITY_COLUMNS).where(_own_identities).order_by(identities.c.id), into=LinkedIdentity
)
_COUNT_IDENTITIES = Query(select(func.count()).select_from(identities).where(_own_identities), into=int)
_DELETE_IDENTITY = Command(delete(identities).where(_own_identities, identities.c.id == bindparam("id")))
_LINK_SESSION = Command(insert(identity_sessions), columns=["session_id", "identity_id"])
_SESSION_ID = Query(select(sessions.c.id).where(sessions.c.token_hash == bindparam("token_hash")), into=int)
_PROVIDER_OF_SESSION = Query(
    select(identities.c.provider)
    .join_from(identity_sessions, identities, identities.c.id == identity_sessions.c.identity_id)
    .where(identity_sessions.c.session_id == bindparam("session_id")),
    into=str,
)


async def user_of_identity(tx: Tx, identity: Identity) -> tuple[User, int] | None:
    """Return the account linked to this identity, and the link's id."""
    return await tx.one(_USER_OF_IDENTITY, {"issuer": identity.issuer, "subject": identity.subject})


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
    return await tx.one(_ADD_IDENTITY, params)


async def record_use(tx: Tx, identity_id: int, email: str, now: Instant) -> None:
    await tx.run(_RECORD_USE, {"one": identity_id, "address": email, "now": now})


async def list_identities(tx: Tx, user_id: int) -> Sequence[LinkedIdentity]:
    return await tx.all(_LIST_IDENTITIES, {"user_id": user_id})


async def count_identities(tx: Tx, user_id: int) -> int:
    return await tx.get(_COUNT_IDENTITIES, {"user_id": user_id})


async def delete_identity(tx: Tx, user_id: int, identity_id: int) -> bool:
    return await tx.run(_DELETE_IDENTITY, {"user_id": user_id, "id": identity_id}) == 1


async def link_session(tx: Tx, token_hash: str, identity_id: int) -> None:
    """Record that this identity opened the session."""
    session_id = await tx.one(_SESSION_ID, {"token_hash": token_hash})
    await tx.run(_LINK_SESSION, {"session_id": session_id, "identity_id": identity_id})


async def provider_of_session(tx: Tx, session_id: int) -> str | None:
    return await tx.one(_PROVIDER_OF_SESSION, {"session_id": session_id})


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
_ADD_SIGN_IN = Command(
    insert(sign_ins), columns=["state_hash", *(column.name for column in _SIGN_IN_COLUMNS), "created_at", "expires_at"]
)


def _sign_in(*row: Any) -> SignIn:
    *columns, identity = row
    return SignIn(*columns, identity=None if identity is None else Identity(**orjson.loads(identity)))


_POP_SIGN_IN = Query(delete(sign_ins).where(*_is_valid).returning(*_SIGN_IN_COLUMNS), into=_sign_in)
_GET_SIGN_IN = Query(select(*_SIGN_IN_COLUMNS).where(*_is_valid), into=_sign_in)
_DELETE_EXPIRED = Command(delete(sign_ins).where(sign_ins.c.expires_at <= bindparam("now")))


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
    return await tx.one(_POP_SIGN_IN, {"state_hash": state_hash, "browser_hash": browser_hash, "now": now})


async def get_sign_in(tx: Tx, state_hash: str, browser_hash: str, now: Instant) -> SignIn | None:
    return await tx.one(_GET_SIGN_IN, {"state_hash": state_hash, "browser_hash": browser_hash, "now": now})


async def delete_expired(tx: Tx, now: Instant) -> int:
    return await tx.run(_DELETE_EXPIRED, {"now": now})
