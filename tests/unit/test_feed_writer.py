"""Feeds we write can be read, whatever the entries hold."""

import orjson
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from reedbed.api.feed_writer import ATOM, FeedHeader, as_atom, as_json_feed
from reedbed.domain.feeds import ParsedFeed
from reedbed.ingest.parse import parse_feed
from reedbed.store.entries.read import EntryText

HEAD = FeedHeader(
    id="tag:reeds.example,2026-11-15:published-1",
    title="Mine",
    self_url="https://reeds.example/published/x.atom",
    home_url="https://reeds.example",
    updated=1_763_200_000_000,
    entry_id_base="tag:reeds.example,2026:entry-",
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)


def entry(text: str, id: int = 1) -> EntryText:
    return EntryText(
        id=id,
        feed_id=2,
        guid=text,
        url=text or None,
        title=text,
        author=text or None,
        summary=text,
        language=text or None,
        published_at=None,
        fetched_at=1_763_200_000_000,
        changed_at=None,
        sort_at=1_763_100_000_000,
        content=text,
        feed_content=text,
        feed_title=text,
        folder_id=None,
    )


@given(texts)
def test_atom_is_well_formed_and_loses_only_what_xml_cannot_say(text: str) -> None:
    root = etree.fromstring(as_atom(HEAD, [entry(text)]))
    content = root.findtext(f"{{{ATOM}}}entry/{{{ATOM}}}content") or ""
    wanted = "".join(sign for sign in text if sign in "\t\n\r" or (sign >= " " and sign not in "\ufffe\uffff"))
    assert content == wanted


@given(texts)
def test_json_says_every_text_as_it_is(text: str) -> None:
    (item,) = orjson.loads(as_json_feed(HEAD, [entry(text)]))["items"]
    assert (item["content_html"], item["title"]) == (text, text)


def test_names_are_stable_and_dates_are_told() -> None:
    body = as_atom(HEAD, [entry("One", 1), entry("Two", 2)])
    assert body == as_atom(HEAD, [entry("One", 1), entry("Two", 2)])
    feed = parse_feed(body, content_type="application/atom+xml", url=HEAD.self_url)
    assert isinstance(feed, ParsedFeed)
    assert [one.guid for one in feed.entries] == [f"{HEAD.entry_id_base}{id}" for id in (1, 2)]
    assert [one.published for one in feed.entries] == [1_763_100_000_000] * 2


def test_a_feed_without_entries_is_a_feed() -> None:
    feed = parse_feed(as_atom(HEAD, []), content_type="application/atom+xml", url=HEAD.self_url)
    assert isinstance(feed, ParsedFeed)
    assert (feed.title, feed.entries) == ("Mine", ())
