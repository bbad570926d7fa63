"""Find the part of a page that is the article, with its original layout.

trafilatura reliably detects the text of an article but loses captions, images, code and half of the links. So
it only marks the text here: the article is the smallest element that contains nearly all of it, without the
blocks in it that contain none.
"""

import logging
import re
from collections.abc import Iterator

from lxml import etree, html

_MIN_MATCH = 20
_MIN_SHORT_MATCH = 3
_SMALL_PAGE = 2_000
_MAX_TEXTS = 10_000
_MAX_TEXT = 120_000
_NEARLY_ALL = 0.97
_MOSTLY = 0.9
_CAPTION_LENGTH = 200
_HEADING_LENGTH = 15

_IGNORED = frozenset(
    (
        "script", "style", "template", "head", "select", "option", "button", "textarea", "input", "nav",
        "noscript", "dialog",
    )
)  # fmt: skip
# Never part of an article, and often most of a page: removed first.
_REMOVED_FIRST = (
    "script",
    "style",
    "template",
    "svg",
    "annotation",
    "annotation-xml",
    "link",
    "meta",
    "select",
    "canvas",
)
_NOT_CONTAINERS = frozenset(("p", "pre", "table", "tbody", "ul", "ol", "dl", "blockquote", "figure"))
_ALWAYS_KEPT = frozenset(("br", "hr", "img", "picture", "figure", "source", "pre", "video", "audio", "iframe", "math"))
_MEDIA = frozenset(("img", "picture", "video", "audio", "figure", "pre", "table", "iframe", "object", "embed"))
_INLINE = frozenset(
    (
        "a", "b", "i", "em", "strong", "code", "span", "sub", "sup", "u", "s", "small", "time", "abbr",
        "q", "cite",
        "kbd", "mark", "font", "var", "samp", "del", "ins", "bdi", "label", "wbr", "ruby", "big", "tt",
    )
)  # fmt: skip
_SHORT_BLOCKS = frozenset(("h2", "h3", "h4", "h5", "p", "li", "dt", "dd", "td", "th"))
# Between two blocks of an article these belong to it, even if they are short.
_KEPT_BETWEEN = frozenset(("ul", "ol", "dl", "p", "h2", "h3", "h4", "h5", "h6", "blockquote", "table"))
_HEADINGS = ("h1", "h2")
_ASIDE_NAME = re.compile(
    r"\b(?:related|recommended|share|sharing|social|newsletter|subscribe|comments?|promo|sponsored|"
    r"advert\w*|outbrain|"
    r"taboola|breadcrumbs?|toolbar|avatar)\b",
    re.IGNORECASE,
)

_CAPTION_NAME = re.compile(r"\b(?:caption|figcaption|caption-text|image-credit|photo-credit)\b", re.IGNORECASE)
_FURNITURE_NAME = re.compile(
    r"\b(?:supported-by|sharetools?|share-(?:bar|buttons?|tools?|links?|widget)|social-(?:share|bar|links|media|buttons)|"
    r"font-?sizer?|nocontent|visually-?hidden|sr-only|screen-reader-text|is-hidden|ad-(?:label|header|wrapper|container|slot"
    r"|unit)|related-(?:articles?|posts?|stories|content|links)|more-stories|recirc\w*|outbrain"
    r"|taboola|vjs|byline-column|newsletter-(?:signup|form)|signup-form)\b",
    re.IGNORECASE,
)
_GALLERY_NAME = re.compile(r"\b(?:gallery|slideshow|carousel)\b", re.IGNORECASE)
_LONG_PROSE = 1_500
_PAGES = frozenset(("body", "main", "article"))
_MOST_FURNITURE = 0.2
"""An element with more of the prose of a page is no furniture, whatever its name."""

Weights = dict[html.HtmlElement, int]


def article_markup(tree: html.HtmlElement, url: str, title: str | None) -> str:
    """The markup of the article, not yet sanitized; empty if there is none."""
    etree.strip_elements(tree, *_REMOVED_FIRST, with_tail=False)
    body = tree.find("body")
    if body is None:
        return ""
    _drop_furniture(body)
    text = _article_text(tree, url)
    weights = _weights(body, text, _MIN_MATCH) or _weights(body, text, _MIN_SHORT_MATCH)
    article = _container(body, weights) if weights else _small_page(body)
    if article is None:
        return ""
    _prune(article, weights, text)
    _drop_title(article, title)
    return etree.tostring(article, encoding="unicode", method="html", with_tail=False)


def _drop_furniture(body: html.HtmlElement) -> None:
    """Remove what is named as a part of the page around the article, but holds only little of its prose."""
    named = {element: pattern for element in body.iter(etree.Element) if (pattern := _furniture_kind(element))}
    if not named:
        return
    prose = {
        paragraph: len(_one_line(paragraph.text_content()))
        for paragraph in body.iter("p")
        if all(parent.tag != "li" for parent in paragraph.iterancestors())
    }
    total = sum(prose.values())
    removed: set[html.HtmlElement] = set()
    for element, pattern in named.items():
        if not removed.isdisjoint(element.iterancestors()):
            continue
        inside = sum(prose.get(paragraph, 0) for paragraph in element.iter("p"))
        if inside < _MOST_FURNITURE * total and (pattern is _FURNITURE_NAME or _hides_article(element, total)):
            removed.add(element)
    for element in removed:
        _remove(element)


def _furniture_kind(element: html.HtmlElement) -> re.Pattern[str] | None:
    if element.tag in _PAGES:
        return None
    names = f"{element.get('class', '')} {element.get('id', '')}".replace("_", "-")
    patterns = (_FURNITURE_NAME, _GALLERY_NAME) if len(names) > 1 else ()
    return next((pattern for pattern in patterns if pattern.search(names)), None)


def _hides_article(gallery: html.HtmlElement, prose: int) -> bool:
    """Whether a gallery has more text than a long article, so that trafilatura would choose it instead."""
    return prose >= _LONG_PROSE and len(_one_line(gallery.text_content())) > prose


def _article_text(tree: html.HtmlElement, url: str) -> str:
    # Imported here because it takes 30 MB and half a second.
    from trafilatura import bare_extraction

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    document = bare_extraction(
        tree, url=url, fast=True, include_comments=False, include_images=False, include_links=False
    )
    text: str | None = getattr(document, "text", None)
    return _one_line((text or "")[:_MAX_TEXT])


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _weights(body: html.HtmlElement, article_text: str, min_length: int) -> Weights:
    """For each element, how many characters of the article it contains."""
    weights: Weights = {}
    for count, (line, owner) in enumerate(_texts(body, min_length)):
        if count > _MAX_TEXTS:
            break
        if line in article_text:
            _add_upwards(weights, owner, len(line))
    return weights


def _texts(body: html.HtmlElement, min_length: int) -> Iterator[tuple[str, html.HtmlElement]]:
    for element in body.iter(etree.Element):
        for text, owner in ((element.text, element), (element.tail, element.getparent())):
            if not text or len(text) < min_length or owner is None or owner.tag in _IGNORED:
                continue
            line = _one_line(text)
            if len(line) >= min_length:
                yield line, owner


def _add_upwards(weights: Weights, element: html.HtmlElement | None, amount: int) -> None:
    while element is not None:
        weights[element] = weights.get(element, 0) + amount
        element = element.getparent()


def _container(body: html.HtmlElement, weights: Weights) -> html.HtmlElement:
    node, enough = body, _NEARLY_ALL * weights[body]
    while True:
        inner = next((child for child in node if weights.get(child, 0) >= enough), None)
        if inner is None or inner.tag in _NOT_CONTAINERS:
            return node
        node = inner


def _small_page(body: html.HtmlElement) -> html.HtmlElement | None:
    """A page too small for detection is an article itself, unless it is mostly links."""
    main = next(body.iter("article", "main"), body)
    text = len(_one_line(main.text_content()))
    linked = sum(len(link.text_content()) for link in main.iter("a"))
    return main if text <= _SMALL_PAGE and linked * 2 <= text else None


def _prune(node: html.HtmlElement, weights: Weights, article_text: str) -> None:
    children = list(node)
    marked = [index for index, child in enumerate(children) if child in weights]
    first, last = (marked[0], marked[-1]) if marked else (0, -1)
    for index, child in enumerate(children):
        weight = weights.get(child, 0)
        if child.tag in _IGNORED:
            _remove(child)
        elif child.tag in _ALWAYS_KEPT or (not weight and child.tag in _INLINE):
            continue
        elif not weight:
            if not _belongs(child, article_text, inside=first < index < last):
                _remove(child)
        elif weight < _MOSTLY * len(_one_line(child.text_content())):
            _prune(child, weights, article_text)


def _belongs(block: html.HtmlElement, article_text: str, *, inside: bool) -> bool:
    """Whether a block without matched text belongs to the article: a short line, or an image with its
    caption.
    """
    text = _one_line(block.text_content())
    if text and text in article_text and (len(text) > _HEADING_LENGTH or block.tag in _SHORT_BLOCKS):
        return True
    names = f"{block.get('class', '')} {block.get('id', '')}".replace("_", "-")
    if _ASIDE_NAME.search(names):
        return False
    if inside and 0 < len(text) < _CAPTION_LENGTH and _CAPTION_NAME.search(names):
        return True
    if inside and block.tag in _KEPT_BETWEEN:
        return True
    if not any(inner.tag in _MEDIA for inner in block.iter(etree.Element)):
        return False
    linked = sum(len(link.text_content()) for link in block.iter("a"))
    return not text or (len(text) < _CAPTION_LENGTH and linked < len(text) / 2)


def _remove(element: html.HtmlElement) -> None:
    """Remove an element but keep the text after it."""
    element.drop_tree()


def _drop_title(article: html.HtmlElement, title: str | None) -> None:
    """Remove the title: the reader shows it above the article already."""
    heading = next(article.iter(*_HEADINGS), None)
    if heading is None or heading is article or not title:
        return
    text = _one_line(heading.text_content()).lower()
    if text and (text == title.lower() or (len(text) > _MIN_MATCH and text in title.lower())):
        _remove(heading)
