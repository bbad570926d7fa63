"""Whatever a server does, a fetch ends as a value, soon, small and in plain words."""

import asyncio
import gc
import gzip
import random
import resource
import socket
import time
import tracemalloc

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.refresh.outcomes import Failed, Fetched, FetchRequest, Gone, NotModified, Throttled
from reedbed.ingest.http.client import Fetcher
from reedbed.ingest.http.headers import MAX_RETRY_AFTER
from tests.effort import REPEAT_FACTOR
from tests.faulty_servers import BEHAVIOURS, FEED, MisbehavingServer
from tests.feedsite import FeedSite

from .conftest import LOOPBACK_ALLOWED, fetcher_with

SOON = 20.0
"""Seconds; where nothing but its patience would end a fetch it has two."""
TEMPORARY = "temporary_error"
PERMANENT = "permanent_error"

FAILURES = {
    "empty": (TEMPORARY, "empty document"),
    "blank": (TEMPORARY, "empty document"),
    "endless": (PERMANENT, "larger than 512 KB"),
    "endless_chunks": (PERMANENT, "larger than 512 KB"),
    "endless_tiny_chunks": (TEMPORARY, ""),
    "endless_extension": (TEMPORARY, "proper HTTP"),
    "endless_trailers": (TEMPORARY, ""),
    "drip": (TEMPORARY, "not complete within 2 seconds"),
    "drip_headers": (TEMPORARY, "did not answer within 2 seconds"),
    "silent": (TEMPORARY, "did not answer within 2 seconds"),
    "silent_body": (TEMPORARY, "was not complete within 2 seconds"),
    "says_too_large": (PERMANENT, "larger than 512 KB"),
    "length_beyond_numbers": (TEMPORARY, "proper HTTP"),
    "length_negative": (TEMPORARY, "proper HTTP"),
    "length_not_a_number": (TEMPORARY, "proper HTTP"),
    "length_too_long": (TEMPORARY, "broke off"),
    "length_twice": (TEMPORARY, "proper HTTP"),
    "length_and_chunked": (TEMPORARY, "proper HTTP"),
    "chunk_size_bad": (TEMPORARY, ""),
    "chunk_size_huge": (TEMPORARY, ""),
    "chunks_cut_off": (TEMPORARY, "broke off"),
    "gzip_cut_off": (TEMPORARY, "broke off"),
    "gzip_damaged": (TEMPORARY, "damaged"),
    "brotli_damaged": (TEMPORARY, "damaged"),
    "unknown_encoding": (TEMPORARY, "was not asked for"),
    "encodings_without_end": (TEMPORARY, "too many times"),
    "gzip_bomb": (PERMANENT, "larger than 512 KB"),
    "gzip_bomb_in_gzip": (PERMANENT, "larger than 512 KB"),
    "gzip_bomb_file": (PERMANENT, "larger than 512 KB"),
    "deflate_bomb": (PERMANENT, "larger than 512 KB"),
    "brotli_bomb": (PERMANENT, "larger than 512 KB"),
    "empty_members": (TEMPORARY, "too many compressed parts"),
    "header_huge": (TEMPORARY, "headers that 127.0.0.1 sends are too large"),
    "header_endless": (TEMPORARY, "headers that 127.0.0.1 sends are too large"),
    "headers_by_thousands": (TEMPORARY, "headers that 127.0.0.1 sends are too large"),
    "header_nul": (TEMPORARY, "proper HTTP"),
    "header_without_colon": (TEMPORARY, "proper HTTP"),
    "status_long": (TEMPORARY, "headers that 127.0.0.1 sends are too large"),
    "http_0_9": (TEMPORARY, "proper HTTP"),
    "garbage": (TEMPORARY, "proper HTTP"),
    "ssh_banner": (TEMPORARY, "proper HTTP"),
    "http_2": (TEMPORARY, "proper HTTP"),
    "http_version_odd": (TEMPORARY, "proper HTTP"),
    "status_odd": (TEMPORARY, "proper HTTP"),
    "status_three_zeros": (TEMPORARY, ""),
    "closes_at_once": (TEMPORARY, "without an answer"),
    "resets_at_once": (TEMPORARY, "broke the connection off"),
    "resets_in_headers": (TEMPORARY, "broke the connection off"),
    "resets_in_body": (TEMPORARY, "broke off"),
    "interim_flood": (TEMPORARY, "proper HTTP"),
    "switches_protocols": (TEMPORARY, "answered 101"),
    "redirect_loop": (PERMANENT, "in a circle"),
    "redirect_pair": (PERMANENT, "in a circle"),
    "redirect_forever": (PERMANENT, "more than 5 times"),
    "redirect_nowhere": (TEMPORARY, "without saying where"),
    "redirect_bytes_odd": (PERMANENT, "not valid"),
    "error_with_endless_body": (TEMPORARY, "answered 500"),
    "icy": (TEMPORARY, "proper HTTP"),
    "gzip_endless_name": (PERMANENT, "larger than 512 KB"),
    "zstd_damaged": (TEMPORARY, "damaged"),
    "redirect_growing": (PERMANENT, "more than 5 times"),
    "redirect_slow": (TEMPORARY, "within 2 seconds"),
    "redirect_long": (PERMANENT, "too long"),
    "refuses_tunnel": ("unauthorized", "proxy"),
    "unchanged": (TEMPORARY, "not asked for changes"),
    "chunk_size_signed": (TEMPORARY, "proper HTTP"),
    "chunk_size_negative": (TEMPORARY, "proper HTTP"),
    "chunk_size_with_prefix": (TEMPORARY, "proper HTTP"),
    "chunk_without_end": (TEMPORARY, "broke off"),
    "chunk_longer_than_said": (TEMPORARY, ""),
    "chunks_over_length": (TEMPORARY, ""),
    "length_empty": (TEMPORARY, "proper HTTP"),
    "length_hex": (TEMPORARY, "proper HTTP"),
    "length_of_zero_with_body": (TEMPORARY, ""),
    "drip_chunks": (TEMPORARY, "within 2 seconds"),
    "drip_status_line": (TEMPORARY, ""),
    "drip_gzip": (TEMPORARY, "within 2 seconds"),
    "drip_interim": (TEMPORARY, "within 2 seconds"),
    "brotli_bomb_in_gzip": (PERMANENT, "larger than 512 KB"),
    "brotli_cut_off": (TEMPORARY, "broke off"),
    "deflate_label_lies": (TEMPORARY, "damaged"),
    "gzip_wrong_checksum": (TEMPORARY, "damaged"),
    "header_name_with_space": (TEMPORARY, "proper HTTP"),
    "header_name_before_colon_space": (TEMPORARY, "proper HTTP"),
    "header_name_empty": (TEMPORARY, "proper HTTP"),
    "header_utf8": (TEMPORARY, "proper HTTP"),
    "retry_after_negative": (TEMPORARY, "answered 503"),
    "status_negative": (TEMPORARY, "proper HTTP"),
    "status_of_four": (TEMPORARY, "proper HTTP"),
    "status_line_only": (TEMPORARY, "without an answer"),
    "status_line_lower_case": (TEMPORARY, "proper HTTP"),
    "not_modified_by_200": (TEMPORARY, "empty document"),
    "no_content": (TEMPORARY, ""),
    "partial_content": (TEMPORARY, "only a part"),
    "redirect_to_itself_with_fragment": (PERMANENT, "in a circle"),
    "redirect_empty": (TEMPORARY, "without saying where"),
    "redirect_blank_scheme": (PERMANENT, "cannot be used"),
    "redirect_to_script": (PERMANENT, "Only addresses with http:// or https://"),
    "redirect_to_file": (PERMANENT, "Only addresses with http:// or https://"),
    "redirect_to_inside": (PERMANENT, "private network"),
    "redirect_multiple_choices": (TEMPORARY, "answered 300"),
    "redirect_use_proxy": (TEMPORARY, "answered 305"),
    "asks_to_upgrade": (PERMANENT, "answered 426"),
}

DOCUMENTS = {
    "fine",
    "conditional",
    "until_close",
    "old_http",
    "gzipped",
    "gzipped_members",
    "gzipped_file",
    "deflated",
    "deflated_raw",
    "brotlied",
    "packed_twice",
    "gzip_label_lies",
    "header_bytes_odd",
    "header_folded",
    "validators_long",
    "cookies_pressed",
    "links_many",
    "interim_hints",
    "answers_twice",
    "redirect_to_fine",
    "redirect_with_endless_body",
    "lines_with_lf_only",
    "without_reason",
    "blank_lines_first",
    "transfer_gzip",
    "policy_header_long",
    "redirect_several",
    "chunked_upper_case",
    "chunks_of_one",
    "chunks_with_trailers",
    "gzip_then_garbage",
    "identity_named",
    "encoding_empty",
    "encoding_upper_case",
    "header_value_empty",
    "dates_impossible",
    "etag_unquoted",
    "early_hints_endless_links",
    "redirect_with_credentials",
    "goes_away_keeping_alive",
}

# Each of these may end either way, depending on how forgiving the HTTP parser is.
EITHER = {"transfer_encoding_unknown", "header_bare_cr", "length_too_short", "redirect_split"} | {
    "unchanged_with_body",
    "says_closed_then_more",
    "chunked_twice",
    "length_twice_the_same",
    "page_instead",
}
ELSEWHERE = {"status", "redirect", "throttled", "overloaded", "scripted", "asks_for_login"} | {
    "retry_after_absurd",
    "retry_after_past",
    "gone",
}


@pytest.mark.parametrize("name", sorted(FAILURES))
async def test_a_misbehaving_server_becomes_a_failure_in_plain_words(name: str, server: MisbehavingServer) -> None:
    kind, words = FAILURES[name]
    started = time.monotonic()
    async with fetcher_with(**_patience(words)) as fetcher:
        outcome = await fetcher.fetch(FetchRequest(server.url(name)))
    assert time.monotonic() - started < SOON
    assert isinstance(outcome, Failed), outcome
    assert outcome.kind == kind, outcome
    assert words in outcome.message
    assert outcome.message.endswith(".")


def _patience(words: str) -> dict[str, float]:
    """As little as shows the failure, and no less: a busy machine must not run into another limit first."""
    if "within 2 seconds" in words:
        return {"patience": 2.0}
    return {} if words else {"patience": 2.0}


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
async def test_what_can_be_read_is_read(name: str, server: MisbehavingServer, fetcher: Fetcher) -> None:
    outcome = await fetcher.fetch(FetchRequest(server.url(name)))
    assert isinstance(outcome, Fetched), outcome
    assert outcome.body == FEED


@pytest.mark.parametrize("name", sorted(EITHER))
async def test_a_doubtful_answer_is_read_or_refused_but_never_raises(
    name: str, server: MisbehavingServer, fetcher: Fetcher
) -> None:
    assert isinstance(await fetcher.fetch(FetchRequest(server.url(name))), Fetched | Failed)


async def test_odd_refusals_are_what_they_are(server: MisbehavingServer, fetcher: Fetcher) -> None:
    login = await fetcher.fetch(FetchRequest(server.url("asks_for_login")))
    assert login == Failed("unauthorized", Failure(FailureCode.AUTHENTICATION_REQUIRED), 401)
    assert isinstance(await fetcher.fetch(FetchRequest(server.url("gone"))), Gone)
    absurd = await fetcher.fetch(FetchRequest(server.url("retry_after_absurd")))
    past = await fetcher.fetch(FetchRequest(server.url("retry_after_past")))
    assert isinstance(absurd, Throttled) and isinstance(past, Throttled)
    assert absurd.hints.retry_after is not None
    assert absurd.hints.retry_after < time.time() * 1000 + MAX_RETRY_AFTER + 1000
    assert past.hints.retry_after is None


def test_every_misbehaviour_has_an_expected_end() -> None:
    assert len(BEHAVIOURS) >= 160
    assert set(BEHAVIOURS) == set(FAILURES) | DOCUMENTS | EITHER | ELSEWHERE


@pytest.mark.parametrize(
    ("code", "kind", "message"),
    [
        (400, PERMANENT, "Invalid request"),
        (401, "unauthorized", "Authentication required"),
        (402, PERMANENT, "The server answered 402."),
        (403, "unauthorized", "Authentication required"),
        (404, PERMANENT, "Feed no longer available"),
        (407, "unauthorized", "The proxy asks for authentication."),
        (408, TEMPORARY, "The server answered 408."),
        (418, PERMANENT, "The server answered 418."),
        (451, PERMANENT, "The server answered 451."),
        (500, TEMPORARY, "The server answered 500."),
        (502, TEMPORARY, "The server answered 502."),
        (503, TEMPORARY, "The server answered 503."),
        (504, TEMPORARY, "The server answered 504."),
        (599, TEMPORARY, "The server answered 599."),
        (999, TEMPORARY, "The server answered 999."),
        (204, TEMPORARY, "The server answered that there is no content (204)."),
        (205, TEMPORARY, "The server answered that there is no content (205)."),
        (206, TEMPORARY, "The server sent only a part of the document (206)."),
        (300, TEMPORARY, "The server answered 300."),
        (305, TEMPORARY, "The server answered 305."),
    ],
)
async def test_a_status_has_its_class_and_words(
    code: int, kind: str, message: str, server: MisbehavingServer, fetcher: Fetcher
) -> None:
    outcome = await fetcher.fetch(FetchRequest(server.url(f"status/{code}")))
    assert isinstance(outcome, Failed)
    assert (outcome.kind, outcome.message, outcome.status) == (kind, message, code)


async def test_410_is_gone(server: MisbehavingServer, fetcher: Fetcher) -> None:
    assert await fetcher.fetch(FetchRequest(server.url("status/410"))) == Gone()


@pytest.mark.parametrize(
    ("path", "waits", "message"),
    [
        ("throttled", True, "Rate limited"),
        ("overloaded", True, "The server answered 503."),
        ("status/429", False, "Rate limited"),
    ],
)
async def test_a_server_that_wants_a_rest_throttles(
    path: str, waits: bool, message: str, server: MisbehavingServer, fetcher: Fetcher
) -> None:
    outcome = await fetcher.fetch(FetchRequest(server.url(path)))
    assert isinstance(outcome, Throttled)
    assert outcome.message == message
    assert (outcome.hints.retry_after is not None) == waits


@pytest.mark.parametrize("name", ["gzip_bomb", "gzip_bomb_in_gzip", "gzip_bomb_file", "brotli_bomb", "endless"])
async def test_a_bomb_is_never_expanded_beyond_the_cap(name: str, server: MisbehavingServer, fetcher: Fetcher) -> None:
    await fetcher.fetch(FetchRequest(server.url("fine")))
    gc.collect()
    tracemalloc.start()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        outcome = await fetcher.fetch(FetchRequest(server.url(name)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(outcome, Failed)
    assert peak < 6 * 1024 * 1024
    # brotli's own window is not traced; 64 MB of zeros would show here.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60 * 1024


async def test_a_server_may_be_silent_for_as_long_as_the_time_limit_allows(site: FeedSite) -> None:
    """No shorter limit of its own ends the wait: 20 seconds once did, whatever was set."""
    site.publish("At last")
    site.misbehave(delay=21)
    async with fetcher_with(patience=90.0) as fetcher:
        outcome = await fetcher.fetch(FetchRequest(site.feed_url()))
    assert isinstance(outcome, Fetched), outcome


async def test_one_bad_server_does_not_hold_up_the_next(server: MisbehavingServer) -> None:
    names = ["drip", "silent", "interim_flood", "endless_tiny_chunks", "fine", "gzip_bomb", "fine"]
    async with fetcher_with(patience=6.0) as fetcher:
        outcomes = await asyncio.gather(*(fetcher.fetch(FetchRequest(server.url(name))) for name in names))
    assert [isinstance(outcome, Fetched) for outcome in outcomes] == [name == "fine" for name in names]


async def test_a_304_on_a_condition_is_not_modified(server: MisbehavingServer, fetcher: Fetcher) -> None:
    first = await fetcher.fetch(FetchRequest(server.url("conditional")))
    assert isinstance(first, Fetched)
    second = await fetcher.fetch(
        FetchRequest(server.url("conditional"), etag=first.hints.etag, last_modified=first.hints.last_modified)
    )
    assert isinstance(second, NotModified)
    assert second.hints.cache_control == "max-age=60"
    assert server.connections == 1


class Nowhere(AbstractResolver):
    """Knows no name: a damaged redirect must not ask the real world."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    async def close(self) -> None:
        pass


VALID = (
    b'HTTP/1.1 200 OK\r\nContent-Type: text/xml; charset=utf-8\r\nETag: "v1"\r\nCache-Control: max-age=60\r\n'
    b"Expires: Sun, 15 Nov 2026 09:00:00 GMT\r\nLink: </hub>; rel=hub\r\nContent-Encoding: gzip\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
    + b"%x\r\n" % len(gzip.compress(FEED))
    + gzip.compress(FEED)
    + b"\r\n0\r\n\r\n"
)
MOVED = b"HTTP/1.1 301 Moved\r\nLocation: http://example.org/%20?a=b#c\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n"


def _damaged(answer: bytes, chance: random.Random) -> bytes:
    damaged = bytearray(answer)
    for _ in range(chance.randint(1, 6)):
        place = chance.randrange(len(damaged))
        match chance.randrange(4):
            case 0:
                damaged[place] = chance.randrange(256)
            case 1:
                del damaged[place : place + chance.randint(1, 30)]
            case 2:
                damaged[place:place] = chance.randbytes(chance.randint(1, 30))
            case _:
                damaged[place:place] = damaged[chance.randrange(len(damaged)) :][:200]
        damaged = damaged or bytearray(b"\0")
    return bytes(damaged)


async def test_an_answer_damaged_at_random_always_ends_in_a_value(server: MisbehavingServer) -> None:
    fetcher = Fetcher(LOOPBACK_ALLOWED, timeout=1.0, resolver=Nowhere())
    chance = random.Random(4)
    for _ in range(300 * REPEAT_FACTOR):
        server.script = _damaged(chance.choice((VALID, MOVED)), chance)
        outcome = await fetcher.fetch(FetchRequest(server.url("scripted"), etag='"v0"'))
        assert isinstance(outcome, Fetched | NotModified | Gone | Throttled | Failed)
        if isinstance(outcome, Failed):
            assert outcome.message != "The answer could not be read.", server.script
    await fetcher.close()
