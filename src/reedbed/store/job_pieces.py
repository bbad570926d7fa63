"""What a job works on, in pieces: read one by one, and gone when the job is."""

from sqlalchemy import bindparam, delete
from sqlalchemy.dialects.postgresql import insert

from reedbed.store.database import Tx
from reedbed.store.sql import select
from reedbed.store.statements import Statement, delete_some
from reedbed.store.tables import job_pieces, jobs

_written = insert(job_pieces)
_PUT = Statement(
    _written.on_conflict_do_update(
        index_elements=["job_id", "number"],
        set_={name: _written.excluded[name] for name in ("kind", "data")},
    ),
    columns=["job_id", "number", "kind", "data"],
)
_of_job = job_pieces.c.job_id == bindparam("job_id")
_GET = Statement(
    select(job_pieces.c.kind, job_pieces.c.data).where(_of_job, job_pieces.c.number == bindparam("number"))
)
_DROP = Statement(delete(job_pieces).where(_of_job, job_pieces.c.number == bindparam("number")))
_ended = select(jobs.c.id).where(jobs.c.finished_at.is_not(None))
_FORGET = Statement(delete_some(job_pieces, job_pieces.c.job_id.in_(_ended)))


async def put(tx: Tx, job_id: int, number: int, kind: str, data: bytes) -> None:
    await tx.run(_PUT, {"job_id": job_id, "number": number, "kind": kind, "data": data})


async def get(tx: Tx, job_id: int, number: int) -> tuple[str, bytes] | None:
    row = await tx.one(_GET, {"job_id": job_id, "number": number})
    return None if row is None else (row[0], bytes(row[1]))


async def put_secret(tx: Tx, job_id: int, number: int, kind: str, text: str) -> None:
    await put(tx, job_id, number, kind, tx.vault.encrypt("job_pieces.data", text).encode())


async def get_secret(tx: Tx, job_id: int, number: int, kind: str) -> str | None:
    """None: there is none of this kind, or it cannot be decrypted here."""
    found = await get(tx, job_id, number)
    if found is None or found[0] != kind:
        return None
    return tx.vault.decrypt("job_pieces.data", found[1].decode())


async def drop(tx: Tx, job_id: int, number: int) -> None:
    await tx.run(_DROP, {"job_id": job_id, "number": number})


async def forget_some(tx: Tx, *, most: int) -> int:
    """Of jobs that have ended."""
    return await tx.run(_FORGET, {"most": most})
