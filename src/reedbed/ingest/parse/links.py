"""Addresses: made absolute, checked, and resolved inside markup."""

import re
from urllib.parse import urljoin

from reedbed.ingest.parse.limits import MAX_URL

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_OPENABLE = frozenset({"http", "https", "ftp", "gemini", "gopher", "magnet"})
_TAG = re.compile(r"<[a-zA-Z][^<>]*>")
_ATTRIBUTE = re.compile(
    r"(\s(?:href|src|poster|cite|action|longdesc|background|data)\s*=\s*)"
    r"(\"[^\"]*\"|'[^']*'|[^\s\"'<>]+)",
    re.IGNORECASE,
)
# Found by its `=`, for which the expression engine searches fast: most markup holds no relative address, and
# that must cost next to nothing.
_MAYBE_RELATIVE = re.compile(
    r"=(?:(?<=[hH][rR][eE][fF]=)|(?<=[sS][rR][cC]=)|(?<=[sS][rR][cC][sS][eE][tT]=)|(?<=poster=)|(?<=cite=)"
    r"|(?<=\s=))"
    r"(?!\"https?:)"
)
_SRCSET = re.compile(r"(\ssrcset\s*=\s*)(\"[^\"]*\"|'[^']*')", re.IGNORECASE)
_CANDIDATE = re.compile(r"(\s*)([^\s,]\S*[^\s,]|[^\s,])((?:\s+[^,]*)?(?:,|$))")
_SPACE = re.compile(r"[\t\r\n]+")


def absolute(address: str | None, base: str) -> str | None:
    """An address one may open, or None. Without a base a relative one stays: there is nothing better."""
    if not address:
        return None
    address = address.strip()
    if not address.startswith(("http://", "https://")):
        address = _joined(base, address)
    if not address or len(address) > MAX_URL:
        return None
    if "\n" in address or "\t" in address or "\r" in address:
        address = _SPACE.sub("", address)
    scheme = _SCHEME.match(address)
    return address if not scheme or scheme[1].lower() in _OPENABLE else None


def is_absolute(address: str | None) -> bool:
    return address is not None and address.startswith(("http://", "https://"))


def may_hold_relative(markup: str) -> bool:
    return _MAYBE_RELATIVE.search(markup) is not None


def resolved_markup(markup: str, base: str) -> str:
    """The markup with relative `href`, `src`, `srcset` and the like made absolute."""
    if not is_absolute(base):
        return markup
    return _TAG.sub(lambda tag: _resolved_tag(tag[0], base), markup)


def _resolved_tag(tag: str, base: str) -> str:
    if "=" not in tag:
        return tag
    tag = _ATTRIBUTE.sub(lambda found: found[1] + _quoted(found[2], base), tag)
    return _SRCSET.sub(lambda found: found[1] + _quoted_set(found[2], base), tag)


def _quoted(value: str, base: str) -> str:
    quote, address = _unquoted(value)
    if not address or _SCHEME.match(address):
        return value
    return f"{quote}{_joined(base, address.strip())}{quote}"


def _quoted_set(value: str, base: str) -> str:
    quote, addresses = _unquoted(value)
    return quote + _CANDIDATE.sub(lambda one: one[1] + _joined(base, one[2]) + one[3], addresses) + quote


def _unquoted(value: str) -> tuple[str, str]:
    return (value[0], value[1:-1]) if value[:1] in "\"'" else ('"', value)


def _joined(base: str, address: str) -> str:
    try:
        return urljoin(base, address) if base else address
    except ValueError:
        return "" if not _SCHEME.match(address) else address
