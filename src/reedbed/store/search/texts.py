"""What the answer to a search shows and ranks by, read only for entries that were found."""

from collections.abc import Sequence

from sqlalchemy import func, select

from reedbed.domain.search_rank import Candidate
from reedbed.store.database import Tx
from reedbed.store.dialect import among
from reedbed.store.statements import Statement
from reedbed.store.tables import entries, entry_bodies

MOST_READ = 60_000
"""Characters of markup; an excerpt comes from the first part of a text."""

_CANDIDATES = Statement(
    select(entries.c.id, entries.c.sort_at, entries.c.title, entries.c.summary, entries.c.author).where(
        among(entries.c.id, "ids")
    )
)
_BODIES = Statement(
    select(entry_bodies.c.entry_id, func.substr(entry_bodies.c.content, 1, MOST_READ)).where(
        among(entry_bodies.c.entry_id, "ids")
    )
)


async def candidates(tx: Tx, ids: Sequence[int]) -> list[Candidate]:
    return [Candidate(*row) for row in await tx.all(_CANDIDATES, {"ids": list(ids)})]


async def bodies(tx: Tx, ids: Sequence[int]) -> dict[int, str]:
    """The beginning of each entry's sanitised markup."""
    return {row[0]: row[1] for row in await tx.all(_BODIES, {"ids": list(ids)})}
