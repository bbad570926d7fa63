"""Find the root of an XML document, read its entities safely, and repair damaged markup."""

import html
import re
from dataclasses import field

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.records import record
from reedbed.ingest.parse.xml import MAX_ENTITIES, MAX_ENTITY_GROWTH, MAX_ENTITY_LENGTH

# --- Prolog: declarations, doctype and entities before the root

_MISC = re.compile(rb"(?:\s+|<\?.*?\?>|<!--.*?-->)*", re.DOTALL)
_DOCTYPE = re.compile(rb"<!doctype\b([^>\[]*)(?:\[(.*?)\]\s*)?>", re.DOTALL | re.IGNORECASE)
_ROOT = re.compile(rb"<([A-Za-z_][\w:.-]{0,100})")
_FEED_START = re.compile(rb"<(?:[\w-]{1,20}:)?(?:rss|feed|rdf|channel)[\s>]", re.IGNORECASE)
_ENTITY = re.compile(
    rb"<!ENTITY\s+(%\s+)?([\w.-]{1,64})\s+(?:(SYSTEM|PUBLIC)\b[^>]*|\"([^\"]*)\"|'([^']*)')\s*>", re.DOTALL
)
_HARMLESS_VALUE = re.compile(r"(?:[^&%]|&(?:#\d{1,7}|#x[0-9a-fA-F]{1,6}|amp|lt|gt|quot|apos);)*")

HTML_ROOTS = frozenset({"html", "head", "body", "script", "div", "p", "center", "title", "h1", "table", "svg"})
_MAX_JUNK = 64_000


@record
class OpenedDocument:
    """A document from its root element on."""

    root: str
    """Local name of the root in lower case; empty if there is no markup."""
    document: bytes
    entities: dict[str, str] = field(default_factory=dict[str, str])
    refusal: Failure | None = None


def opened(body: bytes) -> OpenedDocument:
    start = _skip_misc(body, 0)
    doctype = _DOCTYPE.match(body, start)
    entities: dict[str, str] = {}
    if doctype:
        outcome = _entities(doctype[2] or b"", body)
        if isinstance(outcome, Failure):
            return OpenedDocument("", b"", refusal=outcome)
        entities = outcome
        start = _skip_misc(body, doctype.end())
    root = _ROOT.match(body, start)
    name = _local_name(root[1]) if root else ""
    if name in ("rss", "feed", "rdf", "channel", "entry") or name in HTML_ROOTS - {"div", "p"}:
        return OpenedDocument(name, body[start:], entities)
    return _skip_junk(body, start, name, entities)


def without_doctype(body: bytes) -> bytes:
    """For parsers that need no entities. Matches only at the start: a search could be made slow by an
    attacker.
    """
    start = _skip_misc(body, 0)
    doctype = _DOCTYPE.match(body, start)
    return body[:start] + body[doctype.end() :] if doctype else body


def _skip_misc(body: bytes, start: int) -> int:
    skipped = _MISC.match(body, start)
    return skipped.end() if skipped else start


def _skip_junk(body: bytes, start: int, name: str, entities: dict[str, str]) -> OpenedDocument:
    """Error messages of a broken server, or other text, may precede the feed."""
    match = _FEED_START.search(body, start, start + _MAX_JUNK)
    if not match:
        return OpenedDocument(name, body[start:], entities)
    root = _ROOT.match(body, match.start())
    return OpenedDocument(_local_name(root[1]) if root else name, body[match.start() :], entities)


def _local_name(name: bytes) -> str:
    return name.rpartition(b":")[2].decode("ascii", "replace").lower()


def _entities(subset: bytes, body: bytes) -> dict[str, str] | Failure:
    """The safe entities a document defines, or why it is rejected."""
    if not subset:
        return {}
    if subset.count(b"<!ENTITY") > MAX_ENTITIES:
        return Failure(FailureCode.ENTITIES_TOO_MANY)
    entities: dict[str, str] = {}
    for parameter, name, external, double, single in _ENTITY.findall(subset):
        if external:
            continue
        value = (double or single).decode("utf-8", "replace")
        if parameter or len(value) > MAX_ENTITY_LENGTH or not _HARMLESS_VALUE.fullmatch(value):
            return Failure(FailureCode.ENTITIES_NESTED)
        entities[name.decode("ascii", "replace")] = html.unescape(value)
    growth = sum(body.count(b"&" + name.encode() + b";") * len(value) for name, value in entities.items())
    if growth > MAX_ENTITY_GROWTH:
        return Failure(FailureCode.ENTITIES_TOO_LARGE)
    return entities


# --- Repair of damaged documents, without guessing at their meaning

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_PROBLEM = re.compile(
    r"(?P<cdata><!\[CDATA\[.*?(?:\]\]>|\Z))"
    r"|(?P<comment><!--.*?(?:-->|\Z))"
    r"|&(?P<reference>#\d{1,8}|#[xX][0-9a-fA-F]{1,8}|[A-Za-z][A-Za-z0-9]{0,31});"
    r"|(?P<ampersand>&)"
    r"|(?P<less><(?![A-Za-z_/!?]))"
    r"|<(?P<void>(?:br|hr|img|wbr|input|embed|param|area|col)\b[^<>]*?)/?>",
    re.DOTALL | re.IGNORECASE,
)
_PREDEFINED = frozenset({"amp", "lt", "gt", "quot", "apos"})
_ENTRY_END = re.compile(r"</(?:[\w-]{1,20}:)?(?:item|entry)\s*>", re.IGNORECASE)
_ENTRY_START = re.compile(r"<(?:[\w-]{1,20}:)?(?:item|entry)(?=[\s>])", re.IGNORECASE)
_ROOT_END_SEARCHED = 20_000
_C1_REFERENCE = re.compile(rb"&#(?:(12[89]|1[345]\d)|[xX]([89][0-9a-fA-F]));")
_C1_CHARACTER = re.compile(rb"\xc2([\x80-\x9f])")


@record
class RepairedDocument:
    document: bytes
    truncated: bool
    entries: int
    """Number of start tags of entries."""


def repaired(text: str, root: str, entities: dict[str, str]) -> RepairedDocument:
    text = _FORBIDDEN.sub("", text).rstrip()
    complete = _complete_part(text, root)
    fixed = _PROBLEM.sub(lambda match: _fix(match, entities), complete)
    entry_count = len(_ENTRY_START.findall(_PROBLEM.sub(_drop_comment_or_cdata, complete)))
    return RepairedDocument(fixed.encode("utf-8", "replace"), len(complete) < len(text), entry_count)


def with_windows_quotes(document: bytes) -> bytes:
    """Characters 128 to 159 are meant as Windows-1252 punctuation: `&#146;` is an apostrophe."""
    if b"#" in document:  # searching for a single character is fast
        document = _C1_REFERENCE.sub(_decode_c1_reference, document)
    return _C1_CHARACTER.sub(_decode_c1_character, document) if b"\xc2" in document else document


def _decode_c1_reference(match: re.Match[bytes]) -> bytes:
    return _from_cp1252(int(match[1]) if match[1] else int(match[2], 16))


def _decode_c1_character(match: re.Match[bytes]) -> bytes:
    return _from_cp1252(match[1][0])


def _from_cp1252(code: int) -> bytes:
    return bytes([code]).decode("cp1252", "ignore").encode()


def _complete_part(text: str, root: str) -> str:
    """The text up to the last complete entry, if it ends before its root is closed."""
    root_end = re.compile(rf"</(?:[\w-]{{1,20}}:)?(?:{re.escape(root)}|channel)\s*>", re.IGNORECASE)
    if root_end.search(text, max(0, len(text) - _ROOT_END_SEARCHED)):
        return text
    ends = list(_ENTRY_END.finditer(text))
    if ends:
        return text[: ends[-1].end()]
    start = _ENTRY_START.search(text, 1)
    return text[: start.start()] if start else text[:-1]


def _fix(match: re.Match[str], entities: dict[str, str]) -> str:
    kind = match.lastgroup
    if kind == "cdata":
        return match[0] if match[0].endswith("]]>") else match[0] + "]]>"
    if kind == "comment":
        return ""
    if kind == "reference":
        return _resolve_reference(match["reference"], entities)
    if kind == "void":
        return f"<{match['void']}/>"
    return "&lt;" if kind == "less" else "&amp;"


def _resolve_reference(reference: str, entities: dict[str, str]) -> str:
    if reference in _PREDEFINED:
        return f"&{reference};"
    written = f"&{reference};"
    value = entities.get(reference) or html.unescape(written)
    if value == written:
        return f"&amp;{reference};"
    return html.escape(_FORBIDDEN.sub("", value), quote=False)


def _drop_comment_or_cdata(match: re.Match[str]) -> str:
    return "" if match.lastgroup in ("cdata", "comment") else match[0]
