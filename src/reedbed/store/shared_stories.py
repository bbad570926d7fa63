"""Copies of stories that users share. Only hashes of their URL tokens are stored."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import orjson
from sqlalchemy import bindparam, delete, insert, update

from reedbed.domain.shared_stories import CopiedReport, CopiedSentence, SharedStory, StoryCopy
from reedbed.domain.times import Instant
from reedbed.domain.urls import host_of
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, among, func, row_of, select
from reedbed.store.tables import entries, feeds, shared_stories, users

_COLUMNS = (shared_stories.c.id, shared_stories.c.title, shared_stories.c.created_at, shared_stories.c.last_used_at)
_is_own = shared_stories.c.user_id == bindparam("owner")


def _with_copy(*columns: Any) -> tuple[SharedStory, StoryCopy]:
    *shared, content = columns
    return SharedStory(*shared), _load_copy(content)


def _load_copy(content: str) -> StoryCopy:
    fields: dict[str, Any] = orjson.loads(content)
    return StoryCopy(
        fields.get("title", ""),
        fields.get("language", ""),
        tuple(CopiedReport(**report) for report in fields.get("reports", ())),
        tuple(
            CopiedSentence(sentence["text"], sentence["language"], tuple(sentence["feeds"]))
            for sentence in fields.get("shared", ())
        ),
    )


_LIST = Query(select(*_COLUMNS).where(_is_own).order_by(shared_stories.c.id.desc()), into=SharedStory)
_COUNT = Query(select(func.count()).select_from(shared_stories).where(_is_own), into=int)
_ADD = Query(
    insert(shared_stories).returning(*_COLUMNS),
    columns=["user_id", "title", "token_hash", "content", "created_at"],
    into=SharedStory,
)
_DELETE = Command(delete(shared_stories).where(_is_own, shared_stories.c.id == bindparam("shared")))
_BY_TOKEN = Query(
    select(*_COLUMNS, shared_stories.c.content)
    .join_from(shared_stories, users, users.c.id == shared_stories.c.user_id)
    .where(shared_stories.c.token_hash == bindparam("hash"), users.c.disabled_at.is_(None)),
    into=_with_copy,
)
_TOUCH = Command(
    update(shared_stories).where(shared_stories.c.id == bindparam("shared")).values(last_used_at=bindparam("now"))
)
_PUBLIC = Query(
    select(entries.c.id, feeds.c.title, feeds.c.url)
    .join_from(entries, feeds, feeds.c.id == entries.c.feed_id)
    .where(
        among(entries.c.id, "ids"),
        entries.c.audience_id.is_(None),
        feeds.c.owner_id.is_(None),
        feeds.c.kind == "web",
        feeds.c.username.is_(None),
        feeds.c.password.is_(None),
    ),
    into=row_of(int, str, str),
)


async def of_user(tx: Tx, user_id: int) -> list[SharedStory]:
    return await tx.all(_LIST, {"owner": user_id})


async def count(tx: Tx, user_id: int) -> int:
    return await tx.get(_COUNT, {"owner": user_id})


async def add(tx: Tx, user_id: int, copy: StoryCopy, *, token_hash: str, now: Instant) -> SharedStory:
    content = orjson.dumps(asdict(copy)).decode()
    row = {"user_id": user_id, "title": copy.title, "token_hash": token_hash, "content": content, "created_at": now}
    return await tx.get(_ADD, row)


async def remove(tx: Tx, user_id: int, shared_id: int) -> bool:
    return await tx.run(_DELETE, {"owner": user_id, "shared": shared_id}) == 1


async def by_token(tx: Tx, token_hash: str) -> tuple[SharedStory, StoryCopy] | None:
    return await tx.one(_BY_TOKEN, {"hash": token_hash})


async def touch(tx: Tx, shared_id: int, now: Instant) -> None:
    await tx.run(_TOUCH, {"shared": shared_id, "now": now})


async def public_feeds(tx: Tx, entry_ids: Sequence[int]) -> dict[int, str]:
    """Those of the entries that anybody may see, with their feed's own title.

    Left out are private feeds, newsletters, saved pages, feeds that ask for a password, and entries that came with a
    redirected feed and are shown only to those who followed it.
    """
    rows = await tx.all(_PUBLIC, {"ids": list(entry_ids)})
    return {entry_id: title or host_of(url) or url for entry_id, title, url in rows}
