"""EPUB files: any markup becomes strict XHTML, pictures become JPEG or PNG, and every book passes a strict reader."""

import io
import random
from collections.abc import Sequence

import pytest
from PIL import Image

from reedbed.ingest.epub.pictures import MAX_SIDE, convert, convert_safely, draw_cover
from reedbed.ingest.epub.writer import EpubChapter, EpubMetadata, EpubWriter
from reedbed.ingest.epub.xhtml import safe_href, with_pictures, xhtml_body
from reedbed.ingest.sanitize.cleaner import clean_html
from tests.epub_reader import MATH, MATHML, EpubBook, read_epub

UGLY = {
    "unclosed": "<p>One<p>Two<b>bold<i>both</b>rest<ul><li>a<li>b",
    "crossed": "<b><p>x</b>y</p></div></div></span>",
    "not elements": "a < b && c > d <3 <!doctype html><!-- -- > --><?php x ?><![CDATA[y]]>",
    "entities": "&amp;nbsp; &nbsp; &hellip; &#0; &#x1F600; &#xD800; &bogus; &lt;b&gt; &#11;",
    "control characters": "a\x00b\x01c\x0bd\ufffe\ud800",
    "active": "<script>alert(1)</script><style>x{}</style><p onclick='x()' style='background:url(http://x)'>safe</p>",
    "frames": "<iframe src='https://x.example'></iframe><object data='x'></object><embed src=x><form><input></form>",
    "drawings": "<svg><script>x</script><rect/></svg><math><mi>x</mi></math><p>after</p>",
    "footnotes": (
        "<p>Text<sup><a href='#fn1' id='ref:1'>1</a></sup><a href='#gone'>2</a><a href='#'>3</a></p>"
        "<ol><li id='fn1'>Note <a href='#ref:1'>back</a></li><li id='fn1'>twice</li></ol>"
    ),
    "block in inline": (
        "<em><div>x</div></em><h2><p>x</p></h2><p>a<table><tr><td>b</table>c</p><span><ul><li>x</ul></span>"
    ),
    "lists": "<ul>loose<p>x</p><li>y</li></ul><li>alone</li><dl>t<dt>a</dt></dl><dl><dd>b</dd></dl><dl><dt>a<dd>b</dl>",
    "tables": (
        "<td>alone</td><tr><td>row</td></tr><table>text<caption>c<table><tr><td>in</table></caption><tfoot><tr><td>f"
        "</tfoot><tr><th><h3>h</h3></th></tr><thead><tr><td colspan=0 rowspan='-1'>x</thead><p>between</p></table>"
        "<table></table>"
    ),
    "figures": "<figure>a<figcaption>x</figcaption>b<figcaption>y</figcaption></figure><figcaption>z</figcaption>",
    "links": (
        "<a href='https://a.example/ a|b[c]{d}?x=\"<>#f#g'>x<a href='mailto:a@b.example'>y</a></a>"
        "<a href='javascript:x'>z</a><a href='//x.example'>w</a><a href='/relative'>v</a><a name='top'>t</a>"
    ),
    "ruby": (
        "<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp>字<rt>ji</rt></ruby><ruby>x</ruby><rt>y</rt><ruby><rt>a</rt>b</ruby>"
    ),
    "right to left": "<p dir='rtl' lang='ar_EG'>مرحبا بالعالم</p><bdo dir=auto>x</bdo><p lang='-' dir='up'>y</p>",
    "chinese": "<p>第一章　開始。</p><h1>標題</h1>",
    "media": "<video src='https://v.example/a.mp4' controls></video><audio><source src='https://v.example/b.mp3'></audio>",
    "details": "<details open><summary>More<div>x</div></summary><p>Text</p></details>",
    "pictures": (
        "<p><img src='https://p.example/a.png' alt='A &quot;B&quot;' onload=x><picture><source srcset='x 1x'>"
        "<img src='data:image/png;base64,xx'></picture><img alt='&lt;none&gt;'><img></p>"
    ),
    "deep": "<div>" * 5_000 + "x",
    "ids": "<p id='1 2'>a</p><p id='ä:b'>b</p><p id=''>c</p><a href='#ä:b'>d</a>",
}


def _book(chapters: Sequence[EpubChapter], pictures: Sequence[bytes] = (), title: str = "A book") -> EpubBook:
    file = io.BytesIO()
    about = EpubMetadata("urn:uuid:1", title, "en", "ltr", "2026-11-19T06:00:00Z", "Contents", "Cover")
    writer = EpubWriter(file, about)
    writer.add_cover(draw_cover(title, "19 November 2026"), "image/jpeg")
    for data in pictures:
        writer.add_picture(data, "image/png")
    for chapter in chapters:
        writer.add_chapter(chapter)
    writer.close()
    return read_epub(file.getvalue())


def _chapter(title: str, html: str, number: int = 1, files: dict[str, str] | None = None) -> EpubChapter:
    return EpubChapter(title, f"<div>{with_pictures(xhtml_body(html, f'e{number}-', 'Recording'), files or {})}</div>")


@pytest.mark.parametrize("cleaned", [True, False])
def test_ugly_markup_becomes_a_strict_book(*, cleaned: bool) -> None:
    chapters = [
        _chapter(name, clean_html(html, "https://a.example/") if cleaned else html, number)
        for number, (name, html) in enumerate(UGLY.items())
    ]
    book = _book(chapters)
    assert [title for title, _ in book.contents] == list(UGLY)
    assert book.text("chinese") == "第一章 開始。 標題" or book.text("chinese") == "第一章 開始。標題"
    assert "alert" not in book.text("active") and "safe" in book.text("active")
    assert "after" in book.text("drawings") and "between" in book.text("tables")


def test_a_formula_stays_a_formula_and_the_book_says_that_it_has_one() -> None:
    html = clean_html("<p>As <math display='block'><mi>x</mi><mspace width='1em'/><mn>2</mn></math></p>", None)
    book = _book([_chapter("Formula", html), _chapter("Words", "<p>None</p>", 2)])
    (formula,) = book.pages[dict(book.contents)["Formula"]].iter(MATH)
    assert [part.tag.removeprefix(MATHML) for part in formula] == ["mi", "mspace", "mn"]


def test_random_markup_becomes_a_strict_book() -> None:
    words = random.Random(20)
    names = "a b p div span ul ol li dl dt dd table tr td th caption thead h1 h3 figure figcaption ruby rt img pre"
    chapters: list[EpubChapter] = []
    for number in range(150):
        parts = [
            words.choice(("<{}>", "</{}>", "<{} id=x{}>", "text &amp; ", "<{} href='#x3' dir=rtl>")).format(
                words.choice(names.split(" ")), words.randrange(5)
            )
            for _ in range(words.randrange(60))
        ]
        chapters.append(_chapter(f"Chapter {number}", "".join(parts), number))
    assert len(_book(chapters).contents) == 150


def test_footnotes_lead_to_their_notes_and_back() -> None:
    body = xhtml_body(UGLY["footnotes"], "e7-").markup
    assert '<a id="e7-ref_3a_1" href="#e7-fn1">1</a>' in body and '<a href="#e7-ref_3a_1">back</a>' in body
    assert body.count('id="e7-fn1"') == 1 and ">2</p>" not in body and "#e7-gone" not in body


def test_a_picture_that_is_missing_leaves_its_text() -> None:
    body = xhtml_body(UGLY["pictures"], "e1-")
    assert [picture.url for picture in body.pictures][:2] == ["https://p.example/a.png", "data:image/png;base64,xx"]
    shown = with_pictures(body, {"https://p.example/a.png": "pictures/0001.png"})
    assert '<img src="pictures/0001.png" alt="A &quot;B&quot;"/>' in shown
    assert '<span class="alt">[&lt;none&gt;]</span>' in shown and shown.count("<img") == 1


def test_addresses_are_written_as_xml_schema_takes_them() -> None:
    assert safe_href("https://a.example/a b|c[1]?q=<x>#f#g") == "https://a.example/a%20b%7Cc%5B1%5D?q=%3Cx%3E#f%23g"
    assert safe_href("https://a.example/100%") == "https://a.example/100%25"
    assert safe_href("https://[2001:db8::1]/x") == "https://[2001:db8::1]/x"
    assert [safe_href(value) for value in ("javascript:x", "//a", "/a", "ftp://a", "https:///x", "")] == [""] * 6


def test_a_book_without_entries_still_has_contents() -> None:
    book = _book([EpubChapter("About this book", "<p>Nothing.</p>")], title="空 \x00 <&>")
    assert [title for title, _ in book.contents] == ["About this book"] and book.title == "空  <&>"


def test_the_first_chapter_can_be_added_last() -> None:
    file = io.BytesIO()
    writer = EpubWriter(file, EpubMetadata("urn:x", "T", "ar", "rtl", "2026-11-19T06:00:00Z", "C", "Cover"))
    target = writer.add_chapter(EpubChapter("Entry", "<p>x</p>", "ar", "rtl"))
    writer.add_chapter(EpubChapter("Digest", f'<p><a href="{target}">x</a></p>'), first=True)
    writer.close()
    book = read_epub(file.getvalue())
    assert [title for title, _ in book.contents] == ["Digest", "Entry"] and book.direction == "rtl"


# --- Pictures


def _picture(kind: str, size: tuple[int, int] = (40, 30), mode: str = "RGB", **options: object) -> bytes:
    output = io.BytesIO()
    Image.effect_noise(size, 60).convert(mode).save(output, kind, **options)
    return output.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "AVIF", "BMP"])
def test_pictures_become_jpeg_or_png_of_a_screen(kind: str) -> None:
    small = convert(_picture(kind))
    with Image.open(io.BytesIO(small), formats=("PNG", "JPEG")) as image:
        assert image.size == (40, 30)
    with Image.open(io.BytesIO(convert(_picture(kind, (1_500, 300))))) as image:
        assert image.size == (MAX_SIDE, MAX_SIDE // 5)


def test_transparency_stays_and_what_the_camera_wrote_goes() -> None:
    with Image.open(io.BytesIO(convert(_picture("PNG", mode="RGBA")))) as image:
        assert (image.format, image.mode) == ("PNG", "RGBA")
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "Camera of Ann"
    turned = convert(_picture("JPEG", exif=exif))
    assert b"Camera" not in turned
    with Image.open(io.BytesIO(turned)) as image:
        assert image.size == (30, 40)


def test_what_is_no_picture_or_a_dot_is_left_out() -> None:
    dot, bomb = _picture("PNG", (1, 1)), bytearray(_picture("PNG"))
    bomb[16:24] = b"\x00\x00\xff\xff\x00\x00\xff\xff"
    hostile = [b"", b"<svg/>", b"GIF89a", _picture("JPEG")[:300], dot, bytes(bomb), b"\x89PNG\r\n\x1a\n" + b"\0" * 99]
    assert [convert(data) for data in hostile] == [b""] * len(hostile)


async def test_one_picture_that_ends_the_process_takes_no_other_with_it() -> None:
    made = await convert_safely([_picture("PNG"), b"\x89PNG\r\n\x1a\n", _picture("WEBP")])
    assert [one is not None for one in made] == [True, False, True]


def test_covers_are_drawn_for_titles_of_any_script() -> None:
    for title in ("The day in short", "Überblick – für „alle“", "見出し", "العنوان", "x" * 400, ""):
        with Image.open(io.BytesIO(draw_cover(title, "19 November 2026"))) as image:
            assert (image.format, image.size) == ("JPEG", (1_200, 1_800))
