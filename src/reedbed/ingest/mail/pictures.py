"""Which images of a mail are kept: rasters by their first bytes, whatever they claim to be."""

from reedbed.domain.newsletters import Picture
from reedbed.ingest.mail.limits import MAX_PICTURE, MAX_PICTURES, MAX_PICTURES_BYTES

_SIGNATURES = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


def media_type(data: bytes) -> str | None:
    """None for everything a browser might run, like SVG."""
    for signature, kind in _SIGNATURES:
        if data.startswith(signature):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return "image/avif" if data[4:12] in (b"ftypavif", b"ftypavis") else None


class Album:
    """Collects pictures until a mail has had its share."""

    def __init__(self) -> None:
        self._found: dict[str, Picture] = {}
        self._bytes = 0

    def add(self, cid: str, data: bytes) -> None:
        cid = cid.strip().strip("<>")[:500]
        fits = len(data) <= MAX_PICTURE and self._bytes + len(data) <= MAX_PICTURES_BYTES
        if not cid or cid in self._found or len(self._found) >= MAX_PICTURES or not fits:
            return
        if media_type(data) is not None:
            self._found[cid] = Picture(cid, data)
            self._bytes += len(data)

    def pictures(self) -> tuple[Picture, ...]:
        return tuple(self._found.values())
