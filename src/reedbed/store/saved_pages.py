"""Finding an entry by its address, and giving a saved page its words."""

from sqlalchemy import bindparam, update

from reedbed.store.alive import shows
from reedbed.store.database import Tx
from reedbed.store.entry_writes import EntryText
from reedbed.store.sql import select
from reedbed.store.statements import Statement
from reedbed.store.tables import entries, entry_bodies, subscriptions

_words = ("title", "author", "summary", "image", "language", "words")
_BY_ADDRESS = Statement(
    select(entries.c.id)
    .join_from(subscriptions, entries, entries.c.feed_id == subscriptions.c.feed_id)
    .where(
        subscriptions.c.user_id == bindparam("user_id"),
        subscriptions.c.unsubscribed_at.is_(None),
        shows(subscriptions, entries),
        entries.c.normalized_url == bindparam("address"),
    )
    .order_by(entries.c.id.desc())
    .limit(1)
)
_FILL = Statement(
    update(entries)
    .where(entries.c.id == bindparam("entry"))
    .values(
        change_hash=bindparam("new_hash"),
        **{name: bindparam(f"new_{name}") for name in _words},
    )
)
_FILL_BODY = Statement(
    update(entry_bodies)
    .where(entry_bodies.c.entry_id == bindparam("entry"))
    .values(content=bindparam("new_content"), extra=bindparam("new_extra"))
)


async def by_address(tx: Tx, user_id: int, normalized_url: str) -> int | None:
    """The newest entry at this address in the feeds this user follows."""
    return await tx.value(_BY_ADDRESS, {"user_id": user_id, "address": normalized_url})


async def fill(tx: Tx, entry_id: int, text: EntryText, change_hash: str) -> None:
    """The first words of an entry that was saved by its address; there is no older version to keep."""
    shown = {f"new_{name}": getattr(text, name) for name in _words}
    await tx.run(_FILL, {"entry": entry_id, "new_hash": change_hash, **shown})
    await tx.run(_FILL_BODY, {"entry": entry_id, "new_content": text.content, "new_extra": text.extra})
