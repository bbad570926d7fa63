"""WebSub: subscriptions at hubs that push new entries, their renewal and retries, and checking signatures."""

import hmac
from dataclasses import field
from hashlib import sha256
from ipaddress import ip_address
from typing import Literal
from urllib.parse import urlsplit

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.records import record
from reedbed.domain.times import DAY, HOUR, MINUTE, SECOND, Instant, Millis

State = Literal["new", "asked", "active", "denied", "failed", "leaving"]
Mode = Literal["subscribe", "unsubscribe"]

REQUESTED_LEASE: Millis = 10 * DAY
MIN_LEASE: Millis = MINUTE
MAX_LEASE: Millis = 30 * DAY
PATIENCE: Millis = 10 * MINUTE
"""How long a hub may take to verify a request."""
DENIED_FOR: Millis = 7 * DAY
MAX_UNSUBSCRIBE_ATTEMPTS = 3

_FIRST_RETRY: Millis = 5 * MINUTE
_LAST_RETRY: Millis = DAY
_METHODS = ("sha1", "sha256", "sha384", "sha512")
_LOCAL_NAMES = (".localhost", ".localdomain", ".local", ".lan", ".internal", ".home.arpa", ".test", ".invalid")


@record
class HubSubscription:
    """A feed's subscription at its hub; the fields are named like the columns."""

    id: int
    feed_id: int
    hub_url: str
    topic_url: str
    token: str = field(repr=False)
    secret: str = field(repr=False)
    state: State
    asked: Mode | None
    expires_at: Instant | None
    attempts: int
    body_hash: str | None

    def is_live(self, now: Instant) -> bool:
        return self.state == "active" and self.expires_at is not None and self.expires_at > now


@record
class HubStatus:
    """The status of a feed's hub, for display."""

    hub_url: str
    state: State
    live_since: Instant | None
    expires_at: Instant | None
    due_at: Instant | None
    last_error: Failure | None
    last_push_at: Instant | None
    pushes: int
    entries: int
    missed: int
    missed_in_row: int
    forged: int

    def is_live(self, now: Instant) -> bool:
        return self.state == "active" and self.expires_at is not None and self.expires_at > now

    def is_relied_on(self, now: Instant) -> bool:
        """Live, and no entry was missed since its last push."""
        return self.is_live(now) and self.missed_in_row == 0


def why_unreachable(base_url: str) -> Failure | None:
    """Why no hub on the internet can call this URL; None if it can."""
    host = (urlsplit(base_url).hostname or "").rstrip(".").lower()
    try:
        public = ip_address(host).is_global
    except ValueError:
        public = "." in host and not f".{host}".endswith(_LOCAL_NAMES)
    return None if public else Failure(FailureCode.HUB_CALLBACK_PRIVATE)


def place_of(hub_url: str, topic_url: str) -> str:
    return sha256(f"{hub_url}\0{topic_url}".encode()).hexdigest()


def lease_of(seconds: str | None) -> Millis:
    """The lease that the hub granted, within limits; old hubs omit it and grant what was requested."""
    if seconds is None or not seconds.isascii() or not seconds.isdigit() or len(seconds) > 12:
        return REQUESTED_LEASE
    return max(MIN_LEASE, min(int(seconds) * SECOND, MAX_LEASE))


def renew_at(now: Instant, lease: Millis) -> Instant:
    """A day before the lease ends, or in the last quarter of a short lease."""
    return now + lease - min(lease // 4, DAY)


def retry_at(now: Instant, attempts: int, expires_at: Instant | None = None) -> Instant:
    """The next try after a failure; during a lease at least hourly, and when it ends."""
    live = expires_at is not None and expires_at > now
    delay = min(_FIRST_RETRY * 2 ** min(max(attempts - 1, 0), 12), HOUR if live else _LAST_RETRY)
    return min(now + delay, expires_at) if live and expires_at is not None else now + delay


def is_signed(secret: str, body: bytes, header: str | None) -> bool:
    """Whether `X-Hub-Signature` is a valid signature of the body with the secret.

    False for an empty secret, which means that the stored one cannot be decrypted.
    """
    method, _, received = (header or "").partition("=")
    if not secret or method.strip().lower() not in _METHODS:
        return False
    expected = hmac.new(secret.encode(), body, method.strip().lower()).hexdigest()
    return hmac.compare_digest(expected.encode(), received.strip().lower().encode())
