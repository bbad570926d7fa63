"""Lists that a page gives to programs: JSON-LD, data in scripts, h-feed, and news sitemaps."""

import json
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any, cast
from urllib.parse import urlsplit

from lxml import etree

from reedbed.domain.page_feeds import PageEntry, PageList, PageRecipe
from reedbed.domain.text import storable
from reedbed.domain.times import Instant
from reedbed.ingest.page_feeds.dates import DateReader
from reedbed.ingest.page_feeds.document import PageDocument, page_url
from reedbed.ingest.page_feeds.titles import title_quality
from reedbed.ingest.sanitize.rules import absolute_web_url

MIN_ENTRIES = 3
_MAX_NODES = 20_000
_MAX_DEPTH = 14
_MAX_LIST = 5_000
_LATEST_NUMBER = 10**15
"""Of a time in seconds or milliseconds."""
_TEXT = re.compile(r"<[^>]{0,500}>")

Fields = dict[str, Any]

_ARTICLE = re.compile(
    r"Article|Posting|Report|Review|Recipe|Event|Product|Episode|VideoObject|Job|Course|Movie|Book|Dataset|"
    r"CreativeWork|SoftwareApplication|Offer|DiscussionForum|Question"
)
_NOT_ENTRIES = re.compile(
    r"Breadcrumb|SiteNavigation|WebSite|WebPage|Organization|Person|SearchAction|ImageObject|Rating"
)

_ONE_ARTICLE = re.compile(r"(?:News|Blog|Tech|Scholarly)?(?:Article|Posting)")
_TELEGRAM = re.compile(r"https?://(?:t|telegram)\.me/([a-z]\w{3,31})/?", re.IGNORECASE)

_TITLE_KEYS = ("headline", "title", "name", "heading", "subject", "label")
_URL_KEYS = ("url", "href", "link", "weburl", "canonicalurl", "permalink", "path", "uri", "shareurl", "pageurl", "slug")
_DATE_KEYS = (
    "datepublished", "publishedat", "published", "firstpublished", "publisheddate", "publishdate", "publicationdate",
    "date", "createdat", "created", "datecreated", "pubdate", "postedat", "timestamp", "time", "startdate", "updatedat",
    "datetime",
)  # fmt: skip
_IMAGE_KEYS = (
    "image", "images", "coverimage", "thumbnail", "thumbnailurl", "picture", "photo", "heroimage", "cover",
    "teaserimage", "featuredimage", "media", "img",
)  # fmt: skip
_IMAGE_WORD = re.compile(r"(?:image|img|photo|picture|thumb|cover|poster)(?:url|src)?$")
_TEASER_KEYS = ("description", "excerpt", "summary", "teaser", "standfirst", "abstract", "dek", "lead", "subtitle")


class SourceReader:
    def __init__(self, page: PageDocument, dates: DateReader) -> None:
        self._page = page
        self._dates = dates

    def lists(self) -> list[PageList]:
        return [*self.json_ld(), *self.page_data(), *self.h_feed(), *self.telegram()]

    # --- JSON-LD

    def json_ld(self) -> list[PageList]:
        entries: list[PageEntry] = []
        for script in self._page.scripts:
            if "ld+json" in script.kind and (data := _parsed(script.text)) is not None:
                entries += self._ld_entries(data)
        return _list_of(entries, PageRecipe("json-ld"))

    def _ld_entries(self, data: object) -> Iterator[PageEntry]:
        queue: list[tuple[object, int]] = [(data, 0)]
        for _ in range(_MAX_NODES):
            if not queue:
                return
            node, depth = queue.pop(0)
            if isinstance(node, list):
                queue.extend((one, depth + 1) for one in cast("list[object]", node)[:_MAX_LIST] if depth < _MAX_DEPTH)
            if not isinstance(node, dict):
                continue
            fields = cast(Fields, node)
            kind = str(fields.get("@type", ""))
            if "BreadcrumbList" in kind or "SiteNavigation" in kind:
                continue
            entry = self._entry(fields) if _ARTICLE.search(kind) or kind == "ListItem" else None
            if entry is not None and not (_NOT_ENTRIES.search(kind) and not _ARTICLE.search(kind)):
                yield entry
                continue
            for key in ("@graph", "mainEntity", "itemListElement", "item", "blogPost", "blogPosts", "hasPart", "items"):
                if key in fields and depth < _MAX_DEPTH:
                    queue.append((fields[key], depth + 1))

    # --- Data in scripts

    def page_data(self) -> list[PageList]:
        found: dict[str, list[PageEntry]] = {}
        for script in self._page.scripts:
            if "ld+json" in script.kind:
                continue
            for data in _values(script.kind, script.text):
                for path, values in _arrays(data):
                    entries = [entry for value in values if (entry := self._entry(_unwrapped(value))) is not None]
                    if len(entries) * 2 > len(values):
                        found.setdefault(path, []).extend(entries)
        return [
            one for path, entries in found.items() for one in _list_of(entries, PageRecipe("page-data", data_path=path))
        ]

    def _entry(self, fields: Fields) -> PageEntry | None:
        lowered = {key.lower().replace("_", ""): value for key, value in fields.items()}
        title = next((text for key in _TITLE_KEYS if (text := _text_of(lowered.get(key)))), "")
        url = self._url(lowered)
        if url is None or title_quality(title) <= 0:
            return None
        return PageEntry(url, title[:300], self._date(lowered), self._image(lowered), _teaser(lowered))

    def _url(self, lowered: Fields) -> str | None:
        own = self._page.url.partition("#")[0]
        for key in (*_URL_KEYS, "@id", "mainentityofpage"):
            value = lowered.get(key)
            if isinstance(value, dict):
                inner = cast(Fields, value)
                value = inner.get("@id") or inner.get("url") or inner.get("current")
            if not isinstance(value, str) or not (value := storable(value).strip()):
                continue
            if key == "slug" or (key == "@id" and not value.startswith("http")):
                if (linked := self._linked.get(value.strip("/"))) is not None:
                    return linked
                if "/" in value.strip("/"):
                    value = "/" + value.strip("/")
                else:
                    value = own.partition("?")[0].rstrip("/") + "/" + value
            url = page_url(value, self._page.base)
            if url is not None and url != own:
                return url
        return None

    @cached_property
    def _linked(self) -> dict[str, str]:
        """The links of the page by the end of their path: where one ends with a slug, no address need be guessed."""
        return {urlsplit(link.url).path.strip("/").rpartition("/")[2]: link.url for link in reversed(self._page.links)}

    def _date(self, lowered: Fields) -> Instant | None:
        for key in _DATE_KEYS:
            value = lowered.get(key)
            # Python's JSON reads NaN, Infinity and 1e999 as floats without an integer.
            if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LATEST_NUMBER:
                value = str(int(value))
            if isinstance(value, str):
                time = self._dates.machine(value)
                if time is None:
                    found = self._dates.written(value)
                    time = found.time if found is not None and found.has_year else None
                if time is not None:
                    return time
        return None

    def _image(self, lowered: Fields) -> str | None:
        named = (key for key in lowered if key not in _IMAGE_KEYS and _IMAGE_WORD.search(key))
        for key in (*_IMAGE_KEYS, *named):
            if (value := _image_value(lowered.get(key), 0)) is not None:
                return absolute_web_url(value, self._page.base)
        return None

    # --- h-feed

    def h_feed(self) -> list[PageList]:
        page, entries = self._page, list[PageEntry]()
        for number in range(len(page.elements)):
            words = page.attribute(number, "class").split()
            if "h-entry" in words and (entry := self._h_entry(number)) is not None:
                entries.append(entry)
        return _list_of(entries, PageRecipe("h-feed"))

    def _h_entry(self, root: int) -> PageEntry | None:
        page = self._page
        parts: dict[str, int] = {}
        skipped = 0
        for number in range(root + 1, page.ends[root]):
            if number < skipped:
                continue
            words = page.attribute(number, "class").split()
            # The name and address of the author are not those of the entry, nor is the note that it answers.
            if any(word.startswith("h-") and word != "h-entry" for word in words):
                skipped = page.ends[number]
                continue
            for word in words:
                parts.setdefault(word, number)
        link = parts.get("u-url")
        href = page.attribute(link, "href") if link is not None else ""
        url = page_url(href, page.base) if href else None
        name = next((parts[key] for key in ("p-name", "p-summary", "e-content") if key in parts), None)
        title = page.text(name)[:300] if name is not None else ""
        if url is None or title_quality(title) <= 0:
            return None
        time = next((parts[key] for key in ("dt-published", "dt-updated") if key in parts), None)
        published = self._h_date(time) if time is not None else None
        photo = parts.get("u-photo", parts.get("u-featured"))
        image = absolute_web_url(page.attribute(photo, "src"), page.base) if photo is not None else None
        summary = parts.get("p-summary")
        return PageEntry(url, title, published, image, page.text(summary)[:500] if summary is not None else "")

    def _h_date(self, number: int) -> Instant | None:
        value = self._page.attribute(number, "datetime") or self._page.attribute(number, "title")
        time = self._dates.machine(value or self._page.text(number))
        if time is not None:
            return time
        found = self._dates.written(self._page.text(number))
        return found.time if found is not None else None

    # --- Telegram

    def telegram(self) -> list[PageList]:
        """The posts of a channel as its public page shows them."""
        page, entries = self._page, list[PageEntry]()
        for number in range(len(page.elements)):
            if post := page.attribute(number, "data-post"):
                inside = range(number + 1, page.ends[number])
                text = next((n for n in inside if "tgme_widget_message_text" in page.attribute(n, "class")), None)
                time = next((n for n in inside if page.tags[n] == "time" and page.attribute(n, "datetime")), None)
                words = page.text(text) if text is not None else ""
                url = page_url(f"https://t.me/{post}", page.base)
                if url is not None and words:
                    published = self._dates.machine(page.attribute(time, "datetime")) if time is not None else None
                    entries.append(PageEntry(url, _first_sentence(words), published, teaser=words[:500]))
        return _list_of(entries, PageRecipe("telegram"))


def is_article(page: PageDocument) -> bool:
    """Whether the page says that it is one article."""
    if any(meta.get("property") == "og:type" and meta.get("content") == "article" for meta in page.tree.iter("meta")):
        return True
    data = (_parsed(script.text) for script in page.scripts if "ld+json" in script.kind)
    return any(isinstance(one, dict) and _ONE_ARTICLE.fullmatch(str(cast(Fields, one).get("@type"))) for one in data)


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.!?。！？])\s", text, maxsplit=1)[0][:120]


def telegram_page(url: str) -> str:
    """The public page of a Telegram channel for the address of the channel; any other address as it is."""
    match = _TELEGRAM.fullmatch(url)
    return f"https://t.me/s/{match[1]}" if match else url


def news_sitemap(body: bytes, dates: DateReader) -> list[PageList]:
    """The entries of a sitemap with `news:title` and `news:publication_date`."""
    if b"schemas/sitemap-news" not in body[:4_000]:
        return []
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True, huge_tree=False)
    try:
        root = cast(Any, etree.fromstring(body, parser))
    except (etree.XMLSyntaxError, ValueError):
        return []
    entries: list[PageEntry] = []
    for node in root.iter("{*}url") if root is not None else ():
        values = {str(one.tag).rpartition("}")[2]: (one.text or "").strip() for one in node.iter("{*}*")}
        url = absolute_web_url(values.get("loc", ""), None)
        if url and values.get("title"):
            published = dates.machine(values.get("publication_date", ""))
            entries.append(PageEntry(url, values["title"][:300], published))
    return _list_of(entries, PageRecipe("news-sitemap"))


def _list_of(entries: list[PageEntry], recipe: PageRecipe) -> list[PageList]:
    unique = {entry.key: entry for entry in reversed(entries)}
    ordered = tuple(unique[key] for key in dict.fromkeys(entry.key for entry in entries))
    return [PageList(ordered, recipe)] if len(ordered) >= MIN_ENTRIES else []


def _parsed(text: str) -> object | None:
    try:
        return json.loads(text.strip().removeprefix("<![CDATA[").removesuffix("]]>"), strict=False)
    except (ValueError, RecursionError):
        return None


_ASSIGNED = re.compile(r"(?:=|JSON\.parse\(\s*['\"])\s*(?=[{\[])")


def _values(kind: str, text: str) -> Iterator[object]:
    """The JSON in a script: all of it, or what it assigns."""
    if "json" in kind:
        if (data := _parsed(text)) is not None:
            yield data
        return
    decoder = json.JSONDecoder(strict=False)
    at = 0
    for _ in range(20):
        match = _ASSIGNED.search(text, at)
        if match is None:
            return
        try:
            value, at = decoder.raw_decode(text, match.end())
            yield value
        except (ValueError, RecursionError):
            at = match.end() + 1


def _arrays(data: object) -> Iterator[tuple[str, list[Any]]]:
    """Arrays of objects with the keys that lead to them."""
    waiting: list[tuple[object, str, int]] = [(data, "", 0)]
    for _ in range(_MAX_NODES):
        if not waiting:
            return
        node, path, depth = waiting.pop()
        if depth > _MAX_DEPTH:
            continue
        inner: list[tuple[object, str, int]] = []
        if isinstance(node, dict):
            for key, value in cast(Fields, node).items():
                if isinstance(value, dict | list):
                    inner.append((cast(object, value), storable(f"{path}.{key}" if path else key), depth + 1))
        elif isinstance(node, list):
            values = cast("list[Any]", node)[:_MAX_LIST]
            objects = [cast(Fields, value) for value in values if isinstance(value, dict)]
            if len(objects) >= MIN_ENTRIES:
                yield path, objects
            inner = [(cast(object, value), path + "[]", depth + 1) for value in values[:200]]
        waiting.extend(reversed(inner))  # so that the first part of the data is read first


def _unwrapped(value: Fields) -> Fields:
    """The object itself, or the one it wraps: `{"node": {…}}`."""
    for _ in range(3):
        lowered = {key.lower() for key in value}
        if lowered & set(_TITLE_KEYS) and lowered & set(_URL_KEYS):
            return value
        inner = [cast(Fields, one) for one in value.values() if isinstance(one, dict)]
        if len(inner) != 1:
            return value
        value = inner[0]
    return value


def _text_of(value: object) -> str:
    if isinstance(value, dict):
        value = cast(Fields, value).get("rendered")
    return " ".join(_TEXT.sub("", storable(value)).split()) if isinstance(value, str) else ""


def _teaser(lowered: Fields) -> str:
    return next((text for key in _TEASER_KEYS if (text := _text_of(lowered.get(key)))), "")[:500]


def _image_value(value: object, depth: int) -> str | None:
    if isinstance(value, str):
        return storable(value) or None
    if depth > 3:
        return None
    if isinstance(value, list):
        return next((found for one in cast("list[object]", value)[:3] if (found := _image_value(one, depth + 1))), None)
    if isinstance(value, dict):
        fields = cast(Fields, value)
        for key in ("url", "src", "contentUrl", "href", "original", "large", "data", "attributes", "default"):
            if (found := _image_value(fields.get(key), depth + 1)) is not None:
                return found
    return None
