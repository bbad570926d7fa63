"""The one place that starts the XML parser, always with the same caution."""

from typing import TypeAlias

from lxml import etree

# lxml gives its element class no public name.
Element: TypeAlias = etree._Element  # pyright: ignore[reportPrivateUsage]


def strict_tree(document: bytes) -> Element | None:
    """The root, or None if the document is not well-formed UTF-8."""
    try:
        return etree.fromstring(document, _parser(recover=False))
    except (etree.XMLSyntaxError, ValueError):
        return None


def mended_tree(document: bytes) -> Element | None:
    """What the parser makes of a document it has to patch."""
    try:
        return etree.fromstring(document, _parser(recover=True))
    except (etree.XMLSyntaxError, ValueError):
        return None


def _parser(*, recover: bool) -> etree.XMLParser:
    # A parser of one's own each time: a shared one makes threads wait for each other, and this costs 2 µs.
    return etree.XMLParser(
        encoding="utf-8",
        recover=recover,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=False,
        collect_ids=False,
        remove_comments=True,
        remove_pis=True,
    )
