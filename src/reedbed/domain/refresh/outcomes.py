"""Coming back to a server that did not take something: whether it is worth it, and when."""

from dataclasses import field

from reedbed.domain.records import record
from reedbed.domain.times import MINUTE, Instant, Millis


@record
class FetchRequest:
    url: str
    etag: str | None = None
    last_modified: str | None = None
    user_agent: str | None = None
    proxy: str | None = None
    username: str | None = None
    password: str | None = None
    accept: str | None = None
    token: tuple[str, str] | None = None
    """A header that opens the door, and what it says; only for the origin of the address."""
    max_bytes: int | None = None
    """After decompression; None takes the fetcher's own limit."""


@record
class CacheHeaders:
    """What the answer says about coming back, as it stands in the headers."""

    etag: str | None = None
    last_modified: str | None = None
    cache_control: str | None = None
    expires: Instant | None = None
    retry_after: Instant | None = None
    """The moment before which the server does not want us back."""


@record
class Redirected:
    """Where the request ended up. `permanent` when every hop was a 301 or 308."""

    url: str
    permanent: bool


@record
class Fetched:
    status: int
    url: str
    """The final address, after redirects."""
    body: bytes
    content_type: str | None
    """The whole header, charset included."""
    hints: CacheHeaders = field(default=CacheHeaders())
    redirected: Redirected | None = None
    links: tuple[tuple[str, str], ...] = ()
    """(rel, address) pairs of `Link` headers: hub and self for WebSub."""


@record
class NotModified:
    hints: CacheHeaders = field(default=CacheHeaders())
    redirected: Redirected | None = None
    status: int = 304


@record
class Gone:
    """410: the site says the address is gone for good."""

    message: str = "Feed no longer available"
    status: int = 410


@record
class Throttled:
    """429, or 503 with Retry-After."""

    status: int
    hints: CacheHeaders = field(default=CacheHeaders())
    message: str = "Rate limited"


@record
class Failed:
    kind: str
    """permanent_error, unauthorized or temporary_error."""
    message: str
    """Plain words for people: what happened."""
    status: int | None = None
    hints: CacheHeaders = field(default=CacheHeaders())


@record
class HttpResponse:
    """What a server said to what was sent to it."""

    status: int
    body: bytes = b""
    location: str | None = None
    """Where it sends us instead, whole."""


Outcome = Fetched | NotModified | Gone | Throttled | Failed


def may_pass(status: int) -> bool:
    """Whether the same request may be taken later."""
    return status >= 500 or status in (408, 425, 429)


def next_try(
    began: Instant,
    now: Instant,
    *,
    give_up_after: Millis,
    least: Millis = MINUTE,
    most: Millis | None = None,
) -> Instant | None:
    """Each wait is as long as all before it: a minute, two, four …; None when it was tried long enough."""
    waited = now - began
    if waited >= give_up_after:
        return None
    wait = max(least, waited)
    return now + (wait if most is None else min(wait, most))
