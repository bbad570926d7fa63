"""FastAPI dependencies: rate limits per user, and the base URL of this server."""

from ipaddress import ip_address
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request

from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime, MaybeCaller
from reedbed.services.runtime import Runtime
from reedbed.services.security import spend

MANY_REQUESTS = "Too many requests. Wait a moment and try again."
MANY_SEARCHES = "Too many searches at once. Wait a moment and search again."
MANY_REFRESHES = "You asked for many refreshes at once. Wait a little; feeds are also checked by themselves."


async def spend_request(runtime: Runtime, caller: Caller) -> None:
    await spend(runtime, f"requests:{caller.user_id}", runtime.limits.requests, MANY_REQUESTS)


async def spend_search(runtime: Runtime, caller: Caller) -> None:
    await spend(runtime, f"search:{caller.user_id}", runtime.limits.search, MANY_SEARCHES)


async def spend_refresh(runtime: Runtime, caller: Caller) -> None:
    await spend(runtime, f"refresh:{caller.user_id}", runtime.limits.refresh, MANY_REFRESHES)


async def _limit_requests(runtime: CurrentRuntime, caller: MaybeCaller) -> None:
    if caller is not None:
        await spend_request(runtime, caller)


async def _limit_searches(runtime: CurrentRuntime, caller: CurrentCaller) -> None:
    await spend_search(runtime, caller)


async def _limit_refreshes(runtime: CurrentRuntime, caller: CurrentCaller) -> None:
    await spend_refresh(runtime, caller)


count_request = Depends(_limit_requests)
"""Dependency of every API router."""

SearchLimit = Annotated[None, Depends(_limit_searches)]
RefreshLimit = Annotated[None, Depends(_limit_refreshes)]


def place_of(request: Request, runtime: Runtime) -> str:
    """Return the base URL the caller used. If the host is the configured one, trust the configured scheme."""
    configured = runtime.accounts.base_url.rstrip("/")
    if urlsplit(configured).netloc == request.url.netloc:
        return configured
    return f"{request.url.scheme}://{request.url.netloc}"


def public_base_url(request: Request, runtime: Runtime) -> str:
    """Return the configured base URL, unless it is a loopback address that only works on this machine."""
    configured = runtime.accounts.base_url.rstrip("/")
    return place_of(request, runtime) if _is_loopback(urlsplit(configured).hostname or "") else configured


def _is_loopback(host: str) -> bool:
    try:
        ip = ip_address(host)
    except ValueError:
        return host == "localhost"
    return ip.is_loopback or ip.is_unspecified
