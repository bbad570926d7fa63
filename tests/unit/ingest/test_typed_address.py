import pytest

from reedbed.ingest.discovery import urls_from_typed


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("https://example.org/feed", ("https://example.org/feed",)),
        ("http://example.org/", ("http://example.org/",)),
        ("  <https://example.org/>\n", ("https://example.org/",)),
        ("example.org", ("https://example.org", "http://example.org")),
        ("ann:pw@example.org/f", ("https://ann:pw@example.org/f", "http://ann:pw@example.org/f")),
        ("//ann:pw@127.0.0.1:80/f", ("https://ann:pw@127.0.0.1:80/f", "http://ann:pw@127.0.0.1:80/f")),
        ("mailto:ann@example.org", ()),
        ("www.example.org/blog?x=1", ("https://www.example.org/blog?x=1", "http://www.example.org/blog?x=1")),
        ("//example.org/a", ("https://example.org/a", "http://example.org/a")),
        ("example.org:8080/feed", ("https://example.org:8080/feed", "http://example.org:8080/feed")),
        ("localhost:8080", ("https://localhost:8080", "http://localhost:8080")),
        ("feed://example.org/rss", ("https://example.org/rss", "http://example.org/rss")),
        ("feed:https://example.org/rss", ("https://example.org/rss",)),
        ("feed:http://example.org/rss", ("http://example.org/rss",)),
        ("feed://intranet/rss", ("https://intranet/rss", "http://intranet/rss")),
        ("feed://https://example.org/rss", ("https://example.org/rss",)),
        ("feed:intranet", ()),
        ("pcast://example.org/show", ("https://example.org/show", "http://example.org/show")),
        ("HTTPS://Example.org/A", ("https://Example.org/A",)),
        ("https:/example.org", ("https://example.org",)),
        ("http//example.org", ("http://example.org",)),
        ("htpps://example.org", ("https://example.org",)),
        ("htp://example.org", ("http://example.org",)),
        ("@reed@social.example.org", ("https://social.example.org/@reed",)),
        ("reed@social.example.org", ("https://social.example.org/@reed",)),
        ("bücher.example", ("https://bücher.example", "http://bücher.example")),
        ("javascript:alert(1)", ()),
        ("file:///etc/passwd", ()),
        ("mailto:reed@example.org", ()),
        ("just some words", ()),
        ("word", ()),
        ("", ()),
        (" \t", ()),
        ("x" * 5000, ()),
    ],
)
def test_what_is_typed_becomes_addresses_to_try(typed: str, meant: tuple[str, ...]) -> None:
    assert urls_from_typed(typed) == meant
