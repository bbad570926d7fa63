"""Read the metadata of an article from its page: meta elements, JSON-LD, and common markup for authors."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, cast

from lxml import etree, html

from reedbed.domain.records import record
from reedbed.domain.text import storable
from reedbed.domain.times import Instant, from_datetime
from reedbed.ingest.language import declared_language
from reedbed.ingest.sanitize.rules import absolute_web_url

_TITLE_NAMES = ("og:title", "twitter:title", "dc.title", "dcterms.title", "parsely-title", "title")
_AUTHOR_NAMES = ("author", "dc.creator", "dcterm.creator", "article:author", "parsely-author", "sailthru.author")
_SITE_NAMES = ("og:site_name", "application-name")
_DATE_NAMES = (
    "article:published_time", "datepublished", "dc.date", "dcterms.created", "date", "parsely-pub-date",
    "publish-date", "sailthru.date", "og:article:published_time",
)  # fmt: skip
_IMAGE_NAMES = ("og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src")
_LANGUAGE_NAMES = ("content-language", "dc.language", "og:locale")
_ARTICLE_TYPES = re.compile(r"Article|Posting|Report|Review|Recipe|Story|WebPage", re.IGNORECASE)
_TITLE_BREAK = re.compile(r"\s+[|\-–—·»:/\\]\s+")
_BYLINE_NAME = re.compile(r"\b(?:byline|author-name|p-author|dateline|writtenby)\b", re.IGNORECASE)
_BY_PREFIX = re.compile(r"\A(?:by|von|par|por|di|door)\s+", re.IGNORECASE)
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
    """False if the page declares that its article is for subscribers only."""


def read_metadata(tree: html.HtmlElement, base: str) -> ArticleMetadata:
    meta = _meta_values(tree)
    json_ld = _json_ld_article(tree)
    site = _first(meta, _SITE_NAMES) or _name_of(json_ld.get("publisher"))
    return ArticleMetadata(
        title=_title(tree, meta, json_ld, site),
        byline=_byline(tree, meta, json_ld),
        site_name=site,
        published=_published(tree, meta, json_ld),
        lang=_language(tree, meta),
        image=_image(meta, json_ld, base),
        free=str(json_ld.get("isAccessibleForFree", True)).lower() != "false",
    )


def _meta_values(tree: html.HtmlElement) -> dict[str, str]:
    values: dict[str, str] = {}
    for meta in tree.iter("meta"):
        content = " ".join((meta.get("content") or "").split())
        names = meta.get("property") or meta.get("name") or meta.get("itemprop") or meta.get("http-equiv") or ""
        for name in names.lower().split() if content else ():
            values.setdefault(name.replace("dcterms:", "dcterms.").replace("dc:", "dc."), content)
    return values


def _first(meta: dict[str, str], names: tuple[str, ...]) -> str | None:
    return next((meta[name] for name in names if meta.get(name)), None)


def _json_ld_article(tree: html.HtmlElement) -> dict[str, Any]:
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
            if _ARTICLE_TYPES.search(str(node.get("@type", ""))[:200]) and ("headline" in node or "author" in node):
                return node
    return {}


def _objects(data: object) -> Iterator[dict[str, Any]]:
    queue = [data]
    for _ in range(MAX_LD_NODES):
        if not queue:
            return
        node = queue.pop(0)
        if isinstance(node, dict):
            fields = cast("dict[str, Any]", node)
            yield fields
            queue.extend(fields[key] for key in ("@graph", "mainEntity", "mainEntityOfPage") if key in fields)
        elif isinstance(node, list):
            queue.extend(cast("list[object]", node)[:50])


def _title(tree: html.HtmlElement, meta: dict[str, str], json_ld: dict[str, Any], site: str | None) -> str | None:
    title = _first(meta, _TITLE_NAMES)
    if title:
        return _without_site(title, site, "")[:MAX_TITLE]
    heading = next((_text(heading) for heading in tree.iter("h1")), "")
    element = next(tree.iter("title"), None)
    title = (_text(element) if element is not None else "") or _one_line(json_ld.get("headline"))
    return (_without_site(title, site, heading) or heading)[:MAX_TITLE] or None


def _without_site(title: str, site: str | None, heading: str) -> str:
    """`Story | The Site` becomes `Story` if the heading or the site name confirms it."""
    parts = _TITLE_BREAK.split(title)
    if len(parts) == 1:
        return title
    if heading and heading in title and len(heading.split()) >= MIN_TITLE_WORDS:
        return heading
    if site and parts[-1].lower() == site.lower():
        return title[: title.rfind(parts[-1])].rstrip(" |-–—·»:/\\")
    return title


def _byline(tree: html.HtmlElement, meta: dict[str, str], json_ld: dict[str, Any]) -> str | None:
    byline = _name_of(json_ld.get("author")) or _first(meta, _AUTHOR_NAMES)
    if not byline or byline.startswith(("http:", "https:")):
        byline = next(_byline_texts(tree), None)
    return _BY_PREFIX.sub("", byline)[:MAX_BYLINE] if byline else None


def _byline_texts(tree: html.HtmlElement) -> Iterator[str]:
    for element in tree.iter("a", "span", "p", "div", "address", "cite"):
        names = f"{element.get('class', '')} {element.get('id', '')}"
        is_author = "author" in element.get("rel", "").split() or "author" in element.get("itemprop", "")
        if is_author or _BYLINE_NAME.search(names):
            text = _text(element)
            if 0 < len(text) < MAX_BYLINE:
                yield text


def _published(tree: html.HtmlElement, meta: dict[str, str], json_ld: dict[str, Any]) -> Instant | None:
    dates = [_one_line(json_ld.get("datePublished")), _first(meta, _DATE_NAMES) or ""]
    dates += [element.get("datetime", "") for element in tree.iter("time")][:1]
    return next((instant for text in dates if text and (instant := _parse_date(text)) is not None), None)


def _parse_date(text: str) -> Instant | None:
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            return from_datetime(parse(text.strip()[:40]))
        except (ValueError, TypeError, OverflowError, IndexError):
            continue
    return None


def _language(tree: html.HtmlElement, meta: dict[str, str]) -> str | None:
    declared = tree.get("lang") or tree.get("{http://www.w3.org/XML/1998/namespace}lang") or tree.get("xml:lang")
    return declared_language(declared) or declared_language(_first(meta, _LANGUAGE_NAMES))


def _image(meta: dict[str, str], json_ld: dict[str, Any], base: str) -> str | None:
    url = _first(meta, _IMAGE_NAMES)
    if not url:
        url = _url_of(json_ld.get("image"))
    return absolute_web_url(url, base) if url else None


def _url_of(node: object) -> str:
    if isinstance(node, list):
        return next(map(_url_of, cast("list[object]", node)), "")
    return _one_line(cast("dict[str, object]", node).get("url") if isinstance(node, dict) else node)


def _name_of(node: object) -> str | None:
    """The name of a person or an organization, or the names in a list of them."""
    if isinstance(node, list):
        names = [_name_of(item) for item in cast("list[object]", node)[:10]]
        return ", ".join(dict.fromkeys(name for name in names if name)) or None
    if isinstance(node, dict):
        node = cast("dict[str, object]", node).get("name")
    return _one_line(node) or None


def _one_line(value: object) -> str:
    return " ".join(storable(value).split()) if isinstance(value, str) else ""


def _text(element: etree.ElementBase) -> str:
    return " ".join("".join(cast("Iterator[str]", element.itertext())).split())
