"""Which addresses may stand in clean markup, and how they are written."""

import re
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import urljoin

MAX_ADDRESS = 4_096
MAX_DATA_IMAGE = 300_000

# What the URL standard strips from both ends, and what it removes anywhere.
_ENDS = "".join(map(chr, range(0x21)))
_ANYWHERE = {ord(char): None for char in "\t\n\r"}
_UNWRITTEN = re.compile(r"[\x00-\x20\x7f-\x9f\"<>`\u2028\u2029]")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.\-]*:")
_PLAIN = re.compile(r"https?://[A-Za-z0-9][A-Za-z0-9._~:/?=%+,;@!$*()&#\-]*\Z")
# Joined to a page's address just by writing it behind the host.
_PLAIN_PATH = re.compile(r"/(?:[A-Za-z0-9_.~:=%+,@!$*()&\-][A-Za-z0-9_.~:=%+,@!$*()&/?\-]*)?(?<!\?)\Z")
# Brackets hold an IPv6 address and nothing else; not every Python refuses others by itself.
_WEB = re.compile(
    r"https?://(?:(?![^/?#\\]*[\[\]])[^/?#\\]|[^/?#\\\[\]]*\[[0-9a-f:.]+\](?:[:/?#]|\Z))", re.IGNORECASE
)
_MAILTO = re.compile(r"mailto:[^\s<>]+\Z", re.IGNORECASE)
_DATA_IMAGE = re.compile(r"data:image/(?:png|jpe?g|gif|webp|avif);base64,[A-Za-z0-9+/=]+\Z", re.IGNORECASE)
_DESCRIPTOR = re.compile(r"([0-9]{1,5}(?:\.[0-9]{1,3})?[wx])?(?:,(\S*))?\Z")
MAX_CANDIDATES = 24
MAX_SRCSET = 16_384


def web_address(value: str, base: str | None) -> str | None:
    """The absolute http(s) address a browser would go to, or None for anything else."""
    if len(value) > MAX_ADDRESS:
        return None
    if _PLAIN.match(value):
        return value
    if base and _PLAIN_PATH.match(value) and "/." not in value:
        return (origin := _origin(base)) and f"{origin}{value}"
    value = value.strip(_ENDS).translate(_ANYWHERE)
    if not _WEB.match(value):
        value = _absolute(value, base)
    if not _WEB.match(value):
        return None
    scheme, rest = value.split(":", 1)
    return _UNWRITTEN.sub(_percent, f"{scheme.lower()}:{rest}")


def link_address(value: str, base: str | None) -> str | None:
    if value.startswith("http"):
        return web_address(value, base)
    trimmed = value.strip(_ENDS)
    if _MAILTO.match(trimmed) and len(trimmed) <= MAX_ADDRESS:
        return trimmed
    return web_address(value, base)


def image_address(value: str, base: str | None) -> str | None:
    """An https address or an inline raster image. Plain http is not loaded from a page served over TLS."""
    if value[:5].lower() == "data:":
        return data_image(value)
    address = web_address(value, base)
    return address if address and address.startswith("https:") else None


def data_image(value: str) -> str | None:
    return value if len(value) <= MAX_DATA_IMAGE and _DATA_IMAGE.match(value) else None


def media_address(value: str, base: str | None) -> str | None:
    """Sound and film over https; browsers ask for plain http ones over https anyway."""
    address = web_address(value, base)
    if address and address.startswith("http:"):
        return f"https:{address[5:]}"
    return address


def srcset(value: str, base: str | None) -> str | None:
    """The candidates that may be loaded, or None when there are none."""
    kept = [f"{address} {size}".rstrip() for address, size in _loadable(value, base)]
    return ", ".join(kept) or None


def largest(value: str, base: str | None) -> str | None:
    """The address of the widest candidate, whatever its scheme."""
    best, best_size = None, -1.0
    for address, size in candidates(value, base):
        width = float(size[:-1]) if size else 1.0
        if width > best_size:
            best, best_size = address, width
    return best


def candidates(value: str, base: str | None) -> Iterator[tuple[str, str]]:
    """(address, "800w" or "2x" or "") in order. Addresses may hold commas; only white space ends them."""
    for source, size in _pairs(value[:MAX_SRCSET].split()[: 2 * MAX_CANDIDATES]):
        if address := web_address(source.strip(","), base):
            yield address, size


def _pairs(words: list[str]) -> Iterator[tuple[str, str]]:
    source = ""
    for word in words:
        descriptor = _DESCRIPTOR.match(word) if source else None
        if descriptor:
            yield source, descriptor[1] or ""
            source = descriptor[2] or ""
            continue
        if source:
            yield source, ""
        source = word
        if word.endswith(","):
            yield word, ""
            source = ""
    if source:
        yield source, ""


def _loadable(value: str, base: str | None) -> Iterator[tuple[str, str]]:
    for address, size in candidates(value, base):
        if address.startswith("https:"):
            # A comma inside an address would end the candidate when the list is read again.
            yield address.replace(",", "%2C"), size


def _absolute(value: str, base: str | None) -> str:
    if value.startswith(("//", "\\\\", "/\\", "\\/")):
        return f"{_scheme_of(base)}://{value[2:]}"
    if base is None or not value or _SCHEME.match(value):
        return ""
    try:
        return urljoin(base, value)
    except ValueError:
        return ""


@lru_cache(maxsize=32)
def _origin(base: str) -> str | None:
    """The scheme and host of a page on the web."""
    root = web_address(_absolute("/", base), None)
    return root and root.removesuffix("/")


def _scheme_of(base: str | None) -> str:
    """Addresses without a scheme take the page's; without a page, the safe one."""
    return "http" if base and base[:5].lower() == "http:" else "https"


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace"))
