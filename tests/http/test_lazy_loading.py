"""Routers are imported when a path needs them, and found in the same order as if all were loaded."""

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence

import pytest
from fastapi import APIRouter
from fastapi.routing import iter_route_contexts
from starlette.routing import BaseRoute, Match, Route

from reedbed.api.routes import ROUTERS as PROGRAMS
from reedbed.http.errors import PROGRAM_PATHS
from reedbed.http.routing import RouterName, path_start
from reedbed.roles.app import Application, create_app
from reedbed.services.runtime import Runtime
from reedbed.web.routes import ROUTERS as PAGES
from tests.clients import Client, SignIn, new_client


@pytest.fixture
def app(runtime: Runtime) -> Application:
    return create_app(runtime)


@pytest.mark.parametrize("name", [*PAGES, *PROGRAMS], ids=lambda name: name.module)
def test_the_table_names_where_the_paths_of_a_router_start(name: RouterName) -> None:
    assert sorted(name.starts) == sorted({path_start(path) for path in _paths(name.load())})


def test_pages_and_programs_share_no_path() -> None:
    assert all(path.startswith(PROGRAM_PATHS) for name in PROGRAMS for path in _paths(name.load()))
    assert not any(path.startswith(PROGRAM_PATHS) for name in PAGES for path in _paths(name.load()))


async def test_only_what_a_path_needs_is_included(app: Application, client: Client) -> None:
    async with new_client(app) as stranger:
        assert (await stranger.get("/api/v1/users/me")).status_code == 401
        assert "page_routes" not in vars(app)
        assert len(app.programs.routes) < len(PROGRAMS) / 4
        assert (await stranger.get("/login")).status_code in (200, 303)
        assert len(app.pages.routes) < len(PAGES) / 4
    await app.load()
    assert len(app.programs.routes) == len(PROGRAMS)
    assert len(app.pages.routes) == len(PAGES)


async def test_routes_are_tried_in_the_order_of_the_table(app: Application) -> None:
    """Whatever was requested before: here the last first."""
    for name in reversed(PROGRAMS):
        await app.program_routes.candidates("/" + name.starts[0])
    routes = app.programs.router.routes
    for context in iter_route_contexts(routes):
        path = re.sub(r"\{[^}]+\}", "1", context.path or "")
        for method in context.methods or ():
            candidates = await app.program_routes.candidates(path)
            found = _first(routes, path, method)
            assert found is not None
            assert _first(candidates, path, method) is found, (method, path)
            assert len(candidates) < len(routes) / 4


async def test_errors_are_the_same_whatever_is_loaded(app: Application) -> None:
    async with new_client(app) as stranger:
        assert (await stranger.get("/api/v1/nothing")).status_code == 404
        assert (await stranger.get("/api/v1/entries/1/nothing")).status_code == 404
        assert (await stranger.get("/nothing")).status_code == 404
        wrong = await stranger.put("/api/v1/counts")
        assert wrong.status_code == 405
        assert "GET" in wrong.headers["Allow"]


async def test_a_form_leads_back_to_a_page_that_is_not_loaded_yet(app: Application, signed_in: SignIn) -> None:
    await signed_in("owner@example.org")  # without an account every way leads to the setup
    async with new_client(create_app(app.state.runtime)) as stranger:
        answer = await stranger.post("/opml")
        assert "next=%2Fadd" in answer.headers["Location"]


def test_a_start_imports_no_page_and_no_api() -> None:
    code = (
        "import sys, reedbed.roles.run, reedbed.roles.app\n"
        "loaded = [name for name in sys.modules if name.startswith(('reedbed.web', 'reedbed.api'))]\n"
        "assert not loaded, loaded\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def _first(routes: Sequence[BaseRoute], path: str, method: str) -> BaseRoute | None:
    scope = {"type": "http", "path": path, "method": method, "headers": [], "root_path": ""}
    return next((route for route in routes if route.matches(scope)[0] is Match.FULL), None)


def _paths(router: APIRouter) -> Iterator[str]:
    for route in router.routes:
        if isinstance(route, Route):
            yield route.path
        elif (included := getattr(route, "original_router", None)) is not None:
            yield from _paths(included)
