"""What only an export reads."""

from sqlalchemy import bindparam

from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.database import Tx
from reedbed.store.sql import select
from reedbed.store.statements import Statement
from reedbed.store.tables import searches


@record
class SavedSearch:
    name: str
    query: str
    created_at: Instant


_SEARCHES = Statement(
    select(searches.c.name, searches.c.query, searches.c.created_at)
    .where(searches.c.user_id == bindparam("user_id"))
    .order_by(searches.c.position, searches.c.id)
)


async def searches_of(tx: Tx, user_id: int) -> list[SavedSearch]:
    return [SavedSearch(*row) for row in await tx.all(_SEARCHES, {"user_id": user_id})]
