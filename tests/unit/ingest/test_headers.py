import pytest
from multidict import CIMultiDict

from reedbed.domain.times import DAY, SECOND, rfc3339
from reedbed.ingest.http.headers import (
    MAX_RETRY_AFTER,
    basic_auth,
    cache_headers,
    clean,
    is_sendable,
    links,
    parse_retry_after,
)

NOW = 1_763_200_000_000  # Sat, 15 Nov 2025 09:46:40 GMT


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("120", NOW + 120 * SECOND),
        (" 5 ", NOW + 5 * SECOND),
        ("Sat, 15 Nov 2025 09:46:50 GMT", NOW + 10 * SECOND),
        ("9" * 400, NOW + MAX_RETRY_AFTER),
        ("999999999999", NOW + MAX_RETRY_AFTER),
        ("Fri, 31 Dec 9999 23:59:59 GMT", NOW + MAX_RETRY_AFTER),
        ("0", None),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("Sat, 15 Nov 2025 09:46:30 GMT", None),
        ("Sat, 99 Nov 2025 99:99:99 GMT", None),
        ("١٢٠", None),
        ("\x00", None),
        ("x" * 10_000, None),
    ],
)
def test_retry_after_is_a_moment_ahead_or_nothing(value: str, moment: int | None) -> None:
    assert parse_retry_after(value, NOW) == moment


@pytest.mark.parametrize(
    "value", ["0", "-1", "never", "Thu, 01 Foo 1970", "\udcff\udcfe", "1" * 5000, "Fri, 31 Dec 9999 23:59:59 -1200"]
)
def test_a_malformed_expires_is_none(value: str) -> None:
    assert cache_headers(CIMultiDict({"Expires": value}), NOW).expires is None


def test_expires_counts_from_the_servers_own_clock() -> None:
    fields = CIMultiDict({"Date": "Sun, 01 Jan 2012 00:00:00 GMT", "Expires": "Mon, 02 Jan 2012 00:00:00 GMT"})
    assert cache_headers(fields, NOW).expires == NOW + DAY
    del fields["Date"]
    assert cache_headers(fields, NOW).expires == 1_325_462_400_000


@pytest.mark.parametrize(("sent", "ends"), [("0001", "9999"), ("9999", "0001")])
def test_expires_lies_within_the_years_there_are(sent: str, ends: str) -> None:
    fields = CIMultiDict({"Date": f"Mon, 01 Jan {sent} 00:00:00 GMT", "Expires": f"Mon, 01 Jan {ends} 00:00:00 GMT"})
    moment = cache_headers(fields, NOW).expires
    assert moment is None or rfc3339(moment)


def test_several_cache_control_fields_are_one() -> None:
    fields = CIMultiDict([("Cache-Control", "public"), ("cache-control", "max-age=60")])
    assert cache_headers(fields, NOW).cache_control == "public, max-age=60"


@pytest.mark.parametrize("value", ["", "a\r\nb", "\udcff", "ü", "a\x00b", "\x7f", "x" * 300])
def test_what_is_not_plain_text_is_not_kept(value: str) -> None:
    assert clean(value) is None
    assert not is_sendable(value) or len(value) == 300


def test_link_fields_become_pairs_of_relation_and_address() -> None:
    fields = CIMultiDict(
        [
            ("Link", '<https://hub.example.org/>; rel="hub", </feed.xml>; type="a/b"; rel=self'),
            ("Link", '<https://example.org/x>; rel="alternate canonical"'),
            ("Link", "<javascript:alert(1)>; rel=hub, <>; rel=hub, <broken; rel=hub"),
        ]
    )
    assert links(fields, "https://example.org/blog/") == (
        ("hub", "https://hub.example.org/"),
        ("self", "https://example.org/feed.xml"),
        ("alternate", "https://example.org/x"),
        ("canonical", "https://example.org/x"),
    )


@pytest.mark.parametrize("line", ["<" * 8000, "<a>;" * 2000, '<a>; rel="' * 800, "<a>" + "; b=c" * 2000])
def test_a_hostile_link_field_takes_no_time(line: str) -> None:
    assert len(links(CIMultiDict({"Link": line}), "https://example.org/")) <= 16


def test_credentials_may_hold_any_letter() -> None:
    assert basic_auth("jürgen", "p:ß") == "Basic asO8cmdlbjpwOsOf"
