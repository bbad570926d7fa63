"""Convert documents to UTF-8 by Content-Type header, byte order mark, XML declaration or detection."""

import codecs
import re
import zlib
from collections.abc import Iterator

from reedbed.ingest.parse.xml import MAX_BYTES

_BOMS = (
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
)
# The first character `<` or `{` in UTF-16 or UTF-32 without a byte order mark.
_WIDE = (
    (re.compile(rb"\x00\x00\x00[<{]"), "utf-32-be"),
    (re.compile(rb"[<{]\x00\x00\x00"), "utf-32-le"),
    (re.compile(rb"\x00[<{]\x00"), "utf-16-be"),
    (re.compile(rb"[<{]\x00"), "utf-16-le"),
)
_HEADER_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"\A[^<]{0,64}<\?xml[^>]{0,200}?encoding\s*=\s*[\"']\s*([\w.:-]+)", re.IGNORECASE)

# Codecs for these names, as in browsers.
_ALIASES = {
    "iso-8859-1": "cp1252",
    "iso8859-1": "cp1252",
    "latin-1": "cp1252",
    "latin1": "cp1252",
    "us-ascii": "cp1252",
    "ascii": "cp1252",
    "ansi": "cp1252",
    "windows-1252": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "x-gbk": "gb18030",
    "euc-kr": "cp949",
    "ks_c_5601-1987": "cp949",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "x-sjis": "cp932",
    "sjis": "cp932",
    "iso-8859-9": "cp1254",
    "tis-620": "cp874",
    "utf8": "utf-8",
    "unicode-1-1-utf-8": "utf-8",
}
_SEVEN_BIT = ("iso-2022", "hz", "utf-7")
_DETECTION_SAMPLE = 200_000


def unpacked(body: bytes) -> bytes:
    """The body, decompressed up to the limit if it is gzip without a Content-Encoding header."""
    if not body.startswith(b"\x1f\x8b"):
        return body[:MAX_BYTES]
    try:
        return zlib.decompressobj(wbits=31).decompress(body, MAX_BYTES)
    except zlib.error:
        return body


def as_utf8(body: bytes, content_type: str | None) -> bytes:
    """Convert to UTF-8 if the declared encodings can be trusted.

    If everything claims UTF-8, or nothing is declared, the bytes are returned unchecked: the parser detects
    errors.
    """
    if body.startswith(codecs.BOM_UTF8):
        return body[3:]
    wide = _wide_codec(body)
    if wide:
        return body.decode(wide, "replace").encode("utf-8", "replace").removeprefix(codecs.BOM_UTF8)
    claims = list(_claims(body, content_type))
    if all(codec == "utf-8" for codec in claims) or (body.isascii() and not _any_seven_bit(claims)):
        return body
    return _decode_as_claimed(body, claims) or decode_leniently(body).encode("utf-8", "replace")


def decode_leniently(body: bytes) -> str:
    """Decode bytes with a wrong or unknown encoding; never fails."""
    if body.startswith(codecs.BOM_UTF8):
        body = body[3:]
    text = body.decode("utf-8", "replace")
    broken = text.count("�")
    if not broken:
        return text
    if _mostly_utf8(text, broken):
        return body.decode("utf-8", _STRAY_BYTES)
    return _decode_detected(body) or body.decode("cp1252", "replace")


def _wide_codec(body: bytes) -> str | None:
    for bom, codec in _BOMS:
        if body.startswith(bom):
            return codec
    head = body[:4]
    if b"\x00" not in head:
        return None
    return next((codec for pattern, codec in _WIDE if pattern.match(head)), None)


def _claims(body: bytes, content_type: str | None) -> Iterator[str]:
    """Codecs from the header and the XML declaration, the more reliable one first."""
    header = _HEADER_CHARSET.search(content_type) if content_type else None
    declared = _XML_ENCODING.match(body)
    names = [header[1] if header else None, declared[1].decode("ascii", "replace") if declared else None]
    claimed = [codec for name in names if name and (codec := _known_codec(name))]
    # Many servers send Latin-1 by default, so a different XML declaration is more reliable.
    if len(claimed) == 2 and claimed[0] == "cp1252":
        claimed.reverse()
    yield from claimed


def _known_codec(name: str) -> str | None:
    lowered = name.lower().strip()
    try:
        codec = codecs.lookup(_ALIASES.get(lowered, lowered))
    except (LookupError, ValueError):
        return None
    # `codecs` also knows base64 and others that are not text. UTF-16 and UTF-32 were already detected by
    # their first bytes.
    is_text = getattr(codec, "_is_text_encoding", True)
    return codec.name if is_text and not codec.name.startswith(("utf-16", "utf-32")) else None


def _any_seven_bit(claims: list[str]) -> bool:
    return any(codec.startswith(_SEVEN_BIT) for codec in claims)


def _decode_as_claimed(body: bytes, claims: list[str]) -> bytes | None:
    if _is_utf8(body) and not _any_seven_bit(claims) and all(_is_single_byte(codec) for codec in claims):
        return body
    for codec in claims:
        try:
            return body.decode(codec).encode("utf-8", "replace")
        except (UnicodeError, ValueError):
            continue
    return None


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _is_single_byte(codec: str) -> bool:
    return codec.startswith(("cp125", "iso8859", "koi8", "utf-8", "mac"))


def _mostly_utf8(text: str, broken: int) -> bool:
    """A few stray bytes in UTF-8: a database that mixes two encodings, or a truncated character."""
    beyond_ascii = sum(character > "\x7f" for character in text)
    return broken <= 2 or broken * 4 < beyond_ascii


def _decode_detected(body: bytes) -> str | None:
    import cchardet

    guess: str | None = cchardet.detect(body[:_DETECTION_SAMPLE])["encoding"]
    codec = _known_codec(guess) if guess else None
    return body.decode(codec, "replace") if codec and codec != "utf-8" else None


def _stray_byte_as_cp1252(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


_STRAY_BYTES = "reedbed.stray-bytes"
codecs.register_error(_STRAY_BYTES, _stray_byte_as_cp1252)
