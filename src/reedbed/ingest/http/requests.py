"""Questions to servers that the operator has named, behind the same guard as everything else.

Such a server may stand in a private network. The allowance is for its own name and port alone, and for the
addresses this name has just been resolved to; whatever it points to elsewhere is judged like any other.
"""

import asyncio
import socket
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import structlog

from reedbed.domain.refresh.outcomes import Failed, HttpResponse
from reedbed.ingest.http.body import read_body
from reedbed.ingest.http.client import Fetcher
from reedbed.ingest.http.failures import TEMPORARY, refused
from reedbed.ingest.http.guard import Address, Guard, Network, literal_address
from reedbed.ingest.http.headers import RequestTarget, parse_target

if TYPE_CHECKING:
    from aiohttp.abc import ResolveResult

log = structlog.get_logger()

MAX_BYTES = 512 * 1024


class TrustingGuard(Guard):
    """Lets the operator's own servers through, wherever they stand."""

    def __init__(self, servers: Sequence[str], allow_networks: Sequence[Network] = ()) -> None:
        super().__init__(allow_networks)
        targets = [target for url in servers if isinstance(target := parse_target(url), RequestTarget)]
        self._places = {(target.host, target.port) for target in targets}
        self._addresses: set[tuple[Address, int]] = set()
        for host, port in self._places:
            if (ip := literal_address(host)) is not None:
                self._addresses.add((ip, port))

    def is_named(self, target: RequestTarget) -> bool:
        return (target.host, target.port) in self._places

    def learn(self, address: str, port: int) -> None:
        """This is where a named server stands just now."""
        self._addresses.add((ip_address(address.partition("%")[0]), port))

    def refuse_reason(self, ip: Address, port: int | None = None) -> str | None:
        if port is not None and (ip, port) in self._addresses:
            return None
        return super().refuse_reason(ip, port)


class HttpCaller(Fetcher):
    def __init__(
        self,
        servers: Sequence[str],
        allow_networks: Sequence[Network] = (),
        *,
        user_agent: str,
        timeout: float,
    ) -> None:
        self._trusting = TrustingGuard(servers, allow_networks)
        super().__init__(self._trusting, user_agent=user_agent, timeout=timeout, connections=10)

    async def inquire(
        self, url: str, *, form: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> HttpResponse | Failed:
        """GET, or POST where there is a form. Redirects are not followed."""
        target = parse_target(url)
        if isinstance(target, str):
            return refused(target)
        if (reason := self._guard.refuse_host(target.host, target.port)) is not None:
            return refused(reason)
        deadline = asyncio.timeout(self._timeout)
        try:
            async with deadline:
                if self._trusting.is_named(target):
                    await self._learn(target)
                return await self._inquire(target, form, headers or {})
        except Exception as error:
            if deadline.expired():
                return Failed(TEMPORARY, f"{target.host} did not answer within {self._timeout:g} seconds.")
            from reedbed.ingest.http.errors import describe

            failure = describe(error, target.host, limit=MAX_BYTES)
            if failure is None:
                log.warning("an exchange failed unexpectedly", host=target.host, error=repr(error)[:500])
                failure = Failed(TEMPORARY, f"The exchange with {target.host} failed.")
            return failure

    async def _learn(self, target: RequestTarget) -> None:
        """The name's addresses just before the connection is made to one of them."""
        self._open_session()
        assert self._lookup is not None
        found: list[ResolveResult] = await self._lookup.resolve(
            target.host.strip("[]"), target.port, socket.AF_UNSPEC
        )
        for each in found:
            self._trusting.learn(each["host"], target.port)

    async def _inquire(
        self, target: RequestTarget, form: Mapping[str, str] | None, headers: Mapping[str, str]
    ) -> HttpResponse:
        usual = {**self._usual_headers, "Accept": "application/json", **headers}
        data = None if form is None else urlencode(form).encode()
        if data is not None:
            usual["Content-Type"] = "application/x-www-form-urlencoded"
        async with self._open_session().request(
            "GET" if data is None else "POST", target.url, data=data, headers=usual, allow_redirects=False
        ) as response:
            encoding = ",".join(response.headers.getall("Content-Encoding", ()))
            body = await read_body(response.content.iter_any(), encoding, MAX_BYTES)
            return HttpResponse(response.status, body)
