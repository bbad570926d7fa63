"""Subscription lists in and out."""

from pathlib import Path
from time import process_time

import pytest

from reedbed.domain.errors import Invalid
from reedbed.domain.failures import failure_sentence
from reedbed.ingest.transfer import read_opml
from reedbed.services.transfer.library import read_library
from reedbed.services.transfer.opml import export_opml, import_opml
from reedbed.store.feeds import feeds
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness

NESTED = b"""<?xml version="1.0" encoding="UTF-8"?>
<opml version="2.0"><head><title>Mine</title></head><body>
  <outline text="News"><outline text="Local">
    <outline type="rss" text="Courier" title="The Courier" xmlUrl="http://127.0.0.1:9/courier.xml"
             htmlUrl="http://127.0.0.1:9/" customFlag="kept &amp; safe"/>
  </outline></outline>
  <outline type="rss" text="Top" xmlUrl="http://127.0.0.1:9/top.xml"/>
  <outline type="rss" text="Top again" xmlUrl="http://127.0.0.1:9/top.xml"/>
  <outline type="rss" text="Wrong" xmlUrl="ftp://127.0.0.1/x"/>
  <outline type="rss" text="Nowhere"/>
  <outline text="Nothing in it"/>
</body></opml>"""


async def test_every_line_is_followed_or_reported(harness: RuntimeHarness) -> None:
    report = await import_opml(harness.runtime, await harness.person(), NESTED)
    assert (report.imported, report.skipped) == (2, 1)
    assert [(line.title, failure_sentence(line.failure)) for line in report.errors] == [
        ("Wrong", "Invalid URL format. Must start with http:// or https://"),
        ("Nowhere", "Feed URL is required"),
    ]
    assert [(line.title, line.status) for line in report.lines] == [
        ("The Courier", "added"),
        ("Top", "added"),
        ("Wrong", "error"),
        ("Top again", "duplicate"),
        ("Nowhere", "error"),
        ("Nothing in it", "skipped"),
    ]


async def test_a_feed_followed_already_is_put_into_its_folder(harness: RuntimeHarness) -> None:
    user = await harness.person()
    feed = '<outline text="A" xmlUrl="http://127.0.0.1:9/a"/>'
    whole = "<opml><body>%s</body></opml>"
    await import_opml(harness.runtime, user, (whole % feed).encode())

    nested = whole % f'<outline text="News"><outline text="Local">{feed}</outline></outline>'
    moved = await import_opml(harness.runtime, user, nested.encode())
    again = await import_opml(harness.runtime, user, nested.encode())
    without_folder = await import_opml(harness.runtime, user, (whole % feed).encode())

    (line,) = moved.lines
    assert (line.status, moved.imported, moved.skipped) == ("moved", 0, 1)
    assert failure_sentence(line.failure) == "You follow this feed already. It is now in News / Local."
    assert [line.status for line in (*again.lines, *without_folder.lines)] == ["followed", "followed"]
    inside = "SELECT name FROM folders JOIN subscriptions ON folder_id = folders.id"
    assert await harness.column(inside) == ["Local"]


async def test_what_goes_in_comes_out(harness: RuntimeHarness) -> None:
    user = await harness.person()
    await import_opml(harness.runtime, user, NESTED)
    first = await export_opml(harness.runtime, user)
    other = await harness.person()
    await import_opml(harness.runtime, other, first)
    assert await export_opml(harness.runtime, other) == first
    news = read_opml(first).outlines[0]
    courier = news.children[0].children[0]
    assert (news.title, news.children[0].title, courier.title) == ("News", "Local", "The Courier")
    assert courier.attributes == (("customFlag", "kept & safe"),)


async def test_names_and_passwords_come_out_when_they_are_asked_for(harness: RuntimeHarness) -> None:
    user = await harness.person()
    line = '<outline text="Mine" xmlUrl="http://an%40n:s%2F%3A%26t@127.0.0.1:9/feed.xml?a=1"/>'
    await import_opml(harness.runtime, user, f"<opml><body>{line}</body></opml>".encode())
    assert b"s%2F" not in await export_opml(harness.runtime, user)
    taken = await export_opml(harness.runtime, user, with_credentials=True)
    (mine,) = read_opml(taken).outlines
    assert mine.xml_url == "http://an%40n:s%2F%3A%26t@127.0.0.1:9/feed.xml?a=1"
    other = await harness.person()
    await import_opml(harness.runtime, other, taken)
    async with harness.runtime.db.read() as tx:
        assert list((await feeds.credentials(tx, other)).values()) == [("an@n", "s/:&t")]
    again = await import_opml(harness.runtime, user, await export_opml(harness.runtime, user))
    assert (again.imported, again.skipped) == (0, 1), "the list without passwords makes no second feed"


async def test_a_report_names_no_password(harness: RuntimeHarness) -> None:
    addresses = (
        "http://ann:pearl@127.0.0.1:9/feed.xml",
        "http://ann:pearl@127.0.0.1:9/feed.xml",
        "feed://ann:pearl@127.0.0.1:9/other.xml",
        "gopher://ann:pearl@127.0.0.1:9/menu",
        "ann:pearl@127.0.0.1:9/bare.xml",
    )
    lines = "".join(f'<outline text="Mine" xmlUrl="{address}"/>' for address in addresses)
    report = await import_opml(harness.runtime, await harness.person(), f"<opml><body>{lines}</body></opml>".encode())
    assert [(line.status, line.url) for line in report.lines] == [
        ("added", "http://127.0.0.1:9/feed.xml"),
        ("added", "feed://127.0.0.1:9/other.xml"),
        ("error", "gopher://127.0.0.1:9/menu"),
        ("added", "127.0.0.1:9/bare.xml"),
        ("duplicate", "http://127.0.0.1:9/feed.xml"),
    ]


async def test_an_address_as_title_is_kept_without_its_password(harness: RuntimeHarness) -> None:
    user = await harness.person()
    address = "http://ann:pearl@127.0.0.1:9/feed.xml"
    line = f'<outline text="{address}" xmlUrl="{address}" description="{address}"/>'
    without_address = f'<outline text="{address}" type="rss"/><outline text="{address}"/>'
    opml = f"<opml><body>{line}{line}{without_address}</body></opml>"
    report = await import_opml(harness.runtime, user, opml.encode())
    assert [line.status for line in report.lines] == ["added", "duplicate", "error", "skipped"]
    assert "pearl" not in repr(report)
    assert await harness.column("SELECT title FROM subscriptions") == ["http://127.0.0.1:9/feed.xml"]
    assert await harness.column("SELECT opml FROM subscriptions") == ['[["description","http://127.0.0.1:9/feed.xml"]]']


async def test_an_address_in_a_list_is_read_like_a_typed_one(harness: RuntimeHarness) -> None:
    user = await harness.person()
    line = '<outline text="Mine" xmlUrl="feed://127.0.0.1:9/feed.xml"/>'
    await import_opml(harness.runtime, user, f"<opml><body>{line}</body></opml>".encode())
    assert await harness.column("SELECT url FROM feeds") == ["https://127.0.0.1:9/feed.xml"]


async def test_progress_is_told(harness: RuntimeHarness) -> None:
    lines = "".join(f'<outline text="{n}" xmlUrl="http://127.0.0.1:9/{n}"/>' for n in range(250))
    report = await import_opml(harness.runtime, await harness.person(), f"<opml><body>{lines}</body></opml>".encode())
    assert report.imported == 250
    assert [hint.data["done"] for hint in harness.heard("progress")] == [100, 200, 250]


@pytest.mark.parametrize(
    "body", [b"", b"dear diary", b"<html><body>no</body></html>", b"\x00\x01\x02", b"<!DOCTYPE x [<!ENTITY a 'b'>]>"]
)
def test_what_is_no_opml_is_refused_in_plain_words(body: bytes) -> None:
    with pytest.raises(Invalid, match="not an OPML file"):
        read_opml(body)


@pytest.mark.parametrize("body", [b"PK\x03\x04...", b"SQLite format 3\0...", b'{"items": []}', b"[]"])
def test_who_brings_another_export_is_shown_the_way(body: bytes) -> None:
    with pytest.raises(Invalid, match="under Settings, Your data"):
        read_opml(body)


def test_entities_are_never_expanded_and_depth_is_bounded() -> None:
    entities = b"<!DOCTYPE opml [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]>"
    bomb = entities + b"<opml><body><outline text='&b;'/></body></opml>"
    assert read_opml(bomb).outlines == () or "aaaa" not in read_opml(bomb).outlines[0].title
    deep = b"<opml><body>" + b"<outline text='x'>" * 200 + b"</outline>" * 200 + b"</body></opml>"
    depth, level = 0, read_opml(deep).outlines
    while level:
        depth, level = depth + 1, level[0].children
    assert depth == 32


@pytest.mark.parametrize("number", [*range(32), 0xE9])
@pytest.mark.parametrize("form", ["&#%d;", "&#x%x;", "&#00%d;"])
def test_a_reference_to_no_character_takes_no_line_with_it(number: int, form: str) -> None:
    written = f'<opml><body><outline text="a{form % number}b" xmlUrl="http://127.0.0.1:9/a"/></body></opml>'
    (line,) = read_opml(written.encode()).outlines
    assert line.xml_url == "http://127.0.0.1:9/a"
    assert line.title == f"a{chr(number) if number in (9, 10, 13, 0xE9) else ''}b"


def test_a_broken_file_gives_what_can_be_read() -> None:
    broken = b'<opml><body><outline text="A & B" xmlUrl="http://x.example/a"/><outline text="C"'
    assert [outline.xml_url for outline in read_opml(broken).outlines][:1] == ["http://x.example/a"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("end", ["</opml>", "</OPML >\n<!-- made by a reader -->"])
def test_a_whole_file_is_not_taken_for_a_part(encoding: str, end: str) -> None:
    start = end[2:6]
    written = f'<{start}><body><outline text="A" xmlUrl="http://127.0.0.1:9/a"/></body>{end}'
    assert not read_opml(written.encode(encoding)).cut_off


async def test_a_file_cut_off_is_imported_as_far_as_it_goes_and_said_to_be_cut_off(harness: RuntimeHarness) -> None:
    person = await harness.person()
    body = b'<opml><body><outline text="A" xmlUrl="http://127.0.0.1:9/a"/><outline text="B" xmlU'
    report = await import_opml(harness.runtime, person, body)
    assert report.imported == 1
    assert ["ends in its middle" in failure_sentence(line.failure) for line in report.errors] == [True]
    again = await import_opml(harness.runtime, person, b"<opml><head></head><body><outl")
    assert (again.imported, len(again.errors)) == (0, 1)


def test_a_library_cut_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "half.opml"
    path.write_bytes(b'<opml><body><outline text="A" xmlUrl="http://127.0.0.1:9/a"/><outl')
    with pytest.raises(Invalid, match="ends in its middle"):
        read_library(path)


@pytest.mark.parametrize("piece", [b"<!DOCTYPE", b"<!DOCTYPE[", b"<!DOCTYPE x []", b"<!--", b"<?"])
def test_a_file_made_to_be_slow_is_refused_at_once(piece: bytes) -> None:
    started = process_time()
    with pytest.raises(Invalid, match="not an OPML file"):
        read_opml(piece * 100_000)
    assert process_time() - started < 5


def test_an_outline_with_attributes_without_end_is_refused_at_once() -> None:
    attributes = " ".join(f'a{number}="x"' for number in range(20_000))
    started = process_time()
    with pytest.raises(Invalid, match="more than 200 attributes"):
        read_opml(f"<opml><body><outline {attributes}/></body></opml>".encode())
    assert process_time() - started < 1


async def test_an_import_makes_no_more_folders_than_a_user_may_have(
    harness: RuntimeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reedbed.services.folders.MAX_FOLDERS", 2)
    lines = "".join(
        f'<outline text="f{n}"><outline text="{n}" xmlUrl="http://127.0.0.1:9/{n}"/></outline>' for n in range(3)
    )
    body = f"<opml><body>{lines}</body></opml>".encode()
    report = await import_opml(harness.runtime, await harness.person(), body)
    assert (report.imported, report.skipped) == (2, 0)
    assert [failure_sentence(line.failure) for line in report.errors] == ["There can be at most 2 folders."]


async def test_a_feed_without_a_scheme_gets_http_where_only_that_answers(
    harness: RuntimeHarness, site: FeedSite
) -> None:
    site.publish("Hello")
    user = await harness.person()
    bare = site.feed_url().removeprefix("http://")
    lines = f'<outline text="Mine" xmlUrl="{bare}"/><outline text="Silent" xmlUrl="127.0.0.1:9/feed.xml"/>'
    lines += '<outline text="Wrong" xmlUrl="feeds.example.com:99999/feed"/>'
    report = await import_opml(harness.runtime, user, f"<opml><body>{lines}</body></opml>".encode())
    assert [line.status for line in report.lines] == ["added", "added", "error"]
    urls = await harness.column("SELECT url FROM feeds ORDER BY id")
    assert urls == [site.feed_url(), "https://127.0.0.1:9/feed.xml"]
    again = await import_opml(harness.runtime, user, f"<opml><body>{lines}</body></opml>".encode())
    assert [line.status for line in again.lines] == ["followed", "followed", "error"]
