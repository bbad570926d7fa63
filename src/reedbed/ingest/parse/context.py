"""What the reader of an element must know about the document around it."""

from urllib.parse import urljoin

from reedbed.ingest.parse.limits import MAX_URL
from reedbed.ingest.parse.links import absolute, is_absolute
from reedbed.ingest.parse.names import Names
from reedbed.ingest.parse.tree import Element

_XML = "{http://www.w3.org/XML/1998/namespace}"
_LANG = f"{_XML}lang"
_BASE = f"{_XML}base"


class Context:
    __slots__ = ("atom", "base", "names")

    def __init__(self, *, base: str, atom: bool) -> None:
        self.names = Names()
        self.base = base
        self.atom = atom

    def own_base(self, element: Element) -> str | None:
        """The address that `xml:base` on or around the element sets, if it does."""
        bases = [
            value for parent in _outwards(element) if (value := parent.get(_BASE) or parent.get("xml:base"))
        ]
        if not bases:
            return None
        resolved = self.base
        for value in reversed(bases):
            try:
                resolved = urljoin(resolved, value.strip())
            except ValueError:
                continue
        return resolved

    def address(self, written: str | None, element: Element) -> str | None:
        """The address an element names; the way up to an `xml:base` is only walked for a relative one."""
        if not written:
            return None
        if is_absolute(written):
            tidy = written.isprintable() and len(written) <= MAX_URL and written[-1] != " "
            return written if tidy else absolute(written, "")
        return absolute(written, self.own_base(element) or self.base)


def language_of(element: Element) -> str | None:
    return tidy_language(element.get(_LANG))


def tidy_language(tag: str | None) -> str | None:
    """`en_US` to `en-US`; None for what is no language tag."""
    tag = (tag or "").strip().replace("_", "-")
    return tag if 2 <= len(tag) <= 35 and tag.replace("-", "").isalnum() and tag.isascii() else None


def _outwards(element: Element) -> list[Element]:
    return [element, *element.iterancestors()]
