"""Who sent a newsletter: one key for all the ways a sender writes the same address."""

import re

from reedbed.domain.emails import known_as

# Many lists put a mark of their own for each mail or reader behind a plus or an equals sign.
_MACHINE_MADE = re.compile(r"(?=[^\d]*\d)[a-z0-9._=-]{8,}\Z")
_PREFIX = "mailto:"


def sender_key(address: str) -> str:
    """Lower case, the domain in punycode, without machine-made marks; empty for what is no address.

    A tag that a person chose stays: `author+sports@example.org` is another letter than `author@example.org`.
    """
    key = known_as(address)
    local, at, domain = key.rpartition("@")
    name, plus, tag = local.partition("+")
    if plus and name and ("=" in tag or _MACHINE_MADE.match(tag)):
        return f"{name}{at}{domain}"
    return key


def feed_url(key: str) -> str:
    """The address of a sender's feed; no crawler can follow it."""
    return f"{_PREFIX}{key}"
