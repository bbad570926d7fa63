"""Reading and writing header fields that may hold anything."""

import re
from base64 import b64encode
from email.utils import parsedate_to_datetime
from typing import Protocol, TypeGuard
from urllib.parse import unquote

import ada_url
from yarl import URL

from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import CacheHeaders
from reedbed.domain.times import DAY, SECOND, Instant, from_datetime, is_sayable

_MAX_LENGTH = 4096
_DEFAULT_PORTS = {"http": 80, "https": 443}
# Addresses the full parser would leave letter for letter as they are, which is nearly all of them: a lower
# case name under a domain that begins with a letter (so no number in any notation) and nothing that needs
# escaping. Reading these here costs a fifth.
_PLAIN = re.compile(
    r"(https?)://((?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,8}[a-z][a-z]{1,30})(?::([1-5][0-9]{4}|[1-9][0-9]{3}))?"
    r"(/[A-Za-z0-9_~/%!$&()*+,;=:@.-]*(?:\?[A-Za-z0-9_~/%!$&()*+,;=:@.?-]*)?)"
)


@record
class RequestTarget:
    href: str
    """Without credentials and fragment."""
    url: URL
    """The same, as the client takes it."""
    host: str
    port: int
    origin: str
    username: str = ""
    password: str = ""


def parse_target(address: str, base: str | None = None) -> RequestTarget | str:
    """The target, or one sentence why the address cannot be one.

    Parsed as browsers do, so that `http://0x7f.1/`, `http://2130706433/` and full-width digits all
    become the plain `127.0.0.1` they mean before anyone judges them.
    """
    if len(address) > _MAX_LENGTH:
        return "The address is too long."
    if (plain := _PLAIN.fullmatch(address)) and "/." not in plain[4] and "xn--" not in plain[2]:
        return _plain_target(address, *plain.groups()[:3])
    try:
        parsed = ada_url.URL(address, base) if base else ada_url.URL(address)
    except (ValueError, UnicodeError):
        return "The address is not valid."
    scheme = parsed.protocol.removesuffix(":")
    if scheme not in _DEFAULT_PORTS:
        return "Only addresses with http:// or https:// can be fetched."
    return _target(parsed, scheme)


def _plain_target(address: str, scheme: str, host: str, port: str | None) -> RequestTarget:
    url = URL(address, encoded=True)
    if port is None:
        return RequestTarget(address, url, host, _DEFAULT_PORTS[scheme], f"{scheme}://{host}")
    return RequestTarget(address, url, host, int(port), f"{scheme}://{host}:{port}")


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
    """What aiohttp's case-insensitive multidict offers of itself here."""

    def get(self, key: str, /) -> str | None: ...
    def getall(self, key: str, default: tuple[str, ...], /) -> "list[str] | tuple[str, ...]": ...


def clean(value: str | None, limit: int = _MAX_SHORT) -> str | None:
    """The value if it is printable ASCII within the limit: safe to store, to show and to send back."""
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
        retry_after=retry_moment(retry_after, now) if retry_after else None,
    )


def retry_moment(value: str, now: Instant) -> Instant | None:
    """Seconds or a date; None when it is neither or already past, at most 30 days ahead."""
    text = value.strip()
    if text.isascii() and text.isdigit():
        # Longer runs of digits are beyond the limit anyway, and int() of a kilobyte is not free.
        moment = now + int(text[:12]) * SECOND if len(text) <= 12 else now + MAX_RETRY_AFTER
    else:
        date = http_date(text)
        if date is None:
            return None
        moment = date
    return min(moment, now + MAX_RETRY_AFTER) if moment > now else None


def http_date(value: str | None) -> Instant | None:
    if value is None or clean(value, 64) is None:
        return None
    try:
        return from_datetime(parsedate_to_datetime(value))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _expires(value: str, date: str | None, now: Instant) -> Instant | None:
    """On our clock: what counts is how long after its own `Date` the server lets the answer live."""
    moment = http_date(value)
    sent = http_date(date)
    if moment is None or sent is None:
        return moment
    # A life of eight thousand years from now ends in a year that nobody can write.
    ends = now + (moment - sent)
    return ends if is_sayable(ends) else None


def links(headers: Headers, base: str) -> tuple[tuple[str, str], ...]:
    """(rel, absolute address) of the `Link` fields, one pair per relation."""
    lines = headers.getall("Link", ())
    if not lines:
        return ()
    found: list[tuple[str, str]] = []
    for address, parameters in _LINK.findall(", ".join(lines)[:_MAX_LINK_HEADER]):
        found.extend(_relations(address, parameters, base))
    return tuple(found[:_MAX_LINKS])


def _relations(address: str, parameters: str, base: str) -> list[tuple[str, str]]:
    rel = _REL.search(parameters)
    target = parse_target(address, base) if clean(address, 2048) else ""
    if rel is None or not isinstance(target, RequestTarget):
        return []
    return [(word, target.href) for word in (rel[1] or rel[2] or "").lower().split()[:4]]


def basic_auth(username: str, password: str) -> str:
    return "Basic " + b64encode(f"{username}:{password}".encode()).decode("ascii")


def is_sendable(value: str | None) -> TypeGuard[str]:
    """Whether the value can be a field of a request without breaking it apart."""
    return value is not None and clean(value, _MAX_VALIDATOR) is not None
