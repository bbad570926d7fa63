"""Images: signed URLs of the image proxy, and detecting the type of an image."""

import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from hashlib import sha256
from html import escape
from typing import Literal

ImageMode = Literal["off", "http", "all"]
"""Which images of articles are proxied: none, those with plain http URLs, or all."""

MAIL_PATH = "/newsletters/images/"
"""URL prefix of images that were embedded in a mail, in stored markup."""

MAIL_KEY = "mail:"
"""Prefix of the same name in the image store; unused images are found by it and deleted."""

WIDTHS = (160, 480, 960)
"""Widths in pixels to which the proxy scales pictures down, for lists."""

_SMALL_KEY = "small:"

_IMAGE = re.compile(r"<img [^<>]*>")
_TITLE = re.compile(r' title="([^"]*)"')
_SIZE = re.compile(r' (width|height)="([1-9]\d{0,4})"')
_ALTERNATIVE = re.compile(r' alt="([^"]*)"')
_SPACES_IN_SENTENCE = 3

_SIGNATURE_BYTES = 16
_PURPOSE = b"image\0"

_MAGIC_BYTES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
)
SVG = "image/svg+xml"
_SVG = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*(?:<!DOCTYPE svg[^>\[]*>\s*)?<svg[\s>]", re.DOTALL
)
_AVIF_BRANDS = frozenset({b"avif", b"avis"})


def title_text(image: str) -> str | None:
    """What the tooltip of a clean `<img>` says, if it is a sentence of its own: comics put a joke there."""
    title = _TITLE.search(image)
    if title is None or title[1].count(" ") < _SPACES_IN_SENTENCE:
        return None
    alternative = _ALTERNATIVE.search(image)
    return None if alternative and alternative[1] == title[1] else title[1]


def print_title_texts(clean_html: str) -> str:
    """The markup with each title text below its picture: few see a tooltip, and nobody on a phone."""
    if ' title="' not in clean_html:
        return clean_html
    return _IMAGE.sub(_with_title_text, clean_html)


def _with_title_text(image: re.Match[str]) -> str:
    text = title_text(image[0])
    return f'{image[0]}<small class="title-text">{text}</small>' if text else image[0]


def size_in(clean_html: str, url: str) -> tuple[int, int] | None:
    """Width and height that the text gives for this picture, to keep room for it before it is there."""
    for image in _IMAGE.findall(clean_html):
        size = {name: int(number) for name, number in _SIZE.findall(image)}
        if len(size) == 2 and f'"{escape(url)}"' in image:
            return size["width"], size["height"]
    return None


def signed_path(secret: bytes, url: str) -> str:
    """The proxy path of an image. It cannot be forged without the secret."""
    return f"/images/{_signature(secret, url)}/{_base64(url.encode('utf-8', 'replace'))}"


def verify_signed_path(secret: bytes, signature: str, encoded: str) -> str | None:
    """The image URL of a signed path; None if the signature is wrong."""
    try:
        url = urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    except (NotBase64, ValueError):
        return None
    genuine = hmac.compare_digest(_signature(secret, url).encode(), signature.encode("utf-8", "replace"))
    return url if genuine else None


def small_key(url: str, width: int) -> str:
    """The name of a scaled-down picture, signed like a URL: other widths cannot be requested."""
    return f"{_SMALL_KEY}{width}:{url}"


def parse_small_key(key: str) -> tuple[str, int | None]:
    """The URL, and the width unless the picture keeps its size."""
    if not key.startswith(_SMALL_KEY):
        return key, None
    width, _, url = key.removeprefix(_SMALL_KEY).partition(":")
    return url, int(width)


def image_type(data: bytes) -> str | None:
    """The media type by content, ignoring headers; None for anything but a bitmap image, so also for SVG."""
    for magic, media_type in _MAGIC_BYTES:
        if data.startswith(magic):
            return media_type
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return "image/avif" if data[4:8] == b"ftyp" and data[8:12] in _AVIF_BRANDS else None


def picture_type(data: bytes) -> str | None:
    """As `image_type`, or SVG, which runs nothing in `<img>`; served by itself it needs a policy against scripts."""
    return image_type(data) or (SVG if _SVG.match(data[:4_000]) else None)


def _signature(secret: bytes, url: str) -> str:
    digest = hmac.new(secret, _PURPOSE + url.encode("utf-8", "replace"), sha256).digest()
    return _base64(digest[:_SIGNATURE_BYTES])


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
