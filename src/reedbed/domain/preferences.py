"""What a user has chosen: every choice has a default, and only known ones are taken."""

import re
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record

CHOICES: Mapping[str, tuple[str, ...]] = {
    "theme": ("system", "light", "dark", "sepia"),
    "size": ("s", "m", "l"),
    "width": ("narrow", "medium", "wide"),
    "font": ("serif", "sans"),
    "density": ("titles", "cards", "magazine"),
    "order": ("newest", "oldest"),
    "wording": ("original", "neutral"),
    "loud_entries": ("show", "dim", "hide", "rewrite"),
}

MOST_WORDS = 100_000

_LANGUAGE = re.compile(r"(?:[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*)?\Z")
_ZONE = re.compile(r"(?:[A-Za-z][A-Za-z0-9_+-]{0,30}(?:/[A-Za-z0-9_+-]{1,30}){0,2})?\Z")


@record
class Preferences:
    theme: str = "system"
    size: str = "m"
    width: str = "medium"
    font: str = "serif"
    density: str = "cards"
    order: str = "newest"
    language: str = ""
    """Of the page; empty follows the browser."""
    summary_language: str = ""
    """Empty follows the instance."""
    time_zone: str = ""
    """Empty follows the device."""
    open_marks: bool = True
    """Opening an entry marks it read."""
    scroll_marks: bool = False
    """Scrolling past an entry marks it read."""
    remote_ai: bool = False
    """Texts of entries may be sent to the model that the operator has set up."""
    auto_summaries: bool = False
    """New entries get their summaries before they are opened."""
    auto_summary_words: int = 200
    """Only those with at least so many words."""
    wording: str = "original"
    """Of titles and texts that a model has put into neutral words."""
    loud_entries: str = "show"
    """What becomes of entries whose framing is above the limit."""
    loud_limit: int = 67
    """In hundredths of the overall score."""
    group_stories: bool = False
    """Entries of one story are one row of the unread list."""
    push_digests: bool = False
    """Browsers that asked for notes are told when a digest is written."""


def change_preferences(current: Preferences, changes: Mapping[str, Any]) -> Preferences:
    """What is not named stays; an unknown name or value is refused."""
    for name, value in changes.items():
        _check(name, value)
    return replace(current, **changes)


def read_preferences(stored: Mapping[str, Any]) -> Preferences:
    """What was stored, perhaps by another version: whatever is not a valid choice takes its default."""
    return Preferences(**{name: value for name, value in stored.items() if _is_valid(name, value)})


def _is_valid(name: str, value: Any) -> bool:
    try:
        _check(name, value)
    except Invalid:
        return False
    return True


def _check(name: str, value: Any) -> None:
    if name not in _DEFAULTS:
        raise Invalid("There is no such preference.", field=f"preferences.{name[:40]}")
    if type(value) is not type(_DEFAULTS[name]):
        raise Invalid(f"{name} must be {_kind(name)}.", field=f"preferences.{name}")
    if name in CHOICES and value not in CHOICES[name]:
        raise Invalid(f"{name} must be one of {', '.join(CHOICES[name])}.", field=f"preferences.{name}")
    if name == "auto_summary_words" and not 0 <= value <= MOST_WORDS:
        raise Invalid(f"{name} must be between 0 and {MOST_WORDS}.", field=f"preferences.{name}")
    if name == "loud_limit" and not 0 <= value <= 100:
        raise Invalid("loud_limit must be between 0 and 100.", field="preferences.loud_limit")
    if name.endswith("language") and not _LANGUAGE.match(value):
        raise Invalid(f"{name} must be a language code such as en or pt-BR.", field=f"preferences.{name}")
    if name == "time_zone" and not _ZONE.match(value):
        raise Invalid("time_zone must be a name such as Europe/Berlin.", field="preferences.time_zone")


def _kind(name: str) -> str:
    default = _DEFAULTS[name]
    if isinstance(default, bool):
        return "true or false"
    return "a whole number" if isinstance(default, int) else "text"


_DEFAULTS: Mapping[str, Any] = {one.name: one.default for one in fields(Preferences)}
