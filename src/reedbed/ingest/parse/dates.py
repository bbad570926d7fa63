"""Parse dates as they occur in feeds."""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from reedbed.domain.times import Instant, from_datetime
from reedbed.ingest.parse.xml import MAX_DATE

# `Sat, 07 Sep 2002 00:00:01 GMT` and its variants: no weekday, no seconds, two-digit years, dashes.
_RFC822 = re.compile(
    r"(?:[^\W\d]+\.?,?\s+)?(\d{1,2})[\s-]+([^\W\d]{3,10})\.?,?[\s-]+(\d{4}|\d{2}),?"
    r"(?:\s+(\d{1,2}):(\d{2})(?::(\d{2}))?(?:\.\d+)?\s*(.*))?$"
)
_PARTIAL_ISO = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?$")
_LOOSE_ISO = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})[Tt\s]*(\d{1,2}):(\d{2})(?::(\d{2}))?(?:[.,]\d+)?\s*(.*)$")
_TWELVE_HOURS = re.compile(r"\d\s*[ap]\.?m\b", re.IGNORECASE)
_OFFSET = re.compile(r"(?:(?:GMT|UTC|UT|Etc/GMT)\s*)?([+-])(\d{1,2}):?(\d{1,2})?(?:\s*\(.*\))?$", re.IGNORECASE)

_MONTHS = {
    word: number
    for number, words in enumerate(
        (
            "jan januar janvier januari january gennaio gen ene enero janeiro sty stycznia",
            "feb februar février fév fevrier february febbraio febrero fevereiro fev lut lutego",
            "mar mär mrz märz mars march marzo março marca maart",
            "apr april avr avril aprile abr abril kwi kwietnia",
            "may mai maj mag maggio mayo maio maja mei",
            "jun juni juin june giu giugno junio junho cze czerwca",
            "jul juli juil juillet july lug luglio julio julho lip lipca",
            "aug august aoû août aout ago agosto sie sierpnia augustus",
            "sep sept september septembre set settembre septiembre setembro wrz września",
            "oct okt oktober october octobre ott ottobre octubre outubro out paź października",
            "nov november novembre noviembre novembro lis listopada",
            "dec dez dezember december déc décembre dic dicembre diciembre dezembro gru grudnia",
        ),
        1,
    )
    for word in words.split()
}
_ZONES = {
    "ut": 0, "utc": 0, "gmt": 0, "z": 0, "wet": 0, "west": 1, "bst": 1, "cet": 1, "met": 1, "cest": 2,
    "mest": 2, "mez": 1, "mesz": 2, "eet": 2, "eest": 3, "msk": 3, "jst": 9, "kst": 9, "aest": 10,
    "aedt": 11, "nzst": 12, "nzdt": 13, "adt": -3, "ast": -4, "edt": -4, "est": -5, "et": -5, "cdt": -5,
    "cst": -6, "ct": -6, "mdt": -6, "mst": -7, "mt": -7, "pdt": -7, "pst": -8, "pt": -8, "akdt": -8,
    "akst": -9, "hst": -10,
}  # fmt: skip
_UTC = frozenset({"GMT", "+0000", "UTC", "Z", "-0000", None})
# Earlier dates are the zero value of some database.
_EARLIEST_YEAR = 1000


def instant(text: str | None) -> Instant | None:
    """The parsed time; None if the text is not a date or the date is out of range."""
    if not text or len(text) > MAX_DATE:
        return None
    try:
        parsed = _parse(text.strip())
        return from_datetime(parsed) if parsed and parsed.year >= _EARLIEST_YEAR else None
    except (ValueError, OverflowError, TypeError):
        return None


def _parse(text: str) -> datetime | None:
    if text[:4].isdigit():
        return _from_iso(text)
    if len(text) == 29 and text.endswith(" GMT") and (parsed := _from_standard_format(text)):
        return parsed
    match = _RFC822.match(text)
    month = _month(match[2]) if match else None
    if match and month:
        day, _, year, hour, minute, second, zone = match.groups()
        return _build(_full_year(year), month, int(day), (hour, minute, second), zone)
    # `parsedate_to_datetime` ignores AM and PM.
    return (None if _TWELVE_HOURS.search(text) else _from_email_date(text)) or _from_dateutil(text)


def _from_standard_format(text: str) -> datetime | None:
    """Exactly `Sat, 07 Sep 2002 00:00:01 GMT`, as most feeds write it. Slicing is faster than matching."""
    month = _MONTHS.get(text[8:11].lower())
    if month is None or text[3:5] != ", " or text[19] != ":" or text[22] != ":":
        return None
    clock = int(text[17:19]), int(text[20:22]), int(text[23:25])
    return (
        datetime(int(text[12:16]), month, int(text[5:7]), *clock, 0, UTC) if clock[0] < 24 and clock[2] < 60 else None
    )


def _from_iso(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    partial = _PARTIAL_ISO.match(text)
    if partial:
        year, month, day = (int(part) if part else 1 for part in partial.groups())
        return datetime(year, month, day)
    loose = _LOOSE_ISO.match(text)
    if loose:
        year, month, day, hour, minute, second, zone = loose.groups()
        return _build(int(year), int(month), int(day), (hour, minute, second), zone)
    return _from_dateutil(text)


def _build(
    year: int, month: int, day: int, clock: tuple[str | None, str | None, str | None], zone: str | None
) -> datetime:
    hour, minute, second = int(clock[0] or 0), int(clock[1] or 0), int(clock[2] or 0)
    if zone in _UTC and hour < 24 and second < 60:
        return datetime(year, month, day, hour, minute, second, 0, UTC)
    half, zone = _half_day(zone or "", hour)
    naive = datetime(year, month, day, (hour % 24) + half, minute, min(second, 59), 0, UTC)
    return naive + timedelta(days=hour // 24) - _offset(zone)


def _half_day(zone: str, hour: int) -> tuple[int, str]:
    """Hours to add for `AM` or `PM` in place of the zone, and the remaining zone."""
    marker = zone[:2].lower()
    if marker not in ("am", "pm"):
        return 0, zone
    remaining = zone[2:].strip()
    if marker == "pm":
        return (12 if hour < 12 else 0), remaining
    return (-12 if hour == 12 else 0), remaining


def _offset(zone: str) -> timedelta:
    numeric = _OFFSET.match(zone)
    if numeric:
        sign, hours, minutes = numeric.groups()
        span = timedelta(hours=int(hours), minutes=int(minutes or 0))
        return -span if sign == "-" else span
    return timedelta(hours=_ZONES.get(zone.lower(), 0))


def _month(word: str) -> int | None:
    lowered = word.lower()
    return _MONTHS.get(lowered) or _MONTHS.get(lowered[:3])


def _full_year(year: str) -> int:
    if len(year) == 4:
        return int(year)
    return int(year) + (2000 if int(year) < 90 else 1900)


def _from_email_date(text: str) -> datetime | None:
    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None


def _from_dateutil(text: str) -> datetime | None:
    """For unusual formats; about ten times slower than all other functions together."""
    from dateutil import parser

    # Fields the text leaves out must not come from today's date.
    defaults = datetime(2000, 1, 1)
    if not re.search(r"\d{4}", text):
        return None
    try:
        return parser.parse(text, default=defaults, tzinfos=_zone_seconds)
    except (parser.ParserError, OverflowError, ValueError, TypeError, AttributeError):
        return None


def _zone_seconds(name: str | None, offset: int | None) -> int:
    if offset is not None:
        return offset
    return _ZONES.get((name or "").lower(), 0) * 3600
