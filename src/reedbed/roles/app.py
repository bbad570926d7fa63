"""The HTTP application: the page and the API on one runtime."""

from fastapi import FastAPI

from reedbed import __version__
from reedbed.api import register as register_api
from reedbed.http.client_ip import TrustedProxies
from reedbed.http.cors import Cors
from reedbed.http.guards import BodyLimit, HeadAsGet, SecurityHeaders
from reedbed.http.handlers import register_error_handlers
from reedbed.services.runtime import Runtime
from reedbed.web import register as register_web
from reedbed.web.errors import error_page


def create_app(runtime: Runtime) -> FastAPI:
    app = FastAPI(
        title="Reedbed",
        version=__version__,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.runtime = runtime
    register_api(app)
    register_web(app)
    register_error_handlers(app, error_page)
    # The last one added is the outermost.
    app.add_middleware(HeadAsGet)
    app.add_middleware(BodyLimit, error_page=error_page)
    app.add_middleware(Cors, origins=runtime.doors.cors_origins)
    app.add_middleware(SecurityHeaders, https=runtime.accounts.base_url.startswith("https://"))
    app.add_middleware(TrustedProxies, trusted=runtime.doors.trusted_proxies)
    return app
