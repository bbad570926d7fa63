"""What a browser would find in markup, looked at with a parser that had no part in cleaning it."""

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from reedbed.ingest.sanitize.rules import ELEMENTS, FORMULA_ELEMENTS, FORMULA_TOKENS

ALLOWED = {element.name for element in ELEMENTS.values()} - {""}
ALLOWED_ATTRIBUTES = {
    "align", "alt", "cite", "class", "colspan", "controls", "data-http-src", "datetime", "decoding",
    "dir", "height", "href", "id", "lang", "loading", "media", "name", "open", "poster", "preload",
    "rel", "reversed", "rowspan", "scope", "sizes", "span", "src", "srcset", "start", "target", "title",
    "type", "value", "width",
}  # fmt: skip
FORMULA_ATTRIBUTES = {
    "accent", "accentunder", "columnspan", "dir", "display", "displaystyle", "fence", "form", "largeop",
    "linethickness", "lspace", "mathvariant", "movablelimits", "rowspan", "rspace", "separator", "stretchy",
    "symmetric", "width",
}  # fmt: skip
ADDRESSES = {"href", "src", "poster", "cite", "data-http-src"}
ADDRESS = re.compile(r"https?://|mailto:|#fn-|data:image/(?:png|jpe?g|gif|webp|avif);base64,[A-Za-z0-9+/=]+\Z")


def assert_harmless(clean: str) -> None:
    body = LexborHTMLParser(f"<!doctype html><body>{clean}").body
    assert body is not None
    for node in body.traverse(include_text=False):
        if node is not body and node.tag and node.tag != "body":
            _assert_allowed(node.tag, {name: value or "" for name, value in node.attributes.items()}, clean)
            _assert_in_place(node, clean)


def _assert_in_place(node: LexborNode, clean: str) -> None:
    """Formulas hold nothing but their own parts, and these stand nowhere else."""
    parent = node.parent.tag if node.parent else None
    if node.tag != "math":
        assert (node.tag in FORMULA_ELEMENTS) == (parent in FORMULA_ELEMENTS), clean
    assert parent not in FORMULA_TOKENS, clean


def _assert_allowed(tag: str, attributes: dict[str, str], clean: str) -> None:
    assert tag in ALLOWED, clean
    assert attributes.keys() <= (FORMULA_ATTRIBUTES if tag in FORMULA_ELEMENTS else ALLOWED_ATTRIBUTES), clean
    for name, value in attributes.items():
        if name in ADDRESSES:
            assert ADDRESS.match(re.sub(r"[\x00-\x20]", "", value)), clean
            assert tag == "img" or not value.startswith("data:"), clean
        if name == "srcset":
            assert all(part.strip().startswith("https://") for part in value.split(", ")), clean
