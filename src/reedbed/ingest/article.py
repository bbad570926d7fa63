"""The article of a page: its text, its pictures and links, and what the page says about it.

trafilatura says which words are the article; `article_layout` then takes them from the page itself, so that
pictures, tables, code and links stay where they were; `clean` makes the result harmless.

It walks trees of hostile pages in C and Python and can take seconds on the worst of them. Callers run it off
the event loop, in a process they can stop where many pages of strangers are read.
"""

from typing import cast

from lxml import etree, html

from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.ingest.article_gates import closed_gate
from reedbed.ingest.article_layout import article_markup
from reedbed.ingest.article_metadata import Metadata, read_metadata
from reedbed.ingest.article_selecting import Chosen, choose
from reedbed.ingest.article_source import base_of, page_source
from reedbed.ingest.clean import clean_html
from reedbed.ingest.clean.images import unwrap_noscript
from reedbed.ingest.language import detect_language
from reedbed.ingest.text import clean_text, lead_image

MAX_BYTES = 2_000_000
MAX_ELEMENTS = 40_000
MIN_TEXT = 10
"""Characters; pages with less to read than this are no articles, unless they show a picture."""


@record
class Article:
    title: str | None
    byline: str | None
    site_name: str | None
    published: Instant | None
    lang: str | None
    image: str | None
    content_html: str
    """Clean."""
    text: str


@record
class NotAnArticle:
    """`reason` is one plain sentence for the person who asked."""

    reason: str


def extract_article(
    page: str | bytes, url: str, *, keep: str | None = None, drop: str | None = None
) -> Article | NotAnArticle:
    """`keep` and `drop` are CSS selectors from a feed's settings: what is the article, and what is not.

    Where nothing fits what is to be kept, the article is looked for as on any page.
    """
    source = page_source(page, MAX_BYTES)
    if source is None:
        return NotAnArticle("The page is too large to read as an article.")
    tree = _tree(source)
    if tree is None:
        return NotAnArticle("The page could not be read as HTML.")
    base = base_of(tree, url)
    metadata = read_metadata(tree, base)
    chosen = choose(source, keep, drop) if keep or drop else Chosen("", "")
    if chosen is None:
        return NotAnArticle("The feed's selectors took too long on this page.")
    content = clean_html(chosen.kept or _markup(chosen, tree, url, metadata.title), base)
    text = clean_text(content)
    # What a person chose by hand is the article, whatever it says.
    reason = None if chosen.kept and text else _no_article(source, metadata, content, text)
    return NotAnArticle(reason) if reason else _article(metadata, content, text)


def _tree(source: str) -> html.HtmlElement | None:
    if "<noscript" in source:
        source = unwrap_noscript(source)
    try:
        tree = etree.fromstring(source, html.HTMLParser(remove_comments=True, remove_pis=True))
    except (etree.XMLSyntaxError, ValueError):
        return None
    # An empty document has no tree; one with too many elements has more than anyone wants to read.
    if tree is None or cast("float", tree.xpath("count(//*)")) > MAX_ELEMENTS:
        return None
    return tree


def _markup(chosen: Chosen, tree: html.HtmlElement, url: str, title: str | None) -> str:
    looked_at = _tree(chosen.rest) if chosen.rest else tree
    return "" if looked_at is None else article_markup(looked_at, url, title)


def _no_article(source: str, metadata: Metadata, content: str, text: str) -> str | None:
    if reason := closed_gate(source, metadata, text):
        return reason
    if len(text) < MIN_TEXT and "<img " not in content:
        return "The page holds no article text."
    return None


def _article(metadata: Metadata, content: str, text: str) -> Article:
    return Article(
        title=metadata.title,
        byline=metadata.byline,
        site_name=metadata.site_name,
        published=metadata.published,
        lang=metadata.lang or detect_language(text),
        image=metadata.image or lead_image(content),
        content_html=content,
        text=text,
    )
