"""The HTTP application: the web pages and the API on one runtime, behind the same middleware.

They are two FastAPI applications, each built at its first request, so that the pages do not wait for the API
after a start, nor the API for the pages. Health probes and the login page are needed first: they are served
by a small part of each that is built sooner. `load` builds what is still missing.
"""

import warnings
from functools import cached_property
from typing import Any, cast

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig
from pydantic.warnings import UnsupportedFieldAttributeWarning
from starlette.datastructures import State
from starlette.routing import Match
from starlette.types import ASGIApp, Receive, Scope, Send

from reedbed import __version__
from reedbed.http import probes
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
from reedbed.http.uploads import FormCharsetMiddleware
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
        self.state = State({"runtime": runtime})
        self._with_middleware = _with_middleware(self._dispatch, runtime)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._with_middleware(scope, receive, send)

    @cached_property
    def pages(self) -> FastAPI:
        from reedbed.web.errors import error_page
        from reedbed.web.routes import register

        app = self._new_app()
        register(app)
        _handle_errors(app, error_page)
        return app

    @cached_property
    def first_pages(self) -> FastAPI:
        from reedbed.web import assets, auth
        from reedbed.web.errors import error_page

        app = self._new_app()
        app.include_router(assets.router)
        app.include_router(auth.router)
        _handle_errors(app, error_page)
        return app

    @cached_property
    def first_programs(self) -> FastAPI:
        app = self._new_app()
        app.include_router(probes.router)
        _handle_errors(app, None)
        return app

    @cached_property
    def programs(self) -> FastAPI:
        from reedbed.api.routes import register

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
        register(app)
        _handle_errors(app, None)
        return app

    def openapi(self) -> dict[str, Any]:
        return self.programs.openapi()

    def _new_app(self) -> FastAPI:
        app = FastAPI(openapi_url=None, redirect_slashes=False, telemetry=UNSEEN)
        app.state = self.state
        return app

    async def load(self) -> None:
        for name in ("pages", "programs"):
            await self._get_part(name)

    async def _dispatch(self, scope: Scope, receive: Receive, send: Send) -> None:
        half = "programs" if scope["path"].startswith(PROGRAM_PATHS) else "pages"
        part = await self._small_part(f"first_{half}", scope) if half not in self.__dict__ else None
        await (part or await self._get_part(half))(scope, receive, send)

    async def _small_part(self, name: str, scope: Scope) -> FastAPI | None:
        """The small part, if it has a route for this request."""
        part = await self._get_part(name)
        return part if any(route.matches(scope)[0] == Match.FULL for route in part.routes) else None

    async def _get_part(self, name: str) -> FastAPI:
        if name in self.__dict__:
            return self.__dict__[name]
        return await load_in_thread(lambda: cast(FastAPI, getattr(self, name)))


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
    app = HeadMiddleware(CompressionMiddleware(MetricsMiddleware(app, runtime.meters)))
    app = CorsMiddleware(app, origins=runtime.doors.cors_origins)
    app = SecurityHeadersMiddleware(
        HostHeaderMiddleware(app), https=runtime.accounts.base_url.startswith("https://")
    )
    return ProxyHeadersMiddleware(app, trusted=runtime.doors.trusted_proxies)
