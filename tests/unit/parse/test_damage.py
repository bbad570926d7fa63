import codecs
import gzip
import random
import time

import pytest

from reedbed.domain.feeds import NotAFeed, ParsedFeed
from tests.unit.parse.feeds import DATA, attempt, item, read, rss


@pytest.mark.parametrize(
    ("encoding", "declared", "header"),
    [
        ("utf-8", "utf-8", "application/rss+xml"),
        ("utf-8", "iso-8859-1", "application/rss+xml; charset=utf-8"),
        ("utf-8", "iso-8859-1", None),
        ("cp1252", "iso-8859-1", None),
        ("cp1252", "utf-8", "text/xml; charset=windows-1252"),
        ("cp1252", "utf-8", None),
        ("utf-16", "utf-16", None),
        ("utf-16-le", "utf-16", None),
        ("utf-8-sig", "windows-1251", "text/xml; charset=koi8-r"),
    ],
)
def test_the_text_survives_whatever_is_said_about_its_encoding(
    encoding: str, declared: str, header: str | None
) -> None:
    title = "<title>Déjà vu “là” – façade</title>"
    text = f'<?xml version="1.0" encoding="{declared}"?><rss><channel>{title}</channel></rss>'
    assert read(text.encode(encoding), content_type=header).title == "Déjà vu “là” – façade"


@pytest.mark.parametrize("encoding", ["windows-1251", "koi8-r", "shift_jis", "euc-kr", "gb2312"])
def test_a_declared_encoding_is_honoured(encoding: str) -> None:
    word = {"shift_jis": "日本語", "euc-kr": "한국어", "gb2312": "中文"}.get(encoding, "Привет")
    text = f'<?xml version="1.0" encoding="{encoding}"?><rss><channel><title>{word}</title></channel></rss>'
    assert read(text.encode(encoding)).title == word


def test_an_undeclared_encoding_is_detected() -> None:
    prose = "Съешь же ещё этих мягких французских булок, да выпей чаю. " * 10
    assert read(rss(f"<title>{prose}</title>").encode("cp1251")).entries[0].title == prose.strip()


def test_a_stray_byte_costs_no_more_than_itself() -> None:
    body = rss("<title>naïve café — ok</title>").encode().replace(b"ok", b"\x93ok\x94")
    assert read(body).entries[0].title == "naïve café — “ok”"


def test_windows_quotes_by_number_are_quotes() -> None:
    assert item("<title>It&#146;s &#x93;so&#x94;</title>").title == "It’s “so”"


@pytest.mark.parametrize(
    "junk", [b"\n\n  ", codecs.BOM_UTF8, b"\n" + codecs.BOM_UTF8, b"<br />\n<b>Warning</b>: x\n", b"ok "]
)
def test_what_stands_before_the_declaration_is_passed_over(junk: bytes) -> None:
    assert read(junk + rss("<title>x</title>").encode()).entries[0].title == "x"


def test_bare_ampersands_unknown_entities_and_control_characters_are_mended() -> None:
    entry = item("<title>AT&T & R&D&nbsp;&hellip; &what; 1 < 2\x0b</title><link>http://a.example/?a=1&b=2</link>")
    assert entry.title == "AT&T & R&D … &what; 1 < 2"
    assert entry.url == "http://a.example/?a=1&b=2"


def test_undeclared_prefixes_are_understood() -> None:
    entry = item("<dc:creator>Ida</dc:creator><content:encoded>&lt;p&gt;x&lt;/p&gt;</content:encoded>")
    assert (entry.authors[0].name, entry.content) == ("Ida", "<p>x</p>")


def test_unescaped_html_in_a_description_stays_html() -> None:
    assert item("<description>a <b>b</b><br>c</description>").content == "a <b>b</b><br>c"


def test_markup_in_cdata_is_left_alone() -> None:
    assert (
        item("<description><![CDATA[x &nbsp; <br> & y]]></description><title>a & b</title>").content
        == "x &nbsp; <br> & y"
    )


def test_own_entities_are_resolved_and_external_ones_are_not() -> None:
    document = rss("<title>&firm; &file;</title>").replace(
        "<rss", '<!DOCTYPE rss [<!ENTITY firm "Reed &amp; Co"><!ENTITY file SYSTEM "file:///etc/passwd">]><rss', 1
    )
    assert read(document).entries[0].title == "Reed & Co &file;"


def test_a_document_that_breaks_off_keeps_its_whole_entries() -> None:
    whole = rss("<title>One</title>", "<title>Two</title>", "<title>Three</title>")
    feed = read(whole[: whole.index("Three") + 2])
    assert [entry.title for entry in feed.entries] == ["One", "Two"]
    assert feed.truncated


def test_json_that_breaks_off_keeps_its_whole_items() -> None:
    body = (DATA / "blog.json").read_text()
    feed = read(body[: body.index("external_url")])
    assert (feed.title, [entry.guid for entry in feed.entries], feed.truncated) == ("Json blog", ["7"], True)


def test_gzip_nobody_mentioned_is_unpacked() -> None:
    assert read(gzip.compress(rss("<title>x</title>").encode()) + b"trailing").entries[0].title == "x"


def test_a_feed_served_as_a_web_page_is_a_feed() -> None:
    assert read(rss(), content_type="text/html; charset=utf-8").title == "T"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("", "nothing"),
        ("   \n", "nothing"),
        ("<!DOCTYPE html><html><head></head></html>", "a web page"),
        ("<html><body>x", "a web page"),
        ('{"hello": 1}', "not a JSON Feed"),
        ('{"hello": ', "damaged"),
        ("just words", "plain text"),
        ("<opml><body/></opml>", "not a feed"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x01", "not text"),
    ],
)
def test_what_is_no_feed_is_told_in_a_sentence(body: str | bytes, sentence: str) -> None:
    outcome = attempt(body)
    assert isinstance(outcome, NotAFeed)
    assert sentence in outcome.reason.message


@pytest.mark.parametrize("name", ["podcast.xml", "journal.atom", "wire.rdf", "blog.json"])
def test_no_cut_and_no_flipped_byte_ever_raises(name: str) -> None:
    body = (DATA / name).read_bytes()
    dice = random.Random(7)
    start = time.process_time()
    for cut in range(0, len(body), 97):
        assert isinstance(attempt(body[:cut]), ParsedFeed | NotAFeed)
        spoilt = bytearray(body)
        for _ in range(5):
            spoilt[dice.randrange(len(spoilt))] = dice.randrange(256)
        assert isinstance(attempt(bytes(spoilt)), ParsedFeed | NotAFeed)
    assert time.process_time() - start < 10
