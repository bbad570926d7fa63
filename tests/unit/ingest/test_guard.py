"""Every address that is not the public web is closed, however it is spelled."""

from ipaddress import ip_address, ip_network

import pytest

from reedbed.domain.failures import Failure
from reedbed.ingest.http.guard import AddressRejected, Guard
from reedbed.ingest.http.headers import RequestTarget, parse_target

CLOSED_ADDRESSES = [
    "0.0.0.0",
    "0.0.0.1",
    "0.255.255.255",
    "10.0.0.0",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.0",
    "100.64.0.1",
    "100.100.100.200",
    "100.127.255.255",
    "127.0.0.0",
    "127.0.0.1",
    "127.0.0.53",
    "127.1.2.3",
    "127.255.255.255",
    "168.63.129.16",
    "169.254.0.1",
    "169.254.169.253",
    "169.254.169.254",
    "169.254.170.2",
    "172.16.0.1",
    "172.17.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.0.8",
    "192.0.0.170",
    "192.0.0.192",
    "192.0.2.1",
    "192.31.196.1",
    "192.52.193.1",
    "192.88.99.1",
    "192.168.0.1",
    "192.168.1.1",
    "192.168.255.255",
    "192.175.48.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "224.0.0.251",
    "239.255.255.250",
    "239.255.255.255",
    "240.0.0.1",
    "250.1.2.3",
    "255.255.255.254",
    "255.255.255.255",
    "::",
    "::1",
    "::2",
    "::127.0.0.1",
    "::10.0.0.1",
    "::8.8.8.8",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:192.168.0.1",
    "::ffff:0.0.0.0",
    "::ffff:8.8.8.8",
    "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::127.0.0.1",
    "64:ff9b::10.0.0.1",
    "64:ff9b::8.8.8.8",
    "64:ff9b:1::1",
    "64:ff9b:1:abcd::a00:1",
    "100::1",
    "100:0:0:1::1",
    "2001::1",
    "2001:0:53aa:64c::",
    "2001:2::1",
    "2001:10::1",
    "2001:20::1",
    "2001:db8::1",
    "2001:db8:ffff::1",
    "2002::1",
    "2002:7f00:1::1",
    "2002:a00:1::1",
    "2002:c0a8:101::1",
    "3fff::1",
    "3fff:fff::1",
    "4000::1",
    "5f00::1",
    "8000::1",
    "fc00::1",
    "fd00::1",
    "fd00:ec2::254",
    "fd12:3456:789a::1",
    "fdff:ffff::1",
    "fe80::1",
    "fe80::1%eth0",
    "fe80::a9fe:a9fe",
    "febf::1",
    "fec0::1",
    "feff::1",
    "ff01::1",
    "ff02::1",
    "ff02::fb",
    "ff05::2",
    "ff0e::1",
    "ffff::1",
]

OPEN_ADDRESSES = [
    "1.1.1.1",
    "8.8.8.8",
    "93.184.215.14",
    "100.63.255.255",
    "100.128.0.1",
    "172.15.0.1",
    "172.32.0.1",
    "192.0.1.1",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001:830::200e",
    "2001:4860:4860::8888",
    "2400:cb00::1",
]

CLOSED_SPELLINGS = [
    "http://127.0.0.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://0x7f.1/",
    "http://017700000001/",
    "http://0177.0.0.1/",
    "http://0177.0.0.01/",
    "http://127.0.0.1./",
    "http://0/",
    "http://0.0.0.0/",
    "http://0x0/",
    "http://00/",
    "http://localhost/",
    "http://LOCALHOST/",
    "http://localhost./",
    "http://foo.localhost/",
    "http://localhost.localdomain/",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[0:0:0:0:0:ffff:7f00:1]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[fe80::1]/",
    "http://[fd00:ec2::254]/",
    "http://169.254.169.254/latest/meta-data/",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://0251.0376.0251.0376/",
    "http://user:pass@127.0.0.1/",
    "http://example.org@127.0.0.1/",
    "http://example.org:80@10.0.0.1/",
    "http:\\\\127.0.0.1\\",
    "http:127.0.0.1",
    "http:/127.0.0.1",
    "http:///127.0.0.1/",
    "http://127.0.0.1#@example.org/",
    "http://127.0.0.1\\@example.org/",
    "http://１２７.０.０.１/",
    "http://127。0。0。1/",
    "http://①②⑦.⓪.⓪.①/",
    "http://%31%32%37.0.0.1/",
    "http://127.0.0.1%2f/",
    "http://ⓛocalhost/",
    "https://192.168.1.1:8443/",
    "HTTP://10.1",
]

NO_WEB_ADDRESS = [
    "file:///etc/passwd",
    "ftp://example.org/",
    "gopher://127.0.0.1:6379/_INFO",
    "data:text/xml,<rss/>",
    "javascript:alert(1)",
    "ws://example.org/",
    "unix:///run/docker.sock",
    "about:blank",
    "mailto:a@example.org",
    "blob:http://example.org/1",
    "http://",
    "http://[::1",
    "http://exa%20mple.org/",
    "http://example.org:99999/",
    "http://example.org:-1/",
    "http://256.256.256.256/",
    "http://[fe80::1%25eth0]/",
    "http://a%00b/",
    "example.org",
    "//example.org/",
    "dict://127.0.0.1:11211/",
]


def test_the_tables_are_as_long_as_the_danger() -> None:
    assert len(CLOSED_ADDRESSES) + len(CLOSED_SPELLINGS) + len(NO_WEB_ADDRESS) > 140


@pytest.mark.parametrize("address", CLOSED_ADDRESSES)
def test_a_closed_address_is_refused(address: str) -> None:
    reason = Guard().rejection_reason(ip_address(address), 80)
    assert reason is not None
    assert "REEDBED_ALLOW_NETWORKS" in reason.message
    with pytest.raises(AddressRejected):
        Guard().check(address, 80)


@pytest.mark.parametrize("address", OPEN_ADDRESSES)
def test_a_public_address_is_open(address: str) -> None:
    assert Guard().rejection_reason(ip_address(address), 443) is None


@pytest.mark.parametrize("address", CLOSED_SPELLINGS)
def test_no_spelling_hides_a_closed_address(address: str) -> None:
    target = parse_target(address)
    if isinstance(target, RequestTarget):
        assert Guard().host_rejection(target.host, target.port) is not None


@pytest.mark.parametrize("address", NO_WEB_ADDRESS)
def test_what_is_no_web_address_is_no_target(address: str) -> None:
    assert isinstance(parse_target(address), Failure)


def test_an_operator_opens_only_the_network_named() -> None:
    guard = Guard([ip_network("10.1.0.0/16"), ip_network("fd00:1::/32")])
    assert guard.rejection_reason(ip_address("10.1.2.3"), 8080) is None
    assert guard.rejection_reason(ip_address("fd00:1::5")) is None
    assert guard.rejection_reason(ip_address("::ffff:10.1.2.3")) is None
    assert guard.rejection_reason(ip_address("10.2.0.1")) is not None
    assert guard.rejection_reason(ip_address("64:ff9b::10.1.2.3")) is not None
    assert guard.rejection_reason(ip_address("127.0.0.1")) is not None


@pytest.mark.parametrize("port", [1, 21, 22, 23, 25, 53, 110, 143, 389, 445, 587, 993, 2375, 3306, 5432, 6379, 11211])
def test_ports_of_other_services_are_closed_unless_the_network_is_allowed(port: int) -> None:
    assert Guard().rejection_reason(ip_address("1.1.1.1"), port) is not None
    assert Guard([ip_network("1.1.1.0/24")]).rejection_reason(ip_address("1.1.1.1"), port) is None


@pytest.mark.parametrize("port", [80, 443, 1024, 3000, 8000, 8080, 8443, 9000, 65535])
def test_ports_of_the_web_are_open(port: int) -> None:
    assert Guard().rejection_reason(ip_address("1.1.1.1"), port) is None


def test_something_that_is_no_address_is_refused_at_the_socket() -> None:
    with pytest.raises(AddressRejected):
        Guard().check("example.org", 80)
