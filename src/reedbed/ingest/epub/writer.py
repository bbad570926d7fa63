"""Write an EPUB 3 file, chapter by chapter, so that only one of them is in memory."""

from collections.abc import Sequence
from dataclasses import field
from html import escape
from typing import IO, Literal
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from reedbed.domain.records import record
from reedbed.domain.text import writable

Direction = Literal["ltr", "rtl"]

_DATE = (1980, 1, 1, 0, 0, 0)
_FOLDER = "EPUB"
_ENDINGS = {"image/jpeg": "jpg", "image/png": "png", "image/gif": "gif"}
_CONTAINER = """<?xml version="1.0" encoding="UTF-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="EPUB/book.opf" media-type="application/oebps-package+xml"/></rootfiles>
</container>
"""
_STYLE = """body { margin: 0 5%; line-height: 1.4; }
h1 { font-size: 1.5em; line-height: 1.2; text-align: start; margin: 1em 0 0.3em; }
h2, h3, h4, h5, h6 { line-height: 1.2; page-break-after: avoid; break-after: avoid; }
img { max-width: 100%; height: auto; }
figure { margin: 1em 0; }
figcaption, .about, .alt { font-size: 0.85em; }
.about { margin: 0 0 0.3em; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
blockquote { margin: 1em 1.5em; }
table { border-collapse: collapse; max-width: 100%; }
td, th { border: 1px solid; padding: 0.2em 0.4em; text-align: start; vertical-align: top; }
.align-left { text-align: left; }
.align-right { text-align: right; }
.align-center { text-align: center; }
.summary { font-weight: bold; }
.cover { margin: 0; padding: 0; text-align: center; }
.cover img { max-height: 100%; }
"""


@record
class EpubMetadata:
    identifier: str
    """A URN."""
    title: str
    language: str
    direction: Direction
    modified: str
    """2026-11-19T06:00:00Z"""
    contents: str
    """The heading of the table of contents."""
    cover: str
    """The title of the page with the cover."""


@record
class EpubChapter:
    title: str
    body: str
    """XHTML: what stands in the body."""
    language: str = ""
    direction: Direction = "ltr"


@record
class _EpubItem:
    id: str
    file: str
    media_type: str
    properties: str = ""


@record
class _EpubParts:
    items: list[_EpubItem] = field(default_factory=list[_EpubItem])
    chapters: list[tuple[_EpubItem, str]] = field(default_factory=list[tuple[_EpubItem, str]])


class EpubWriter:
    def __init__(self, file: IO[bytes], about: EpubMetadata) -> None:
        self._zip = ZipFile(file, "w", ZIP_DEFLATED)
        self._about = about
        self._parts = _EpubParts()
        self._pictures = 0
        self._has_cover = False
        # First and without compression, so that programs can read the type at a fixed place.
        self._zip.writestr(_info("mimetype", ZIP_STORED), "application/epub+zip")
        self._write("../META-INF/container.xml", _CONTAINER)
        self._add(_EpubItem("style", "style.css", "text/css"), _STYLE)

    def add_cover(self, data: bytes, media_type: str) -> None:
        file = f"cover.{_ENDINGS[media_type]}"
        self._add(_EpubItem("cover-image", file, media_type, "cover-image"), data)
        body = f'<div class="cover"><img src="{file}" alt="{escape(writable(self._about.title))}"/></div>'
        page = EpubChapter(self._about.cover, body, self._about.language, self._about.direction)
        self._add(_EpubItem("cover", "cover.xhtml", "application/xhtml+xml"), _page(page))
        self._has_cover = True

    def add_picture(self, data: bytes, media_type: str) -> str:
        """The file to name in chapters."""
        self._pictures += 1
        file = f"pictures/{self._pictures:04}.{_ENDINGS[media_type]}"
        self._add(_EpubItem(f"picture-{self._pictures}", file, media_type), data)
        return file

    def add_chapter(self, chapter: EpubChapter, *, first: bool = False) -> str:
        """Its file. With `first`, it stands before the others."""
        number = len(self._parts.chapters) + 1
        properties = "mathml" if "<math " in chapter.body else ""
        item = _EpubItem(f"chapter-{number}", chapter_file(number), "application/xhtml+xml", properties)
        self._add(item, _page(chapter))
        place = 0 if first else len(self._parts.chapters)
        self._parts.chapters.insert(place, (item, " ".join(writable(chapter.title).split())))
        return item.file

    def close(self) -> None:
        self._add(_EpubItem("nav", "nav.xhtml", "application/xhtml+xml", "nav"), self._nav())
        self._add(_EpubItem("ncx", "toc.ncx", "application/x-dtbncx+xml"), self._ncx())
        self._write("book.opf", self._package())
        self._zip.close()

    def _add(self, item: _EpubItem, content: str | bytes) -> None:
        self._parts.items.append(item)
        self._write(item.file, content)

    def _write(self, file: str, content: str | bytes) -> None:
        name = file.removeprefix("../") if file.startswith("../") else f"{_FOLDER}/{file}"
        is_picture = file.endswith((".jpg", ".png", ".gif"))
        self._zip.writestr(_info(name, ZIP_STORED if is_picture else ZIP_DEFLATED), content)

    def _nav(self) -> str:
        about = self._about
        lines = "\n".join(f'<li><a href="{item.file}">{escape(title)}</a></li>' for item, title in self._toc())
        body = f'<nav epub:type="toc" id="toc"><h1>{escape(about.contents)}</h1><ol>\n{lines}\n</ol></nav>'
        return _page(EpubChapter(about.contents, body, about.language, about.direction))

    def _toc(self) -> Sequence[tuple[_EpubItem, str]]:
        return self._parts.chapters

    def _ncx(self) -> str:
        points = "\n".join(
            f'<navPoint id="point-{number}" playOrder="{number}"><navLabel><text>{escape(title, quote=False)}</text>'
            f'</navLabel><content src="{item.file}"/></navPoint>'
            for number, (item, title) in enumerate(self._toc(), 1)
        )
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/" version="2005-1"'
            f' xml:lang="{escape(self._about.language)}"><head><meta name="dtb:uid" '
            f'content="{escape(self._about.identifier)}"/><meta name="dtb:depth" content="1"/>'
            '<meta name="dtb:totalPageCount" content="0"/><meta name="dtb:maxPageNumber" content="0"/></head>'
            f"<docTitle><text>{escape(writable(self._about.title), quote=False)}</text></docTitle>"
            f"<navMap>\n{points}\n</navMap></ncx>\n"
        )

    def _package(self) -> str:
        about, manifest, spine = self._about, list[str](), list[str]()
        for item in self._parts.items:
            properties = f' properties="{item.properties}"' if item.properties else ""
            manifest.append(f'<item id="{item.id}" href="{item.file}" media-type="{item.media_type}"{properties}/>')
        if self._has_cover:
            spine.append('<itemref idref="cover"/>')
        spine.append('<itemref idref="nav"/>')
        spine += [f'<itemref idref="{item.id}"/>' for item, _ in self._parts.chapters]
        cover = '<meta name="cover" content="cover-image"/>' if self._has_cover else ""
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n<package xmlns="http://www.idpf.org/2007/opf" version="3.0" '
            f'unique-identifier="book-id" xml:lang="{escape(about.language)}">\n'
            '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
            f'<dc:identifier id="book-id">{escape(about.identifier, quote=False)}</dc:identifier>'
            f"<dc:title>{escape(writable(about.title), quote=False)}</dc:title>"
            f"<dc:language>{escape(about.language)}</dc:language><dc:creator>Reedbed</dc:creator>"
            f'<meta property="dcterms:modified">{about.modified}</meta>{cover}</metadata>\n'
            "<manifest>\n" + "\n".join(manifest) + "\n</manifest>\n"
            f'<spine toc="ncx" page-progression-direction="{about.direction}">\n' + "\n".join(spine) + "\n</spine>\n"
            "</package>\n"
        )


def chapter_file(number: int) -> str:
    return f"chapter-{number:04}.xhtml"


def _page(chapter: EpubChapter) -> str:
    language = escape(chapter.language)
    spoken = f' xml:lang="{language}" lang="{language}"' if language else ""
    title = escape(" ".join(writable(chapter.title).split()), quote=False) or "-"
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml" '
        f'xmlns:epub="http://www.idpf.org/2007/ops"{spoken} dir="{chapter.direction}">\n'
        f'<head><meta charset="utf-8"/><title>{title}</title><link rel="stylesheet" type="text/css" href="style.css"/>'
        f"</head>\n<body>\n{chapter.body}\n</body>\n</html>\n"
    )


def _info(name: str, compression: int) -> ZipInfo:
    info = ZipInfo(name, _DATE)
    info.compress_type = compression
    info.external_attr = 0o644 << 16
    return info
