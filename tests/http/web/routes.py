"""Every address of the page."""

from fastapi.routing import APIRoute

from reedbed.web.parts import PARTS


def page_routes() -> list[APIRoute]:
    return [route for part in PARTS for route in part.router.routes if isinstance(route, APIRoute)]
