"""The languages of the pages and mails: their names, which of them a browser asks for, and how each writes things.

The texts themselves are in the catalogues, which `web/i18n.py` loads.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import date, datetime
from typing import Literal, Protocol

from reedbed.domain.failures import Failure
from reedbed.domain.records import record

Direction = Literal["ltr", "rtl"]
Day = date


@record
class Language:
    code: str
    """BCP 47, such as `pt-BR`."""
    name: str
    """In itself."""
    direction: Direction = "ltr"


SOURCE = "en"
"""The language in which the texts are written."""
LANGUAGES: dict[str, Language] = {
    language.code: language
    for language in (
        Language("en", "English"),
        Language("de", "Deutsch"),
        Language("es", "Español"),
        Language("fr", "Français"),
        Language("it", "Italiano"),
        Language("nl", "Nederlands"),
        Language("pl", "Polski"),
        Language("pt-BR", "Português (Brasil)"),
        Language("ru", "Русский"),
        Language("uk", "Українська"),
        Language("ja", "日本語"),
        Language("zh-Hans", "简体中文"),
    )
}
"""In the order of the settings. A language is offered as soon as it has a catalogue."""


def direction_of(code: str) -> Direction:
    language = LANGUAGES.get(code)
    return language.direction if language else "ltr"


# --- Negotiation

_MAX_RANGES = 50
_TRADITIONAL = frozenset(("hant", "tw", "hk", "mo"))


def match_language(code: str, offered: Sequence[str]) -> str:
    """The offered language that serves a speaker of `code`; empty if none does.

    Any variety of a language serves a speaker of another (`pt-PT` gets `pt-BR`), but simplified Chinese
    does not serve readers of traditional Chinese.
    """
    wanted = code.strip().lower().replace("_", "-")
    by_code = {one.lower(): one for one in offered}
    if wanted in by_code:
        return by_code[wanted]
    base, *subtags = wanted.split("-")
    is_traditional = base == "zh" and "hans" not in subtags and not _TRADITIONAL.isdisjoint(subtags)
    for name, one in by_code.items():
        parts = name.split("-")
        if parts[0] == base and ("hant" in parts) == is_traditional and not parts[-1].startswith("x"):
            return one
    return ""


def negotiate_language(header: str, offered: Sequence[str]) -> str:
    """The best offered language for an `Accept-Language` header; English if there is none."""
    for wanted in _wanted(header):
        if wanted == "*":
            break
        if found := match_language(wanted, offered):
            return found
    return SOURCE


def _wanted(header: str) -> list[str]:
    """The accepted languages, the most welcome first."""
    ranges: list[tuple[float, str]] = []
    for part in header.split(",")[:_MAX_RANGES]:
        code, _, parameter = part.partition(";")
        quality = _quality(parameter)
        if code.strip() and quality > 0:
            ranges.append((quality, code.strip().lower()))
    ranges.sort(key=lambda one: -one[0])
    codes = [code for _, code in ranges]
    if any(code.startswith("zh-") and not _TRADITIONAL.isdisjoint(code.split("-")) for code in codes):
        # Browsers add `zh` to `zh-TW` by themselves: it does not ask for simplified Chinese.
        codes = [code for code in codes if code != "zh"]
    return codes


def _quality(parameter: str) -> float:
    name, _, value = parameter.strip().partition("=")
    if not name:
        return 1.0
    try:
        quality = float(value) if name.strip().lower() == "q" else 0.0
    except ValueError:
        return 0.0
    return quality if 0 <= quality <= 1 else 0.0


# --- Numbers, dates and lists


@record
class Conventions:
    """How a language writes numbers, dates and lists; the defaults are those of English.

    Other languages have theirs in a file beside their catalogue, which `scripts/conventions.py` makes from CLDR.
    """

    group: str = "\u202f"
    grouped_from: int = 4
    """Numbers with fewer digits are not grouped."""
    decimal: str = "."
    percent: str = "{number}\u00a0%"
    months: Sequence[str] = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
    long_months: Sequence[str] = (
        *("January", "February", "March", "April", "May", "June"),
        *("July", "August", "September", "October", "November", "December"),
    )
    days: Sequence[str] = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    long_days: Sequence[str] = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    date: str = "{d}\u00a0{month}"
    date_with_year: str = "{d}\u00a0{month}\u00a0{y}"
    weekday: str = "{day} {date}"
    long_date: str = "{day}, {d} {month}"
    time: str = "{HH}:{mm}"
    date_time: str = "{date}, {time}"
    pair: str = "{0} and {1}"
    list_start: str = "{0}, {1}"
    list_middle: str = "{0}, {1}"
    list_end: str = "{0} and {1}"
    plurals: Mapping[str, int] = field(default_factory=lambda: {"one": 1, "other": 2})
    """A number of each plural category, by the names that browsers give them."""

    def grouped(self, number: int) -> str:
        digits = str(abs(int(number)))
        if len(digits) < self.grouped_from:
            return str(int(number))
        return f"{int(number):,}".replace(",", self.group)

    def decimals(self, value: float, digits: int) -> str:
        whole, _, fraction = f"{abs(value):.{digits}f}".partition(".")
        sign = "-" if value < 0 and (whole + fraction).strip("0") else ""
        return sign + self.grouped(int(whole)) + (f"{self.decimal}{fraction}" if fraction else "")

    def percentage(self, value: float, digits: int = 0) -> str:
        return self.percent.format(number=self.decimals(value, digits))

    def short_date(self, day: Day, *, with_year: bool) -> str:
        pattern = self.date_with_year if with_year else self.date
        return pattern.format(d=day.day, M=day.month, month=self.months[day.month - 1], y=day.year)

    def weekday_date(self, day: Day, *, with_year: bool) -> str:
        return self.weekday.format(day=self.days[day.weekday()], date=self.short_date(day, with_year=with_year))

    def full_date(self, day: Day) -> str:
        """With whole words, without the year: `Wednesday, 14 May`."""
        names = {"day": self.long_days[day.weekday()], "month": self.long_months[day.month - 1]}
        return self.long_date.format(d=day.day, M=day.month, **names)

    def clock(self, moment: datetime) -> str:
        return self.time.format(H=moment.hour, HH=f"{moment.hour:02}", mm=f"{moment.minute:02}")

    def enumerated(self, items: Iterable[str]) -> str:
        """`a, b, c`."""
        return self.separator.join(items)

    @property
    def separator(self) -> str:
        return self.list_middle.replace("{0}", "").replace("{1}", "")

    def listed(self, items: Sequence[str]) -> str:
        """`a, b and c`."""
        if len(items) < 2:
            return "".join(items)
        if len(items) == 2:
            return _joined(self.pair, *items)
        text = _joined(self.list_end, items[-2], items[-1])
        for item in reversed(items[1:-2]):
            text = _joined(self.list_middle, item, text)
        return _joined(self.list_start, items[0], text)


def _joined(pattern: str, first: str, second: str) -> str:
    """Names may hold braces."""
    before, _, rest = pattern.partition("{0}")
    between, _, after = rest.partition("{1}")
    return f"{before}{first}{between}{second}{after}"


# --- Texts outside pages


class Texts(Protocol):
    """The texts of one language, for what is written without a request: mails and notifications."""

    @property
    def language(self) -> str: ...
    @property
    def conventions(self) -> Conventions: ...
    def translate(self, message: str, /, **values: object) -> str: ...
    def ngettext(self, singular: str, plural: str, number: int, /, **values: object) -> str:
        """Pick the form for `number`, which fills `%(num)s`."""
        ...

    def explain(self, failure: Failure, /) -> str: ...


class EnglishTexts:
    """The texts as they are written in the source."""

    language = SOURCE
    conventions = Conventions()

    def translate(self, message: str, /, **values: object) -> str:
        return message % values if values else message

    def ngettext(self, singular: str, plural: str, number: int, /, **values: object) -> str:
        return (singular if number == 1 else plural) % {"num": self.conventions.grouped(number), **values}

    def explain(self, failure: Failure, /) -> str:
        return failure.message


ENGLISH = EnglishTexts()


def english_texts(_: str) -> Texts:
    return ENGLISH
