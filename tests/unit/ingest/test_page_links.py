import time

import pytest

from reedbed.ingest.discovery import decode_page, read_links

URL = "https://example.org/blog/"


def test_link_tags_name_the_feeds_of_a_page() -> None:
    found = read_links(
        """<html><head><title> The
        marsh </title><base href="/base/">
        <link rel="alternate" type="application/rss+xml" title="Comments" href="comments.xml">
        <link rel="ALTERNATE home" type="application/atom+xml; charset=utf-8" title="All" href="/atom.xml">
        <link rel=alternate type=application/feed+json href=https://other.example.net/feed.json>
        <link rel="alternate" type="application/json" href="/wp-json/wp/v2/posts/1">
        <link rel="alternate" hreflang="de" href="/de/">
        <link rel="alternate stylesheet" type="text/xml" href="/x.xsl">
        <link rel="alternate" type="application/rss+xml" href="javascript:alert(1)">
        <link rel="alternate" type="application/atom+xml" href="/atom.xml">
        """,
        URL,
    )
    assert found.title == "The marsh"
    assert [(feed.url, feed.title, feed.type) for feed in found.feeds] == [
        ("https://example.org/atom.xml", "All", "atom"),
        ("https://other.example.net/feed.json", "", "json"),
        ("https://example.org/base/comments.xml", "Comments", "rss"),
    ]


def test_anchors_that_look_like_feeds_are_worth_a_try() -> None:
    found = read_links(
        """<a href="/about">About</a><a href="feed.xml">Stay</a><a href="/subscribe?x">RSS</a>
        <a href="/news.rss#top">x</a><a href="/feeding-birds">y</a>
        <a href="mailto:rss@example.org">RSS</a>""",
        URL,
    )
    assert found.anchors == (
        "https://example.org/blog/feed.xml",
        "https://example.org/subscribe?x",
        "https://example.org/news.rss",
    )


def test_the_icon_nearest_to_the_wanted_size_comes_first() -> None:
    found = read_links(
        """<link rel="shortcut icon" href="/16.ico" sizes="16x16">
        <link rel=icon href=/any.svg type=image/svg+xml>
        <link rel="icon" href="/512.png" sizes="512x512"><link rel="icon" href="/96.png" sizes="96x96">
        <link rel="apple-touch-icon" href="/touch.png">""",
        URL,
    )
    assert [address.rpartition("/")[2] for address in found.icons] == ["96.png", "touch.png", "512.png", "16.ico"]


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("<title>Müll</title>".encode("latin-1"), "text/html; charset=ISO-8859-1"),
        (b'<meta charset="windows-1252"><title>M\xfcll</title>', "text/html"),
        ("<title>Müll</title>".encode(), None),
        ("<title>Müll</title>".encode(), "text/html; charset=unheard-of"),
    ],
)
def test_a_page_is_read_in_its_own_letters(body: bytes, content_type: str | None) -> None:
    assert read_links(decode_page(body, content_type), URL).title == "Müll"


@pytest.mark.parametrize("codec", ["hex", "zip", "base64", "rot13", "idna", "undefined", "utf-16"])
def test_a_codec_that_is_no_charset_does_no_harm(codec: str) -> None:
    assert isinstance(decode_page(b"\x00x\x9c<title>M</title>", f"text/html; charset={codec}"), str)


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 300_000,
        "<link " * 200_000,
        '<a href="' * 200_000,
        "<a href=x>" * 200_000,
        "<!--" * 200_000,
        "\0" * 1_000_000,
        "<p><b><i>" * 100_000,
        "<a " + "b=c " * 300_000 + ">",
        "<" * 1_000_000,
    ],
)
def test_a_hostile_page_is_read_in_bounded_time(html: str) -> None:
    started = time.process_time()
    read_links(html, URL)
    assert time.process_time() - started < 5
