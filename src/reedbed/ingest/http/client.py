"""HTTP client for everything Reedbed reads from the web.

Requests return a value instead of raising an exception, in bounded time and memory.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from ipaddress import ip_address
from ssl import SSLContext
from typing import TYPE_CHECKING

import structlog

from reedbed import __version__
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.refresh.outcomes import (
    PERMANENT,
    TEMPORARY,
    WITHOUT_DOCUMENT,
    Failed,
    Fetched,
    FetchRequest,
    Gone,
    HttpResponse,
    NotModified,
    Outcome,
    Redirected,
    Throttled,
    refused,
    status_failure,
    too_large,
)
from reedbed.domain.times import Instant
from reedbed.ingest.http.body import ACCEPT_ENCODING, read_body
from reedbed.ingest.http.guard import AddressRejected, Guard
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
_MAX_RESPONSE_BYTES = 100_000
_MAX_REDIRECTS = 5
_FIRST_HIGH_PORT = 1024
_NO_COMPRESSION = {"Accept-Encoding": "identity"}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PERMANENT_REDIRECTS = frozenset({301, 308})


def _system_clock() -> Instant:
    return time.time_ns() // 1_000_000


class Fetcher:
    """Everything Reedbed reads from the web is fetched here. Close it when done."""

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
        self._default_headers = {"User-Agent": user_agent, "Accept": ACCEPT_FEED, "Accept-Encoding": ACCEPT_ENCODING}
        self._timeout = timeout
        self._max_bytes = max_bytes
        self._connections = connections
        self._resolver = resolver
        self._ssl_context = ssl_context
        self._clock = clock
        self._session: aiohttp.ClientSession | None = None
        self._active_resolver: AbstractResolver | None = None

    async def fetch(self, request: FetchRequest) -> Outcome:
        state = _RequestState(request, self._max_bytes if request.max_bytes is None else request.max_bytes)
        deadline = asyncio.timeout(self._timeout)
        try:
            async with deadline:
                return await self._follow_redirects(state)
        except Exception as error:
            if deadline.expired():
                return state.out_of_time(self._timeout)
            return self._failure(error, state)

    async def fetch_page(self, url: str, *, max_bytes: int = _MAX_PAGE, accept: str = ACCEPT_PAGE) -> Outcome:
        return await self.fetch(FetchRequest(url, accept=accept, max_bytes=max_bytes))

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int | Failed:
        """POST and return the status. Redirects are not followed and the response body is not read."""
        response = await self.exchange(url, body, headers, max_bytes=0)
        return response if isinstance(response, Failed) else response.status

    async def exchange(
        self,
        url: str,
        body: bytes,
        headers: Mapping[str, str],
        *,
        method: str = "POST",
        max_bytes: int = _MAX_RESPONSE_BYTES,
    ) -> HttpResponse | Failed:
        """Send a request and return the response with at most `max_bytes` of its body; redirects are not followed."""
        state = _RequestState(FetchRequest(url), limit=max_bytes)
        deadline = asyncio.timeout(self._timeout)
        try:
            async with deadline:
                return await self._send(state, method, body, headers)
        except Exception as error:
            if deadline.expired():
                return state.out_of_time(self._timeout)
            return self._failure(error, state)

    async def open_stream(
        self, stack: AsyncExitStack, url: str, headers: Mapping[str, str]
    ) -> "aiohttp.ClientResponse | Failed":
        """GET a file to pass it on while it arrives: its size and time are the caller's to limit.

        The response is closed with `stack`.
        """
        state = _RequestState(FetchRequest(url), limit=0)
        deadline = asyncio.timeout(self._timeout)
        try:
            async with deadline:
                return await self._open_redirected(stack, state, headers)
        except Exception as error:
            return state.out_of_time(self._timeout) if deadline.expired() else self._failure(error, state)

    async def _open_redirected(
        self, stack: AsyncExitStack, state: "_RequestState", headers: Mapping[str, str]
    ) -> "aiohttp.ClientResponse | Failed":
        url, base = state.request.url, None
        for _ in range(_MAX_REDIRECTS + 1):
            target = state.step(url, base)
            if isinstance(target, Failed):
                return target
            if (reason := self._guard.host_rejection(target.host, target.port)) is not None:
                return refused(reason)
            request = self._open_session().get(
                target.url, headers={**self._default_headers, **_NO_COMPRESSION, **headers}, allow_redirects=False
            )
            response = await stack.enter_async_context(request)
            state.status = response.status
            if response.status not in _REDIRECTS:
                return response
            redirect = state.redirect(response)
            if isinstance(redirect, Failed):
                return redirect
            url, base = redirect, target.href
        return Failed(PERMANENT, Failure(FailureCode.TOO_MANY_REDIRECTS, {"limit": _MAX_REDIRECTS}))

    async def look_up(self, host: str, port: int) -> str:
        """An allowed IP address of this host, for clients of other protocols than HTTP.

        Raise OSError if there is none. Connect to this IP, not to the name, to stay behind the guard.
        """
        self._open_session()
        assert self._active_resolver is not None
        checked_port = port if port >= _FIRST_HIGH_PORT else None
        rejection = Failure(FailureCode.DNS_NAME_UNKNOWN)
        for result in await self._active_resolver.resolve(host, port):
            reason = self._guard.rejection_reason(ip_address(result["host"]), checked_port)
            if reason is None:
                return result["host"]
            rejection = reason
        raise AddressRejected(rejection)

    def proxy_problem(self, proxy: str) -> Failure | None:
        """Why the proxy cannot be used, as far as its URL shows; a host name is resolved when it is used."""
        target = parse_target(proxy)
        if isinstance(target, Failure):
            return Failure(FailureCode.PROXY_ADDRESS_INVALID)
        reason = self._guard.host_rejection(target.host, target.port)
        return None if reason is None else Failure(FailureCode.PROXY_UNUSABLE, cause=reason)

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _follow_redirects(self, state: "_RequestState") -> Outcome:
        url, base = state.request.url, None
        for _ in range(_MAX_REDIRECTS + 1):
            target = state.step(url, base)
            if isinstance(target, Failed):
                return target
            if (reason := await self._rejection(target, state.request.proxy)) is not None:
                return refused(reason)
            response = await self._get(target, state)
            if isinstance(response, str):
                url, base = response, target.href
            else:
                return response
        return Failed(PERMANENT, Failure(FailureCode.TOO_MANY_REDIRECTS, {"limit": _MAX_REDIRECTS}))

    async def _rejection(self, target: RequestTarget, proxy: str | None) -> Failure | None:
        if (reason := self._guard.host_rejection(target.host, target.port)) is not None or proxy is None:
            return reason
        return await self._proxy_rejection(target, proxy)

    async def _proxy_rejection(self, target: RequestTarget, proxy: str) -> Failure | None:
        """A proxy opens the connection itself, so the target host is resolved and checked here."""
        if (reason := self.proxy_problem(proxy)) is not None:
            return reason
        from reedbed.ingest.http.connector import GuardedResolver

        self._open_session()
        assert self._active_resolver is not None
        strict = GuardedResolver(self._guard, self._active_resolver, strict=True)
        await strict.resolve(target.host.strip("[]"), target.port)
        return None

    async def _get(self, target: RequestTarget, state: "_RequestState") -> Outcome | str:
        """The outcome, or the URL of a redirect."""
        async with self._open_session().get(
            target.url, headers=self._headers(target, state), allow_redirects=False, proxy=state.request.proxy
        ) as response:
            state.status = response.status
            if response.status in _REDIRECTS:
                return state.redirect(response)
            return await self._read_response(response, target, state)

    async def _send(
        self, state: "_RequestState", method: str, body: bytes, headers: Mapping[str, str]
    ) -> HttpResponse | Failed:
        target = state.step(state.request.url, None)
        if isinstance(target, Failed):
            return target
        if (reason := await self._rejection(target, None)) is not None:
            return refused(reason)
        login = state.credentials(target)
        default_headers = {
            **self._default_headers,
            **_NO_COMPRESSION,
            **({"Authorization": login} if is_sendable(login) else {}),
        }
        async with self._open_session().request(
            method,
            target.url,
            data=None if method == "GET" else body,
            headers={**default_headers, **headers},
            allow_redirects=False,
        ) as response:
            location = state.redirect(response) if response.status in _REDIRECTS else None
            redirect_target = parse_target(location, target.href) if isinstance(location, str) else None
            redirect_url = redirect_target.href if isinstance(redirect_target, RequestTarget) else None
            retry_after = cache_headers(response.headers, self._clock()).retry_after
            return HttpResponse(response.status, await _read_start(response, state.limit), redirect_url, retry_after)

    def _headers(self, target: RequestTarget, state: "_RequestState") -> dict[str, str]:
        request = state.request
        fields = {
            "User-Agent": request.user_agent,
            "Accept": request.accept,
            "If-None-Match": request.etag,
            "If-Modified-Since": request.last_modified,
            "Authorization": state.credentials(target),
            **state.token(target),
        }
        return self._default_headers | {name: value for name, value in fields.items() if is_sendable(value)}

    async def _read_response(
        self, response: "aiohttp.ClientResponse", target: RequestTarget, state: "_RequestState"
    ) -> Outcome:
        status = response.status
        if status == 304:
            return self._not_modified(response, state)
        if 200 <= status < 300 and status not in WITHOUT_DOCUMENT:
            return await self._document(response, target, state)
        return self._error_outcome(response)

    def _not_modified(self, response: "aiohttp.ClientResponse", state: "_RequestState") -> Outcome:
        if not (state.request.etag or state.request.last_modified):
            return Failed(TEMPORARY, Failure(FailureCode.UNEXPECTED_NOT_MODIFIED), 304)
        return NotModified(cache_headers(response.headers, self._clock()), state.redirected())

    async def _document(
        self, response: "aiohttp.ClientResponse", target: RequestTarget, state: "_RequestState"
    ) -> Outcome:
        if (response.content_length or 0) > state.limit:
            return replace(too_large(state.limit), status=response.status)
        encoding = ",".join(response.headers.getall("Content-Encoding", ()))
        body = await read_body(response.content.iter_any(), encoding, state.limit)
        if not body or body.isspace():
            return Failed(TEMPORARY, Failure(FailureCode.EMPTY_DOCUMENT), response.status)
        return Fetched(
            status=response.status,
            url=target.href,
            body=body,
            content_type=clean(response.headers.get("Content-Type")),
            hints=cache_headers(response.headers, self._clock()),
            redirected=state.redirected(),
            links=links(response.headers, target.href),
        )

    def _error_outcome(self, response: "aiohttp.ClientResponse") -> Outcome:
        status = response.status
        headers = cache_headers(response.headers, self._clock())
        if status == 410:
            return Gone()
        if status == 429:
            return Throttled(status, headers)
        if status == 503 and headers.retry_after is not None:
            return Throttled(status, headers, status_failure(status).failure)
        return replace(status_failure(status), hints=headers)

    def _failure(self, error: Exception, state: "_RequestState") -> Failed:
        from reedbed.ingest.http.connector import describe

        failure = describe(error, state.host, limit=state.limit)
        if failure is None:
            log.warning("fetch failed unexpectedly", host=state.host, error=repr(error)[:500])
            failure = Failed(TEMPORARY, Failure(FailureCode.RESPONSE_UNREADABLE))
        return failure if failure.status is not None else replace(failure, status=state.status)

    def _open_session(self) -> "aiohttp.ClientSession":
        """aiohttp is imported at the first fetch: importing it takes a tenth of the startup time."""
        if self._session is None:
            from reedbed.ingest.http.connector import SystemResolver, guarded_session

            self._active_resolver = self._resolver or SystemResolver()
            self._session = guarded_session(
                self._guard,
                resolver=self._active_resolver,
                connections=self._connections,
                ssl_context=self._ssl_context,
            )
        return self._session


async def _read_start(response: "aiohttp.ClientResponse", limit: int) -> bytes:
    body = b""
    while len(body) < limit and (chunk := await response.content.read(limit - len(body))):
        body += chunk
    return body


@dataclass(slots=True)
class _RequestState:
    """State of one request across its redirects."""

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

    def step(self, url: str, base: str | None) -> RequestTarget | Failed:
        target = parse_target(url, base)
        if isinstance(target, Failure):
            return refused(Failure(FailureCode.REDIRECT_TARGET_INVALID, cause=target) if base else target)
        if target.href in self.seen:
            return refused(Failure(FailureCode.REDIRECT_LOOP))
        self.seen |= {target.href}
        self.first = self.first or target
        self.current = target
        self.status = None
        return target

    def redirect(self, response: "aiohttp.ClientResponse") -> Failed | str:
        self.permanent = self.permanent and response.status in _PERMANENT_REDIRECTS
        location = response.headers.get("Location", "").strip()
        if not location:
            return Failed(TEMPORARY, Failure(FailureCode.REDIRECT_WITHOUT_TARGET), response.status)
        # Bytes that are not UTF-8 arrive as lone surrogates.
        return location.encode("utf-8", "replace").decode()

    def redirected(self) -> Redirected | None:
        if self.current is None or self.current is self.first:
            return None
        return Redirected(self.current.href, self.permanent)

    def credentials(self, target: RequestTarget) -> str | None:
        """Only for the origin of the first URL."""
        if self.first is None or target.origin != self.first.origin:
            return None
        username = self.request.username or self.first.username
        password = self.request.password or self.first.password
        return basic_auth(username, password) if username or password else None

    def token(self, target: RequestTarget) -> dict[str, str]:
        """Like credentials, only for the origin of the first URL."""
        header = self.request.token
        if header is None or self.first is None or target.origin != self.first.origin:
            return {}
        return {header[0]: header[1]}

    def out_of_time(self, seconds: float) -> Failed:
        if self.status is not None and self.status < 300:
            failure = Failure(FailureCode.DOCUMENT_TIMEOUT, {"seconds": f"{seconds:g}"})
            return Failed(TEMPORARY, failure, self.status)
        return Failed(TEMPORARY, Failure(FailureCode.SERVER_TIMEOUT, {"seconds": f"{seconds:g}"}))
