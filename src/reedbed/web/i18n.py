"""Translate page texts and failures into the request's language."""

import gettext
import re
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import structlog

from reedbed.domain.collation import CollationKey, collation_key
from reedbed.domain.errors import ReedbedError
from reedbed.domain.failures import Failure, FailureCode, Param, fill
from reedbed.domain.languages import LANGUAGES, SOURCE, Conventions, Texts, match_language
from reedbed.domain.search.query import CHOICES, Filter
from reedbed.domain.users import split_device_name

FOLDER = Path(__file__).parent
LOCALE = FOLDER / "locale"

log = structlog.get_logger()

_language: ContextVar[str] = ContextVar("language", default=SOURCE)


def set_language(language: str) -> None:
    """Set the language for the texts of this request."""
    _language.set(language if language in languages() else SOURCE)


def current_language() -> str:
    return _language.get()


def plain_text(message: str) -> str:
    # gettext returns the header of the catalogue for an empty text.
    return message and catalogue(_language.get()).gettext(message)


def plural_text(singular: str, plural: str, number: int) -> str:
    """Fill in only the number; the caller fills in the other placeholders."""
    return catalogue(_language.get()).ngettext(singular, plural, number).replace("%(num)s", grouped(number))


def grouped(number: int) -> str:
    return current_conventions().grouped(number)


def translate(message: str, **values: object) -> str:
    """Translate into the language of this request, like `_()` in templates."""
    return plain_text(message) % values if values else plain_text(message)


def explain(failure: Failure | ReedbedError | None) -> str:
    """Why something did not work, in the language of this request; empty without a failure."""
    if failure is None:
        return ""
    if isinstance(failure, ReedbedError):
        return explain(failure.failure)
    if failure.code is FailureCode.UNTRANSLATED:
        # Earlier versions stored English sentences. Those without values may be in the catalogue.
        return plain_text(failure.message)
    values = {name: _shown(name, value) for name, value in failure.values.items()}
    return fill(plain_text(failure.template), values, None if failure.cause is None else explain(failure.cause))


def _shown(name: str, value: Param) -> Param:
    """Limits are grouped; other numbers, such as ports and HTTP statuses, are not."""
    return grouped(value) if name == "limit" and isinstance(value, int) else value


def marked(message: str) -> str:
    """Mark a text for extraction (gettext_noop); it is translated where it is shown."""
    return message


def ngettext(singular: str, plural: str, number: int) -> str:
    return plural_text(singular, plural, number) % {}


def decimal(value: float, digits: int) -> str:
    """Format a number with a fraction in the language of this request."""
    return current_conventions().decimals(value, digits)


def percentage(value: float, digits: int = 0) -> str:
    return current_conventions().percentage(value, digits)


def listed(items: Sequence[str]) -> str:
    """`a, b and c`."""
    return current_conventions().listed(items)


def enumerated(items: Iterable[str]) -> str:
    """`a, b, c`."""
    return current_conventions().enumerated(items)


def separator() -> str:
    """What stands between the items of a list, for templates whose items are links."""
    return current_conventions().separator


def current_conventions() -> Conventions:
    return conventions(_language.get())


def name_key(name: str) -> CollationKey:
    """Sorts names by the alphabet of this request's language."""
    return collation_key(name, _language.get())


# --- Languages


@cache
def languages() -> tuple[str, ...]:
    """English and all languages that have a catalogue, in the order of the settings."""
    return tuple(code for code in LANGUAGES if code == SOURCE or _catalogue_file(code).exists())


@cache
def catalogue(language: str) -> gettext.NullTranslations:
    """Loaded when first asked for: a language takes about a megabyte."""
    file = _catalogue_file(language)
    if not file.exists():
        return gettext.NullTranslations()
    with file.open("rb") as opened:
        return CheckedTranslations(opened)


@cache
def conventions(language: str) -> Conventions:
    file = _folder(language) / "conventions.json"
    return Conventions(**orjson.loads(file.read_bytes())) if file.exists() else Conventions()


def _catalogue_file(language: str) -> Path:
    return _folder(language) / "LC_MESSAGES" / "reedbed.mo"


def _folder(language: str) -> Path:
    return LOCALE / language.replace("-", "_")


class CheckedTranslations(gettext.GNUTranslations):
    """Leaves out translations whose placeholders no caller fills, so that their texts stay in English.

    The tests refuse such a catalogue; but an edited one must not break pages either.
    """

    def _parse(self, fp: Any) -> None:
        untyped: Any = super()
        untyped._parse(fp)
        messages: dict[str | tuple[str, int], str] = vars(self)["_catalog"]
        wrong = [key for key, text in messages.items() if key and not _fits(text, key)]
        for key in wrong:
            log.warning("a translation has wrong placeholders", language=self.info().get("language"), text=key)
        for message in {key if isinstance(key, str) else key[0] for key in wrong}:
            for key in [key for key in messages if key == message or (isinstance(key, tuple) and key[0] == message)]:
                del messages[key]


_CONVERSION = re.compile(r"%(?:\((\w+)\)s|(%)|)")


def _fits(text: str, key: str | tuple[str, int]) -> bool:
    """Whether the translation can be filled with what the message is filled with. A lone `%` must be in both."""
    message, known = (key, frozenset[str]()) if isinstance(key, str) else (key[0], frozenset(("num",)))
    allowed = known | {found[1] or found[0] for found in _CONVERSION.finditer(message)}
    return all((found[1] or found[0]) in allowed for found in _CONVERSION.finditer(text))


# --- Outside requests


class CatalogueTexts:
    """The texts of one language for mails and notifications, which no request asks for."""

    def __init__(self, language: str) -> None:
        self.language = language

    @property
    def conventions(self) -> Conventions:
        return conventions(self.language)

    def translate(self, message: str, /, **values: object) -> str:
        with _speaking(self.language):
            return translate(message, **values)

    def ngettext(self, singular: str, plural: str, number: int, /, **values: object) -> str:
        with _speaking(self.language):
            return plural_text(singular, plural, number) % values

    def explain(self, failure: Failure, /) -> str:
        with _speaking(self.language):
            return explain(failure)


def texts_in(code: str) -> Texts:
    """The texts for a language that a user has chosen; English where it is not offered."""
    return CatalogueTexts(match_language(code, languages()) or SOURCE)


@contextmanager
def _speaking(language: str) -> Generator[None]:
    token = _language.set(language)
    try:
        yield
    finally:
        _language.reset(token)


_ENDS = (".", "!", "?", "…", "。", "！", "？")


def sentence(text: str) -> str:
    """The text with a full stop, unless it has an end."""
    if not text or text.endswith(_ENDS):
        return text
    return f"{text}。" if _language.get() in ("ja", "zh-Hans") else f"{text}."


# --- Devices

DEVICES = (marked("Unknown device"), marked("A Python program"), marked("An Android app"))


def device_text(name: str) -> str:
    """The name that `device_name` gave to a device."""
    if (parts := split_device_name(name)) is None:
        return translate(name)
    return translate("%(browser)s on %(system)s", browser=translate(parts[0]), system=parts[1])


# --- Search


def unknown_names(unknown: Iterable[Filter]) -> str:
    """One sentence for each feed, folder, tag, state or part of an entry in a search that does not exist."""
    sentences = {
        "feed": translate("You follow no feed called %(name)s."),
        "folder": translate("There is no folder called %(name)s."),
        "tag": translate("There is no tag called %(name)s."),
    }
    return " ".join(
        _unknown_choice(name) if name.kind in CHOICES else sentences[name.kind] % {"name": name.value}
        for name in unknown
    )


def _unknown_choice(filter_: Filter) -> str:
    return translate(
        "There is no %(name)s. These can be searched for: %(states)s.",
        name=f"{filter_.kind}:{filter_.value}",
        states=enumerated(f"{filter_.kind}:{choice}" for choice in CHOICES[filter_.kind]),
    )


# --- Names of languages

OWN_NAMES = {
    "ar": "العربية", "bg": "Български", "ca": "Català", "cs": "Čeština", "da": "Dansk", "de": "Deutsch",
    "el": "Ελληνικά", "en": "English", "es": "Español", "fa": "فارسی", "fi": "Suomi", "fr": "Français",
    "he": "עברית", "hi": "हिन्दी", "hr": "Hrvatski", "hu": "Magyar", "id": "Bahasa Indonesia", "it": "Italiano",
    "ja": "日本語", "ko": "한국어", "nb": "Norsk bokmål", "nl": "Nederlands", "no": "Norsk", "pl": "Polski",
    "pt": "Português", "pt-BR": "Português (Brasil)", "ro": "Română", "ru": "Русский", "sr": "Српски", "sv": "Svenska",
    "th": "ไทย", "tr": "Türkçe", "uk": "Українська", "ur": "اردو", "vi": "Tiếng Việt",
    "zh": "中文", "zh-TW": "繁體中文",
}  # fmt: skip
"""Languages that entries are written in or translated into."""


def language_name(code: str) -> str:
    """The name of a language in itself."""
    return OWN_NAMES.get(code) or OWN_NAMES.get(code.partition("-")[0].lower()) or code
