"""One name for each element, whatever its namespace is called and however it is spelled."""

from reedbed.ingest.parse.tree import Element

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
    "http://purl.org/rss/1.0/modules/syndication/": "sy:",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf:",
    "http://webfeeds.org/rss/1.0": "webfeeds:",
    "http://www.w3.org/1999/xhtml": "xhtml:",
    "http://rssnamespace.org/feedburner/ext/1.0": "feedburner:",
    "http://wellformedweb.org/commentapi/": "wfw:",
    "http://purl.org/rss/1.0/modules/slash/": "slash:",
    "http://www.georss.org/georss": "georss:",
}
# Prefixes that mean the feed's own language when nobody declared them.
_OWN_PREFIXES = frozenset({"atom", "atom10", "atom03", "a10", "rss", "rss10"})


class Names:
    """Element names as `dc:date` or `title`, remembered for the length of one document."""

    __slots__ = ("known",)

    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        """By tag; read directly where every element passes."""

    def of(self, element: Element) -> str:
        return self.known.get(element.tag) or self.learnt(element)

    def learnt(self, element: Element) -> str:
        name = self.known[element.tag] = _canonical(element)
        return name


def _canonical(element: Element) -> str:
    tag = element.tag
    if callable(tag):  # an entity the parser left unresolved
        return "?"
    if tag.startswith("{"):
        namespace, _, local = tag[1:].partition("}")
        prefix = _PREFIXES.get(namespace.lower())
        if prefix is None:
            prefix = f"{element.prefix.lower()}:" if element.prefix else "?:"
        return prefix + local.lower()
    prefix, colon, local = tag.lower().rpartition(":")
    return local if prefix in _OWN_PREFIXES else prefix + colon + local
