"""One HTTP fetch: `Fetcher.fetch` always answers a value, in bounded time and memory."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from ipaddress import ip_address
from ssl import SSLContext
from typing import TYPE_CHECKING

import structlog

from reedbed import __version__
from reedbed.domain.refresh.outcomes import (
    Failed,
    Fetched,
    FetchRequest,
    Gone,
    HttpResponse,
    NotModified,
    Outcome,
    Redirected,
    Throttled,
)
from reedbed.domain.times import Instant
from reedbed.ingest.http.body import ACCEPT_ENCODING, read_body
from reedbed.ingest.http.failures import (
    PERMANENT,
    TEMPORARY,
    WITHOUT_DOCUMENT,
    refused,
    status_failure,
    too_large,
)
from reedbed.ingest.http.guard import AddressRefused, Guard
from reedbed.ingest.http.headers import (
    RequestTarget,
    basic_auth,
    cache_headers,
    clean,
    is_sendable,
    links,
    parse_target,
)

if TYPE_CHECKING:
    import aiohttp
    from aiohttp.abc import AbstractResolver

log = structlog.get_logger()

MEGABYTE = 1024 * 1024
ANONYMOUS = f"Reedbed/{__version__}"
ACCEPT_FEED = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml, "
    "application/xml;q=0.9, text/xml;q=0.9, application/json;q=0.8, text/html;q=0.5, */*;q=0.3"
)
ACCEPT_PAGE = "text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.5"

_MAX_PAGE = 5 * MEGABYTE
_MAX_ANSWER = 100_000
_MAX_REDIRECTS = 5
_FIRST_HIGH_PORT = 1024
_PLAIN = {"Accept-Encoding": "identity"}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PERMANENT_REDIRECTS = frozenset({301, 308})


def _system_clock() -> Instant:
    return time.time_ns() // 1_000_000


class Fetcher:
    """Everything the program reads from the web comes through here. Close it when done."""

    def __init__(
        self,
        guard: Guard,
        *,
        user_agent: str = ANONYMOUS,
        timeout: float = 30.0,
        max_bytes: int = 10 * MEGABYTE,
        connections: int = 100,
        resolver: "AbstractResolver | None" = None,
        ssl_context: SSLContext | None = None,
        clock: Callable[[], Instant] = _system_clock,
    ) -> None:
        self._guard = guard
        self._usual_headers = {
            "User-Agent": user_agent,
            "Accept": ACCEPT_FEED,
            "Accept-Encoding": ACCEPT_ENCODING,
        }
        self._timeout = timeout
        self._max_bytes = max_bytes
        self._connections = connections
        self._resolver = resolver
        self._ssl_context = ssl_context
        self._clock = clock
        self._session: aiohttp.ClientSession | None = None
        self._lookup: AbstractResolver | None = None

    async def fetch(self, request: FetchRequest) -> Outcome:
        trail = _Trail(request, self._max_bytes if request.max_bytes is None else request.max_bytes)
        deadline = asyncio.timeout(self._timeout)
        try:
            async with deadline:
                return await self._follow(trail)
        except Exception as error:
            if deadline.expired():
                return trail.out_of_time(self._timeout)
            return self._explain(error, trail)

    async def fetch_page(self, url: str, *, max_bytes: int = _MAX_PAGE, accept: str = ACCEPT_PAGE) -> Outcome:
        return await self.fetch(FetchRequest(url, accept=accept, max_bytes=max_bytes))

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int | Failed:
        """Send this; the status of the answer. Redirects are not followed and the answer is not read."""
        answer = await self.exchange(url, body, headers, most=0)
        return answer if isinstance(answer, Failed) else answer.status

    async def exchange(
        self, url: str, body: bytes, headers: Mapping[str, str], *, most: int = _MAX_ANSWER
    ) -> HttpResponse | Failed:
        """Send this; the answer with at most so many bytes of it. Redirects are not followed."""
        trail = _Trail(FetchRequest(url), limit=most)
        deadline = asyncio.timeout(self._timeout)
        try:
            async with deadline:
                return await self._send(trail, body, headers)
        except Exception as error:
            if deadline.expired():
                return trail.out_of_time(self._timeout)
            return self._explain(error, trail)

    async def look_up(self, host: str, port: int) -> str:
        """An address of this host that is open, for clients that speak something else than HTTP.

        Raises OSError. Whoever connects to the address, and not to the name, stays behind the guard.
        """
        self._open_session()
        assert self._lookup is not None
        closed = port if port >= _FIRST_HIGH_PORT else None
        refusal = "The name is not known."
        for answer in await self._lookup.resolve(host, port):
            reason = self._guard.refuse_reason(ip_address(answer["host"]), closed)
            if reason is None:
                return answer["host"]
            refusal = reason
        raise AddressRefused(refusal)

    def refuse_proxy(self, proxy: str) -> str | None:
        """Why it cannot be used, as far as its address tells; a name is looked up when it is used."""
        door = parse_target(proxy)
        if isinstance(door, str):
            return "The proxy's address is not valid."
        reason = self._guard.refuse_host(door.host, door.port)
        return None if reason is None else f"The proxy cannot be used. {reason}"

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _follow(self, trail: "_Trail") -> Outcome:
        address, base = trail.request.url, None
        for _ in range(_MAX_REDIRECTS + 1):
            target = trail.step(address, base)
            if isinstance(target, Failed):
                return target
            if (reason := await self._refuse_reason(target, trail.request.proxy)) is not None:
                return refused(reason)
            answer = await self._ask(target, trail)
            if isinstance(answer, str):
                address, base = answer, target.href
            else:
                return answer
        return Failed(PERMANENT, f"The address redirects more than {_MAX_REDIRECTS} times.")

    async def _refuse_reason(self, target: RequestTarget, proxy: str | None) -> str | None:
        if (reason := self._guard.refuse_host(target.host, target.port)) is not None or proxy is None:
            return reason
        return await self._refuse_behind_proxy(target, proxy)

    async def _refuse_behind_proxy(self, target: RequestTarget, proxy: str) -> str | None:
        """A proxy makes the connection itself, so what it would reach is looked up and judged here."""
        if (reason := self.refuse_proxy(proxy)) is not None:
            return reason
        from reedbed.ingest.http.connector import GuardedResolver

        self._open_session()
        assert self._lookup is not None
        strict = GuardedResolver(self._guard, self._lookup, strict=True)
        await strict.resolve(target.host.strip("[]"), target.port)
        return None

    async def _ask(self, target: RequestTarget, trail: "_Trail") -> Outcome | str:
        """The outcome, or the address the server sends us on to."""
        async with self._open_session().get(
            target.url,
            headers=self._headers(target, trail),
            allow_redirects=False,
            proxy=trail.request.proxy,
        ) as response:
            trail.status = response.status
            if response.status in _REDIRECTS:
                return trail.redirect(response)
            return await self._judge(response, target, trail)

    async def _send(self, trail: "_Trail", body: bytes, headers: Mapping[str, str]) -> HttpResponse | Failed:
        target = trail.step(trail.request.url, None)
        if isinstance(target, Failed):
            return target
        if (reason := await self._refuse_reason(target, None)) is not None:
            return refused(reason)
        login = trail.credentials(target)
        known = {**self._usual_headers, **_PLAIN, **({"Authorization": login} if is_sendable(login) else {})}
        async with self._open_session().post(
            target.url, data=body, headers={**known, **headers}, allow_redirects=False
        ) as response:
            onward = trail.redirect(response) if response.status in _REDIRECTS else None
            beyond = parse_target(onward, target.href) if isinstance(onward, str) else None
            place = beyond.href if isinstance(beyond, RequestTarget) else None
            return HttpResponse(response.status, await _beginning(response, trail.limit), place)

    def _headers(self, target: RequestTarget, trail: "_Trail") -> dict[str, str]:
        request = trail.request
        wanted = {
            "User-Agent": request.user_agent,
            "Accept": request.accept,
            "If-None-Match": request.etag,
            "If-Modified-Since": request.last_modified,
            "Authorization": trail.credentials(target),
            **trail.token(target),
        }
        return self._usual_headers | {name: value for name, value in wanted.items() if is_sendable(value)}

    async def _judge(
        self, response: "aiohttp.ClientResponse", target: RequestTarget, trail: "_Trail"
    ) -> Outcome:
        status = response.status
        if status == 304:
            return self._not_modified(response, trail)
        if 200 <= status < 300 and status not in WITHOUT_DOCUMENT:
            return await self._document(response, target, trail)
        return self._trouble(response)

    def _not_modified(self, response: "aiohttp.ClientResponse", trail: "_Trail") -> Outcome:
        if not (trail.request.etag or trail.request.last_modified):
            return Failed(TEMPORARY, "The server answered 304 to a question without conditions.", 304)
        return NotModified(cache_headers(response.headers, self._clock()), trail.redirected())

    async def _document(
        self, response: "aiohttp.ClientResponse", target: RequestTarget, trail: "_Trail"
    ) -> Outcome:
        if (response.content_length or 0) > trail.limit:
            return replace(too_large(trail.limit), status=response.status)
        encoding = ",".join(response.headers.getall("Content-Encoding", ()))
        body = await read_body(response.content.iter_any(), encoding, trail.limit)
        if not body or body.isspace():
            return Failed(TEMPORARY, "The server answered with an empty document.", response.status)
        return Fetched(
            status=response.status,
            url=target.href,
            body=body,
            content_type=clean(response.headers.get("Content-Type")),
            hints=cache_headers(response.headers, self._clock()),
            redirected=trail.redirected(),
            links=links(response.headers, target.href),
        )

    def _trouble(self, response: "aiohttp.ClientResponse") -> Outcome:
        status = response.status
        hints = cache_headers(response.headers, self._clock())
        if status == 410:
            return Gone()
        if status == 429:
            return Throttled(status, hints)
        if status == 503 and hints.retry_after is not None:
            return Throttled(status, hints, status_failure(status).message)
        return replace(status_failure(status), hints=hints)

    def _explain(self, error: Exception, trail: "_Trail") -> Failed:
        from reedbed.ingest.http.errors import describe

        failure = describe(error, trail.host, limit=trail.limit)
        if failure is None:
            log.warning("fetch failed unexpectedly", host=trail.host, error=repr(error)[:500])
            failure = Failed(TEMPORARY, "The answer could not be read.")
        return failure if failure.status is not None else replace(failure, status=trail.status)

    def _open_session(self) -> "aiohttp.ClientSession":
        """The client is loaded at the first fetch: it costs a tenth of the start."""
        if self._session is None:
            from reedbed.ingest.http.connector import SystemResolver, guarded_session

            self._lookup = self._resolver or SystemResolver()
            self._session = guarded_session(
                self._guard,
                resolver=self._lookup,
                connections=self._connections,
                ssl_context=self._ssl_context,
            )
        return self._session


async def _beginning(response: "aiohttp.ClientResponse", most: int) -> bytes:
    said = b""
    while len(said) < most and (more := await response.content.read(most - len(said))):
        said += more
    return said


@dataclass(slots=True)
class _Trail:
    """The way of one request from hop to hop."""

    request: FetchRequest
    limit: int
    status: int | None = None
    first: RequestTarget | None = None
    current: RequestTarget | None = None
    permanent: bool = True
    seen: frozenset[str] = frozenset()

    @property
    def host(self) -> str:
        return self.current.host if self.current else "The server"

    def step(self, address: str, base: str | None) -> RequestTarget | Failed:
        target = parse_target(address, base)
        if isinstance(target, str):
            return refused(
                f"The server redirects to an address that cannot be used. {target}" if base else target
            )
        if target.href in self.seen:
            return refused("The address redirects in a circle.")
        self.seen |= {target.href}
        self.first = self.first or target
        self.current = target
        self.status = None
        return target

    def redirect(self, response: "aiohttp.ClientResponse") -> Failed | str:
        self.permanent = self.permanent and response.status in _PERMANENT_REDIRECTS
        location = response.headers.get("Location", "").strip()
        if not location:
            return Failed(TEMPORARY, "The server redirects without saying where to.", response.status)
        # Bytes that are no UTF-8 arrive as lone surrogates.
        return location.encode("utf-8", "replace").decode()

    def redirected(self) -> Redirected | None:
        if self.current is None or self.current is self.first:
            return None
        return Redirected(self.current.href, self.permanent)

    def credentials(self, target: RequestTarget) -> str | None:
        """Only for the origin they were given for."""
        if self.first is None or target.origin != self.first.origin:
            return None
        username = self.request.username or self.first.username
        password = self.request.password or self.first.password
        return basic_auth(username, password) if username or password else None

    def token(self, target: RequestTarget) -> dict[str, str]:
        """Like credentials, only for the origin it was given for."""
        given = self.request.token
        if given is None or self.first is None or target.origin != self.first.origin:
            return {}
        return {given[0]: given[1]}

    def out_of_time(self, seconds: float) -> Failed:
        if self.status is not None and self.status < 300:
            return Failed(
                TEMPORARY, f"The document was not complete within {seconds:g} seconds.", self.status
            )
        return Failed(TEMPORARY, f"The server did not answer within {seconds:g} seconds.")
