"""What a page says about its article: meta elements, JSON-LD, and the few places authors stand in."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, cast

from lxml import etree, html

from reedbed.domain.records import record
from reedbed.domain.times import Instant, from_datetime
from reedbed.ingest.language import declared_language
from reedbed.ingest.sanitize.rules import web_address

_TITLE_NAMES = ("og:title", "twitter:title", "dc.title", "dcterms.title", "parsely-title", "title")
_AUTHOR_NAMES = (
    "author",
    "dc.creator",
    "dcterm.creator",
    "article:author",
    "parsely-author",
    "sailthru.author",
)
_SITE_NAMES = ("og:site_name", "application-name")
_DATE_NAMES = (
    "article:published_time", "datepublished", "dc.date", "dcterms.created", "date", "parsely-pub-date",
    "publish-date", "sailthru.date", "og:article:published_time",
)  # fmt: skip
_IMAGE_NAMES = ("og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src")
_LANGUAGE_NAMES = ("content-language", "dc.language", "og:locale")
_ARTICLE_TYPES = re.compile(r"Article|Posting|Report|Review|Recipe|Story|WebPage", re.IGNORECASE)
_TITLE_BREAK = re.compile(r"\s+[|\-–—·»:/\\]\s+")
_BYLINE_PLACE = re.compile(r"\b(?:byline|author-name|p-author|dateline|writtenby)\b", re.IGNORECASE)
_BY = re.compile(r"\A(?:by|von|par|por|di|door)\s+", re.IGNORECASE)
MAX_LD_CHARS = 200_000
MAX_LD_NODES = 400
MAX_BYLINE = 100
MAX_TITLE = 500
MIN_TITLE_WORDS = 3


@record
class ArticleMetadata:
    title: str | None = None
    byline: str | None = None
    site_name: str | None = None
    published: Instant | None = None
    lang: str | None = None
    image: str | None = None
    free: bool = True
    """False when the page itself says that its article is for subscribers."""


def read_metadata(tree: html.HtmlElement, base: str) -> ArticleMetadata:
    named = _named(tree)
    linked = _article_data(tree)
    site = _first(named, _SITE_NAMES) or _name_of(linked.get("publisher"))
    return ArticleMetadata(
        title=_title(tree, named, linked, site),
        byline=_byline(tree, named, linked),
        site_name=site,
        published=_published(tree, named, linked),
        lang=_language(tree, named),
        image=_image(named, linked, base),
        free=str(linked.get("isAccessibleForFree", True)).lower() != "false",
    )


def _named(tree: html.HtmlElement) -> dict[str, str]:
    found: dict[str, str] = {}
    for meta in tree.iter("meta"):
        content = " ".join((meta.get("content") or "").split())
        names = (
            meta.get("property") or meta.get("name") or meta.get("itemprop") or meta.get("http-equiv") or ""
        )
        for name in names.lower().split() if content else ():
            found.setdefault(name.replace("dcterms:", "dcterms.").replace("dc:", "dc."), content)
    return found


def _first(named: dict[str, str], names: tuple[str, ...]) -> str | None:
    return next((named[name] for name in names if named.get(name)), None)


def _article_data(tree: html.HtmlElement) -> dict[str, Any]:
    """The first JSON-LD object that describes an article."""
    for script in tree.iter("script"):
        source = script.text or ""
        if "ld+json" not in (script.get("type") or "") or len(source) > MAX_LD_CHARS:
            continue
        try:
            data = json.loads(source.strip().removeprefix("<![CDATA[").removesuffix("]]>"), strict=False)
        except (ValueError, RecursionError):
            continue
        for node in _objects(data):
            if _ARTICLE_TYPES.search(str(node.get("@type", ""))[:200]) and (
                "headline" in node or "author" in node
            ):
                return node
    return {}


def _objects(data: object) -> Iterator[dict[str, Any]]:
    waiting = [data]
    for _ in range(MAX_LD_NODES):
        if not waiting:
            return
        node = waiting.pop(0)
        if isinstance(node, dict):
            known = cast("dict[str, Any]", node)
            yield known
            waiting.extend(known[key] for key in ("@graph", "mainEntity", "mainEntityOfPage") if key in known)
        elif isinstance(node, list):
            waiting.extend(cast("list[object]", node)[:50])


def _title(
    tree: html.HtmlElement, named: dict[str, str], linked: dict[str, Any], site: str | None
) -> str | None:
    said = _first(named, _TITLE_NAMES)
    if said:
        return _without_site(said, site, "")[:MAX_TITLE]
    heading = next((_text(heading) for heading in tree.iter("h1")), "")
    element = next(tree.iter("title"), None)
    said = (_text(element) if element is not None else "") or _words(linked.get("headline"))
    return (_without_site(said, site, heading) or heading)[:MAX_TITLE] or None


def _without_site(title: str, site: str | None, heading: str) -> str:
    """`Story | The Site` is `Story`, where the page itself says so or enough of a title is left."""
    parts = _TITLE_BREAK.split(title)
    if len(parts) == 1:
        return title
    if heading and heading in title and len(heading.split()) >= MIN_TITLE_WORDS:
        return heading
    if site and parts[-1].lower() == site.lower():
        return title[: title.rfind(parts[-1])].rstrip(" |-–—·»:/\\")
    return title


def _byline(tree: html.HtmlElement, named: dict[str, str], linked: dict[str, Any]) -> str | None:
    said = _name_of(linked.get("author")) or _first(named, _AUTHOR_NAMES)
    if not said or said.startswith(("http:", "https:")):
        said = next(_signed(tree), None)
    return _BY.sub("", said)[:MAX_BYLINE] if said else None


def _signed(tree: html.HtmlElement) -> Iterator[str]:
    for element in tree.iter("a", "span", "p", "div", "address", "cite"):
        place = f"{element.get('class', '')} {element.get('id', '')}"
        author = "author" in element.get("rel", "").split() or "author" in element.get("itemprop", "")
        if author or _BYLINE_PLACE.search(place):
            text = _text(element)
            if 0 < len(text) < MAX_BYLINE:
                yield text


def _published(tree: html.HtmlElement, named: dict[str, str], linked: dict[str, Any]) -> Instant | None:
    said = [_words(linked.get("datePublished")), _first(named, _DATE_NAMES) or ""]
    said += [element.get("datetime", "") for element in tree.iter("time")][:1]
    return next((moment for text in said if text and (moment := _moment(text)) is not None), None)


def _moment(text: str) -> Instant | None:
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            return from_datetime(read(text.strip()[:40]))
        except (ValueError, TypeError, OverflowError, IndexError):
            continue
    return None


def _language(tree: html.HtmlElement, named: dict[str, str]) -> str | None:
    said = tree.get("lang") or tree.get("{http://www.w3.org/XML/1998/namespace}lang") or tree.get("xml:lang")
    return declared_language(said) or declared_language(_first(named, _LANGUAGE_NAMES))


def _image(named: dict[str, str], linked: dict[str, Any], base: str) -> str | None:
    said = _first(named, _IMAGE_NAMES)
    if not said:
        said = _address_of(linked.get("image"))
    return web_address(said, base) if said else None


def _address_of(node: object) -> str:
    if isinstance(node, list):
        return next(map(_address_of, cast("list[object]", node)), "")
    return _words(cast("dict[str, object]", node).get("url") if isinstance(node, dict) else node)


def _name_of(node: object) -> str | None:
    """The name in a person, an organisation, or the names in a list of them."""
    if isinstance(node, list):
        names = [_name_of(one) for one in cast("list[object]", node)[:10]]
        return ", ".join(dict.fromkeys(name for name in names if name)) or None
    if isinstance(node, dict):
        node = cast("dict[str, object]", node).get("name")
    return _words(node) or None


def _words(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _text(element: etree.ElementBase) -> str:
    return " ".join("".join(cast("Iterator[str]", element.itertext())).split())
