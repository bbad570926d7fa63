"""Links in letters: only their SHA-256 stored, each good for one use."""

from collections.abc import Sequence

from sqlalchemy import BigInteger, bindparam, delete, insert, or_, update

from reedbed.domain.mail_links import MailLink, Purpose
from reedbed.domain.times import DAY, Instant
from reedbed.store.database import Row, Tx
from reedbed.store.sql import select
from reedbed.store.statements import Statement
from reedbed.store.tables import mail_links

_COLUMNS = (
    mail_links.c.id,
    mail_links.c.purpose,
    mail_links.c.email,
    mail_links.c.user_id,
    mail_links.c.created_at,
    mail_links.c.expires_at,
    mail_links.c.used_at,
)
_open = (
    mail_links.c.token_hash == bindparam("token_hash"),
    mail_links.c.purpose == bindparam("purpose"),
    mail_links.c.used_at.is_(None),
    mail_links.c.expires_at > bindparam("now"),
    mail_links.c.created_at <= bindparam("now", type_=BigInteger()) + DAY,  # made by a clock that was right
)

_INSERT = Statement(
    insert(mail_links),
    columns=["user_id", "purpose", "email", "token_hash", "created_at", "expires_at"],
)
_FIND = Statement(select(*_COLUMNS).where(*_open))
_USE = Statement(update(mail_links).where(*_open).values(used_at=bindparam("now")).returning(*_COLUMNS))
_DROP = Statement(
    delete(mail_links).where(
        mail_links.c.email == bindparam("email"), mail_links.c.purpose == bindparam("purpose")
    )
)
_INVITES = Statement(
    select(*_COLUMNS)
    .where(
        mail_links.c.purpose == "invite",
        mail_links.c.used_at.is_(None),
        mail_links.c.expires_at > bindparam("now"),
    )
    .order_by(mail_links.c.id.desc())
    .limit(500)
)
_REMOVE_INVITE = Statement(
    delete(mail_links).where(mail_links.c.id == bindparam("id"), mail_links.c.purpose == "invite")
)
_SWEEP = Statement(
    delete(mail_links).where(
        or_(mail_links.c.expires_at <= bindparam("now"), mail_links.c.used_at.is_not(None))
    )
)


async def add(
    tx: Tx,
    *,
    purpose: Purpose,
    email: str,
    user_id: int | None,
    token_hash: str,
    now: Instant,
    expires_at: Instant,
) -> None:
    """A new link of the same purpose replaces the ones before it."""
    await tx.run(_DROP, {"email": email, "purpose": purpose})
    await tx.run(
        _INSERT,
        {
            "purpose": purpose,
            "email": email,
            "user_id": user_id,
            "token_hash": token_hash,
            "created_at": now,
            "expires_at": expires_at,
        },
    )


async def find(tx: Tx, purpose: Purpose, token_hash: str, now: Instant) -> MailLink | None:
    return _link(await tx.one(_FIND, {"purpose": purpose, "token_hash": token_hash, "now": now}))


async def use(tx: Tx, purpose: Purpose, token_hash: str, now: Instant) -> MailLink | None:
    """The link, spent by this; None when it was spent before, is too old or never was."""
    return _link(await tx.one(_USE, {"purpose": purpose, "token_hash": token_hash, "now": now}))


async def invites(tx: Tx, now: Instant) -> Sequence[MailLink]:
    return [MailLink(*row) for row in await tx.all(_INVITES, {"now": now})]


async def remove_invite(tx: Tx, link_id: int) -> bool:
    return await tx.run(_REMOVE_INVITE, {"id": link_id}) == 1


async def sweep(tx: Tx, now: Instant) -> int:
    return await tx.run(_SWEEP, {"now": now})


def _link(row: Row | None) -> MailLink | None:
    return MailLink(*row) if row else None
