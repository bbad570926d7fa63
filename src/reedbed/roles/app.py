"""The HTTP application: the web pages and the API on one runtime, behind the same middleware.

They are two FastAPI applications, each made at its first request. Their routers are imported when a path needs
them (`http/routing.py`), so that the first answer after a start does not wait for hundreds of routes, and a
process for one person keeps only what that person uses. `load` imports everything.
"""

import warnings
from functools import cached_property
from typing import Any, cast

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig
from pydantic.warnings import UnsupportedFieldAttributeWarning
from starlette.datastructures import State
from starlette.types import ASGIApp, Receive, Scope, Send

from reedbed import __version__
from reedbed.http.auth import ProxyHeadersMiddleware
from reedbed.http.errors import PROGRAM_PATHS, ErrorPage, register_error_handlers
from reedbed.http.middleware import (
    BodyLimitMiddleware,
    CompressionMiddleware,
    CorsMiddleware,
    HeadMiddleware,
    HostHeaderMiddleware,
    MetricsMiddleware,
    SecurityHeadersMiddleware,
    Tracing,
)
from reedbed.http.params import FormCharsetMiddleware
from reedbed.http.routing import LazyRoutes
from reedbed.roles.build import load_in_thread
from reedbed.services.runtime import NO_TRACER, Runtime

# FastAPI silences this warning around its own calls, which fails if two threads build routes at once.
warnings.filterwarnings("ignore", category=UnsupportedFieldAttributeWarning)

# FastAPI's own telemetry would send full URLs and messages to the endpoint named in the environment.
UNSEEN: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}


class Application:
    def __init__(self, runtime: Runtime) -> None:
        self.state = State({"runtime": runtime, "include_programs": self._include_programs})
        self._with_middleware = _with_middleware(self._dispatch, runtime)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._with_middleware(scope, receive, send)

    @cached_property
    def page_routes(self) -> LazyRoutes:
        from reedbed.web.errors import error_page
        from reedbed.web.routes import ROUTERS

        app = self._new_app()
        _handle_errors(app, error_page)
        return LazyRoutes(app, ROUTERS, load_in_thread)

    @cached_property
    def program_routes(self) -> LazyRoutes:
        from reedbed.api.routes import ROUTERS

        app = self._new_app()
        _handle_errors(app, None)
        return LazyRoutes(app, ROUTERS, load_in_thread)

    @property
    def pages(self) -> FastAPI:
        return self.page_routes.app

    @property
    def programs(self) -> FastAPI:
        return self.program_routes.app

    def openapi(self) -> dict[str, Any]:
        from reedbed.api.openapi import describe

        self.program_routes.include_all_now()
        return describe(self.programs)

    def _new_app(self) -> FastAPI:
        app = FastAPI(
            title="Reedbed",
            version=__version__,
            openapi_url=None,
            docs_url=None,
            redoc_url=None,
            redirect_slashes=False,
            telemetry=UNSEEN,
        )
        app.state = self.state
        return app

    async def load(self) -> None:
        for name in ("page_routes", "program_routes"):
            await (await self._get_routes(name)).include_all()

    async def _include_programs(self) -> None:
        await self.program_routes.include_all()

    async def _dispatch(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = "program_routes" if scope["path"].startswith(PROGRAM_PATHS) else "page_routes"
        await (await self._get_routes(name)).app(scope, receive, send)

    async def _get_routes(self, name: str) -> LazyRoutes:
        if name in self.__dict__:
            return self.__dict__[name]
        return await load_in_thread(lambda: cast(LazyRoutes, getattr(self, name)))


def create_app(runtime: Runtime) -> Application:
    return Application(runtime)


def _handle_errors(app: FastAPI, error_page: ErrorPage | None) -> None:
    register_error_handlers(app, error_page)
    app.add_middleware(FormCharsetMiddleware)
    app.add_middleware(BodyLimitMiddleware, error_page=error_page)


def _with_middleware(app: ASGIApp, runtime: Runtime) -> ASGIApp:
    """Wrap the app, from the innermost middleware to the outermost."""
    if runtime.tracer is not NO_TRACER:
        app = Tracing(app, runtime.tracer)
    app = HeadMiddleware(CompressionMiddleware(MetricsMiddleware(app, runtime.metrics)))
    app = CorsMiddleware(app, origins=runtime.http.cors_origins)
    app = SecurityHeadersMiddleware(HostHeaderMiddleware(app), https=runtime.accounts.base_url.startswith("https://"))
    return ProxyHeadersMiddleware(app, trusted=runtime.http.trusted_proxies, login=runtime.http.proxy_login)
