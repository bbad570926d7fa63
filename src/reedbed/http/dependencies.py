"""Where this server is, for whoever asks: addresses in an answer have to work where it arrives."""

from ipaddress import ip_address
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request

from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime, MaybeCaller
from reedbed.services.runtime import Runtime
from reedbed.services.security import spend

MANY_REQUESTS = "Too many requests. Wait a moment and go on."
MANY_SEARCHES = "Too many searches at once. Wait a moment and search again."
MANY_REFRESHES = "You asked for many refreshes at once. Wait a little; feeds are also checked by themselves."


async def spend_request(runtime: Runtime, caller: Caller) -> None:
    await spend(runtime, f"requests:{caller.user_id}", runtime.limits.requests, MANY_REQUESTS)


async def spend_search(runtime: Runtime, caller: Caller) -> None:
    await spend(runtime, f"search:{caller.user_id}", runtime.limits.search, MANY_SEARCHES)


async def spend_refresh(runtime: Runtime, caller: Caller) -> None:
    await spend(runtime, f"refresh:{caller.user_id}", runtime.limits.refresh, MANY_REFRESHES)


async def _request(runtime: CurrentRuntime, caller: MaybeCaller) -> None:
    if caller is not None:
        await spend_request(runtime, caller)


async def _search(runtime: CurrentRuntime, caller: CurrentCaller) -> None:
    await spend_search(runtime, caller)


async def _refresh(runtime: CurrentRuntime, caller: CurrentCaller) -> None:
    await spend_refresh(runtime, caller)


count_request = Depends(_request)
"""On every router of the API."""

SearchLimit = Annotated[None, Depends(_search)]
RefreshLimit = Annotated[None, Depends(_refresh)]


def place_of(request: Request, runtime: Runtime) -> str:
    """As the caller came here; the configured address knows better whether that was by https."""
    configured = runtime.accounts.base_url.rstrip("/")
    if urlsplit(configured).netloc == request.url.netloc:
        return configured
    return f"{request.url.scheme}://{request.url.netloc}"


def place_to_tell(request: Request, runtime: Runtime) -> str:
    """The configured address, unless it only means this machine: people type it into another."""
    configured = runtime.accounts.base_url.rstrip("/")
    return place_of(request, runtime) if _is_here_only(urlsplit(configured).hostname or "") else configured


def _is_here_only(host: str) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost"
    return address.is_loopback or address.is_unspecified
