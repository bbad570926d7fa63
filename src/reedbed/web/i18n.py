"""Translate page texts and failures into the request's language."""

import gettext
from collections.abc import Iterable
from contextvars import ContextVar
from functools import cache
from pathlib import Path

from reedbed.domain.errors import ReedbedError
from reedbed.domain.failures import Failure, FailureCode, Param, fill
from reedbed.domain.search.query import STATES, Filter
from reedbed.domain.users import split_device_name

FOLDER = Path(__file__).parent
LANGUAGES = ("en", "de")
DECIMAL_COMMA_LANGUAGES = frozenset({"de"})

_language: ContextVar[str] = ContextVar("language", default="en")


def set_language(language: str) -> None:
    """Set the language for the texts of this request."""
    _language.set(language if language in LANGUAGES else "en")


def current_language() -> str:
    return _language.get()


def plain_text(message: str) -> str:
    # gettext returns the header of the catalogue for an empty text.
    return message and catalogue(_language.get()).gettext(message)


def plural_text(singular: str, plural: str, number: int) -> str:
    """Fill in only the number; the caller fills in the other placeholders."""
    return catalogue(_language.get()).ngettext(singular, plural, number).replace("%(num)s", grouped(number))


def grouped(number: int) -> str:
    """Group thousands with a thin space, which suits every language."""
    return f"{int(number):,}".replace(",", "\u202f")


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
    text = f"{value:,.{digits}f}".replace(",", "\u202f")
    return text.replace(".", ",") if current_language() in DECIMAL_COMMA_LANGUAGES else text


@cache
def catalogue(language: str) -> gettext.NullTranslations:
    return gettext.translation("reedbed", FOLDER / "locale", [language], fallback=True)


@cache
def languages() -> tuple[str, ...]:
    """English and all languages that have a catalogue."""
    return ("en", *(code for code in LANGUAGES if (FOLDER / "locale" / code).is_dir() and code != "en"))


def sentence(text: str) -> str:
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


# --- Devices

DEVICES = (marked("Unknown device"), marked("A Python program"), marked("An Android app"))


def device_text(name: str) -> str:
    """The name that `device_name` gave to a device."""
    if (parts := split_device_name(name)) is None:
        return translate(name)
    return translate("%(browser)s on %(system)s", browser=translate(parts[0]), system=parts[1])


# --- Search


def unknown_names(unknown: Iterable[Filter]) -> str:
    """One sentence for each feed, folder, tag or state in a search that does not exist."""
    known_states = ", ".join(f"is:{state}" for state in STATES)
    sentences = {
        "is": translate("There is no is:%(name)s. These can be searched for: %(states)s."),
        "feed": translate("You follow no feed called %(name)s."),
        "folder": translate("There is no folder called %(name)s."),
        "tag": translate("There is no tag called %(name)s."),
    }
    return " ".join(
        sentences[unknown_name.kind] % {"name": unknown_name.value, "states": known_states} for unknown_name in unknown
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


def language_name(code: str) -> str:
    """The name of a language in itself."""
    return OWN_NAMES.get(code) or OWN_NAMES.get(code.partition("-")[0].lower()) or code
