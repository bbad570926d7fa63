"""The request for a feed, the possible results of fetching it, and when to retry. Failures by status and size."""

from dataclasses import field

from reedbed.domain.failures import Failure, FailureCode
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
    """Name and value of an authentication header, sent only to the origin of the URL."""
    max_bytes: int | None = None
    """After decompression; None uses the fetcher's own limit."""


@record
class CacheHeaders:
    """The caching headers of a response."""

    etag: str | None = None
    last_modified: str | None = None
    cache_control: str | None = None
    expires: Instant | None = None
    retry_after: Instant | None = None
    """The server asks for no request before this time."""


@record
class Redirected:
    """The target of a redirect. `permanent` if every hop was a 301 or 308."""

    url: str
    permanent: bool


@record
class Fetched:
    status: int
    url: str
    """The final URL, after redirects."""
    body: bytes
    content_type: str | None
    """The whole header, charset included."""
    hints: CacheHeaders = field(default=CacheHeaders())
    redirected: Redirected | None = None
    links: tuple[tuple[str, str], ...] = ()
    """(rel, URL) pairs of `Link` headers: hub and self for WebSub."""


@record
class NotModified:
    hints: CacheHeaders = field(default=CacheHeaders())
    redirected: Redirected | None = None
    failure: Failure = field(default=Failure(FailureCode.UNCHANGED))
    """For callers that need a document."""
    status: int = 304


@record
class Gone:
    """410: the feed is gone for good."""

    failure: Failure = field(default=Failure(FailureCode.FEED_NOT_FOUND))
    status: int = 410

    @property
    def message(self) -> str:
        return self.failure.message


@record
class Throttled:
    """429, or 503 with Retry-After."""

    status: int
    hints: CacheHeaders = field(default=CacheHeaders())
    failure: Failure = field(default=Failure(FailureCode.RATE_LIMITED))

    @property
    def message(self) -> str:
        return self.failure.message


@record
class Failed:
    kind: str
    """permanent_error, unauthorized or temporary_error."""
    failure: Failure
    status: int | None = None
    hints: CacheHeaders = field(default=CacheHeaders())

    @property
    def message(self) -> str:
        """The English text, for logs and programs."""
        return self.failure.message


@record
class HttpResponse:
    """A server's response to a request that is no fetch of a feed or page."""

    status: int
    body: bytes = b""
    location: str | None = None
    """The absolute redirect target."""
    retry_after: Instant | None = None


Outcome = Fetched | NotModified | Gone | Throttled | Failed


def is_retryable(status: int) -> bool:
    """Whether the same request may succeed later."""
    return status >= 500 or status in (408, 425, 429)


def next_try(
    began: Instant, now: Instant, *, give_up_after: Millis, min_wait: Millis = MINUTE, max_wait: Millis | None = None
) -> Instant | None:
    """Exponential backoff: a minute, two, four …; None after `give_up_after`."""
    waited = now - began
    if waited >= give_up_after:
        return None
    wait = max(min_wait, waited)
    return now + (wait if max_wait is None else min(wait, max_wait))


# --- Failed fetches by status code and size


PERMANENT = "permanent_error"
UNAUTHORIZED = "unauthorized"
TEMPORARY = "temporary_error"

WITHOUT_DOCUMENT = frozenset({204, 205, 206})

_MEGABYTE = 1024 * 1024


def refused(reason: Failure) -> Failed:
    return Failed(PERMANENT, reason)


def status_failure(status: int) -> Failed:
    match status:
        case 400:
            return Failed(PERMANENT, Failure(FailureCode.INVALID_REQUEST), status)
        case 401 | 403:
            return Failed(UNAUTHORIZED, Failure(FailureCode.AUTHENTICATION_REQUIRED), status)
        case 404:
            return Failed(PERMANENT, Failure(FailureCode.FEED_NOT_FOUND), status)
        case 407:
            return Failed(UNAUTHORIZED, Failure(FailureCode.PROXY_AUTHENTICATION_REQUIRED), status)
        case 204 | 205:
            return Failed(TEMPORARY, Failure(FailureCode.NO_CONTENT, {"status": status}), status)
        case 206:
            return Failed(TEMPORARY, Failure(FailureCode.PARTIAL_CONTENT), status)
        case _:
            permanent = 400 <= status < 500 and status != 408
            failure = Failure(FailureCode.HTTP_STATUS, {"status": status})
            return Failed(PERMANENT if permanent else TEMPORARY, failure, status)


def too_large(limit: int) -> Failed:
    size = f"{limit // _MEGABYTE} MB" if limit >= _MEGABYTE else f"{limit // 1024} KB"
    return Failed(PERMANENT, Failure(FailureCode.FEED_TOO_LARGE, {"size": size}))
