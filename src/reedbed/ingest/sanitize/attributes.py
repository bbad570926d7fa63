"""How the value of each attribute is checked that clean markup may have."""

import re
from collections.abc import Callable

from reedbed.domain.records import record
from reedbed.ingest.sanitize.rules import absolute_link_url, absolute_web_url, https_media_url, safe_image_url, srcset

# Prefix of anchors in content; no element of our own pages has it.
ANCHOR_PREFIX = "fn-"


@record
class Page:
    """The page that contains the markup, and whether the markup links to its own anchors."""

    base: str | None
    keeps_anchors: bool


Rule = Callable[[Page, str, str], str | None]

_ANCHOR = re.compile(r"[A-Za-z0-9_:.\-]{1,80}\Z")
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8}){0,3}\Z")
_CODE_CLASS = re.compile(r"(?:language|lang|highlight-source|brush)[-:]\s*([A-Za-z0-9+#_.\-]{1,30})")
_SIZE = re.compile(r"([0-9]{1,4})(?:\.[0-9]*)?(?:px)?\Z")
_SMALL_NUMBER = re.compile(r"-?[0-9]{1,6}\Z")
_DATETIME = re.compile(r"[0-9A-Za-z :.,+\-]{1,40}\Z")
_MEDIA_TYPE = re.compile(r"[a-z]+/[A-Za-z0-9.+\-]+\Z")
_MEDIA_QUERY = re.compile(r"[A-Za-z0-9 ():,.%+*\-]{1,200}\Z")
# No longer than a word, so that no formula reaches out of its place.
_LENGTH = re.compile(r"(?:[0-2](?:\.[0-9]{1,4})?|\.[0-9]{1,4})(?:em|ex)\Z|0(?:\.0{1,4})?(?:p[tx])?\Z")
_MATH_VARIANT = re.compile(r"[a-z\-]{1,24}\Z")
_ALLOWED_VALUES = {
    "dir": frozenset(("ltr", "rtl", "auto")),
    "align": frozenset(("left", "right", "center")),
    "display": frozenset(("block", "inline")),
    "form": frozenset(("prefix", "infix", "postfix")),
    "scope": frozenset(("row", "col", "rowgroup", "colgroup")),
    "true": frozenset(("true", "false")),
}
MAX_SPAN = 100
MAX_TITLE = 1_000


def _href(page: Page, _tag: str, value: str) -> str | None:
    if "#" in value and (fragment := _fragment(page, value)) is not None:
        return f"#{anchor}" if (anchor := _anchor(page, _tag, fragment)) else None
    return absolute_link_url(value, page.base)


def _fragment(page: Page, value: str) -> str | None:
    if value.startswith("#"):
        return value[1:]
    base = page.base
    if base and value.startswith(f"{base}#"):
        return value[len(base) + 1 :]
    return None


def _anchor(page: Page, _tag: str, value: str) -> str | None:
    if not page.keeps_anchors or not _ANCHOR.match(value):
        return None
    return value if value.startswith(ANCHOR_PREFIX) else f"{ANCHOR_PREFIX}{value}"


def _src(page: Page, tag: str, value: str) -> str | None:
    return safe_image_url(value, page.base) if tag == "img" else https_media_url(value, page.base)


def _srcset(page: Page, _tag: str, value: str) -> str | None:
    return srcset(value, page.base)


def _http_src(_page: Page, _tag: str, value: str) -> str | None:
    return absolute_web_url(value, None) if value.startswith("http://") else None


def _poster(page: Page, _tag: str, value: str) -> str | None:
    return safe_image_url(value, page.base)


def _cite(page: Page, _tag: str, value: str) -> str | None:
    return absolute_web_url(value, page.base)


def _title(_page: Page, _tag: str, value: str) -> str | None:
    return " ".join(value.split())[:MAX_TITLE].rstrip()


def _class(_page: Page, _tag: str, value: str) -> str | None:
    language = _CODE_CLASS.search(value[:300])
    return f"language-{language[1]}" if language else None


def _size(page: Page, tag: str, value: str) -> str | None:
    if tag == "mspace":
        return _length(page, tag, value)
    size = _SIZE.match(value.strip())
    return size[1] if size else None


def _span(_page: Page, _tag: str, value: str) -> str | None:
    value = value.strip()
    if not (value.isascii() and value.isdigit()) or len(value) > 6:
        return None
    return str(min(int(value), MAX_SPAN))


def _flag(_page: Page, _tag: str, _value: str) -> str | None:
    return ""


def _list_type(value: str) -> str | None:
    return value if value in {"1", "a", "A", "i", "I"} else None


def _type(_page: Page, tag: str, value: str) -> str | None:
    return _list_type(value) if tag == "ol" else value if _MEDIA_TYPE.match(value) else None


def _matching(pattern: re.Pattern[str]) -> Rule:
    return lambda _page, _tag, value: value if pattern.match(value) else None


def _one_of(values: frozenset[str]) -> Rule:
    return lambda _page, _tag, value: lowered if (lowered := value.strip().lower()) in values else None


_length = _matching(_LENGTH)
_true_or_false = _one_of(_ALLOWED_VALUES["true"])

RULES: dict[str, Rule] = {
    "accent": _true_or_false,
    "accentunder": _true_or_false,
    "align": _one_of(_ALLOWED_VALUES["align"]),
    "alt": _title,
    "cite": _cite,
    "class": _class,
    "colspan": _span,
    "columnspan": _span,
    "data-http-src": _http_src,
    "datetime": _matching(_DATETIME),
    "dir": _one_of(_ALLOWED_VALUES["dir"]),
    "display": _one_of(_ALLOWED_VALUES["display"]),
    "displaystyle": _true_or_false,
    "fence": _true_or_false,
    "form": _one_of(_ALLOWED_VALUES["form"]),
    "height": _size,
    "href": _href,
    "id": _anchor,
    "lang": _matching(_LANGUAGE),
    "largeop": _true_or_false,
    "linethickness": _length,
    "lspace": _length,
    "mathvariant": _matching(_MATH_VARIANT),
    "media": _matching(_MEDIA_QUERY),
    "movablelimits": _true_or_false,
    "name": _anchor,
    "open": _flag,
    "poster": _poster,
    "reversed": _flag,
    "rowspan": _span,
    "rspace": _length,
    "scope": _one_of(_ALLOWED_VALUES["scope"]),
    "separator": _true_or_false,
    "sizes": _matching(_MEDIA_QUERY),
    "span": _span,
    "src": _src,
    "srcset": _srcset,
    "start": _matching(_SMALL_NUMBER),
    "stretchy": _true_or_false,
    "symmetric": _true_or_false,
    "title": _title,
    "type": _type,
    "value": _matching(_SMALL_NUMBER),
    "width": _size,
}
