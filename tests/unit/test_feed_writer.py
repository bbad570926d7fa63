"""Feeds we write can be read, whatever the entries hold."""

from dataclasses import replace

import orjson
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from reedbed.domain.feed_writer import (
    ATOM,
    Category,
    FeedDocument,
    FeedItem,
    FeedSource,
    to_json_feed,
    write_atom,
    write_rss,
)
from reedbed.domain.feeds import ParsedFeed
from reedbed.ingest.parse import parse_feed

HEAD = FeedDocument(
    id="tag:reeds.example,2026-11-15:published-1",
    title="Mine",
    self_url="https://reeds.example/published/x.atom",
    home_url="https://reeds.example",
    updated=1_763_200_000_000,
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)


def entry(text: str, id: int = 1) -> FeedItem:
    return FeedItem(
        id=f"tag:reeds.example,2026:entry-{id}",
        title=text,
        content_html=text,
        published=1_763_100_000_000,
        url=text or None,
        author=text or None,
        language=text or None,
        summary=text,
        categories=[Category(text, text, text)],
        enclosures=[(text, text)],
        extensions=[("f:words", text)],
        source=FeedSource(text, text, feed_url=text, home_url=text),
    )


@given(texts)
def test_atom_is_well_formed_and_loses_only_what_xml_cannot_say(text: str) -> None:
    root = etree.fromstring(write_atom(HEAD, [entry(text)]))
    content = root.findtext(f"{{{ATOM}}}entry/{{{ATOM}}}content") or ""
    assert content == _as_xml(text)


@given(texts)
def test_rss_is_well_formed_and_loses_only_what_xml_cannot_say(text: str) -> None:
    root = etree.fromstring(write_rss(replace(HEAD, namespaces={"f": "urn:words"}), [entry(text)]))
    content = root.findtext("channel/item/description") or ""
    assert content == (_as_xml(text) if text.strip() else "")


@given(texts)
def test_json_says_every_text_as_it_is(text: str) -> None:
    (item,) = orjson.loads(orjson.dumps(to_json_feed(HEAD, [entry(text)])))["items"]
    assert (item["content_html"], item["title"]) == (text, text)


def test_names_are_stable_and_dates_are_told() -> None:
    body = write_atom(HEAD, [entry("One", 1), entry("Two", 2)])
    assert body == write_atom(HEAD, [entry("One", 1), entry("Two", 2)])
    feed = parse_feed(body, content_type="application/atom+xml", url=HEAD.self_url)
    assert isinstance(feed, ParsedFeed)
    assert [one.guid for one in feed.entries] == [f"tag:reeds.example,2026:entry-{id}" for id in (1, 2)]
    assert [one.published for one in feed.entries] == [1_763_100_000_000] * 2


def test_a_feed_without_entries_is_a_feed() -> None:
    feed = parse_feed(write_atom(HEAD, []), content_type="application/atom+xml", url=HEAD.self_url)
    assert isinstance(feed, ParsedFeed)
    assert (feed.title, feed.entries) == ("Mine", ())


def _as_xml(text: str) -> str:
    return "".join(char for char in text if char in "\t\n\r" or (char >= " " and char not in "\ufffe\uffff"))
