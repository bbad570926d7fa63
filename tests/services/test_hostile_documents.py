"""Documents that lie, swell and break: each ends soon in entries or a sentence, and the next feed goes on."""

import time
from collections.abc import AsyncIterator

import pytest

from reedbed.domain.failures import FailureCode
from reedbed.domain.refresh.state import FetchState
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness, open_harness

SOON = 20.0
ITEM = "<item><title>One</title><guid>1</guid><description>Words</description></item>"


def rss(items: str = ITEM, *, prolog: str = "", head: str = "") -> bytes:
    channel = f"<channel><title>T</title>{head}{items}</channel>"
    document = f'<?xml version="1.0"?>{prolog}<rss version="2.0">{channel}</rss>'
    return document.encode("utf-8", "surrogatepass")


def entry(inside: str) -> str:
    return f"<item><guid>1</guid><title>x</title>{inside}</item>"


CATEGORIES = "".join(f"<category>{number}</category>" for number in range(10_000))
NAMESPACES = " ".join(f"xmlns:n{number}='http://e.example/{number}'" for number in range(5_000))
ATTRIBUTES = " ".join(f"a{number}='1'" for number in range(30_000))
INCLUDE = '<x:include xmlns:x="http://www.w3.org/2001/XInclude" href="file:///etc/passwd" parse="text"/>'
BILLION = "".join(
    f'<!ENTITY l{number} "{f"&l{number - 1};" * 10}">' if number else '<!ENTITY l0 "lol">' for number in range(10)
)
DOCUMENTS: dict[str, tuple[bytes, str]] = {
    "entities that multiply": (rss(ITEM.replace("Words", "&l9;"), prolog=f"<!DOCTYPE r [{BILLION}]>"), "text/xml"),
    "one entity, many times": (
        rss(ITEM.replace("Words", "&big;" * 20_000), prolog=f'<!DOCTYPE r [<!ENTITY big "{"x" * 50_000}">]>'),
        "text/xml",
    ),
    "an entity from a file": (
        rss(ITEM.replace("Words", "&f;"), prolog='<!DOCTYPE r [<!ENTITY f SYSTEM "file:///etc/passwd">]>'),
        "text/xml",
    ),
    "an entity from inside": (
        rss(ITEM.replace("Words", "&f;"), prolog='<!DOCTYPE r [<!ENTITY f SYSTEM "http://127.0.0.1:1/">]>'),
        "text/xml",
    ),
    "a parameter entity": (
        rss(prolog='<!DOCTYPE r [<!ENTITY % p SYSTEM "http://127.0.0.1:1/x.dtd"> %p;]>'),
        "text/xml",
    ),
    "included files": (rss(head=INCLUDE), "text/xml"),
    "a style sheet": (rss(prolog='<?xml-stylesheet href="file:///etc/passwd"?>'), "text/xml"),
    "thousands of levels": (rss("<a>" * 5_000 + ITEM), "text/xml"),
    "levels inside an entry": (rss(f"<item><guid>1</guid><title>{'<b>' * 20_000}x</title></item>"), "text/xml"),
    "markup without end in an entry": (
        rss(f"<item><guid>1</guid><title>x</title><description>{'&lt;div&gt;' * 50_000}</description></item>"),
        "text/xml",
    ),
    "an attribute of megabytes": (rss(head=f'<x a="{"v" * 3_000_000}"/>'), "text/xml"),
    "thousands of attributes": (rss(head=f"<x {ATTRIBUTES}/>"), "text/xml"),
    "a title of megabytes": (rss(f"<item><guid>1</guid><title>{'t' * 3_000_000}</title></item>"), "text/xml"),
    "a guid of megabytes": (rss(f"<item><guid>{'g' * 3_000_000}</guid><title>x</title></item>"), "text/xml"),
    "a link of megabytes": (
        rss(f"<item><link>https://e.example/{'l' * 2_000_000}</link><title>x</title></item>"),
        "text/xml",
    ),
    "an entry of megabytes": (
        rss(f"<item><guid>1</guid><title>x</title><description>{'word ' * 1_500_000}</description></item>"),
        "text/xml",
    ),
    "thirty thousand entries": (
        rss("".join(f"<item><guid>{n}</guid><title>{n}</title></item>" for n in range(30_000))),
        "text/xml",
    ),
    "thirty thousand times one": (rss(ITEM * 30_000), "text/xml"),
    "ten thousand categories": (rss(entry(CATEGORIES)), "text/xml"),
    "ten thousand enclosures": (
        rss(
            "<item><guid>1</guid><title>x</title>"
            + '<enclosure url="https://e.example/a.mp3" type="audio/mpeg" length="1"/>' * 10_000
            + "</item>"
        ),
        "text/xml",
    ),
    "nul bytes": (rss(ITEM.replace("Words", "a\0b\0c")), "text/xml"),
    "control characters": (rss(ITEM.replace("Words", "".join(map(chr, range(1, 32))))), "text/xml"),
    "half a character": (rss(ITEM.replace("Words", "\ud800x\udfff")), "text/xml; charset=utf-8"),
    "escaped half characters": (rss(ITEM.replace("Words", "&#xD800;&#0;&#x110000;&#xFFFE;")), "text/xml"),
    "text that runs backwards": (rss(ITEM.replace("One", "\u202e\u2066\u200f evil")), "text/xml"),
    "utf-16 that says utf-8": (rss().decode().encode("utf-16"), "text/xml; charset=utf-8"),
    "utf-32": (rss().decode().encode("utf-32"), "text/xml"),
    "an encoding nobody knows": (rss().replace(b'"1.0"', b'"1.0" encoding="klingon"'), "text/xml; charset=nope"),
    "utf-7": (rss().replace(b'"1.0"', b'"1.0" encoding="utf-7"'), "text/xml; charset=utf-7"),
    "latin that says utf-8": (rss(ITEM.replace("Words", "é")).decode().encode("latin-1"), "text/xml; charset=utf-8"),
    "cut off in the middle": (rss()[:-60], "text/xml"),
    "cut off in a tag": (rss()[:-3], "text/xml"),
    "only a declaration": (b'<?xml version="1.0"?>', "text/xml"),
    "not xml at all": (bytes(range(256)) * 100, "application/rss+xml"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(5000), "image/png"),
    "a page": (b"<!doctype html><title>Parked</title><body>Buy this name", "text/html"),
    "json that is no feed": (b'{"a": [1, 2, 3]}', "application/json"),
    "deep json": (b'{"version":"https://jsonfeed.org/version/1.1","items":' + b"[" * 100_000, "application/json"),
    "json of wrong types": (
        b'{"version":"https://jsonfeed.org/version/1.1","title":{},"items":[1,null,"x",[],'
        b'{"id":{},"content_html":7,"url":[],"date_published":false,"authors":"x","tags":{"a":1}}]}',
        "application/feed+json",
    ),
    "json numbers without end": (
        b'{"version":"https://jsonfeed.org/version/1.1","title":"x","items":[{"id":' + b"9" * 100_000 + b"}]}",
        "application/feed+json",
    ),
    "json with half characters": (
        b'{"version":"https://jsonfeed.org/version/1.1","title":"\\ud800","items":[{"id":"\\udfff","content_text":"\\u0000x"}]}',
        "application/feed+json",
    ),
    "dates beyond time": (
        rss(
            "".join(
                f"<item><guid>{n}</guid><title>x</title><pubDate>{date}</pubDate></item>"
                for n, date in enumerate(("99999-99-99", "-1", "9" * 400, "Mon, 32 Foo 2020 25:61:61 +9999", "\u202e"))
            )
        ),
        "text/xml",
    ),
    "atom inside rss inside atom": (
        b'<feed xmlns="http://www.w3.org/2005/Atom"><rss><channel><entry><id>1</id><title>x</title></entry>',
        "application/atom+xml",
    ),
    "a comment without end": (rss() + b"<!--" + b"-" * 2_000_000, "text/xml"),
    "a section without end": (rss(f"<item><guid>1</guid><description><![CDATA[{'x' * 2_000_000}"), "text/xml"),
    "namespaces by thousands": (f'<rss version="2.0" {NAMESPACES}><channel>'.encode(), "text/xml"),
    "quadratic attributes": (rss(ITEM.replace("Words", "&lt;a " + "x='&amp;lt;' " * 50_000)), "text/xml"),
    "unclosed quotes": (rss(ITEM.replace("Words", '&lt;a href="' * 30_000)), "text/xml"),
}


@pytest.fixture
async def harness(sqlite_url: str) -> AsyncIterator[RuntimeHarness]:
    async with open_harness(sqlite_url) as harness:
        yield harness


@pytest.mark.parametrize("name", DOCUMENTS)
async def test_a_hostile_document_ends_in_entries_or_a_sentence(
    name: str, harness: RuntimeHarness, site: FeedSite
) -> None:
    body, content_type = DOCUMENTS[name]
    hostile = await harness.follow(site.put("hostile.xml", body, content_type=content_type))
    site.publish("Fine", key="a")
    fine = await harness.follow(site.feed_url())
    started = time.monotonic()
    await harness.check()
    assert time.monotonic() - started < SOON
    assert await harness.titles(fine) == ["Fine"]
    _assert_said(await harness.state(hostile))
    texts = await harness.column("SELECT title FROM entries UNION ALL SELECT content FROM entry_bodies")
    assert not any("root:" in (text or "") for text in texts)
    assert all(len(text or "") < 2_500_000 for text in texts)


def _assert_said(state: FetchState) -> None:
    if state.status == "success":
        return
    assert state.last_error
    assert state.last_error.message[0].isupper()
    assert "Traceback" not in state.last_error.message and "Error" not in state.last_error.message
    assert state.last_error.code is not FailureCode.FEED_NOT_STORED
