"""The sidebar alone, for a page that has heard that what is followed has changed."""

from fastapi import APIRouter, Request, Response

from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.web.pages import look_of, page
from reedbed.web.sidebar import build_sidebar

router = APIRouter(include_in_schema=False)


@router.get("/sidebar")
async def show_sidebar(request: Request, runtime: RuntimeOf, caller: CallerOf, here: str = "") -> Response:
    """`here` is the address of the view the page shows."""
    async with runtime.db.read() as tx:
        sidebar = await build_sidebar(tx, caller.user_id, here, look_of(request), runtime.now())
    return await page(request, "parts/sidebar.html", None, sidebar=sidebar)
