"""Icons of feeds for apps that ask for them without logging in: the address itself is the permission."""

import hmac
from hashlib import sha256

from fastapi import APIRouter, Request, Response

from reedbed.domain.errors import NotFound
from reedbed.http.caller import RuntimeOf
from reedbed.http.places import place_of
from reedbed.services.runtime import Runtime
from reedbed.store import blobs

router = APIRouter(include_in_schema=False)


@router.get("/greader/icons/{name}")
async def icon(runtime: RuntimeOf, name: str) -> Response:
    number, _, signature = name.removesuffix(".png").partition("-")
    known = number.isascii() and number.isdigit() and len(number) < 16
    if not known or not hmac.compare_digest(signature.encode(), _signature(runtime, int(number)).encode()):
        raise NotFound("There is no such icon.")
    async with runtime.db.read() as tx:
        found = await blobs.read(tx, int(number))
    if found is None:
        raise NotFound("There is no such icon.")
    headers = {"Cache-Control": "public, max-age=604800, immutable", "Access-Control-Allow-Origin": "*"}
    return Response(found[1], 200, headers, found[0])


def icon_address(request: Request, runtime: Runtime, icon_id: int) -> str:
    return f"{place_of(request, runtime)}/greader/icons/{icon_id}-{_signature(runtime, icon_id)}.png"


def _signature(runtime: Runtime, icon_id: int) -> str:
    return hmac.new(runtime.secret, f"icon\0{icon_id}".encode(), sha256).hexdigest()[:20]
