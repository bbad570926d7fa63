"""Parse request URLs, and read and write header fields that may contain anything."""

import re
from base64 import b64encode
from email.utils import parsedate_to_datetime
from typing import Protocol, TypeGuard
from urllib.parse import unquote

import ada_url
from yarl import URL

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import CacheHeaders
from reedbed.domain.times import DAY, SECOND, Instant, from_datetime, is_representable

# --- URLs

_MAX_LENGTH = 4096
_DEFAULT_PORTS = {"http": 80, "https": 443}
# URLs that the full parser would not change, which are nearly all: a lower case host under a top-level domain
# that begins with a letter (so it is not a number in any notation) and nothing that needs escaping. Matching
# them here takes a fifth of the time.
_PLAIN = re.compile(
    r"(https?)://((?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,8}[a-z][a-z]{1,30})(?::([1-5][0-9]{4}|[1-9][0-9]{3}))?"
    r"(/[A-Za-z0-9_~/%!$&()*+,;=:@.-]*(?:\?[A-Za-z0-9_~/%!$&()*+,;=:@.?-]*)?)"
)


@record
class RequestTarget:
    href: str
    """Without credentials and fragment."""
    url: URL
    """The same URL for aiohttp."""
    host: str
    port: int
    origin: str
    username: str = ""
    password: str = ""


def parse_target(url: str, base: str | None = None) -> RequestTarget | Failure:
    """The target, or why the URL cannot be used.

    Parsed as browsers do, so that `http://0x7f.1/`, `http://2130706433/` and full-width digits all become
    `127.0.0.1` before the guard checks them.
    """
    if len(url) > _MAX_LENGTH:
        return Failure(FailureCode.ADDRESS_TOO_LONG)
    if (plain := _PLAIN.fullmatch(url)) and "/." not in plain[4] and "xn--" not in plain[2]:
        return _plain_target(url, *plain.groups()[:3])
    try:
        parsed = ada_url.URL(url, base) if base else ada_url.URL(url)
    except (ValueError, UnicodeError):
        return Failure(FailureCode.ADDRESS_INVALID)
    scheme = parsed.protocol.removesuffix(":")
    if scheme not in _DEFAULT_PORTS:
        return Failure(FailureCode.SCHEME_NOT_SUPPORTED)
    return _target(parsed, scheme)


def _plain_target(href: str, scheme: str, host: str, port: str | None) -> RequestTarget:
    url = URL(href, encoded=True)
    if port is None:
        return RequestTarget(href, url, host, _DEFAULT_PORTS[scheme], f"{scheme}://{host}")
    return RequestTarget(href, url, host, int(port), f"{scheme}://{host}:{port}")


def _target(parsed: ada_url.URL, scheme: str) -> RequestTarget:
    host = parsed.hostname
    port = int(parsed.port) if parsed.port else _DEFAULT_PORTS[scheme]
    origin = f"{scheme}://{parsed.host}"
    href = f"{origin}{parsed.pathname}{parsed.search}"
    return RequestTarget(
        href=href,
        url=URL(href, encoded=True),
        host=host,
        port=port,
        origin=origin,
        username=unquote(parsed.username),
        password=unquote(parsed.password),
    )


# --- Header fields

MAX_RETRY_AFTER = 30 * DAY

_MAX_VALIDATOR = 1024
_MAX_SHORT = 256
_MAX_LINK_HEADER = 8192
_MAX_LINKS = 16
_PRINTABLE = re.compile(r"[\x20-\x7e]+")
_LINK = re.compile(
    r"<([^<>]{1,2048})>((?:\s*;\s*[^<>;,=\s]{1,40}\s*=\s*(?:\"[^\"<>]{0,200}\"|[^\";,<>\s]{0,200})){0,8})"
)
_REL = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,]+))", re.IGNORECASE)


class Headers(Protocol):
    """The methods of aiohttp's case-insensitive multidict that are used here."""

    def get(self, key: str, /) -> str | None: ...
    def getall(self, key: str, default: tuple[str, ...], /) -> "list[str] | tuple[str, ...]": ...


def clean(value: str | None, limit: int = _MAX_SHORT) -> str | None:
    """The value if it is printable ASCII within the limit: safe to store, display and send back."""
    if not value or len(value) > limit or not _PRINTABLE.fullmatch(value):
        return None
    return value


def cache_headers(headers: Headers, now: Instant) -> CacheHeaders:
    expires = headers.get("Expires")
    retry_after = headers.get("Retry-After")
    return CacheHeaders(
        etag=clean(headers.get("ETag"), _MAX_VALIDATOR),
        last_modified=clean(headers.get("Last-Modified")),
        cache_control=clean(", ".join(headers.getall("Cache-Control", ()))),
        expires=_expires(expires, headers.get("Date"), now) if expires else None,
        retry_after=parse_retry_after(retry_after, now) if retry_after else None,
    )


def parse_retry_after(value: str, now: Instant) -> Instant | None:
    """Seconds or a date; None if it is neither or in the past, at most 30 days ahead."""
    text = value.strip()
    if text.isascii() and text.isdigit():
        # More digits exceed the limit anyway, and int() of a kilobyte is slow.
        retry_at = now + int(text[:12]) * SECOND if len(text) <= 12 else now + MAX_RETRY_AFTER
    else:
        date = http_date(text)
        if date is None:
            return None
        retry_at = date
    return min(retry_at, now + MAX_RETRY_AFTER) if retry_at > now else None


def http_date(value: str | None) -> Instant | None:
    if value is None or clean(value, 64) is None:
        return None
    try:
        return from_datetime(parsedate_to_datetime(value))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _expires(value: str, date: str | None, now: Instant) -> Instant | None:
    """On our clock: `Expires` relative to the server's own `Date`."""
    expires = http_date(value)
    sent = http_date(date)
    if expires is None or sent is None:
        return expires
    # The result may be beyond the last year that can be represented.
    expires_at = now + (expires - sent)
    return expires_at if is_representable(expires_at) else None


def links(headers: Headers, base: str) -> tuple[tuple[str, str], ...]:
    """(rel, absolute URL) of the `Link` fields, one pair per relation."""
    values = headers.getall("Link", ())
    if not values:
        return ()
    pairs: list[tuple[str, str]] = []
    for url, parameters in _LINK.findall(", ".join(values)[:_MAX_LINK_HEADER]):
        pairs.extend(_relations(url, parameters, base))
    return tuple(pairs[:_MAX_LINKS])


def _relations(url: str, parameters: str, base: str) -> list[tuple[str, str]]:
    rel = _REL.search(parameters)
    target = parse_target(url, base) if clean(url, 2048) else ""
    if rel is None or not isinstance(target, RequestTarget):
        return []
    return [(name, target.href) for name in (rel[1] or rel[2] or "").lower().split()[:4]]


def basic_auth(username: str, password: str) -> str:
    return "Basic " + b64encode(f"{username}:{password}".encode()).decode("ascii")


def is_sendable(value: str | None) -> TypeGuard[str]:
    """Whether the value is safe to send as a header field."""
    return value is not None and clean(value, _MAX_VALIDATOR) is not None
