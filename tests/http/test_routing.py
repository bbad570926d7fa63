"""The route index finds what the router would find, and leaves unknown paths to it."""

import re
from collections.abc import Sequence

from fastapi.routing import iter_route_contexts
from starlette.routing import BaseRoute, Match

from reedbed.http.routing import RouteIndex
from reedbed.roles.app import Application
from tests.clients import new_client


def test_every_door_is_found_where_the_router_finds_it(app: Application) -> None:
    router = app.programs.router
    board = RouteIndex(router)
    for context in iter_route_contexts(router.routes):
        path = re.sub(r"\{[^}]+\}", "1", context.path or "")
        for method in context.methods or ():
            found = _first(router.routes, path, method)
            assert found is not None
            assert _first(board.tried(path), path, method) is found, (method, path)


def test_few_doors_are_tried_for_one_noun(app: Application) -> None:
    board = RouteIndex(app.programs.router)
    assert len(board.tried("/api/v1/counts")) < len(app.programs.router.routes) / 2


async def test_what_nobody_takes_is_said_as_before(app: Application) -> None:
    async with new_client(app) as stranger:
        assert (await stranger.get("/api/v1/nothing")).status_code == 404
        assert (await stranger.get("/api/v1/entries/1/nothing")).status_code == 404
        wrong = await stranger.put("/api/v1/counts")
        assert wrong.status_code == 405
        assert "GET" in wrong.headers["Allow"]


def _first(routes: Sequence[BaseRoute], path: str, method: str) -> BaseRoute | None:
    scope = {"type": "http", "path": path, "method": method, "headers": [], "root_path": ""}
    return next((route for route in routes if route.matches(scope)[0] is Match.FULL), None)
