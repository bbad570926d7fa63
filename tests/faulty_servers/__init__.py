"""A loopback server that does everything a server should not, one misbehaviour per path."""

from tests.faulty_servers import bodies, compression, headers, lengths, plain, protocol, redirects
from tests.faulty_servers.server import BEHAVIOURS, FEED, MisbehavingServer

__all__ = [
    "BEHAVIOURS",
    "FEED",
    "MisbehavingServer",
    "bodies",
    "compression",
    "headers",
    "lengths",
    "plain",
    "protocol",
    "redirects",
]
