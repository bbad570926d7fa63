"""The model of a user's interest, the entries it learns from, and lists ranked by it."""

from array import array
from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy import BigInteger, and_, bindparam, delete

from reedbed.domain.interest.features import Candidate
from reedbed.domain.interest.model import StoredInterest
from reedbed.domain.interest.order import RankedEntry
from reedbed.domain.pagination import Cursor
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, among, func, insert, row_of, select
from reedbed.store.entries.columns import visible
from reedbed.store.tables import entries, feeds, interest_models, interest_rankings, read_history, subscriptions, users

MAX_RANKINGS = 12
"""Ranked lists that are kept for each user: the most recently scrolled."""

# --- The model

_OWNER = bindparam("owner", type_=BigInteger)
_IS_OWN = interest_models.c.user_id == _OWNER


@record
class LearningState:
    preferences: str
    """Of the user, as stored."""
    stored: StoredInterest | None


def _stored(numbers: bytes, rest: str, names: str = "") -> StoredInterest:
    return StoredInterest(bytes(numbers), names, orjson.loads(rest))


def _learning_state(preferences: str, numbers: bytes | None, names: str | None, rest: str | None) -> LearningState:
    stored = None if numbers is None or rest is None else _stored(numbers, rest, names or "")
    return LearningState(preferences, stored)


# NO KEY UPDATE: acts of one user change the model one after the other, and rows that refer to the user can be added.
_TO_LEARN = Query(
    select(users.c.preferences, interest_models.c.numbers, interest_models.c.names, interest_models.c.rest)
    .select_from(users.outerjoin(interest_models, interest_models.c.user_id == users.c.id))
    .where(users.c.id == _OWNER)
    .with_for_update(key_share=True, of=users),
    into=_learning_state,
)
_PREFERENCES = Query(select(users.c.preferences).where(users.c.id == _OWNER), into=str)
_SCORES = Query(select(interest_models.c.numbers, interest_models.c.rest).where(_IS_OWN), into=_stored)
_WHOLE = Query(
    select(interest_models.c.numbers, interest_models.c.rest, interest_models.c.names).where(_IS_OWN), into=_stored
)
_ROW = insert(interest_models)
_PUT = Command(
    _ROW.on_conflict_do_update(
        index_elements=["user_id"],
        set_={name: _ROW.excluded[name] for name in ("numbers", "names", "rest", "changed_at")},
    ),
    columns=("user_id", "numbers", "names", "rest", "created_at", "changed_at"),
)
_REMOVE = Command(delete(interest_models).where(_IS_OWN))


async def preferences(tx: Tx, user_id: int) -> str:
    """The stored preferences of the user; empty if there is no such user."""
    return await tx.one(_PREFERENCES, {"owner": user_id}) or ""


async def to_learn(tx: Tx, user_id: int) -> LearningState | None:
    """The whole model, locked until the transaction ends; None if there is no such user."""
    return await tx.one(_TO_LEARN, {"owner": user_id})


async def scores(tx: Tx, user_id: int) -> StoredInterest | None:
    """The model without the names of features."""
    return await tx.one(_SCORES, {"owner": user_id})


async def whole(tx: Tx, user_id: int) -> StoredInterest | None:
    return await tx.one(_WHOLE, {"owner": user_id})


async def put(tx: Tx, user_id: int, stored: StoredInterest, now: Instant) -> None:
    params = {
        "user_id": user_id,
        "numbers": stored.numbers,
        "names": stored.names,
        "rest": orjson.dumps(stored.rest).decode(),
        "created_at": now,
        "changed_at": now,
    }
    await tx.run(_PUT, params)


async def remove(tx: Tx, user_id: int) -> None:
    await tx.run(_REMOVE, {"owner": user_id})
    await tx.run(_REMOVE_RANKINGS, {"owner": user_id})


# --- What it learns from

_USER = bindparam("user_id", type_=BigInteger)
_TITLE = func.coalesce(subscriptions.c.title, func.nullif(feeds.c.title, ""), feeds.c.url)
CANDIDATE = (
    entries.c.id,
    entries.c.feed_id,
    entries.c.title,
    entries.c.url,
    entries.c.author,
    entries.c.language,
    entries.c.words,
    entries.c.sort_at,
)


def _named_candidate(title: str, *columns: Any) -> tuple[str, Candidate]:
    return title, Candidate(*columns)


_CANDIDATES = Query(
    select(_TITLE, *CANDIDATE)
    .select_from(
        entries.join(feeds, feeds.c.id == entries.c.feed_id).outerjoin(
            subscriptions, and_(subscriptions.c.user_id == _USER, subscriptions.c.feed_id == entries.c.feed_id)
        )
    )
    .where(among(entries.c.id, "ids"), visible()),
    into=_named_candidate,
)
_OPENED = Query(
    select(entries.c.feed_id, _TITLE, func.count())
    .join_from(read_history, entries, entries.c.id == read_history.c.entry_id)
    .join(feeds, feeds.c.id == entries.c.feed_id)
    .join(subscriptions, and_(subscriptions.c.user_id == _USER, subscriptions.c.feed_id == entries.c.feed_id))
    .where(
        read_history.c.user_id == _USER,
        read_history.c.read_at >= bindparam("since", type_=BigInteger),
        subscriptions.c.unsubscribed_at.is_(None),
    )
    .group_by(entries.c.feed_id, subscriptions.c.title, feeds.c.title, feeds.c.url),
    into=row_of(int, str, int),
)
_SOURCE_TITLE = Query(
    select(_TITLE)
    .join_from(subscriptions, feeds, feeds.c.id == subscriptions.c.feed_id)
    .where(subscriptions.c.user_id == _USER, subscriptions.c.feed_id == bindparam("feed_id")),
    into=str,
)
_CAME = Query(
    select(entries.c.feed_id, func.count())
    .where(among(entries.c.feed_id, "feed_ids"), entries.c.sort_at >= bindparam("since", type_=BigInteger))
    .group_by(entries.c.feed_id),
    into=row_of(int, int),
)


@record
class OpenedSource:
    """How many entries of a feed the user has opened, and how many came in the same time."""

    feed_id: int
    title: str
    came: int
    opened: int


async def candidates(tx: Tx, user_id: int, ids: Sequence[int]) -> list[tuple[str, Candidate]]:
    """Those of these entries that the user can see, with the titles of their feeds, in the order of `ids`."""
    found = {entry.id: (title, entry) for title, entry in
             await tx.all(_CANDIDATES, {"user_id": user_id, "ids": list(ids)})}  # fmt: skip
    return [found[id_] for id_ in dict.fromkeys(ids) if id_ in found]


async def source_title(tx: Tx, user_id: int, feed_id: int) -> str:
    """Empty if the user does not follow it."""
    return await tx.one(_SOURCE_TITLE, {"user_id": user_id, "feed_id": feed_id}) or ""


async def opened_sources(tx: Tx, user_id: int, since: Instant) -> list[OpenedSource]:
    opened = await tx.all(_OPENED, {"user_id": user_id, "since": since})
    if not opened:
        return []
    came = dict(await tx.all(_CAME, {"feed_ids": [feed_id for feed_id, _, _ in opened], "since": since}))
    return [OpenedSource(feed_id, title, max(count, came.get(feed_id, 0)), count) for feed_id, title, count in opened]


# --- Ranked lists


@record
class Ranking:
    """A list as it was ranked for its first page."""

    id: int
    entries: Sequence[RankedEntry]
    end: Cursor
    """Where the list continues by time."""


_ADD_RANKING = Command(
    insert(interest_rankings).on_conflict_do_nothing(),
    columns=("user_id", "id", "entries", "oldest_at", "oldest_id", "created_at"),
)
_OWN_RANKINGS = interest_rankings.c.user_id == _OWNER
_OLD_RANKINGS = Command(
    delete(interest_rankings).where(
        _OWN_RANKINGS,
        interest_rankings.c.id.not_in(
            select(interest_rankings.c.id)
            .where(_OWN_RANKINGS)
            .order_by(interest_rankings.c.created_at.desc(), interest_rankings.c.id)
            .limit(bindparam("limit", type_=BigInteger))
        ),
    )
)
_REMOVE_RANKINGS = Command(delete(interest_rankings).where(_OWN_RANKINGS))


def _ranking(id_: int, packed: bytes, oldest_at: int, oldest_id: int) -> Ranking:
    ids: array[int] = array("q")
    ids.frombytes(bytes(packed)[: len(packed) // 8 * 8])
    ranked = [RankedEntry(abs(one), outside=one < 0) for one in ids]
    return Ranking(id_, ranked, Cursor(oldest_at, oldest_id))


_GET_RANKING = Query(
    select(
        interest_rankings.c.id,
        interest_rankings.c.entries,
        interest_rankings.c.oldest_at,
        interest_rankings.c.oldest_id,
    ).where(_OWN_RANKINGS, interest_rankings.c.id == bindparam("id")),
    into=_ranking,
)


async def ranking(tx: Tx, user_id: int, ranking_id: int) -> Ranking | None:
    return await tx.one(_GET_RANKING, {"owner": user_id, "id": ranking_id})


async def keep_ranking(tx: Tx, user_id: int, kept: Ranking, now: Instant) -> None:
    packed = array("q", (-entry.id if entry.outside else entry.id for entry in kept.entries)).tobytes()
    end = {"oldest_at": kept.end.sort_at, "oldest_id": kept.end.id}
    await tx.run(_ADD_RANKING, {"user_id": user_id, "id": kept.id, "entries": packed, **end, "created_at": now})
    await tx.run(_OLD_RANKINGS, {"owner": user_id, "limit": MAX_RANKINGS})
