"""Where this server is, for whoever asks: addresses in an answer have to work where it arrives."""

from ipaddress import ip_address
from urllib.parse import urlsplit

from fastapi import Request

from reedbed.services.runtime import Runtime


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
