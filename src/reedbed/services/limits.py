"""Spending from an allowance, or being told to wait."""

import math
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from reedbed.domain.errors import TooMany
from reedbed.domain.limits import Allowance
from reedbed.services.runtime import Runtime

SLOW_DOWN = "Too many attempts. Wait a little and try again."

PER_ACCOUNT = Allowance(30, 0.1)
FRESH_ADDRESS = Allowance(5, 6 / 3600)
FRESH_ADDRESSES = Allowance(100, 120 / 3600)
PER_DEVICE = Allowance(10, 30 / 3600)
RIGHT_LOGINS = Allowance(30, 0.1)

Spent = tuple[tuple[str, Allowance], ...]
"""Keys of what was taken from."""


async def spend(runtime: Runtime, key: str, allowance: Allowance, message: str = SLOW_DOWN) -> None:
    wait = await runtime.limiter.wait_for(key, allowance)
    if wait > 0:
        raise TooMany(message, math.ceil(wait))


async def spend_attempt(runtime: Runtime, door: str, ip: str | None) -> None:
    """One knock at a door that opens by a secret."""
    await spend(runtime, f"{door}:{network_of(ip)}", runtime.limits.login)


async def spend_login(runtime: Runtime, account: str, ip: str | None, device: str | None) -> Spent:
    """One password tried at an account, or `TooMany`.

    Whoever guesses uses up the account's own allowance, so its owner must not depend on it. A known device
    has an allowance of its own, and so has each address that has not yet failed often at this account. What
    addresses can spend in this way is limited for the account as well: thousands of them, with a few tries
    each, get `FRESH_ADDRESSES` and `PER_ACCOUNT` together, which are 480 tries an hour after the first 130.
    """
    if device is not None:
        by_device = (f"login-device:{account}:{device}", PER_DEVICE)
        if not await runtime.limiter.wait_for(*by_device):
            return (by_device,)
    by_address = (f"login:{network_of(ip)}", runtime.limits.login)
    await spend(runtime, *by_address)
    # Providers hand out a /48 of IPv6 as easily as one address.
    share = (f"login-share:{account}:{network_of(ip, 48)}", FRESH_ADDRESS)
    if not await runtime.limiter.wait_for(*share):
        fresh = (f"login-fresh:{account}", FRESH_ADDRESSES)
        if not await runtime.limiter.wait_for(*fresh):
            return by_address, share, fresh
        await runtime.limiter.give_back(*share)
    by_account = (f"login-account:{account}", PER_ACCOUNT)
    await spend(runtime, *by_account)
    return by_address, by_account


async def give_back_login(runtime: Runtime, account: str, spent: Spent) -> None:
    """The password was right. Not without end: each log-in costs a hash and a row."""
    if not await runtime.limiter.wait_for(f"login-right:{account}", RIGHT_LOGINS):
        for key, allowance in spent:
            await runtime.limiter.give_back(key, allowance)


def network_of(ip: str | None, prefix: int = 64) -> str:
    """Whoever has one IPv6 address has its whole /64."""
    address = plain_address(ip)
    if isinstance(address, IPv6Address):
        return str(ip_network((address, prefix), strict=False))
    return str(address or ip or "unknown")


def plain_address(ip: str | None) -> IPv4Address | IPv6Address | None:
    """Without a zone. An IPv4 address that reached an IPv6 socket (`::ffff:192.0.2.1`) is an IPv4 address:
    else all of them would be in one /64."""
    try:
        address = ip_address((ip or "").partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
