"""A strict reader of EPUB 3 files: raises `AssertionError` for what epubcheck would call an error.

It checks the container, the package, navigation, every XHTML file against the content model that books use, links
within the book and out of it, and that each file is of the type that it claims.
"""

import io
import re
import struct
import zlib
from dataclasses import dataclass, field
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urlsplit
from zipfile import ZIP_STORED, ZipFile

from lxml import etree

XHTML = "{http://www.w3.org/1999/xhtml}"
MATHML = "{http://www.w3.org/1998/Math/MathML}"
OPF = "{http://www.idpf.org/2007/opf}"
DC = "{http://purl.org/dc/elements/1.1/}"
NCX = "{http://www.daisy.org/z3986/2005/ncx/}"
OPS = "{http://www.idpf.org/2007/ops}"
XML = "{http://www.w3.org/XML/1998/namespace}"
CONTAINER = "{urn:oasis:names:tc:opendocument:xmlns:container}"

MAGIC = {"image/jpeg": b"\xff\xd8\xff", "image/png": b"\x89PNG\r\n\x1a\n", "image/gif": b"GIF8"}
PHRASING_NAMES = (
    "a abbr b bdi bdo br cite code del dfn em i img ins kbd mark q ruby s samp small span strong sub sup time u var wbr"
)
MATH = f"{MATHML}math"
PHRASING = frozenset((*PHRASING_NAMES.split(" "), MATH))
BLOCK_NAMES = "blockquote div dl figure h1 h2 h3 h4 h5 h6 hr nav ol p pre table ul"
BLOCKS = frozenset(BLOCK_NAMES.split(" "))
FLOW = PHRASING | BLOCKS
ONLY_PHRASING = PHRASING - {"a", "del", "ins"} | {"p", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "rt"}
CHILDREN = {
    "ul": {"li"},
    "ol": {"li"},
    "dl": {"dt", "dd"},
    "table": {"caption", "thead", "tbody", "tfoot"},
    "thead": {"tr"},
    "tbody": {"tr"},
    "tfoot": {"tr"},
    "tr": {"td", "th"},
}
VOID = frozenset(("br", "hr", "img", "wbr", "meta", "link"))
ATTRIBUTES = {
    "a": {"href", "title"},
    "abbr": {"title"},
    "dfn": {"title"},
    "img": {"src", "alt"},
    "li": {"value"},
    "ol": {"start", "type", "reversed"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
    "nav": {f"{OPS}type"},
    "link": {"rel", "type", "href"},
    "meta": {"charset"},
}
COMMON = {"id", "class", "dir", "lang", f"{XML}lang"}
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9._-]*\Z")
LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*\Z")
URI = re.compile(r"(?:https?://(?:[^/?#\s@%]*@)?[\w.\-\[\]:]+(?=[/?#]|\Z)|mailto:)[^\s\"<>\\^`{|}\x00-\x20]*\Z")


@dataclass
class EpubBook:
    """What a test asks for after the checks."""

    title: str
    language: str
    direction: str
    contents: list[tuple[str, str]]
    """Title and file of each chapter."""
    pages: dict[str, etree._Element] = field(repr=False)
    files: dict[str, bytes] = field(repr=False)

    def text(self, title: str) -> str:
        file = next(file for found, file in self.contents if found == title)
        body = self.pages[file].find(f"{XHTML}body")
        assert body is not None
        return " ".join(" ".join(str(part) for part in body.itertext()).split())

    @property
    def pictures(self) -> list[str]:
        return sorted(name for name in self.files if "/pictures/" in name)


def read_epub(data: bytes) -> EpubBook:
    files = _container(data)
    package_name = _package_name(files)
    package = _xml(files[package_name])
    book = _Reading(files, package, dirname(package_name))
    return book.read()


def _container(data: bytes) -> dict[str, bytes]:
    assert data[:4] == b"PK\3\4" and data[30:38] == b"mimetype", "the first member is mimetype"
    name_length, extra_length = struct.unpack_from("<HH", data, 26)
    assert extra_length == 0, "mimetype has no extra field"
    begin = 30 + name_length
    assert data[begin : begin + 20] == b"application/epub+zip"
    with ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        assert members[0].compress_type == ZIP_STORED
        assert len({member.filename.casefold() for member in members}) == len(members), "names are unique"
        for member in members:
            assert member.filename.isascii() and not member.filename.startswith(("/", "..")), member.filename
            assert not member.is_dir() and not member.flag_bits & 0x1
        assert archive.testzip() is None
        return {member.filename: archive.read(member) for member in members}


def _package_name(files: dict[str, bytes]) -> str:
    container = _xml(files["META-INF/container.xml"])
    (root,) = container.iter(f"{CONTAINER}rootfile")
    assert root.get("media-type") == "application/oebps-package+xml"
    return str(root.get("full-path"))


def _xml(data: bytes) -> etree._Element:
    assert b"<!ENTITY" not in data
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)
    return etree.fromstring(data, parser)


class _Reading:
    def __init__(self, files: dict[str, bytes], package: etree._Element, folder: str) -> None:
        self.files, self.package, self.folder = files, package, folder
        self.items: dict[str, tuple[str, str, str]] = {}
        self.pages: dict[str, etree._Element] = {}
        self.ids: dict[str, set[str]] = {}

    def read(self) -> EpubBook:
        title, language = self._metadata()
        self._manifest()
        for name, media_type, _ in self.items.values():
            if media_type == "application/xhtml+xml":
                self._page(name)
        self._links()
        spine = self._spine()
        contents = self._nav()
        self._ncx(contents)
        self._reachable(spine)
        direction = self.package.find(f"{OPF}spine")
        assert direction is not None
        return EpubBook(
            title, language, direction.get("page-progression-direction", ""), contents, self.pages, self.files
        )

    def _metadata(self) -> tuple[str, str]:
        package = self.package
        assert package.tag == f"{OPF}package" and package.get("version") == "3.0"
        identifiers = list(package.iter(f"{DC}identifier"))
        assert package.get("unique-identifier") in [one.get("id") for one in identifiers]
        assert all((one.text or "").strip() for one in identifiers)
        (title,) = package.iter(f"{DC}title")
        (language,) = package.iter(f"{DC}language")
        assert (title.text or "").strip()
        assert LANGUAGE.match(language.text or "")
        modified = [one.text for one in package.iter(f"{OPF}meta") if one.get("property") == "dcterms:modified"]
        assert len(modified) == 1 and re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z", str(modified[0])), modified
        return str(title.text), str(language.text)

    def _manifest(self) -> None:
        for item in self.package.iter(f"{OPF}item"):
            id_, href = str(item.get("id")), str(item.get("href"))
            assert NAME.match(id_) and id_ not in self.items, id_
            name = normpath(join(self.folder, unquote(href)))
            assert name in self.files, f"{name} is in the manifest alone"
            self.items[id_] = (name, str(item.get("media-type")), item.get("properties", ""))
        listed = [name for name, _, _ in self.items.values()]
        assert len(set(listed)) == len(listed)
        others = {"mimetype", "META-INF/container.xml", normpath(join(self.folder, "book.opf"))}
        assert set(self.files) == set(listed) | others, "the manifest is complete"
        for name, media_type, properties in self.items.values():
            self._media_type(name, media_type)
            assert not {"scripted", "remote-resources", "svg"} & set(properties.split())

    def _media_type(self, name: str, media_type: str) -> None:
        data = self.files[name]
        if media_type in MAGIC:
            assert data.startswith(MAGIC[media_type]), f"{name} is no {media_type}"
            if media_type == "image/png":
                _check_png(data)
        elif media_type == "text/css":
            assert not re.search(rb"url\(|@import|expression", data)
        else:
            assert media_type in ("application/xhtml+xml", "application/x-dtbncx+xml"), media_type

    def _page(self, name: str) -> None:
        data = self.files[name]
        assert data.startswith(b'<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE html>\n')
        page = _xml(data)
        assert page.tag == f"{XHTML}html" and [child.tag for child in page] == [f"{XHTML}head", f"{XHTML}body"]
        assert page.get("lang") == page.get(f"{XML}lang") and page.get("dir") in ("ltr", "rtl")
        assert page.get("lang") is None or LANGUAGE.match(page.get("lang", ""))
        assert (page.findtext(f"{XHTML}head/{XHTML}title") or "").strip(), name
        ids: set[str] = set()
        for element in page.iter():
            assert isinstance(element.tag, str) and element.tag.startswith((XHTML, MATHML)), f"{name}: {element.tag}"
            id_ = element.get("id")
            if id_ is not None:
                assert NAME.match(id_) and id_ not in ids, f"{name}: {id_}"
                ids.add(id_)
        properties = next(found for file, _, found in self.items.values() if file == name)
        assert ("mathml" in properties.split()) == (page.find(f".//{MATH}") is not None), name
        body = page[1]
        _check_children(name, body, inside=())
        self.pages[self._relative(name)], self.ids[name] = page, ids

    def _relative(self, name: str) -> str:
        return name.removeprefix(f"{self.folder}/")

    def _links(self) -> None:
        for file, page in self.pages.items():
            name = join(self.folder, file)
            for element in page.iter(f"{XHTML}a", f"{XHTML}img", f"{XHTML}link"):
                address = element.get("href") if element.tag != f"{XHTML}img" else element.get("src")
                if address is None:
                    assert element.tag == f"{XHTML}a"
                elif element.tag != f"{XHTML}a" or not urlsplit(address).scheme:
                    self._check_local(name, address, is_link=element.tag == f"{XHTML}a")
                else:
                    assert URI.match(address), f"{file}: {address}"

    def _check_local(self, name: str, address: str, *, is_link: bool) -> None:
        assert not urlsplit(address).scheme and not address.startswith("//"), f"{name} loads {address}"
        path, _, fragment = address.partition("#")
        target = normpath(join(dirname(name), unquote(path))) if path else name
        types = {file: media_type for file, media_type, _ in self.items.values()}
        assert target in types, f"{name} points to {address}"
        if is_link:
            assert types[target] == "application/xhtml+xml"
            assert not fragment or fragment in self.ids[target], f"{name} points to {address}"
            assert fragment or "#" not in address

    def _spine(self) -> list[str]:
        spine = self.package.find(f"{OPF}spine")
        assert spine is not None and spine.get("page-progression-direction") in ("ltr", "rtl")
        assert self.items[str(spine.get("toc"))][1] == "application/x-dtbncx+xml"
        names = [self.items[str(one.get("idref"))] for one in spine]
        assert names and all(media_type == "application/xhtml+xml" for _, media_type, _ in names)
        assert len({name for name, _, _ in names}) == len(names)
        return [name for name, _, _ in names]

    def _nav(self) -> list[tuple[str, str]]:
        (nav,) = (name for name, _, properties in self.items.values() if "nav" in properties.split())
        page = self.pages[self._relative(nav)]
        (toc,) = (one for one in page.iter(f"{XHTML}nav") if one.get(f"{OPS}type") == "toc")
        assert [child.tag for child in toc if child.tag != f"{XHTML}h1"] == [f"{XHTML}ol"]
        links = list(toc.iter(f"{XHTML}a"))
        assert links and all("".join(map(str, link.itertext())).strip() for link in links)
        assert [child.tag for item in toc.iter(f"{XHTML}li") for child in item] == [f"{XHTML}a"] * len(links)
        return [("".join(map(str, link.itertext())), str(link.get("href"))) for link in links]

    def _ncx(self, contents: list[tuple[str, str]]) -> None:
        (name,) = (name for name, media_type, _ in self.items.values() if media_type == "application/x-dtbncx+xml")
        ncx = _xml(self.files[name])
        points = list(ncx.iter(f"{NCX}navPoint"))
        assert [point.get("playOrder") for point in points] == [str(at) for at in range(1, len(points) + 1)]
        found = [(point.findtext(f".//{NCX}text"), point.find(f"{NCX}content")) for point in points]
        assert [(text, content.get("src")) for text, content in found if content is not None] == contents
        uid = next(one.get("content") for one in ncx.iter(f"{NCX}meta") if one.get("name") == "dtb:uid")
        assert uid in [one.text for one in self.package.iter(f"{DC}identifier")]

    def _reachable(self, spine: list[str]) -> None:
        """Every page is in the spine, and every picture on a page."""
        assert {join(self.folder, file) for file in self.pages} == set(spine)
        shown = {
            normpath(join(self.folder, str(image.get("src"))))
            for page in self.pages.values()
            for image in page.iter(f"{XHTML}img")
        }
        assert shown == {name for name, media_type, _ in self.items.values() if media_type in MAGIC}


def _check_png(data: bytes) -> None:
    place = 8
    while place < len(data):
        length, kind = struct.unpack_from(">I4s", data, place)
        crc = struct.unpack_from(">I", data, place + 8 + length)[0]
        assert zlib.crc32(data[place + 4 : place + 8 + length]) == crc
        place += 12 + length
        if kind == b"IEND":
            break
    assert place == len(data)


def _check_children(file: str, element: etree._Element, inside: tuple[str, ...]) -> None:
    name = str(element.tag).removeprefix(XHTML)
    where = f"{file}: {'>'.join((*inside, name))}"
    if name == MATH:
        assert all(str(part.tag).startswith(MATHML) and part.get("href") is None for part in element.iter()), where
        return
    for attribute in element.attrib:
        assert attribute in COMMON | ATTRIBUTES.get(name, set()), f"{where} {attribute}"
    _check_attributes(where, name, element)
    if name in VOID:
        assert not len(element) and not (element.text or ""), where
        return
    _check_text(where, name, element)
    children = [str(child.tag).removeprefix(XHTML) for child in element]
    allowed = _allowed(name, inside)
    assert set(children) <= allowed, f"{where} holds {sorted(set(children) - allowed)}"
    _check_order(where, name, children)
    for child in element:
        _check_children(file, child, (*inside, name))


def _allowed(name: str, inside: tuple[str, ...]) -> set[str]:
    if name in CHILDREN:
        return CHILDREN[name]
    allowed: set[str] = set(PHRASING if any(parent in ONLY_PHRASING for parent in (*inside, name)) else FLOW)
    if name == "ruby":
        allowed |= {"rt"}
    if name == "figure":
        allowed |= {"figcaption"}
    if "a" in (*inside, name):
        allowed -= {"a"}
    if {"dt", "th", "caption"} & {*inside, name}:
        allowed -= {"h1", "h2", "h3", "h4", "h5", "h6"}
    if "caption" in (*inside, name):
        allowed -= {"table"}
    return allowed


def _check_attributes(where: str, name: str, element: etree._Element) -> None:
    assert element.get("lang") == element.get(f"{XML}lang"), where
    assert element.get("dir") in (None, "ltr", "rtl", "auto"), where
    assert name != "bdo" or element.get("dir") in ("ltr", "rtl"), where
    assert name != "img" or (element.get("src") and element.get("alt") is not None), where
    for number in ("colspan", "rowspan", "start", "value"):
        value = element.get(number)
        assert value is None or re.fullmatch(r"-?[0-9]+", value), where
        assert value is None or not number.endswith("span") or int(value) > 0, where


def _check_text(where: str, name: str, element: etree._Element) -> None:
    if name in CHILDREN:
        texts = [element.text, *(child.tail for child in element)]
        assert not any((text or "").strip() for text in texts), f"{where} holds text"


def _check_order(where: str, name: str, children: list[str]) -> None:
    if name == "table":
        assert re.fullmatch(r"(caption )?(thead )?(tbody )*(tfoot )?", "".join(f"{one} " for one in children)), where
    if name == "dl":
        assert re.fullmatch(r"((dt )+(dd )+)*", "".join(f"{one} " for one in children)), where
    if name == "figure" and "figcaption" in children:
        assert children.count("figcaption") == 1 and "figcaption" in (children[0], children[-1]), where
    if name == "ruby":
        assert children and children[-1] == "rt", where
