"""How much of a thing a caller may do."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, fields, replace
from enum import StrEnum
from typing import Any

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.text import shown_line
from reedbed.domain.times import Instant


class TokenScope(StrEnum):
    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


ALL_SCOPES = frozenset(TokenScope)
APP_SCOPES = frozenset({TokenScope.READ, TokenScope.WRITE})
"""What a reader app may do with an app password."""

ROLES = ("owner", "admin", "user")


@record
class User:
    id: int
    email: str
    role: str
    """owner, admin or user."""
    created_at: Instant
    preferences: str = "{}"
    email_verified_at: Instant | None = None
    disabled_at: Instant | None = None

    @property
    def operates(self) -> bool:
        return self.role in ("owner", "admin")


@record
class Caller:
    """A user who has proved it, and how."""

    user: User
    scopes: frozenset[TokenScope] = ALL_SCOPES
    session_id: int | None = None
    token_id: int | None = None
    by_cookie: bool = False
    """Cookies travel by themselves, so changes made with one must be shown to come from our own page."""

    @property
    def user_id(self) -> int:
        return self.user.id


@record
class NewSession:
    token: str = field(repr=False)
    """Shown to the client once; only its SHA-256 is stored."""
    expires_at: Instant
    user: User


@record
class Session:
    """A device that is logged in."""

    id: int
    user_agent: str | None
    ip: str | None
    created_at: Instant
    last_active_at: Instant
    expires_at: Instant


@record
class ApiToken:
    """An API token or an app password, without its secret."""

    id: int
    kind: str
    """api or app_password."""
    name: str
    scopes: frozenset[TokenScope]
    created_at: Instant
    last_used_at: Instant | None = None


@record
class NewApiToken:
    token: ApiToken
    secret: str = field(repr=False)
    """Shown once; only hashes are stored."""


@record
class LoggedEvent:
    id: int
    user_id: int | None
    kind: str
    detail: str
    """JSON."""
    at: Instant


def read_scopes(words: Sequence[str]) -> frozenset[TokenScope]:
    """The scopes asked for; nobody writes without reading what they wrote."""
    try:
        asked = frozenset(TokenScope(word) for word in words)
    except ValueError:
        raise Invalid("Scopes are read, write and admin.", field="scopes") from None
    if not asked:
        raise Invalid("Choose at least one scope: read, write or admin.", field="scopes")
    return asked | {TokenScope.READ}


def scope_words(scopes: frozenset[TokenScope]) -> str:
    """In one order, as it is stored and shown."""
    return " ".join(scope for scope in TokenScope if scope in scopes)


def check_token_name(name: str) -> str:
    shown = shown_line(name)
    if not shown:
        raise Invalid("Give it a name, so that you know it again.", field="name")
    if len(shown) > 100:
        raise Invalid("The name must have at most 100 characters.", field="name")
    return shown


def check_role(role: str) -> str:
    if role not in ROLES:
        raise Invalid("A role is owner, admin or user.", field="role")
    return role


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

MAX_WORDS = 100_000

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
    if name == "auto_summary_words" and not 0 <= value <= MAX_WORDS:
        raise Invalid(f"{name} must be between 0 and {MAX_WORDS}.", field=f"preferences.{name}")
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


# In this order: most browsers also claim to be the ones they descend from.
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Vivaldi", "Vivaldi"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("Chromium", "Chromium"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
    ("python", "A Python program"),
    ("okhttp", "An Android app"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Macintosh", "macOS"),
    ("Linux", "Linux"),
)
_LONGEST = 60


def device_name(user_agent: str | None) -> str:
    if not user_agent or not user_agent.strip():
        return "Unknown device"
    browser = _first(_BROWSERS, user_agent)
    system = _first(_SYSTEMS, user_agent)
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or _product(user_agent)


def is_phone(user_agent: str | None) -> bool:
    return any(word in (user_agent or "") for word in ("iPhone", "Android", "Mobile"))


def _first(names: tuple[tuple[str, str], ...], user_agent: str) -> str | None:
    return next((name for mark, name in names if mark in user_agent), None)


def _product(user_agent: str) -> str:
    """`NetNewsWire/6.1 (…)` names itself in its first word."""
    name = user_agent.split("(")[0].split("/")[0].strip()
    return name[:_LONGEST] or "Unknown device"


@record
class Allowance:
    """`burst` at once, then `per_second` more."""

    burst: float
    per_second: float


def per_minute(count: int) -> Allowance:
    return Allowance(count, count / 60)


@record
class RateLimits:
    login: Allowance = field(default=per_minute(5))
    """From one address."""
    requests: Allowance = field(default=Allowance(100, 10))
    """Of one user, as the next two."""
    search: Allowance = field(default=Allowance(10, 1))
    refresh: Allowance = field(default=per_minute(10))
    deframer: Allowance = field(default=Allowance(60, 2))
    """From one address, at the deframer's public doors."""
    streams: int = 50
    """Open at once, of one user at one process."""
