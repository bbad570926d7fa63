import pytest
from hypothesis import given
from hypothesis import strategies as st

from reedbed.domain import urls
from reedbed.domain.errors import Invalid


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("https://Site.com:443/Article?utm_source=rss&id=123#comments", "https://site.com/Article?id=123"),
        ("http://site.com:80/a", "http://site.com/a"),
        ("http://site.com:443/a", "http://site.com:443/a"),
        ("https://site.com/a/", "https://site.com/a"),
        ("https://site.com/", "https://site.com/"),
        ("https://site.com", "https://site.com"),
        ("https://site.com/a?fbclid=1&gclid=2", "https://site.com/a"),
        ("https://site.com/a?b=2&utm_x&a=%20+1&ref=x&source=y", "https://site.com/a?b=2&a=%20+1&ref=x&source=y"),
        ("https://site.com/a?gclid2=1&xutm_a=2", "https://site.com/a?gclid2=1&xutm_a=2"),
        ("HTTPS://SITE.com/ABC", "https://site.com/ABC"),
        ("https://bücher.example/ü", "https://xn--bcher-kva.example/ü"),
        ("http://[2001:DB8::1]:80/x", "http://[2001:db8::1]/x"),
        ("  https://site.com/a\n", "https://site.com/a"),
    ],
)
def test_noise_goes_and_nothing_else(written: str, key: str) -> None:
    assert urls.normalize_url(written) == key


@pytest.mark.parametrize(
    "written",
    [
        "http://¯",
        "https://user:pass@site.com/a",
        "https://user@site.com",
        "ftp://site.com/",
        "/a",
        "",
        "http://",
        "http://[::1",
        "http://[v1.x]/",
        "http://[::1]\\a",
        "http://a:99999/",
    ],
)
def test_what_has_no_key(written: str) -> None:
    assert urls.normalize_url(written) is None


def test_credentials_are_told_from_other_reasons() -> None:
    assert urls.has_userinfo("https://user:pass@site.com/a")
    assert not urls.has_userinfo("mailto:someone@site.com")
    assert not urls.has_userinfo("https://site.com/@someone")


@given(
    st.one_of(
        st.text(max_size=80).map(lambda text: "http://" + text),
        st.from_regex(
            r"https?://[A-Za-zäß.]{1,8}(:[0-9]{1,5})?(/[a-zA-Z/]{0,5}){0,3}(\?[a-z_=&utmfbclid]{0,20})?(#.{0,3})?",
            fullmatch=True,
        ),
    )
)
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = urls.normalize_url(text)
    assert once is None or urls.normalize_url(once) == once


@given(
    st.from_regex(r"https?://[A-Za-z0-9.-]{1,9}(:[0-9]{0,6})?(/[^?#]{0,9})?(\?[^#]{0,9})?(#.{0,3})?", fullmatch=True)
)
def test_the_short_way_gives_the_same_key_as_the_long_one(url: str) -> None:
    scheme, _, rest = url.partition("://")
    assert urls.normalize_url(url) == urls.normalize_url(f"{scheme.upper()}://{rest}")


@pytest.mark.parametrize("typed", ["", "   "])
def test_a_feed_needs_an_address(typed: str) -> None:
    with pytest.raises(Invalid, match=r"^Feed URL is required$") as refused:
        urls.check_feed_url(typed)
    assert refused.value.field == "url"


@pytest.mark.parametrize("typed", ["site.com/feed", "ftp://site.com", "javascript:alert(1)", "http://", "https:///x"])
def test_a_feed_address_is_http(typed: str) -> None:
    with pytest.raises(Invalid) as refused:
        urls.check_feed_url(typed)
    assert refused.value.message == "Invalid URL format. Must start with http:// or https://"


@pytest.mark.parametrize(
    "typed", ["http://a b/", "http://a\n.com/x", "http://x:y/", "http://[v1.x]/", "http://[::1]\\a", "HTTP://[::1"]
)
def test_a_feed_address_names_a_host(typed: str) -> None:
    with pytest.raises(Invalid) as refused:
        urls.check_feed_url(typed)
    assert refused.value.message == "The host or port in this address is not valid."


def test_a_feed_address_is_tidied_and_keeps_its_credentials() -> None:
    assert urls.check_feed_url(" HTTPS://Me:Secret@Site.COM:443/my feed#top ") == "https://Me:Secret@site.com/my%20feed"
    assert urls.check_feed_url("http://127.0.0.1:9000/feed.xml?a=1") == "http://127.0.0.1:9000/feed.xml?a=1"


def test_a_feed_address_has_an_end() -> None:
    assert urls.check_feed_url("http://a/" + "x" * 2_039)
    with pytest.raises(Invalid, match="2048"):
        urls.check_feed_url("http://a/" + "x" * 2_040)


@given(st.text(max_size=60).map(lambda text: "http://" + text))
def test_a_tidy_feed_address_stays_as_it_is(text: str) -> None:
    try:
        once = urls.check_feed_url(text)
    except Invalid:
        return
    assert urls.check_feed_url(once) == once


@pytest.mark.parametrize(
    ("name", "message"), [(" ", "Feed name is required"), ("x" * 256, "Feed name must be less than 255 characters")]
)
def test_feed_names_are_checked(name: str, message: str) -> None:
    with pytest.raises(Invalid) as refused:
        urls.feed_name(name)
    assert (refused.value.message, refused.value.field) == (message, "title")


def test_a_feed_name_is_trimmed() -> None:
    assert urls.feed_name("  News ") == "News"
    assert urls.feed_name("x" * 255) == "x" * 255
    assert urls.feed_name("Ne\x00ws\ud800") == "News"


@pytest.mark.parametrize(
    ("url", "root"),
    [
        ("https://news.example.com/a", "example.com"),
        ("https://example.com", "example.com"),
        ("https://www.news.example.co.uk/", "example.co.uk"),
        ("https://abc.net.au/news", "abc.net.au"),
        ("https://x.y.com.br", "y.com.br"),
        ("https://someone.github.io/feed", "someone.github.io"),
        ("https://t.co/a", "t.co"),
        ("http://192.168.1.7:80/", "192.168.1.7"),
        ("http://localhost/", "localhost"),
        ("nothing", None),
    ],
)
def test_the_root_domain_is_what_one_owner_registered(url: str, root: str | None) -> None:
    assert urls.root_domain(url) == root


def test_the_host_is_plain() -> None:
    assert urls.host_of("https://Me:x@News.Example.com:8443/") == "news.example.com"
    assert urls.host_of("http://[::1]:80/") == "::1"


@pytest.mark.parametrize(
    "url",
    [
        "https://me:secret@site.com/feed",
        "https://site.com/feed?token=abc",
        "https://site.com/feed?user=1&api_key=abc",
        "https://site.com/feed?auth=abc",
        "https://site.com/feed/private/abc",
        "https://site.com/private-0a1b2c3d/basic.ics",
        "https://site.com/feed?feed=0123456789abcdef0123456789abcdef01234567&user=me",
        "https://feeds.example.com/rss/u8Fh2kLm93nBvCx01QzPwErTyA7/show",
        *(
            f"https://site.com/feed?a=1&{name}=abc"
            for name in ("k", "t", "pw", "sid", "session", "hash", "jwt", "session_id", "PW", "user_hash")
        ),
        *(f"https://site.com/feed?a=1&{name}=abc" for name in ("passkey", "torrent_pass", "authkey", "PHPSESSID")),
        "https://site.com/feed;jsessionid=abc",
        "https://site.com/rss/secret:0a1b2c/u:me/",
        "https://feeds.example.com/shows/0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0",
        "https://feeds.example.com/0F1E2D3C-4B5A-6978-8796-A5B4C3D2E1F0.rss",
        "https://feeds.example.com/feed?id=0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0",
    ],
)
def test_an_address_with_a_secret_is_private(url: str) -> None:
    assert urls.is_secret_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://site.com/feed.xml",
        "https://site.com/feed?keyword=cats&author=me&monkey=1",
        "https://www.youtube.com/feeds/videos.xml?channel_id=UCBR860B28hp2BmDPdntcQ12",
        "https://site.com/feed?talk=1&pwa=2&hashtag=cats&sidebar=1&sessions=all",
        "https://site.com/feed?k=&t",
        "https://site.com/t/k/hash/session",
        "https://site.com/feed?bypass=1&compass=north&possess_id=2&sess=1",
        "https://site.com/topics/secrets:of-the-sea",
        "https://site.com/a-very-long-title-about-something-of-2026-and-more",
        "https://site.com/?feed=rss2&token=",
        "not an address",
    ],
)
def test_an_ordinary_address_is_shared(url: str) -> None:
    assert not urls.is_secret_url(url)
