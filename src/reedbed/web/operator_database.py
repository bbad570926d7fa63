"""The operator's view of the database: what takes how much room, and the copies that are kept."""

import asyncio
from datetime import tzinfo

from fastapi import APIRouter, Request, Response

from reedbed.domain.times import Instant
from reedbed.http.caller import AdminOf, RuntimeOf
from reedbed.services.runtime import Runtime
from reedbed.store import backup, sizes, status
from reedbed.store.sizes import Size
from reedbed.web.moments import full_moment, zone_of
from reedbed.web.operator_sheets import size_words
from reedbed.web.shell import app_page
from reedbed.web.speech import translate
from reedbed.web.views.operator import DatabasePage, Sheet

router = APIRouter(include_in_schema=False)


@router.get("/admin/database")
async def show(request: Request, runtime: RuntimeOf, caller: AdminOf) -> Response:
    async with runtime.db.read() as tx:
        whole, used = await status.size_in_bytes(tx), await status.bytes_in_use(tx)
        largest = await sizes.largest(tx)
    view = DatabasePage(
        whole=size_words(whole),
        used=size_words(used),
        sheets=(_sizes(largest), await _copies(runtime, runtime.now(), zone_of(request))),
    )
    return await app_page(request, runtime, caller, "operator/database.html", view)


def _sizes(largest: list[Size]) -> Sheet:
    return Sheet(
        "sizes",
        translate("Largest tables and indexes"),
        (translate("Name"), translate("Size")),
        tuple((_name(one), size_words(one.size)) for one in largest),
        numbers=1,
    )


def _name(one: Size) -> str:
    return one.name if one.name == one.table else f"{one.name} ({one.table})"


async def _copies(runtime: Runtime, now: Instant, zone: tzinfo) -> Sheet:
    """PostgreSQL is copied by its own means."""
    policy = runtime.backups
    kept = await asyncio.to_thread(backup.copies, policy) if policy else []
    return Sheet(
        "copies",
        translate("Copies by night"),
        (translate("When"), translate("File"), translate("Size")),
        tuple((full_moment(at, now, zone).words, name, size_words(size)) for at, name, size in kept),
        translate("None yet. The first is by night.")
        if policy
        else translate("None are made: PostgreSQL has its own means, or they are turned off."),
        numbers=1,
    )
