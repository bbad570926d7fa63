"""HTTP requests to servers that the operator configured, behind the same guard as all other requests.

Such a server may be in a private network. Only its own host and port are allowed, at the IP addresses the
host has just resolved to; every other address is checked as usual.
"""

import asyncio
import socket
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import structlog

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.refresh.outcomes import TEMPORARY, Failed, HttpResponse, refused
from reedbed.ingest.http.body import read_body
from reedbed.ingest.http.client import Fetcher
from reedbed.ingest.http.guard import Address, Guard, Network, literal_ip
from reedbed.ingest.http.headers import RequestTarget, parse_target

if TYPE_CHECKING:
    from aiohttp.abc import ResolveResult

log = structlog.get_logger()

MAX_BYTES = 512 * 1024


class ConfiguredServersGuard(Guard):
    """Allow the configured servers, wherever they are."""

    def __init__(self, servers: Sequence[str], allow_networks: Sequence[Network] = ()) -> None:
        super().__init__(allow_networks)
        targets = [target for url in servers if isinstance(target := parse_target(url), RequestTarget)]
        self._servers = {(target.host, target.port) for target in targets}
        self._allowed_ips: set[tuple[Address, int]] = set()
        for host, port in self._servers:
            if (ip := literal_ip(host)) is not None:
                self._allowed_ips.add((ip, port))

    def is_configured_server(self, target: RequestTarget) -> bool:
        return (target.host, target.port) in self._servers

    def learn(self, ip: str, port: int) -> None:
        """Allow an IP address that a configured server has just resolved to."""
        self._allowed_ips.add((ip_address(ip.partition("%")[0]), port))

    def rejection_reason(self, ip: Address, port: int | None = None) -> Failure | None:
        if port is not None and (ip, port) in self._allowed_ips:
            return None
        return super().rejection_reason(ip, port)


class HttpCaller(Fetcher):
    def __init__(
        self, servers: Sequence[str], allow_networks: Sequence[Network] = (), *, user_agent: str, timeout: float
    ) -> None:
        self._trusting_guard = ConfiguredServersGuard(servers, allow_networks)
        super().__init__(self._trusting_guard, user_agent=user_agent, timeout=timeout, connections=10)

    async def request_document(
        self, url: str, *, form: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> HttpResponse | Failed:
        """GET, or POST if there is a form. Redirects are not followed."""
        target = parse_target(url)
        if isinstance(target, Failure):
            return refused(target)
        if (reason := self._guard.host_rejection(target.host, target.port)) is not None:
            return refused(reason)
        deadline = asyncio.timeout(self._timeout)
        try:
            async with deadline:
                if self._trusting_guard.is_configured_server(target):
                    await self._learn_addresses(target)
                return await self._request(target, form, headers or {})
        except Exception as error:
            if deadline.expired():
                params = {"host": target.host, "seconds": f"{self._timeout:g}"}
                return Failed(TEMPORARY, Failure(FailureCode.NO_ANSWER_IN_TIME, params))
            from reedbed.ingest.http.connector import describe

            failure = describe(error, target.host, limit=MAX_BYTES)
            if failure is None:
                log.warning("a request failed unexpectedly", host=target.host, error=repr(error)[:500])
                failure = Failed(TEMPORARY, Failure(FailureCode.EXCHANGE_FAILED, {"host": target.host}))
            return failure

    async def _learn_addresses(self, target: RequestTarget) -> None:
        """Allow the host's current IP addresses just before connecting to one of them."""
        self._open_session()
        assert self._active_resolver is not None
        results: list[ResolveResult] = await self._active_resolver.resolve(
            target.host.strip("[]"), target.port, socket.AF_UNSPEC
        )
        for result in results:
            self._trusting_guard.learn(result["host"], target.port)

    async def _request(
        self, target: RequestTarget, form: Mapping[str, str] | None, headers: Mapping[str, str]
    ) -> HttpResponse:
        all_headers = {**self._default_headers, "Accept": "application/json", **headers}
        data = None if form is None else urlencode(form).encode()
        if data is not None:
            all_headers["Content-Type"] = "application/x-www-form-urlencoded"
        async with self._open_session().request(
            "GET" if data is None else "POST", target.url, data=data, headers=all_headers, allow_redirects=False
        ) as response:
            encoding = ",".join(response.headers.getall("Content-Encoding", ()))
            body = await read_body(response.content.iter_any(), encoding, MAX_BYTES)
            return HttpResponse(response.status, body)
