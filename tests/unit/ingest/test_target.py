import pytest

from reedbed.domain.failures import Failure
from reedbed.ingest.http.headers import RequestTarget, parse_target


@pytest.mark.parametrize(
    ("address", "href"),
    [
        ("https://example.org/feed.xml", "https://example.org/feed.xml"),
        ("https://example.org", "https://example.org/"),
        ("HTTPS://EXAMPLE.ORG:443/A#b", "https://example.org/A"),
        ("http://example.org:8080/a?b=c&d", "http://example.org:8080/a?b=c&d"),
        ("http://example.org:65535/", "http://example.org:65535/"),
        ("https://example.org/a/../b/./c", "https://example.org/b/c"),
        ("https://bücher.example/ü?q=ü", "https://xn--bcher-kva.example/%C3%BC?q=%C3%BC"),
        ("  https://example.org/a b\n", "https://example.org/a%20b"),
        ("https://user:pa%40ss@example.org/x", "https://example.org/x"),
    ],
)
def test_an_address_has_one_spelling(address: str, href: str) -> None:
    target = parse_target(address)
    assert isinstance(target, RequestTarget)
    assert target.href == str(target.url) == href


@pytest.mark.parametrize(
    "address",
    [
        "https://example.org/",
        "https://feeds.example.org/a/b.xml?c=d&e=%20f",
        "http://a-b.example.org:8080/~x/?q",
        "http://1and1.example:59999/",
    ],
)
def test_the_short_way_reads_an_address_as_the_long_way_does(address: str) -> None:
    short, long = parse_target(address), parse_target(address + "#")
    assert short == long
    assert isinstance(short, RequestTarget)


def test_credentials_are_taken_out_of_the_address() -> None:
    target = parse_target("https://user:pa%40ss@example.org/x")
    assert isinstance(target, RequestTarget)
    assert (target.username, target.password) == ("user", "pa@ss")


def test_a_relative_address_needs_a_base() -> None:
    assert isinstance(parse_target("../feed"), Failure)
    target = parse_target("../feed", "https://example.org/a/b/")
    assert isinstance(target, RequestTarget)
    assert target.href == "https://example.org/a/feed"
