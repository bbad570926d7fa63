import time

import pytest

from reedbed.domain.errors import Invalid
from reedbed.ingest.article import selectors as article_selecting
from reedbed.ingest.article.extract import ExtractedArticle, NotAnArticle, extract_article

URL = "https://site.example/2026/story.html"
SENTENCE = "The reeds along the shore had grown so tall that year that nobody could see the water any more. "
HEAD = """
<html lang="en-gb"><head><title>The reeds | Site</title>
<meta property="og:title" content="The reeds of the lake">
<meta property="og:site_name" content="Site">
<meta name="author" content="By Ann Writer">
<meta property="og:image" content="/lead.jpg">
<meta property="article:published_time" content="2026-02-03T04:05:06+01:00">
</head>
"""
PAGE = f"""
<!doctype html>{HEAD}<body>
<nav><a href="/">Home</a> <a href="/about">About</a> <a href="/more">More of this site</a></nav>
<div class="layout"><article><h1>The reeds of the lake</h1>
<p>{SENTENCE * 3} <a href="/other">another story</a> about it.</p>
<figure><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" data-src="/reeds.jpg" alt="Reeds">
<figcaption>Reeds at dawn</figcaption></figure>
<p>{SENTENCE * 4}</p>
<h2>Code</h2>
<pre><code class="language-python">if reeds &gt; water:
    cut()</code></pre>
<p>{SENTENCE * 3}</p>
<table><tr><th>Year</th><th>Height</th></tr><tr><td>2025</td><td>2 m</td></tr></table>
<p>{SENTENCE * 2}<script>alert(1)</script></p>
<div class="share-buttons"><a href="https://social.example/share">Share this</a></div>
<p onclick="alert(1)">{SENTENCE * 2}</p>
</article></div>
<footer><p>Copyright of the site and all its owners, all rights reserved.</p></footer>
</body></html>
"""


def article(source: str | bytes, **options: str) -> ExtractedArticle:
    found = extract_article(source, URL, **options)
    assert isinstance(found, ExtractedArticle)
    return found


def reason(source: str) -> str:
    found = extract_article(source, URL)
    assert isinstance(found, NotAnArticle)
    return found.reason.message


def test_what_the_page_says_about_itself_is_read() -> None:
    found = article(PAGE)
    assert found.title == "The reeds of the lake"
    assert found.byline == "Ann Writer"
    assert found.site_name == "Site"
    assert found.published == 1_770_087_906_000
    assert found.lang == "en-GB"
    assert found.image == "https://site.example/lead.jpg"


def test_pictures_links_tables_code_and_captions_stay() -> None:
    content = article(PAGE).content_html
    assert 'src="https://site.example/reeds.jpg"' in content
    assert "<figcaption>Reeds at dawn</figcaption>" in content
    assert 'href="https://site.example/other"' in content
    assert '<code class="language-python">if reeds &gt; water:\n    cut()</code>' in content
    assert "<td>2 m</td>" in content
    assert "<h2>Code</h2>" in content


@pytest.mark.parametrize("tags", [("article",), ("main", "article"), ("div", "section")])
def test_a_page_may_leave_out_its_head_and_its_body(tags: tuple[str, ...]) -> None:
    opened, closed = "".join(f"<{tag}>" for tag in tags), "".join(f"</{tag}>" for tag in reversed(tags))
    paragraphs = f"<p>{SENTENCE * 3}</p>" * 4
    read = article(
        f"<!doctype html><meta charset=utf-8><title>Reeds</title><header>Site</header>{opened}{paragraphs}{closed}"
    )
    assert (read.title, read.text.count("The reeds")) == ("Reeds", 12)


def test_the_page_around_the_article_goes() -> None:
    found = article(PAGE)
    for foreign in ("Home", "Copyright", "Share this", "alert"):
        assert foreign not in found.text
        assert foreign not in found.content_html


HERONS = "".join(
    f"<li><h3>{number}/40</h3><p>Heron number {number} of another lake, far away from these reeds.</p></li>"
    for number in range(40)
)


def test_a_gallery_of_something_else_is_not_taken_for_the_article() -> None:
    page = PAGE.replace("<h2>Code</h2>", f'<p>{SENTENCE * 4}</p><div class="full_gallery"><ul>{HERONS}</ul></div>')
    text = article(page).text
    assert "The reeds along the shore" in text and "Heron number" not in text


def test_the_photos_of_an_article_stay() -> None:
    photos = "".join(
        f'<figure><img src="/{number}.jpg"><figcaption>Heron number {number}</figcaption></figure>'
        for number in range(9)
    )
    short = f"<html><body><article><h1>Nine herons</h1><p>Nine herons.</p><div class=gallery>{photos}</div></article>"
    assert "Heron number 8" in article(short).text
    within = PAGE.replace("<h2>Code</h2>", f"<div class=gallery>{photos}</div><h2>Code</h2>")
    assert "Heron number 8" in article(within).text


def test_labels_for_screen_readers_and_buttons_for_sharing_go() -> None:
    furniture = (
        '<div class="visually-hidden"><p>Advertisement</p></div><div class="font_sizer">Font size A A</div>'
        '<div class="share-tools"><ul><li>Copy the link</li></ul></div>'
    )
    text = article(PAGE.replace("<h2>Code</h2>", f"{furniture}<h2>Code</h2>")).text
    assert not any(label in text for label in ("Advertisement", "Font size", "Copy the link"))


def test_a_name_of_furniture_on_the_article_itself_removes_nothing() -> None:
    assert article(PAGE.replace("<article>", '<article class="has-gallery nocontent">')).text == article(PAGE).text
    assert article(PAGE.replace('class="layout"', 'class="share-bar"')).text == article(PAGE).text


def test_a_caption_beside_its_picture_stays() -> None:
    caption = '<div><img src="/gate.jpg"></div><div class="media-caption">The gate in May</div>'
    assert "The gate in May" in article(PAGE.replace("<h2>Code</h2>", f"{caption}<h2>Code</h2>")).text


def test_the_title_is_not_repeated() -> None:
    assert "<h1>" not in article(PAGE).content_html


def test_bytes_are_decoded_as_they_declare() -> None:
    page = f'<html><head><meta charset="iso-8859-1"></head><body><p>Grüße. {SENTENCE * 5}</p></body></html>'
    assert "Grüße" in article(page.encode("latin-1")).text
    assert "Grüße" in article(page.encode()).text


def test_json_ld_is_read_when_meta_elements_are_missing() -> None:
    data = (
        '{"@graph": [{"@type": "NewsArticle", "headline": "From \\ud83d data", "datePublished": "2026-02-03",'
        ' "author": [{"name": "A"}, {"name": "B"}], "publisher": {"name": "P"}, "image": ["/i.png"]}]}'
    )
    found = article(f'<script type="application/ld+json">{data}</script><p>{SENTENCE * 5}</p>')
    assert (found.title, found.byline, found.site_name) == ("From data", "A, B", "P")
    assert found.image == "https://site.example/i.png"


def test_a_language_nobody_declares_is_heard() -> None:
    assert article(f"<p>{SENTENCE * 5}</p>").lang == "en"


def test_selectors_say_what_the_article_is() -> None:
    found = article(PAGE, keep="figure, footer", drop="figcaption")
    assert "reeds.jpg" in found.content_html
    assert "Copyright" in found.text
    assert "Reeds at dawn" not in found.text


def test_where_nothing_fits_what_is_kept_the_article_is_found_as_usual() -> None:
    found = article(PAGE, keep=".moved-elsewhere", drop="figcaption")
    assert SENTENCE in found.text
    assert "Reeds at dawn" not in found.text


def test_what_is_chosen_within_what_is_chosen_comes_once() -> None:
    page = "<div class=a><p>once</p><div class=a>inner <i class=x>and <b class=x>gone</b></i></div></div>"
    assert article(page, keep=".a, p, .a .a", drop=".x, b").text.split() == ["once", "inner"]


def test_selectors_that_keep_nothing_to_read_keep_no_article() -> None:
    assert isinstance(extract_article("<p></p><i>x</i>", URL, keep="p"), NotAnArticle)


def test_a_page_made_to_tire_selectors_out_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(article_selecting, "SECONDS", 1.0)
    page = f"<div>{'<p>x</p>' * 36_000}</div>"
    found = extract_article(page, URL, keep="h2 ~ p, h3 ~ p ~ p ~ p")
    assert isinstance(found, NotAnArticle)
    assert "selectors" in found.reason.message


def test_a_wrong_selector_is_named() -> None:
    with pytest.raises(Invalid) as refused:
        extract_article(PAGE, URL, keep="p[[")
    assert refused.value.field == "keep"


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("<title>404 Not Found</title><body><h1>Not Found</h1><p>The page is not here, sorry.</p>", "error"),
        ("<title>Just a moment...</title><body><p>Enable JavaScript and cookies to continue</p>", "error"),
        (
            "<title>Welcome</title><body><p>Please log in to read this page of ours.</p>"
            "<form><input name=u><input type=password></form>",
            "log in",
        ),
        (
            "<title>Site</title><body><p>We value your privacy. We and our partners store information.</p>"
            "<p>Accept all cookies or manage your cookie settings.</p>",
            "consent",
        ),
        (f"<title>Story</title><body><p>{SENTENCE}</p><p>Subscribe to continue reading today.</p>", "paywall"),
        (
            '<script type="application/ld+json">{"@type":"NewsArticle","headline":"H",'
            f'"isAccessibleForFree":"False"}}</script><body><p>{SENTENCE * 2}</p>',
            "paywall",
        ),
        ("<html><body></body></html>", "no article"),
        ("", "HTML"),
        ("<p>x</p>" + "x" * 2_000_001, "large"),
    ],
)
def test_a_page_in_front_of_an_article_is_not_the_article(source: str, word: str) -> None:
    assert word in reason(source)


def test_a_banner_over_a_long_article_hides_nothing() -> None:
    banner = "<div>We value your privacy. Accept all cookies. Subscribe to continue reading.</div>"
    assert "reeds" in article(PAGE.replace("<body>", f"<body>{banner}")).text


@pytest.mark.parametrize(
    "bomb",
    [
        "<div>" * 200_000,
        "<b " + " ".join(f"a{i}" for i in range(100_000)) + ">x",
        "<table><td>" * 5_000,
        '<script type="application/ld+json">' + "[" * 100_000 + "</script>",
        "\0\ud800\ufffe" * 1_000,
        "<" * 1_000_000,
    ],
    ids=range(6),
)
def test_a_hostile_page_is_read_in_bounded_time(bomb: str) -> None:
    started = time.process_time()
    extract_article(bomb + f"<p>{SENTENCE * 5}</p>", URL)
    assert time.process_time() - started < 5


def test_formulas_of_a_page_stay_in_its_article() -> None:
    formula = '<math display="block"><mfrac><mi>h</mi><mn>2</mn></mfrac><mspace width="1em"></mspace></math>'
    written = formula.replace("></mspace>", "/>").replace("</math>", "<annotation>h/2</annotation></math>")
    found = article(PAGE.replace("<h2>Code</h2>", f"<p>Half is {written} of it.</p>{written}<h2>Code</h2>"))
    assert f"Half is {formula} of it." in found.content_html
    assert found.content_html.count(formula) == 2
    assert "h/2" not in found.content_html
