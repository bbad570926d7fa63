"""The Netscape bookmark file, which every browser reads."""

from collections.abc import AsyncGenerator
from html import escape

from reedbed.domain.bookmarks import Bookmark
from reedbed.domain.texts import writable
from reedbed.domain.times import SECOND

_HEAD = """<!DOCTYPE NETSCAPE-Bookmark-file-1>
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks</H1>
<DL><p>
"""


async def netscape_lines(bookmarks: AsyncGenerator[Bookmark]) -> AsyncGenerator[bytes]:
    """What has no address is left out: there would be nothing to open."""
    yield _HEAD.encode()
    async for bookmark in bookmarks:
        row = bookmark.row
        if row.url is not None:
            href, title = _text(row.url), _text(row.title)
            yield f'    <DT><A HREF="{href}" ADD_DATE="{row.created_at // SECOND}">{title}</A>\n'.encode()
    yield b"</DL><p>\n"


def _text(text: str) -> str:
    return escape(" ".join(writable(text).split()))
