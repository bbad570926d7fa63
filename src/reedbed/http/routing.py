"""Routers that are imported when one of their paths is first requested, and found by the start of the path.

Hundreds of routes take a second to import and 20 MB to keep, and a process uses few of them. Each router is
named in a table with the starts of its paths. `LazyRoutes` imports the routers of a path's start together,
in the order of the table, so routes are tried in the same order whatever was requested before.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from reedbed.domain.records import record

UNKNOWN = "unknown"
"""Metrics label for paths without a route: labels must never come from callers."""

Importer = Callable[[Callable[[], list[APIRouter]]], Awaitable[list[APIRouter]]]
"""Runs the import of modules where it does not block the event loop."""


@record
class RouterName:
    module: str
    """Module and attribute: `reedbed.web.rules:router`."""
    starts: tuple[str, ...]
    """The `path_start` of all its paths."""
    dependencies: tuple[Any, ...] = ()

    def load(self) -> APIRouter:
        module, _, name = self.module.partition(":")
        return getattr(import_module(module), name)


class LazyRoutes:
    """Runs before the router of an application: imports what a path needs and tries only that.

    Paths without a match are passed on to the router, which creates the error response.
    """

    def __init__(self, app: FastAPI, names: Sequence[RouterName], run_import: Importer) -> None:
        self.app = app
        self._router = app.router
        self._names = names
        self._run_import = run_import
        self._positions: dict[int, int] = {}
        """Position of each included route in the table, by the identity of the route."""
        self._by_start: dict[str, list[BaseRoute]] = {}
        self._included: dict[int, BaseRoute] = {}
        self._lock = asyncio.Lock()
        app.router.middleware_stack = self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            for route in await self.candidates(scope["path"]):
                match, child = route.matches(scope)
                if match is Match.FULL:
                    scope.update({"router": self._router, **child})
                    await route.handle(scope, receive, send)
                    return
        await self._router.app(scope, receive, send)

    async def candidates(self, path: str) -> list[BaseRoute]:
        """The routes that may match the path, in the order of the table."""
        start = path_start(path)
        if start not in self._by_start:
            wanted = [position for position, name in enumerate(self._names) if start in name.starts]
            if not wanted:  # not kept: paths come from callers
                return []
            await self._include(wanted)
            self._by_start[start] = [self._included[position] for position in wanted]
        return self._by_start[start]

    async def include_all(self) -> None:
        await self._include(range(len(self._names)))

    def include_all_now(self) -> None:
        """Like `include_all`, for callers outside the event loop."""
        missing = [position for position in range(len(self._names)) if position not in self._included]
        self._add(missing, [self._names[position].load() for position in missing])

    async def _include(self, positions: Sequence[int]) -> None:
        async with self._lock:
            missing = [position for position in positions if position not in self._included]
            if missing:
                names = [self._names[position] for position in missing]
                self._add(missing, await self._run_import(lambda: [name.load() for name in names]))

    def _add(self, positions: Sequence[int], routers: Sequence[APIRouter]) -> None:
        routes = self._router.routes
        for position, router in zip(positions, routers, strict=True):
            self.app.include_router(router, dependencies=self._names[position].dependencies)
            self._included[position] = routes[-1]
            self._positions[id(routes[-1])] = position
        routes.sort(key=lambda route: self._positions.get(id(route), -1))


def path_start(path: str) -> str:
    """The segments by which routers are found: `entry` of `/entry/7`, `api/v1/entries` of `/api/v1/entries/7`."""
    first, _, rest = path[1:].partition("/")
    if first != "api":
        return first
    second, _, rest = rest.partition("/")
    return f"api/v1/{rest.partition('/')[0]}" if second == "v1" else f"api/{second}"


def route_of(scope: Scope) -> str:
    return getattr(scope.get("route"), "path", UNKNOWN)
