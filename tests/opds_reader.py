"""A strict reader of OPDS 1.2 catalogues: raises `AssertionError` for what a validator would call an error."""

import re
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from lxml import etree

ATOM = "{http://www.w3.org/2005/Atom}"
DC = "{http://purl.org/dc/terms/}"
ACQUISITION = "http://opds-spec.org/acquisition"
TYPE = re.compile(r"application/atom\+xml;profile=opds-catalog;kind=(navigation|acquisition)\Z")
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)\Z")
FEED_PARTS = {f"{ATOM}{name}" for name in ("id", "title", "updated", "author", "link", "entry")}
ENTRY_PARTS = {*(f"{ATOM}{name}" for name in ("id", "title", "updated", "content", "link")), f"{DC}language"}


@dataclass
class Offer:
    title: str
    url: str
    kind: str
    """navigation, acquisition or book."""
    text: str
    length: int | None
    language: str


@dataclass
class Catalogue:
    title: str
    kind: str
    offers: list[Offer]
    links: dict[str, str]

    def url(self, title: str) -> str:
        (found,) = (offer.url for offer in self.offers if offer.title == title)
        return found

    @property
    def titles(self) -> list[str]:
        return [offer.title for offer in self.offers]


def read_catalogue(content_type: str, body: bytes, url: str) -> Catalogue:
    served = TYPE.match(content_type.partition("; charset")[0])
    assert served, content_type
    assert b"<!DOCTYPE" not in body and b"<!ENTITY" not in body
    feed = etree.fromstring(body, etree.XMLParser(resolve_entities=False, no_network=True))
    assert feed.tag == f"{ATOM}feed"
    assert {child.tag for child in feed} <= FEED_PARTS, {child.tag for child in feed} - FEED_PARTS
    _check_common(feed)
    assert feed.findtext(f"{ATOM}author/{ATOM}name"), "a feed names its author"
    links = {str(link.get("rel")): urljoin(url, str(link.get("href"))) for link in feed.findall(f"{ATOM}link")}
    assert len(links) == len(feed.findall(f"{ATOM}link")), "one link of each relation"
    assert links["self"] == url and {"self", "start"} <= set(links) <= {"self", "start", "up", "next"}
    for link in feed.findall(f"{ATOM}link"):
        assert TYPE.match(str(link.get("type"))), "links of a feed lead to catalogues"
    offers = [_offer(entry, url) for entry in feed.findall(f"{ATOM}entry")]
    ids = [entry.findtext(f"{ATOM}id") for entry in feed.findall(f"{ATOM}entry")]
    assert len(set(ids)) == len(ids), "ids are unique"
    if served[1] == "acquisition":
        assert all(offer.kind == "book" for offer in offers), "each entry can be acquired"
    else:
        assert all(offer.kind != "book" for offer in offers), "a page of navigation offers no book"
    return Catalogue(str(feed.findtext(f"{ATOM}title")), served[1], offers, links)


def _check_common(element: etree._Element) -> None:
    for name in ("id", "title", "updated"):
        (found,) = element.findall(f"{ATOM}{name}")
        assert (found.text or "").strip(), f"{name} is empty"
    assert urlsplit(str(element.findtext(f"{ATOM}id"))).scheme, "an id is a whole IRI"
    assert DATE.match(str(element.findtext(f"{ATOM}updated")))


def _offer(entry: etree._Element, base: str) -> Offer:
    assert {child.tag for child in entry} <= ENTRY_PARTS, {child.tag for child in entry}
    _check_common(entry)
    content = entry.find(f"{ATOM}content")
    assert content is None or content.get("type") == "text"
    (link,) = entry.findall(f"{ATOM}link")
    url, rel, media_type = urljoin(base, str(link.get("href"))), link.get("rel"), str(link.get("type"))
    assert " " not in url and urlsplit(url).scheme in ("http", "https")
    if rel == "subsection":
        kind = TYPE.match(media_type)
        assert kind
        name = kind[1]
    else:
        assert rel == ACQUISITION and media_type == "application/epub+zip"
        name = "book"
    length = link.get("length")
    return Offer(
        title=str(entry.findtext(f"{ATOM}title")),
        url=url,
        kind=name,
        text=str(entry.findtext(f"{ATOM}content") or ""),
        length=int(length) if length else None,
        language=str(entry.findtext(f"{DC}language") or ""),
    )
