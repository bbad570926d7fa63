"""Pictures that are handed on: their signed addresses, and what a picture is."""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from hashlib import sha256
from typing import Literal

ImageMode = Literal["off", "http", "all"]
"""Which pictures of articles pass through the server: none, those of plain http, or all."""

MAIL_PATH = "/newsletters/images/"
"""Before the name of a picture that came inside a mail, in stored markup."""

MAIL_KEY = "mail:"
"""Before the same name where it is kept: what no mail holds any more is swept by it."""

_SIGNATURE_BYTES = 16
_PURPOSE = b"image\0"

_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
)
_AVIF_BRANDS = frozenset({b"avif", b"avis"})


def signed_path(secret: bytes, url: str) -> str:
    """Where the server hands this picture on. Nobody without the secret can make such a path."""
    return f"/images/{_signature(secret, url)}/{_text(url.encode('utf-8', 'replace'))}"


def signed_address(secret: bytes, signature: str, encoded: str) -> str | None:
    """The picture's address behind such a path; None for a path that was not made here."""
    try:
        url = urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    except (NotBase64, ValueError):
        return None
    genuine = hmac.compare_digest(_signature(secret, url).encode(), signature.encode("utf-8", "replace"))
    return url if genuine else None


def picture_type(data: bytes) -> str | None:
    """What the bytes are, whatever the server said; None for what is no picture, SVG included."""
    for beginning, media_type in _BEGINNINGS:
        if data.startswith(beginning):
            return media_type
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return "image/avif" if data[4:8] == b"ftyp" and data[8:12] in _AVIF_BRANDS else None


def _signature(secret: bytes, url: str) -> str:
    digest = hmac.new(secret, _PURPOSE + url.encode("utf-8", "replace"), sha256).digest()
    return _text(digest[:_SIGNATURE_BYTES])


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
