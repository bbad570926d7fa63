"""What the page says, in the language of whoever asked."""

import gettext
from contextvars import ContextVar
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
LANGUAGES = ("en", "de")
WITH_COMMA = frozenset({"de"})

_language: ContextVar[str] = ContextVar("language", default="en")


def speak(language: str) -> None:
    """The language of this request's texts."""
    _language.set(language if language in LANGUAGES else "en")


def spoken() -> str:
    return _language.get()


def plain_text(message: str) -> str:
    # An empty text would be answered with the head of the catalogue.
    return message and catalogue(_language.get()).gettext(message)


def plural_text(one: str, many: str, number: int) -> str:
    """With its number filled in: the other places are left to the caller."""
    return catalogue(_language.get()).ngettext(one, many, number).replace("%(num)s", grouped(number))


def grouped(number: int) -> str:
    """With thousands apart; the thin space belongs to no language."""
    return f"{int(number):,}".replace(",", "\u202f")


def translate(message: str, **values: object) -> str:
    """A text of ours in this request's language, as `_()` gives it in a template."""
    return plain_text(message) % values if values else plain_text(message)


def marked(message: str) -> str:
    """A text that is kept here and translated where it is shown."""
    return message


def ngettext(one: str, many: str, number: int) -> str:
    return plural_text(one, many, number) % {}


def decimal(value: float, places: int) -> str:
    """A number with a fraction, as this request's language writes it."""
    written = f"{value:,.{places}f}".replace(",", "\u202f")
    return written.replace(".", ",") if spoken() in WITH_COMMA else written


@cache
def catalogue(language: str) -> gettext.NullTranslations:
    return gettext.translation("reedbed", FOLDER / "locale", [language], fallback=True)


@cache
def languages() -> tuple[str, ...]:
    """English, and the others that have a catalogue."""
    return ("en", *(code for code in LANGUAGES if (FOLDER / "locale" / code).is_dir() and code != "en"))
