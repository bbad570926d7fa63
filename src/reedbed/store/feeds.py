"""Feeds: shared by all users, or private to one. Each has a row here and one of fetch state."""

from collections.abc import Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

from sqlalchemy import bindparam, null, or_, update
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.due import About
from reedbed.domain.times import Instant
from reedbed.domain.urls import host_of
from reedbed.store.database import Tx
from reedbed.store.sql import select
from reedbed.store.statements import Statement
from reedbed.store.tables import feed_fetch_state, feeds

_ABOUT = tuple(field.name for field in fields(About))
_about_values = attrgetter(*_ABOUT)
_same_owner = or_(
    feeds.c.owner_id == bindparam("owner_id"),
    feeds.c.owner_id.is_(None) & bindparam("owner_id", type_=feeds.c.owner_id.type).is_(None),
)

_ADD = Statement(
    insert(feeds).on_conflict_do_nothing().returning(feeds.c.id),
    columns=["url", "owner_id", "kind", "title", "created_at", "enabled", "polling", "operator_added"],
)
_ADD_STATE = Statement(insert(feed_fetch_state), columns=["feed_id", "host", "next_check_at", "urgent"])
_BY_URL = Statement(select(feeds.c.id).where(feeds.c.url == bindparam("url"), _same_owner))
_ABOUT_UPDATE = Statement(
    update(feeds)
    .where(feeds.c.id == bindparam("feed_id"))
    .values(**{name: bindparam(name) for name in _ABOUT})
)
_MOVE = Statement(update(feeds).where(feeds.c.id == bindparam("feed_id")).values(url=bindparam("new_url")))
_MOVE_STATE = Statement(
    update(feed_fetch_state)
    .where(feed_fetch_state.c.feed_id == bindparam("id"))
    .values(host=bindparam("new_host"), redirect_url=null(), redirect_count=0)
)
_SET_CREDENTIALS = Statement(
    update(feeds)
    .where(feeds.c.id == bindparam("feed_id"))
    .values(username=bindparam("name"), password=bindparam("secret"))
)
_CREDENTIALS = Statement(
    select(feeds.c.id, feeds.c.username, feeds.c.password).where(
        feeds.c.owner_id == bindparam("owner_id"), feeds.c.username.is_not(None)
    )
)


async def find_or_add(
    tx: Tx,
    url: str,
    now: Instant,
    *,
    owner_id: int | None = None,
    kind: str = "web",
    title: str = "",
    by_operator: bool = False,
) -> tuple[int, bool]:
    """The feed at this address, made when there is none; and whether it was made.

    A new web feed is urgent at once; one added by the operator waits until it is enabled.
    """
    known = await by_url(tx, url, owner_id)
    if known is not None:
        return known, False
    feed_id = await tx.value(
        _ADD,
        {
            "url": url,
            "owner_id": owner_id,
            "kind": kind,
            "title": title,
            "created_at": now,
            "enabled": not by_operator,
            "polling": not by_operator,
            "operator_added": by_operator,
        },
    )
    if feed_id is None:  # another worker was quicker
        return (await by_url(tx, url, owner_id) or 0), False
    fetched = kind == "web" and not by_operator
    await tx.run(
        _ADD_STATE,
        {
            "feed_id": feed_id,
            "host": host_of(url) or "",
            "next_check_at": now if fetched else None,
            "urgent": fetched,
        },
    )
    return feed_id, True


async def by_url(tx: Tx, url: str, owner_id: int | None = None) -> int | None:
    """Shared feeds and each user's private ones are worlds apart, even at the same address."""
    return await tx.value(_BY_URL, {"url": url, "owner_id": owner_id})


async def describe(tx: Tx, descriptions: Sequence[tuple[int, About]]) -> None:
    """What these feeds now say of themselves."""
    await tx.run_each(_ABOUT_UPDATE, [_about_params(feed_id, about) for feed_id, about in descriptions])


async def move(tx: Tx, feed_id: int, url: str) -> None:
    await tx.run(_MOVE, {"feed_id": feed_id, "new_url": url})
    await tx.run(_MOVE_STATE, {"id": feed_id, "new_host": host_of(url) or ""})


async def set_credentials(tx: Tx, feed_id: int, username: str | None, password: str | None) -> None:
    secret = tx.vault.encrypt_optional("feeds.password", password)
    await tx.run(_SET_CREDENTIALS, {"feed_id": feed_id, "name": username, "secret": secret})


async def credentials(tx: Tx, owner_id: int) -> dict[int, tuple[str, str | None]]:
    """Name and password of each private feed of this user that has them, by feed.

    A password that was encrypted with a key that is not here is None.
    """
    rows = await tx.all(_CREDENTIALS, {"owner_id": owner_id})
    return {id_: (name, secret and tx.vault.decrypt("feeds.password", secret)) for id_, name, secret in rows}


def _about_params(feed_id: int, about: About) -> dict[str, Any]:
    return dict(zip(_ABOUT, _about_values(about), strict=True)) | {"feed_id": feed_id}
