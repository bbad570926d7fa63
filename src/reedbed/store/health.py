"""Does the database answer?"""

from sqlalchemy import literal, select

from reedbed.store.database import Tx
from reedbed.store.statements import Statement

_ONE = Statement(select(literal(1)))


async def answers(tx: Tx) -> bool:
    return await tx.value(_ONE) == 1
