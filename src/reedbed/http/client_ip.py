"""Who is at the other end: `X-Forwarded-*` counts only when a proxy we trust says it."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

Network = IPv4Network | IPv6Network
MOST_HOPS = 50


def client_ip(request: Request) -> str | None:
    """The caller's address; proxies are already looked through."""
    return request.client.host if request.client else None


class TrustedProxies:
    """Puts the true client and scheme into the scope, so that nothing behind it needs to know of proxies."""

    def __init__(self, app: ASGIApp, *, trusted: Sequence[Network]) -> None:
        self._app = app
        self._trusted = tuple(trusted)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._trusted and scope["type"] == "http":
            self._look_through(scope)
        await self._app(scope, receive, send)

    def _look_through(self, scope: Scope) -> None:
        peer = scope.get("client")
        if peer is None or not _is_trusted(_address(peer[0]), self._trusted):
            return
        hops = [*_header(scope, b"x-forwarded-for").split(",")[-MOST_HOPS:], peer[0]]
        scope["client"] = (rightmost_untrusted(hops, self._trusted), peer[1])
        # A chain of proxies appends: the last word is that of the proxy we know.
        proto = _header(scope, b"x-forwarded-proto").split(",")[-1].strip().lower()
        if proto in ("http", "https"):
            scope["scheme"] = proto


def rightmost_untrusted(hops: Sequence[str], trusted: Sequence[Network]) -> str:
    """Each proxy appends whom it heard; what stands left of the first stranger anybody can write."""
    last_known = hops[-1].strip()
    for hop in reversed(hops):
        address = _address(hop)
        if address is None:
            break
        last_known = str(address)
        if not _is_trusted(address, trusted):
            break
    return last_known


def _is_trusted(address: IPv4Address | IPv6Address | None, trusted: Sequence[Network]) -> bool:
    return address is not None and any(address in network for network in trusted)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """`1.2.3.4`, `1.2.3.4:5678`, `[::1]:5678`, `::ffff:1.2.3.4`."""
    plain = text.strip()
    if plain.startswith("["):
        plain = plain[1:].partition("]")[0]
    elif plain.count(":") == 1:
        plain = plain.partition(":")[0]
    try:
        address = ip_address(plain)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _header(scope: Scope, name: bytes) -> str:
    """Several lines of one header are one list."""
    return ",".join(value.decode("latin-1") for key, value in scope["headers"] if key == name)
