"""The XML parser, canonical element names, and the limits for feed documents."""

from typing import TypeAlias

from lxml import etree

# lxml has no public name for its element class.
Element: TypeAlias = etree._Element  # pyright: ignore[reportPrivateUsage]


def strict_tree(document: bytes) -> Element | None:
    """The root, or None if the document is not well-formed UTF-8."""
    try:
        return etree.fromstring(document, _parser(recover=False))
    except (etree.XMLSyntaxError, ValueError):
        return None


def repaired_tree(document: bytes) -> Element | None:
    """The root as far as the parser can recover it."""
    try:
        return etree.fromstring(document, _parser(recover=True))
    except (etree.XMLSyntaxError, ValueError):
        return None


def _parser(*, recover: bool) -> etree.XMLParser:
    # A new parser each time: threads would wait for a shared one, and creating it takes 2 µs.
    return etree.XMLParser(
        encoding="utf-8",
        recover=recover,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=False,
        collect_ids=False,
        remove_comments=True,
        remove_pis=True,
    )


_ATOM_AND_RSS = (
    "http://www.w3.org/2005/atom",
    "http://purl.org/atom/ns#",
    "http://purl.org/rss/1.0/",
    "http://purl.org/rss/1.0/modules/rss091#",
    "http://my.netscape.com/rdf/simple/0.9/",
    "http://channel.netscape.com/rdf/simple/0.9/",
    "http://my.netscape.com/publish/formats/rss-0.91.dtd",
    "http://backend.userland.com/rss",
    "http://backend.userland.com/rss2",
    "http://backend.userland.com/rss091",
    "http://backend.userland.com/rss092",
    "http://blogs.law.harvard.edu/tech/rss",
    "http://purl.org/net/rss1.1#",
    "https://www.rssboard.org/rss-specification",
)
_PREFIXES = dict.fromkeys(_ATOM_AND_RSS, "") | {
    "http://purl.org/rss/1.0/modules/content/": "content:",
    "http://purl.org/dc/elements/1.1/": "dc:",
    "http://purl.org/dc/elements/1.0/": "dc:",
    "http://purl.org/dc/terms/": "dcterms:",
    "http://search.yahoo.com/mrss": "media:",
    "http://search.yahoo.com/mrss/": "media:",
    "http://www.itunes.com/dtds/podcast-1.0.dtd": "itunes:",
    "https://podcastindex.org/namespace/1.0": "podcast:",
    "https://github.com/Podcastindex-org/podcast-namespace/blob/main/docs/1.0.md": "podcast:",
    "http://podlove.org/simple-chapters": "psc:",
    "http://purl.org/rss/1.0/modules/syndication/": "sy:",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf:",
    "http://webfeeds.org/rss/1.0": "webfeeds:",
    "http://www.w3.org/1999/xhtml": "xhtml:",
    "http://rssnamespace.org/feedburner/ext/1.0": "feedburner:",
    "http://wellformedweb.org/commentapi/": "wfw:",
    "http://purl.org/rss/1.0/modules/slash/": "slash:",
    "http://www.georss.org/georss": "georss:",
}
# Undeclared prefixes that mean the namespace of the feed itself.
_OWN_PREFIXES = frozenset({"atom", "atom10", "atom03", "a10", "rss", "rss10"})


class Names:
    """Canonical element names such as `dc:date` or `title`, cached for one document."""

    __slots__ = ("known",)

    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        """By tag; hot loops read it directly."""

    def of(self, element: Element) -> str:
        return self.known.get(element.tag) or self.learnt(element)

    def learnt(self, element: Element) -> str:
        name = self.known[element.tag] = _canonical(element)
        return name


def _canonical(element: Element) -> str:
    tag = element.tag
    if callable(tag):  # an unresolved entity
        return "?"
    if tag.startswith("{"):
        namespace, _, local = tag[1:].partition("}")
        prefix = _PREFIXES.get(namespace.lower())
        if prefix is None:
            prefix = f"{element.prefix.lower()}:" if element.prefix else "?:"
        return prefix + local.lower()
    prefix, colon, local = tag.lower().rpartition(":")
    return local if prefix in _OWN_PREFIXES else prefix + colon + local


# --- Limits, far above what a normal feed needs

MAX_BYTES = 10_000_000
"""After decompression, like the limit of the fetcher."""

MAX_DEPTH = 200
MAX_ATTRIBUTES = 200
"""On one element."""
MAX_TAGS = 300_000
MAX_ENTITIES = 256
MAX_ENTITY_LENGTH = 1_000
MAX_ENTITY_GROWTH = 1_000_000
"""Bytes that a document's own entities may add to it."""

MAX_ENTRIES = 500
MAX_TITLE = 1_000
MAX_GUID = 1_000
MAX_URL = 4_096
MAX_CONTENT = 2_000_000
MAX_NAME = 300
MAX_DATE = 80
MAX_LIST = 50
"""Authors, categories or enclosures of one entry."""
