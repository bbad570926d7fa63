"""Entries without a title of their own: social posts, with their link and the account that wrote them."""

from dataclasses import replace

import pytest

from reedbed.domain.entries import EntryRow, PostLink, PostSource, States, is_post, read_post

MASTODON = "https://reeds.example/@petra"
SHOWN = (
    "<a href='https://ledger.example/keepers?a=1&amp;b=2'><span>https://</span><span>ledger.example/keepers?a=1&amp;b</span>"
    "<span>=2</span></a>"
).replace("'", '"')
LINK = "https://ledger.example/keepers?a=1&b=2"
TEXT = "Good long piece on why lock keepers still keep paper books."


def entry(title: str, summary: str, *, url: str = f"{MASTODON}/101", author: str | None = None) -> EntryRow:
    states = States(read=False, starred=False, later=False)
    return EntryRow(1, 1, title, url, author, summary, None, None, 9, 1, 1, 1, None, 1, states)


def source(content: str, *, external_url: str = "", feed_url: str = f"{MASTODON}.rss") -> PostSource:
    return PostSource(1, content, external_url, feed_url, "")


@pytest.mark.parametrize(
    ("title", "summary", "url"),
    [
        ("A greeting.", "A greeting.", "https://notes.example/1"),
        ("The beginning of a…", "The beginning of a long text.", "https://notes.example/1"),
        ("Lunch today", "Lunch today", f"{MASTODON}/101"),
        ("RT by @ines: The library opens", "The library opens", "https://birds.example/lib/status/1"),
        ("R to @ines: One more thing", "One more thing", "https://birds.example/ines/status/1"),
        ("Pinned: Hello", "Hello", "https://birds.example/ines/status/1"),
        ("word " * 80, "word " * 50 + "…", "https://birds.example/ines/status/1"),
    ],
)
def test_a_post_has_no_title_of_its_own(title: str, summary: str, url: str) -> None:
    assert is_post(entry(title, summary, url=url))


@pytest.mark.parametrize(
    ("title", "summary"),
    [
        ("The ferry", "The ferry"),
        ("The ferry", "The ferry goes on"),
        ("The ferry", ""),
        ("The ferry: more", "The ferry…"),
    ],
)
def test_a_headline_is_no_post(title: str, summary: str) -> None:
    assert not is_post(entry(title, summary, url="https://news.example/1"))


def test_the_only_link_of_a_post_takes_the_place_of_its_address() -> None:
    post = read_post(entry(TEXT, f"{TEXT} {LINK}"), source(f"<p>{TEXT} {SHOWN}</p>"))
    assert post.link == PostLink(LINK)
    assert post.text == TEXT


def test_an_address_that_the_summary_cuts_is_left_out_too() -> None:
    post = read_post(entry(TEXT, f"{TEXT} {LINK[:20]}…"), source(f"<p>{TEXT} {SHOWN}</p>"))
    assert post.text == TEXT


def test_a_link_with_words_stays_in_the_text() -> None:
    words = "Read Timing wheels today."
    post = read_post(entry(words, words), source('<p>Read <a href="https://m.example/w">Timing wheels</a> today.</p>'))
    assert post.link == PostLink("https://m.example/w", "Timing wheels")
    assert post.text == words


@pytest.mark.parametrize(
    "content",
    [
        '<a href="https://r.example/tags/reed" rel="tag">#<span>reed</span></a>',
        '<span><a href="https://marsh.example/@ada">@<span>ada</span></a></span>',
        '<a href="https://r.example/photo"><img src="https://r.example/1.jpg"></a>',
        f'<a href="{MASTODON}/101">link</a>',
        '<a href="https://a.example/">one</a> <a href="https://b.example/">two</a>',
        '<a href="mailto:ada@marsh.example">Ada</a>',
        "no link",
    ],
)
def test_mentions_hashtags_pictures_and_several_links_make_no_card(content: str) -> None:
    assert read_post(entry(TEXT, TEXT), source(content)).link is None


def test_the_address_that_a_json_feed_gives_is_the_link_of_a_text_without_one() -> None:
    post = read_post(entry(TEXT, TEXT), source(f"<p>{TEXT}</p>", external_url="https://ledger.example/"))
    assert post.link == PostLink("https://ledger.example/")


@pytest.mark.parametrize(
    ("url", "feed_url", "author"),
    [
        ("https://marsh.example/@ada/9001", f"{MASTODON}.rss", "@ada@marsh.example"),
        ("https://reeds.example/@ada@marsh.example/9001", MASTODON, "@ada@marsh.example"),
        ("https://marsh.example/users/ada/statuses/9001", MASTODON, "@ada@marsh.example"),
        (f"{MASTODON}/9001", f"{MASTODON}.rss", ""),
        ("https://reeds.example/users/Petra/statuses/1", f"{MASTODON}.rss", ""),
        ("https://marsh.example/@ada/9001", "https://reeds.example/tags/reed.rss", ""),
        ("https://notes.example/1", MASTODON, ""),
    ],
)
def test_a_post_of_another_account_than_the_feeds_is_a_boost(url: str, feed_url: str, author: str) -> None:
    assert read_post(entry(TEXT, TEXT, url=url), source(TEXT, feed_url=feed_url)).boosted_from == author


def test_a_boost_can_be_written_before_the_text() -> None:
    named = entry(f"RT @ada: {TEXT}", f"RT @ada: {TEXT}")
    assert (read_post(named, source("")).boosted_from, read_post(named, source("")).text) == ("@ada", TEXT)
    by_author = replace(entry(f"RT by @ines: {TEXT}", TEXT), author="@lib")
    assert read_post(by_author, source("")).boosted_from == "@lib"
    reply = entry(f"R to @ines: {TEXT}", TEXT)
    assert read_post(reply, source("")).boosted_from == ""
