"""Who users are elsewhere."""

from collections.abc import Sequence

from sqlalchemy import bindparam, delete, insert, update
from sqlalchemy.dialects.postgresql import insert as insert_or

from reedbed.domain.accounts import User
from reedbed.domain.identities import Identity, LinkedIdentity
from reedbed.domain.times import Instant
from reedbed.store.database import Tx
from reedbed.store.sql import func, select
from reedbed.store.statements import Statement
from reedbed.store.tables import identities, identity_sessions, sessions, users
from reedbed.store.users import USER_COLUMNS, user_of

_SHOWN = (
    identities.c.id,
    identities.c.user_id,
    identities.c.provider,
    identities.c.email,
    identities.c.created_at,
    identities.c.last_used_at,
)
_mine = identities.c.user_id == bindparam("user_id")

_USER_OF = Statement(
    select(*USER_COLUMNS, identities.c.id.label("identity_id"))
    .join_from(identities, users, users.c.id == identities.c.user_id)
    .where(identities.c.issuer == bindparam("issuer"), identities.c.subject == bindparam("subject"))
)
_ADD = Statement(
    insert_or(identities).on_conflict_do_nothing().returning(identities.c.id),
    columns=["user_id", "provider", "issuer", "subject", "email", "created_at", "last_used_at"],
)
_USED = Statement(
    update(identities)
    .where(identities.c.id == bindparam("one"))
    .values(last_used_at=bindparam("now"), email=bindparam("address"))
)
_OF_USER = Statement(select(*_SHOWN).where(_mine).order_by(identities.c.id))
_HOW_MANY = Statement(select(func.count()).select_from(identities).where(_mine))
_REMOVE = Statement(delete(identities).where(_mine, identities.c.id == bindparam("id")))
_OPENED = Statement(insert(identity_sessions), columns=["session_id", "identity_id"])
_SESSION_ID = Statement(select(sessions.c.id).where(sessions.c.token_hash == bindparam("token_hash")))
_PROVIDER_OF_SESSION = Statement(
    select(identities.c.provider)
    .join_from(identity_sessions, identities, identities.c.id == identity_sessions.c.identity_id)
    .where(identity_sessions.c.session_id == bindparam("session_id"))
)


async def user_of_identity(tx: Tx, identity: Identity) -> tuple[User, int] | None:
    """The account this identity opens, and the id of the link."""
    row = await tx.one(_USER_OF, {"issuer": identity.issuer, "subject": identity.subject})
    return (user_of(row), row["identity_id"]) if row else None


async def add(tx: Tx, user_id: int, identity: Identity, now: Instant) -> int | None:
    """None when it opens an account already."""
    params = {
        "user_id": user_id,
        "provider": identity.provider,
        "issuer": identity.issuer,
        "subject": identity.subject,
        "email": identity.email,
        "created_at": now,
        "last_used_at": now,
    }
    return await tx.value(_ADD, params)


async def note_use(tx: Tx, identity_id: int, email: str, now: Instant) -> None:
    await tx.run(_USED, {"one": identity_id, "address": email, "now": now})


async def of_user(tx: Tx, user_id: int) -> Sequence[LinkedIdentity]:
    return [LinkedIdentity(*row) for row in await tx.all(_OF_USER, {"user_id": user_id})]


async def how_many(tx: Tx, user_id: int) -> int:
    return await tx.value(_HOW_MANY, {"user_id": user_id})


async def remove(tx: Tx, user_id: int, identity_id: int) -> bool:
    return await tx.run(_REMOVE, {"user_id": user_id, "id": identity_id}) == 1


async def note_session(tx: Tx, token_hash: str, identity_id: int) -> None:
    """This session was opened by that identity."""
    session_id = await tx.value(_SESSION_ID, {"token_hash": token_hash})
    await tx.run(_OPENED, {"session_id": session_id, "identity_id": identity_id})


async def provider_of_session(tx: Tx, session_id: int) -> str | None:
    return await tx.value(_PROVIDER_OF_SESSION, {"session_id": session_id})
