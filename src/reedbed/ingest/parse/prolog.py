"""What stands before the root element, and the root's name; the parser itself never sees a DOCTYPE."""

import html
import re
from dataclasses import field

from reedbed.domain.records import record
from reedbed.ingest.parse.limits import MAX_ENTITIES, MAX_ENTITY_GROWTH, MAX_ENTITY_LENGTH

_SKIPPED = re.compile(rb"(?:\s+|<\?.*?\?>|<!--.*?-->)*", re.DOTALL)
_DOCTYPE = re.compile(rb"<!doctype\b([^>\[]*)(?:\[(.*?)\]\s*)?>", re.DOTALL | re.IGNORECASE)
_ROOT = re.compile(rb"<([A-Za-z_][\w:.-]{0,100})")
_FEED_START = re.compile(rb"<(?:[\w-]{1,20}:)?(?:rss|feed|rdf|channel)[\s>]", re.IGNORECASE)
_ENTITY = re.compile(
    rb"<!ENTITY\s+(%\s+)?([\w.-]{1,64})\s+(?:(SYSTEM|PUBLIC)\b[^>]*|\"([^\"]*)\"|'([^']*)')\s*>", re.DOTALL
)
_HARMLESS_VALUE = re.compile(r"(?:[^&%]|&(?:#\d{1,7}|#x[0-9a-fA-F]{1,6}|amp|lt|gt|quot|apos);)*")

HTML_ROOTS = frozenset(
    {"html", "head", "body", "script", "div", "p", "center", "title", "h1", "table", "svg"}
)
_JUNK_SEARCHED = 64_000


@record
class Opened:
    """A document from its root element on."""

    root: str
    """The root's local name in lower case; empty if there is no markup."""
    document: bytes
    entities: dict[str, str] = field(default_factory=dict[str, str])
    refusal: str | None = None


def opened(body: bytes) -> Opened:
    start = _past_misc(body, 0)
    doctype = _DOCTYPE.match(body, start)
    entities: dict[str, str] = {}
    if doctype:
        outcome = _entities(doctype[2] or b"", body)
        if isinstance(outcome, str):
            return Opened("", b"", refusal=outcome)
        entities = outcome
        start = _past_misc(body, doctype.end())
    root = _ROOT.match(body, start)
    name = _local(root[1]) if root else ""
    if name in ("rss", "feed", "rdf", "channel", "entry") or name in HTML_ROOTS - {"div", "p"}:
        return Opened(name, body[start:], entities)
    return _past_junk(body, start, name, entities)


def without_doctype(body: bytes) -> bytes:
    """For a reader that takes no entities from a document. Looks once: a search would be slow on purpose."""
    start = _past_misc(body, 0)
    doctype = _DOCTYPE.match(body, start)
    return body[:start] + body[doctype.end() :] if doctype else body


def _past_misc(body: bytes, start: int) -> int:
    skipped = _SKIPPED.match(body, start)
    return skipped.end() if skipped else start


def _past_junk(body: bytes, start: int, name: str, entities: dict[str, str]) -> Opened:
    """Warnings of a broken server, or text, may stand before the feed."""
    found = _FEED_START.search(body, start, start + _JUNK_SEARCHED)
    if not found:
        return Opened(name, body[start:], entities)
    root = _ROOT.match(body, found.start())
    return Opened(_local(root[1]) if root else name, body[found.start() :], entities)


def _local(name: bytes) -> str:
    return name.rpartition(b":")[2].decode("ascii", "replace").lower()


def _entities(subset: bytes, body: bytes) -> dict[str, str] | str:
    """The harmless entities a document defines for itself, or why it is refused."""
    if not subset:
        return {}
    if subset.count(b"<!ENTITY") > MAX_ENTITIES:
        return "The document defines too many entities, so it is not read."
    entities: dict[str, str] = {}
    for parameter, name, external, double, single in _ENTITY.findall(subset):
        if external:
            continue
        value = (double or single).decode("utf-8", "replace")
        if parameter or len(value) > MAX_ENTITY_LENGTH or not _HARMLESS_VALUE.fullmatch(value):
            return "The document defines entities within entities, so it is not read."
        entities[name.decode("ascii", "replace")] = html.unescape(value)
    growth = sum(body.count(b"&" + name.encode() + b";") * len(value) for name, value in entities.items())
    if growth > MAX_ENTITY_GROWTH:
        return "The document's entities would make it far too large, so it is not read."
    return entities
