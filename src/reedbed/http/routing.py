"""Finds the door of a request among hundreds by its first segments instead of trying one after the other."""

from collections.abc import Sequence

from fastapi.routing import APIRouter
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

DEPTH = 3
"""Segments of an address that say which noun it is about: `/api/v1/entries`."""

UNKNOWN = "unknown"
"""The path of an address that no route takes: labels come from the program, never from callers."""

Head = tuple[str, ...]


class RouteIndex:
    """In front of a router: what can take an address is tried in the router's own order, the rest is not.
    What nobody takes is left to the router, which knows how to say so."""

    def __init__(self, router: APIRouter) -> None:
        self._router = router
        heads = [_heads(route) for route in router.routes]
        self._anywhere = _reachable(router.routes, heads, ())
        self._doors = {
            head: _reachable(router.routes, heads, head) for known in heads for head in known or ()
        }

    def tried(self, path: str) -> list[BaseRoute]:
        return self._doors.get(_head(path), self._anywhere)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            for route in self.tried(scope["path"]):
                match, child = route.matches(scope)
                if match is Match.FULL:
                    scope.update({"router": self._router, **child})
                    await route.handle(scope, receive, send)
                    return
        await self._router.app(scope, receive, send)


def install_route_index(router: APIRouter) -> None:
    """To be called when all doors are in."""
    router.middleware_stack = RouteIndex(router)


def _reachable(
    routes: Sequence[BaseRoute], heads: Sequence[frozenset[Head] | None], head: Head
) -> list[BaseRoute]:
    return [route for route, known in zip(routes, heads, strict=True) if known is None or head in known]


def _heads(route: BaseRoute) -> frozenset[Head] | None:
    """How the addresses of its doors begin; None when that is not known to the depth we look."""
    # Not by FastAPI's own walk through what was included: that would put every door together at the start.
    included: APIRouter | None = getattr(route, "original_router", None)
    doors = [route] if included is None else included.routes
    heads = {_head(getattr(door, "path", "")) for door in doors}
    unknown = not heads or any(len(head) < DEPTH or "{" in "".join(head) for head in heads)
    return None if unknown else frozenset(heads)


def _head(path: str) -> Head:
    return tuple(path.split("/", DEPTH + 1)[1 : DEPTH + 1])


def route_of(scope: Scope) -> str:
    return getattr(scope.get("route"), "path", UNKNOWN)
