"""Every address of the page."""

from fastapi.routing import APIRoute

from reedbed.web.routes import ROUTERS


def page_routes() -> list[APIRoute]:
    return [route for name in ROUTERS for route in name.load().routes if isinstance(route, APIRoute)]
