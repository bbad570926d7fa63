"""The guard with real sockets: nothing behind it is ever connected to."""

import asyncio
import socket
from ipaddress import ip_network

import pytest
from aiohttp import ClientConnectorError, ClientSession
from aiohttp.abc import AbstractResolver, ResolveResult

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.refresh.outcomes import Failed, Fetched, FetchRequest
from reedbed.ingest.http.client import Fetcher
from reedbed.ingest.http.connector import GuardedResolver, guarded_connector
from reedbed.ingest.http.guard import Guard
from tests.faulty_servers import MisbehavingServer

from .conftest import LOOPBACK_ALLOWED


class TurningResolver(AbstractResolver):
    """Answers from the list, one step further each time it is asked; the last answer stays."""

    def __init__(self, *answers: tuple[str, ...]) -> None:
        self._answers = answers
        self.asked = 0

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        answer = self._answers[min(self.asked, len(self._answers) - 1)]
        self.asked += 1
        if not answer:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [
            ResolveResult(hostname=host, host=ip, port=port, family=socket.AF_INET, proto=0, flags=0) for ip in answer
        ]

    async def close(self) -> None:
        pass


async def _fetch(guard: Guard, resolver: AbstractResolver, request: FetchRequest) -> object:
    fetcher = Fetcher(guard, resolver=resolver, timeout=30.0)
    try:
        return await fetcher.fetch(request)
    finally:
        await fetcher.close()


def _is_refusal(outcome: object) -> bool:
    return isinstance(outcome, Failed) and outcome.kind == "permanent_error" and "private network" in outcome.message


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "0", "127.0.0.1."]
)
async def test_a_loopback_server_is_never_reached(host: str, server: MisbehavingServer) -> None:
    fetcher = Fetcher(Guard())
    outcome = await fetcher.fetch(FetchRequest(server.url("fine", host)))
    await fetcher.close()
    assert _is_refusal(outcome)
    assert server.connections == 0


async def test_a_name_for_a_closed_address_is_refused(server: MisbehavingServer) -> None:
    request = FetchRequest(server.url("fine", "feeds.example.org"))
    assert _is_refusal(await _fetch(Guard(), TurningResolver(("127.0.0.1",)), request))
    assert server.connections == 0


async def test_a_name_that_turns_after_the_first_answer_is_refused(server: MisbehavingServer) -> None:
    """The redirect makes the client look again: public, as the guard judged it, then private."""
    here = Guard([ip_network("127.0.0.2/32")])
    async with MisbehavingServer("127.0.0.2") as outside:
        location = f"http://rebind.example.org:{server.port}/fine"
        resolver = TurningResolver(("127.0.0.2",), ("127.0.0.1",))
        request = FetchRequest(f"http://rebind.example.org:{outside.port}/redirect/302?{location}")
        assert _is_refusal(await _fetch(here, resolver, request))
        assert (outside.connections, server.connections, resolver.asked) == (1, 0, 2)


async def test_only_the_open_ones_of_several_addresses_are_tried(server: MisbehavingServer) -> None:
    async with MisbehavingServer("127.0.0.2") as inside:
        resolver = TurningResolver(("127.0.0.2", "127.0.0.1"))
        guard = Guard([ip_network("127.0.0.1/32")])
        outcome = await _fetch(guard, resolver, FetchRequest(server.url("fine", "mixed.example.org")))
        assert isinstance(outcome, Fetched)
        assert inside.connections == 0


async def test_the_socket_has_the_last_word(server: MisbehavingServer) -> None:
    """Even a resolver that lets everything through reaches nothing closed."""
    connector = guarded_connector(Guard(), resolver=TurningResolver(("127.0.0.1",)))
    connector._resolver = TurningResolver(("127.0.0.1",))
    async with ClientSession(connector=connector) as session:
        for host in ("turned.example.org", "127.0.0.1"):
            with pytest.raises(ClientConnectorError, match="REEDBED_ALLOW_NETWORKS"):
                await session.get(server.url("fine", host))
    assert server.connections == 0


@pytest.mark.parametrize(
    "location",
    [
        "http://10.0.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/",
        "http://0x7f.2/",
        "//127.0.0.2/",
        "http://[64:ff9b::7f00:1]/",
        "http://user@127.0.0.2/",
    ],
)
async def test_a_redirect_into_a_private_network_is_refused(location: str, server: MisbehavingServer) -> None:
    fetcher = Fetcher(Guard([ip_network("127.0.0.1/32")]))
    url = server.url(f"redirect/301?{location}")
    outcome = await fetcher.fetch(FetchRequest(url))
    await fetcher.close()
    assert isinstance(outcome, Failed)
    assert outcome.kind == "permanent_error"
    assert "private network" in outcome.message


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://example.org/", "gopher://x/", "data:text/xml,x"])
async def test_a_redirect_out_of_the_web_is_refused(location: str, server: MisbehavingServer, fetcher: Fetcher) -> None:
    outcome = await fetcher.fetch(FetchRequest(server.url(f"redirect/301?{location}")))
    assert isinstance(outcome, Failed)
    assert outcome.kind == "permanent_error"
    assert "http://" in outcome.message


async def test_a_proxy_must_be_allowed_itself(server: MisbehavingServer) -> None:
    request = FetchRequest("http://feeds.example.org/", proxy=server.url("").rstrip("/"))
    outcome = await _fetch(Guard(), TurningResolver(("93.184.215.14",)), request)
    assert _is_refusal(outcome)
    assert server.connections == 0


@pytest.mark.parametrize("answers", [("10.0.0.7",), ("93.184.215.14", "10.0.0.7")])
async def test_a_proxy_is_no_way_around_the_guard(answers: tuple[str, ...], server: MisbehavingServer) -> None:
    request = FetchRequest("http://inside.example.org/", proxy=server.url("").rstrip("/"))
    assert _is_refusal(await _fetch(LOOPBACK_ALLOWED, TurningResolver(answers), request))
    assert server.connections == 0


async def test_a_proxy_is_asked_for_the_whole_address(server: MisbehavingServer) -> None:
    proxy = server.url("").rstrip("/")
    request = FetchRequest("http://feeds.example.org/fine", proxy=proxy)
    outcome = await _fetch(LOOPBACK_ALLOWED, TurningResolver(("93.184.215.14",)), request)
    assert server.asked[0].path == "http://feeds.example.org/fine"
    assert isinstance(outcome, Fetched)


async def test_a_name_nobody_knows_is_a_temporary_failure() -> None:
    outcome = await _fetch(Guard(), TurningResolver(()), FetchRequest("https://nobody.example.org/feed"))
    assert isinstance(outcome, Failed)
    assert outcome.kind == "temporary_error"
    assert outcome.message == "The name nobody.example.org could not be found."


async def test_a_name_without_addresses_is_a_failure() -> None:
    class Empty(TurningResolver):
        async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> list:
            return []

    assert isinstance(await _fetch(Guard(), Empty(), FetchRequest("https://void.example.org/")), Failed)
    assert await GuardedResolver(Guard(), Empty()).resolve("void.example.org") == []


async def test_a_closed_port_is_refused_connections(fetcher: Fetcher) -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{sock.getsockname()[1]}/"
        outcome = await fetcher.fetch(FetchRequest(url))
    assert outcome == Failed("temporary_error", Failure(FailureCode.CONNECTION_REFUSED, {"host": "127.0.0.1"}))


async def test_a_proxy_that_wants_credentials_is_named(server: MisbehavingServer) -> None:
    request = FetchRequest("https://feeds.example.org/", proxy=server.url("").rstrip("/"))
    outcome = await _fetch(LOOPBACK_ALLOWED, TurningResolver(("93.184.215.14",)), request)
    assert outcome == Failed("unauthorized", Failure(FailureCode.PROXY_AUTHENTICATION_REQUIRED), 407)


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1080", "nonsense", "http://"])
async def test_a_proxy_of_another_kind_is_refused(proxy: str) -> None:
    request = FetchRequest("https://feeds.example.org/", proxy=proxy)
    outcome = await _fetch(LOOPBACK_ALLOWED, TurningResolver(("93.184.215.14",)), request)
    assert outcome == Failed("permanent_error", Failure(FailureCode.PROXY_ADDRESS_INVALID))


async def test_a_name_server_that_hangs_ends_with_the_timeout() -> None:
    class Hanging(TurningResolver):
        async def resolve(
            self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
        ) -> list[ResolveResult]:
            await asyncio.sleep(60)
            return []

    fetcher = Fetcher(Guard(), resolver=Hanging(), timeout=0.2)
    outcome = await fetcher.fetch(FetchRequest("https://slow.example.org/"))
    await fetcher.close()
    assert outcome == Failed("temporary_error", Failure(FailureCode.SERVER_TIMEOUT, {"seconds": "0.2"}))


async def test_a_server_that_never_finishes_the_handshake_ends_with_the_timeout(impatient: Fetcher) -> None:
    accepted: list[asyncio.StreamWriter] = []
    listening = await asyncio.start_server(lambda _, writer: accepted.append(writer), "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    outcome = await impatient.fetch(FetchRequest(f"https://127.0.0.1:{port}/"))
    listening.close()
    for writer in accepted:
        writer.transport.abort()
    assert isinstance(outcome, Failed)
    assert outcome.message == "The server did not answer within 2 seconds."
