"""What the service worker keeps for pages that were never loaded."""

from fastapi import APIRouter, Request, Response

from reedbed.web.pages import page

router = APIRouter(include_in_schema=False)


@router.get("/offline")
async def show_offline(request: Request) -> Response:
    return await page(request, "errors/offline.html", None)
