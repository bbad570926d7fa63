"""Decide whether a text can be the title of an entry."""

import re
from collections.abc import Sequence
from functools import lru_cache

from reedbed.domain.text import is_cjk

_GENERIC_TEXT = re.compile(
    r"(?:read|see|view|show|learn|find out|continue|load)"
    r"(?: (?:more|all|full|reading|details|article|story|post|on|the))*(?: about it)?|"
    r"more|details?|full (?:story|article)|link|permalink|download|pdf(?: \(.*\))?|share|reply|comments?|tickets?|"
    r"buy|add to cart|transcript|last|next|previous|prev|new|go|here|click here|"
    r"weiterlesen|mehr(?: (?:lesen|erfahren|dazu))?|zum artikel|lesen|"
    r"lire(?: la suite| plus| l.article)?|en savoir plus|la suite|plus|"
    r"leer(?: más)?|(?:ver|saber|seguir) más|más(?: información)?|leggi(?: tutto| di più)?|continua(?: a leggere)?|"
    r"leia(?: mais)?|saiba mais|ver mais|ler mais|continuar|czytaj(?: więcej| dalej)?|więcej|lees(?: meer| verder)?|"
    r"meer|devamı(?:nı oku)?|подробнее|читать(?: далее| дальше| полностью)?|далее|ещё|"
    r"続きを読む|もっと見る|詳細|詳しく|全文|اقرأ المزيد|المزيد|阅读全文|查看详情|更多|详情|더보기|자세히(?: 보기)?|"
    r"läs mer|les mer|læs mere|lue lisää|číst dál|więcej…|περισσότερα|\d+ (?:comments?|kommentare|replies|reviews)",
    re.IGNORECASE,
)
_TWO_CHARS = re.compile(r"[^\W\d_].*?[^\W\d_]")
ARCHIVE = re.compile(
    r"\S+\.(?:tar(?:\.\w{2,4})?|t[gx]z|zip|7z|rar|whl|deb|rpm|apk|dmg|exe|msi|jar|iso|gem|sig|asc|sha256)",
    re.IGNORECASE,
)
"""The name of a file that belongs to a release, which mostly has a better title."""
REFERENCE = re.compile(r"(?=.*[^\W\d_])(?=.*\d)[\w.]+(?:[ /-][\w.]+){1,6}")
"""`21 Cdo 1482/2026` or `CVE-2026-1234`: by such a number, where it is the link of a row, its subject is known."""
VERSION = re.compile(r"\d+\.\d+")
_FILE_SIZE = re.compile(
    r"\s*[(\[（][^()\[\]（）]{0,30}\d\s?(?:[km]?b|[km]o|кб|мб)[^()\[\]（）]{0,10}[)\]）]$", re.IGNORECASE
)
_RELEASE = re.compile(
    r"(?:v\.? ?\d+|\d+\.\d+)\.\d+[\w.+-]*\]?(?: \(.{1,30}| [-–—] \d{4}-\d\d-\d\d)?|"
    r"\[?\d+\.\d+\]?(?: \(.{1,30}| [-–—] \d{4}-\d\d-\d\d)",
    re.IGNORECASE,
)
"""`v1.2`, `1.2.3` or `1.2 (2026-11-18)`, as the whole title of a release."""
TITLE_CLASS = re.compile(
    r"title|headline|heading|subject|betreff|titel|titre|titul|titolo|baslik|(?<![a-z])(?:tit|ttl|name|p-name)(?![a-z])",
    re.IGNORECASE,
)
NAMED_TITLE = re.compile(r"(?<![a-z])(?:titles?|headlines?|titel|titre|t[ií]tulo|titolo)(?:\s|$)", re.IGNORECASE)
OTHER_CLASS = re.compile(
    r"teaser|summary|excerpt|desc|abstract|author|byline|date|time|kicker|categor|(?<![a-z])(?:tags?|meta)(?![a-z])|"
    r"price|location|comment|score|rating|label|badge|user|poster|num(?![a-z])|count|domain|venue|company|subtitle|"
    r"standfirst|lead(?![a-z])|resumo|chapo|entradilla|eyebrow|section(?![a-z])|department|button|btn",
    re.IGNORECASE,
)
LARGE_CLASS = re.compile(
    r"font-(?:semi|extra)?bold|(?<![\w-])text-(?:lg|\d?xl)|(?<![a-z])(?:h[1-4]|bold|strong|hl)(?![a-z])"
)
HIDDEN_CLASS = re.compile(r"(?<![a-z])sr-only|visually-?hidden|screen-reader", re.IGNORECASE)
HIDDEN_CHARS = str.maketrans(dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad"))
_EDGE = " \t·•→»›>←«…[]().:|-–—"


@lru_cache(maxsize=4_000)
def title_quality(text: str) -> float:
    """0 for what cannot be a title, about 1 for a sentence-like line."""
    plain = text.strip(_EDGE)
    if _RELEASE.fullmatch(plain):
        return 0.6
    if _TWO_CHARS.search(text) is None or _GENERIC_TEXT.fullmatch(plain):
        return 0.0
    length = title_length(text)
    if length > 220:
        return 0.25
    score = min(length, 45) / 45
    words = len(text.split())
    if words == 1 and not is_cjk(text):
        score *= 0.5
    if VERSION.search(text):
        score = max(score, 0.6)
    return score * (0.7 if length > 140 else 1)


def title_length(text: str) -> float:
    """Characters, as many as the text would have in Latin letters."""
    return len(text) * (2.2 if is_cjk(text) else 1)


def full_title(text: str, attribute: str) -> str:
    """The title that a page cuts off in its list and gives in full in an attribute."""
    start = text.rstrip(". …")
    cut = text.endswith(("…", "..."))
    return " ".join(attribute.split()) if cut and start and attribute.strip().startswith(start) else text


def without_size(text: str) -> str:
    """`Agenda (PDF, 90 kB)` without its end, by which files differ that are called the same."""
    return _FILE_SIZE.sub("", text) if text.endswith((")", "]", "）")) else text


def common_label(titles: Sequence[str]) -> str:
    """`Title:` where every title begins with it."""
    first = titles[0].partition(":")[0] if titles else ""
    if len(titles) < 3 or not first or len(first) > 20:
        return ""
    label = f"{first}: "
    return label if all(title.startswith(label) for title in titles) else ""
