"""Spending from an allowance, or being told to wait."""

import math
from ipaddress import ip_network

from reedbed.domain.errors import TooMany
from reedbed.domain.limits import Allowance
from reedbed.services.runtime import Runtime

SLOW_DOWN = "Too many attempts. Wait a little and try again."


async def spend(runtime: Runtime, key: str, allowance: Allowance, message: str = SLOW_DOWN) -> None:
    wait = await runtime.limiter.wait_for(key, allowance)
    if wait > 0:
        raise TooMany(message, math.ceil(wait))


async def spend_attempt(runtime: Runtime, door: str, ip: str | None) -> None:
    """One knock at a door that opens by a secret."""
    await spend(runtime, f"{door}:{network_of(ip)}", runtime.limits.login)


def network_of(ip: str | None) -> str:
    """Whoever has one IPv6 address has its whole /64."""
    if ip is None:
        return "unknown"
    if ":" not in ip:
        return ip
    return str(ip_network(f"{ip.partition('%')[0]}/64", strict=False))
