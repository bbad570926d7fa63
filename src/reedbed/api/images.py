"""Image proxy: images of articles at signed URLs."""

from fastapi import APIRouter, Request, Response

from reedbed.http.auth import CurrentRuntime, client_ip
from reedbed.services.images import open_image

router = APIRouter(tags=["entries"])

HEADERS = {
    "Cache-Control": "private, max-age=2592000, immutable",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Content-Disposition": "inline",
}


@router.get("/images/{signature}/{address}", include_in_schema=False)
async def image(request: Request, runtime: CurrentRuntime, signature: str, address: str) -> Response:
    proxied = await open_image(runtime, signature, address, client_ip(request))
    return Response(proxied.data, 200, HEADERS, proxied.media_type)
