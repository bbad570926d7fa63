"""Route lookup by the first path segments, instead of trying hundreds of routes one after the other."""

from collections.abc import Sequence

from fastapi.routing import APIRouter
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

DEPTH = 3
"""Number of leading path segments in the index, as in `/api/v1/entries`."""

UNKNOWN = "unknown"
"""Metrics label for paths without a route: labels must never come from callers."""

Head = tuple[str, ...]


class RouteIndex:
    """Runs before a router: tries only the routes that can match a path, in the router's own order.

    Paths without a match are passed on to the router, which creates the error response.
    """

    def __init__(self, router: APIRouter) -> None:
        self._router = router
        heads = [_heads(route) for route in router.routes]
        self._always = _candidates(router.routes, heads, ())
        self._by_head = {
            head: _candidates(router.routes, heads, head)
            for route_heads in heads
            for head in route_heads or ()
        }

    def tried(self, path: str) -> list[BaseRoute]:
        return self._by_head.get(_head(path), self._always)

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
    """Call it after all routes were added."""
    router.middleware_stack = RouteIndex(router)


def _candidates(
    routes: Sequence[BaseRoute], heads: Sequence[frozenset[Head] | None], head: Head
) -> list[BaseRoute]:
    return [
        route
        for route, route_heads in zip(routes, heads, strict=True)
        if route_heads is None or head in route_heads
    ]


def _heads(route: BaseRoute) -> frozenset[Head] | None:
    """Return the first segments of its paths; None if they are not fixed up to `DEPTH`."""
    # FastAPI's own walk through included routers would build every endpoint at startup, so it is not used.
    included: APIRouter | None = getattr(route, "original_router", None)
    routes = [route] if included is None else included.routes
    heads = {_head(getattr(inner, "path", "")) for inner in routes}
    is_open = not heads or any(len(head) < DEPTH or "{" in "".join(head) for head in heads)
    return None if is_open else frozenset(heads)


def _head(path: str) -> Head:
    return tuple(path.split("/", DEPTH + 1)[1 : DEPTH + 1])


def route_of(scope: Scope) -> str:
    return getattr(scope.get("route"), "path", UNKNOWN)
