from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.refresh.outcomes import Failed, Fetched, FetchRequest, NotModified, Redirected
from reedbed.ingest.http.client import Fetcher
from tests.faulty_servers import MisbehavingServer


@pytest_asyncio.fixture
async def elsewhere() -> AsyncIterator[MisbehavingServer]:
    async with MisbehavingServer("127.0.0.2") as running:
        yield running


@pytest.mark.parametrize(
    ("hops", "permanent"),
    [((301,), True), ((308,), True), ((301, 308), True), ((302,), False), ((301, 302), False), ((303, 307), False)],
)
async def test_a_redirect_is_permanent_when_every_hop_is(
    hops: tuple[int, ...], permanent: bool, server: MisbehavingServer, fetcher: Fetcher
) -> None:
    path = "/fine"
    for status in hops:
        path = f"/redirect/{status}?{path}"
    outcome = await fetcher.fetch(FetchRequest(server.url(path.lstrip("/"))))
    assert isinstance(outcome, Fetched)
    assert outcome.redirected == Redirected(server.url("fine"), permanent)
    assert outcome.url == server.url("fine")


async def test_five_redirects_are_followed_and_six_are_not(server: MisbehavingServer, fetcher: Fetcher) -> None:
    path = "/fine"
    for step in range(6):
        path = f"/redirect/301?{path}"
        outcome = await fetcher.fetch(FetchRequest(server.url(path.lstrip("/"))))
        assert isinstance(outcome, Fetched) == (step < 5)


async def test_an_address_that_is_fetched_directly_is_not_redirected(
    server: MisbehavingServer, fetcher: Fetcher
) -> None:
    outcome = await fetcher.fetch(FetchRequest(server.url("fine#part")))
    assert isinstance(outcome, Fetched)
    assert outcome.redirected is None


async def test_credentials_stay_with_the_origin_they_were_given_for(
    server: MisbehavingServer, elsewhere: MisbehavingServer, fetcher: Fetcher
) -> None:
    url = server.url(f"redirect/302?{elsewhere.url('fine')}")
    outcome = await fetcher.fetch(FetchRequest(url, username="reed", password="bed"))
    assert isinstance(outcome, Fetched)
    assert server.asked[0].headers["authorization"] == "Basic cmVlZDpiZWQ="
    assert "authorization" not in elsewhere.asked[0].headers


async def test_credentials_go_along_within_the_origin(server: MisbehavingServer, fetcher: Fetcher) -> None:
    await fetcher.fetch(FetchRequest(server.url("redirect/302?/fine"), username="reed", password="bed"))
    assert [asked.headers.get("authorization") for asked in server.asked] == ["Basic cmVlZDpiZWQ="] * 2


async def test_credentials_in_the_address_are_sent_but_never_shown(
    server: MisbehavingServer, elsewhere: MisbehavingServer, fetcher: Fetcher
) -> None:
    url = server.url(f"redirect/302?{elsewhere.url('fine')}").replace("//", "//reed:b%20d@", 1)
    outcome = await fetcher.fetch(FetchRequest(url))
    assert isinstance(outcome, Fetched)
    assert server.asked[0].headers["authorization"] == "Basic cmVlZDpiIGQ="
    assert "authorization" not in elsewhere.asked[0].headers
    assert "@" not in server.asked[0].path


async def test_credentials_a_redirect_brings_along_are_ignored(
    server: MisbehavingServer, elsewhere: MisbehavingServer, fetcher: Fetcher
) -> None:
    trap = elsewhere.url("fine").replace("//", "//who:ever@", 1)
    await fetcher.fetch(FetchRequest(server.url(f"redirect/302?{trap}")))
    assert "authorization" not in elsewhere.asked[0].headers


async def test_cookies_are_never_kept(server: MisbehavingServer, fetcher: Fetcher) -> None:
    await fetcher.fetch(FetchRequest(server.url("cookies_pressed")))
    await fetcher.fetch(FetchRequest(server.url("fine")))
    assert "cookie" not in server.asked[1].headers


async def test_a_request_carries_what_was_asked_and_nothing_that_breaks_it(
    server: MisbehavingServer, fetcher: Fetcher
) -> None:
    request = FetchRequest(
        server.url("fine"), user_agent="Other/1", etag='"a"\r\nX-Evil: 1', last_modified="\udcff", accept="text/html"
    )
    assert isinstance(await fetcher.fetch(request), Fetched)
    headers = server.asked[0].headers
    assert (headers["user-agent"], headers["accept"]) == ("Other/1", "text/html")
    assert headers.keys().isdisjoint({"x-evil", "if-none-match", "if-modified-since"})


async def test_conditions_survive_a_redirect(server: MisbehavingServer, fetcher: Fetcher) -> None:
    outcome = await fetcher.fetch(FetchRequest(server.url("redirect/301?/conditional"), etag='"v1"'))
    assert isinstance(outcome, NotModified)
    assert outcome.redirected == Redirected(server.url("conditional"), True)


async def test_link_fields_are_handed_on(server: MisbehavingServer, fetcher: Fetcher) -> None:
    outcome = await fetcher.fetch(FetchRequest(server.url("links_many")))
    assert isinstance(outcome, Fetched)
    assert outcome.links == (("hub", "https://hub.example.org/"), ("self", server.url("feed")))


async def test_odd_bytes_in_fields_are_dropped(server: MisbehavingServer, fetcher: Fetcher) -> None:
    for name in ("header_bytes_odd", "validators_long"):
        outcome = await fetcher.fetch(FetchRequest(server.url(name)))
        assert isinstance(outcome, Fetched)
        assert outcome.content_type is None
        hints = outcome.hints
        assert (hints.etag, hints.last_modified, hints.cache_control) == (None, None, None)
        assert (hints.expires, hints.retry_after) == (None, None)


@pytest.mark.parametrize(
    "url", ["", "x", "http://", "ftp://example.org/", "http://" + "a" * 5000, "\udcff", "http://\udcff/"]
)
async def test_what_is_no_address_fails_in_words(url: str, fetcher: Fetcher) -> None:
    outcome = await fetcher.fetch(FetchRequest(url))
    assert isinstance(outcome, Failed)
    assert outcome.kind == "permanent_error"
    assert outcome.message.endswith(".")


async def test_a_closed_fetcher_opens_again_when_needed(server: MisbehavingServer, fetcher: Fetcher) -> None:
    await fetcher.fetch(FetchRequest(server.url("fine")))
    await fetcher.close()
    assert isinstance(await fetcher.fetch(FetchRequest(server.url("fine"))), Fetched)


async def test_a_page_has_a_limit_of_its_own(server: MisbehavingServer, fetcher: Fetcher) -> None:
    outcome = await fetcher.fetch_page(server.url("fine"), max_bytes=10)
    assert isinstance(outcome, Failed)
    assert "text/html" in server.asked[0].headers["accept"]


async def test_the_status_is_that_of_the_last_server_asked(server: MisbehavingServer, fetcher: Fetcher) -> None:
    outcome = await fetcher.fetch(FetchRequest(server.url("redirect/302?http://127.0.0.9:9/")))
    assert outcome == Failed("temporary_error", Failure(FailureCode.CONNECTION_REFUSED, {"host": "127.0.0.9"}))
