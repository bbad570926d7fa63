"""Decide which IP addresses and ports outgoing requests may connect to (SSRF protection)."""

import errno
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from reedbed.domain.failures import Failure, FailureCode

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_LOOPBACK = ip_address("127.0.0.1")

_BLOCKED_V4: tuple[tuple[IPv4Network, str], ...] = tuple(
    (IPv4Network(network), label)
    for network, label in (
        ("0.0.0.0/8", "this network"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared by a carrier"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "a cloud's own service"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "documentation"),
        ("192.31.196.0/24", "reserved"),
        ("192.52.193.0/24", "reserved"),
        ("192.88.99.0/24", "a 6to4 relay"),
        ("192.168.0.0/16", "private"),
        ("192.175.48.0/24", "reserved"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)

# Only 2000::/3 is allocated for public use: everything else is rejected, listed here or not.
_PUBLIC_V6 = IPv6Network("2000::/3")
_BLOCKED_V6: tuple[tuple[IPv6Network, str], ...] = tuple(
    (IPv6Network(network), label)
    for network, label in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("::ffff:0:0/96", "IPv4 in disguise"),
        ("::/96", "IPv4 in disguise"),
        ("64:ff9b::/96", "NAT64"),
        ("64:ff9b:1::/48", "NAT64"),
        ("100::/64", "reserved"),
        ("2001::/32", "Teredo"),
        ("2001::/23", "reserved"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "6to4"),
        ("3fff::/20", "documentation"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
    )
)

_ALLOWED_LOW_PORTS = frozenset({80, 443})
_FIRST_HIGH_PORT = 1024
# Services that may execute an HTTP request as commands, or that must not be reachable from outside.
_BLOCKED_HIGH_PORTS = frozenset(
    {1433, 1521, 1719, 1720, 1723, 1883, 2049, 2181, 2375, 2376, 2379, 2380, 3306, 3389, 3659, 4045, 4190}
    | {5060, 5061, 5432, 5671, 5672, 5900, 5984, 6000, 6379, 6380, 6432, 6443, 6566, *range(6665, 6670)}
    | {6679, 6697, 8883, 9042, 9092, 9100, 9200, 9300, 10080, 10250, 11211, 26379, 27017, 50000}
)


class AddressRejected(OSError):
    """The guard rejected an address. An OSError, so that aiohttp treats it as a failed connection."""

    def __init__(self, reason: Failure) -> None:
        super().__init__(errno.EACCES, reason.message)
        self.reason = reason


class Guard:
    """Check addresses before connecting; `allow_networks` are the operator's exceptions."""

    def __init__(self, allow_networks: Sequence[Network] = ()) -> None:
        self._allowed = tuple(allow_networks)

    def rejection_reason(self, ip: Address, port: int | None = None) -> Failure | None:
        """Why this address is rejected; None if it is allowed."""
        if self._is_allowed(ip):
            return None
        if (label := _blocked_label(ip)) is not None:
            return Failure(FailureCode.PRIVATE_NETWORK, {"network": label})
        if port is not None and not _is_allowed_port(port):
            return Failure(FailureCode.PORT_BLOCKED, {"port": port})
        return None

    def host_rejection(self, host: str, port: int | None = None) -> Failure | None:
        """The same for the host of a URL; a name that must be resolved passes here."""
        ip = literal_ip(host)
        return None if ip is None else self.rejection_reason(ip, port)

    def check(self, host: str, port: int) -> None:
        """Raise `AddressRejected` unless this numeric address is allowed."""
        try:
            ip = ip_address(host)
        except ValueError:
            raise AddressRejected(Failure(FailureCode.ADDRESS_UNREADABLE)) from None
        if (reason := self.rejection_reason(ip, port)) is not None:
            raise AddressRejected(reason)

    def _is_allowed(self, ip: Address) -> bool:
        plain = ip.ipv4_mapped or ip if isinstance(ip, IPv6Address) else ip
        return any(plain.version == network.version and plain in network for network in self._allowed)


def _blocked_label(ip: Address) -> str | None:
    if isinstance(ip, IPv4Address):
        return next((label for network, label in _BLOCKED_V4 if ip in network), None)
    if (label := next((label for network, label in _BLOCKED_V6 if ip in network), None)) is not None:
        return label
    return None if ip in _PUBLIC_V6 else "reserved"


def _is_allowed_port(port: int) -> bool:
    if port < _FIRST_HIGH_PORT:
        return port in _ALLOWED_LOW_PORTS
    return port not in _BLOCKED_HIGH_PORTS


def literal_ip(host: str) -> Address | None:
    """The IP address that a host in a URL stands for; None for a name that must be resolved."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith((".localhost", ".localdomain")):
        return _LOOPBACK
    if not name[-1:].isdigit() and ":" not in name:
        return None
    try:
        return ip_address(name)
    except ValueError:
        return None
