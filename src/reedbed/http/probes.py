"""Endpoints for monitoring: liveness, readiness and metrics. A worker serves only these."""

import hmac
from ipaddress import ip_address

from fastapi import APIRouter, FastAPI, Request, Response

from reedbed.domain.errors import Forbidden, Unavailable
from reedbed.http.auth import CurrentRuntime, client_ip
from reedbed.http.errors import register_error_handlers
from reedbed.http.responses import json_response
from reedbed.services.instance import metrics_text
from reedbed.services.runtime import Runtime
from reedbed.store import instance

router = APIRouter(tags=["health"])

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
PROXIED = ("forwarded", "x-forwarded-for", "x-real-ip", "via")


@router.get("/healthz", summary="The process is alive")
async def healthz() -> Response:
    return json_response({"status": "ok"})


@router.get("/readyz", summary="The process can serve: its database answers, and it is not stopping")
async def readyz(runtime: CurrentRuntime) -> Response:
    if runtime.health.stopping:
        raise Unavailable("The process is stopping.")
    async with runtime.db.read() as tx:
        if not await instance.answers_to_ping(tx):
            raise Unavailable("The database does not answer.")
    return json_response({"status": "ok", "db": "ok"})


@router.get("/metrics", include_in_schema=False)
async def metrics(request: Request, runtime: CurrentRuntime) -> Response:
    if not (_has_token(request, runtime.http.metrics_token) or _is_local(request)):
        raise Forbidden("Metrics are for this machine, or for a caller with REEDBED_METRICS_TOKEN.")
    return Response(await metrics_text(runtime), media_type=PROMETHEUS, headers={"Cache-Control": "no-store"})


def create_probe_app(runtime: Runtime) -> FastAPI:
    app = FastAPI(openapi_url=None)
    app.state.runtime = runtime
    app.include_router(router)
    register_error_handlers(app)
    return app


def _has_token(request: Request, token: str) -> bool:
    scheme, _, sent_token = request.headers.get("authorization", "").partition(" ")
    return bool(token) and scheme.lower() == "bearer" and hmac.compare_digest(sent_token.encode(), token.encode())


def _is_local(request: Request) -> bool:
    """A request through a proxy on this machine is not local: the proxy forwards other people's requests."""
    ip = client_ip(request)
    if ip is None or any(name in request.headers for name in PROXIED):
        return False
    try:
        return ip_address(ip).is_loopback
    except ValueError:
        return False
