"""Users: accounts, sessions, tokens and their scopes, preferences, device names and rate limits."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, fields, replace
from enum import StrEnum
from typing import Any

from reedbed.domain.articles import check_video_site
from reedbed.domain.errors import Invalid
from reedbed.domain.highlights import check_marked_words
from reedbed.domain.languages import LANGUAGES, match_language
from reedbed.domain.records import record
from reedbed.domain.text import clean_line
from reedbed.domain.times import Instant


class TokenScope(StrEnum):
    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


ALL_SCOPES = frozenset(TokenScope)
APP_SCOPES = frozenset({TokenScope.READ, TokenScope.WRITE})
"""The scopes of an app password."""

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
    """An authenticated user, and how they authenticated."""

    user: User
    scopes: frozenset[TokenScope] = ALL_SCOPES
    session_id: int | None = None
    token_id: int | None = None
    by_cookie: bool = False
    """Browsers send cookies automatically, so changes need CSRF protection."""

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
    """A logged-in device."""

    id: int
    user_agent: str | None
    ip: str | None
    created_at: Instant
    last_active_at: Instant
    expires_at: Instant
    new_place: bool = False
    """Neither the browser nor the network had logged in to this account before."""


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


def read_scopes(names: Sequence[str]) -> frozenset[TokenScope]:
    """Parse scope names. Every scope includes `read`."""
    try:
        scopes = frozenset(TokenScope(name) for name in names)
    except ValueError:
        raise Invalid("Scopes are read, write and admin.", field="scopes") from None
    if not scopes:
        raise Invalid("Choose at least one scope: read, write or admin.", field="scopes")
    return scopes | {TokenScope.READ}


def scope_words(scopes: frozenset[TokenScope]) -> str:
    """In a fixed order, as stored and displayed."""
    return " ".join(scope for scope in TokenScope if scope in scopes)


def check_token_name(name: str) -> str:
    clean_name = clean_line(name)
    if not clean_name:
        raise Invalid("Give it a name, so that you recognise it later.", field="name")
    if len(clean_name) > 100:
        raise Invalid("The name must have at most 100 characters.", field="name")
    return clean_name


def check_role(role: str) -> str:
    if role not in ROLES:
        raise Invalid("A role is owner, admin or user.", field="role")
    return role


# --- Preferences

CHOICES: Mapping[str, tuple[str, ...]] = {
    "theme": ("system", "light", "dark", "sepia"),
    "size": ("xs", "s", "m", "l", "xl"),
    "width": ("narrow", "medium", "wide"),
    "font": ("serif", "sans", "literata", "atkinson"),
    "density": ("titles", "cards", "magazine"),
    "order": ("newest", "oldest"),
    "wording": ("original", "neutral"),
    "stopped_feeds": ("off", "mail", "push", "both"),
    "loud_entries": ("show", "dim", "hide", "rewrite"),
}

MAX_WORDS = 100_000
MAX_LANGUAGES = 20
_MAILBOX = re.compile(r"[^\s@<>]{1,64}@[^\s@<>]{1,189}\Z")
MAX_VOICES = 400
"""Characters."""
_VOICE = re.compile(r"(?:[a-z]{2,3}=)?[A-Za-z0-9][\w.+-]{0,60}\Z")

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
    """UI language; empty uses the browser's."""
    mail_language: str = ""
    """Of mails and notifications while `language` is empty: that of the browser which came first."""
    summary_language: str = ""
    """Empty uses the language of the instance."""
    time_zone: str = ""
    """Empty uses the time zone of the device."""
    open_marks: bool = True
    """Opening an entry marks it read."""
    scroll_marks: bool = False
    """Scrolling past an entry marks it read."""
    remote_ai: bool = False
    """Allow sending entry texts to the model that the operator has configured."""
    auto_summaries: bool = False
    """Summarize new entries before they are opened."""
    auto_summary_words: int = 200
    """Summarize only entries with at least this many words."""
    one_lines: bool = True
    """Show a built-in line about long entries in lists, even if summaries are not written before opening."""
    wording: str = "original"
    """Whether to show the original or the neutral title and text."""
    loud_entries: str = "show"
    """How to show entries whose framing score is above `loud_limit`."""
    loud_limit: int = 67
    """In percent of the overall score."""
    group_stories: bool = False
    """Show the entries of a story as one row of the unread list."""
    push_digests: bool = False
    """Send a push notification when a digest is ready."""
    same_address_once: bool = False
    """An entry whose address an earlier one in another feed has arrives as read, and lists show one row."""
    marked_words: str = ""
    """Words to mark in titles and texts, one per line."""
    stopped_feeds: str = "off"
    """How the user learns that a feed has stopped."""
    broken_feeds_weekly: bool = False
    """Send a weekly mail with the feeds that need the user."""
    share_marks_read: bool = False
    """An entry that was sent to another service is marked read."""
    playback_speed: int = 100
    """In percent."""
    video_site: str = ""
    """An Invidious or Piped that plays videos of YouTube; empty: YouTube without cookies."""
    translation_language: str = ""
    """The language that entries are translated into; empty uses the UI language."""
    languages_read: str = ""
    """Codes of languages that need no translation, such as `de, en`."""
    auto_translate: bool = False
    """Translate new entries in other languages without asking."""
    voice: str = ""
    """The voices that read aloud, such as `alloy` or `en=en-gb de=mb-de5`; empty: one for the language of the text."""
    spoken_digests: bool = False
    """Read new digests aloud."""
    book_address: str = ""
    """Where books are sent: the address of an e-reader."""
    book_proof: str = ""
    """Shows that the owner of the address agreed; see `services.books.mail`."""
    translations_in_apps: bool = False
    """Apps and published feeds get the translation instead of the original."""
    interest: bool = False
    """Learn from the user's own acts what to list first; see `domain.interest`."""
    interest_marks: bool = False
    """Mark entries in lists that are worth it."""
    interest_digests: bool = True
    """Digests put first what the user reads; only with `interest`."""


def change_preferences(current: Preferences, changes: Mapping[str, Any]) -> Preferences:
    """Apply `changes`; an unknown name or value raises `Invalid`."""
    for name, value in changes.items():
        _check(name, value)
    _check_language(current, changes.get("language", ""))
    return replace(current, **changes)


def _check_language(current: Preferences, code: str) -> None:
    """A language that an earlier version has stored may stay, even if it is not offered."""
    if code and code != current.language and not match_language(code, tuple(LANGUAGES)):
        raise Invalid(
            "%(name)s must be one of %(choices)s.",
            field="preferences.language",
            name="language",
            choices=", ".join(LANGUAGES),
        )


def read_preferences(stored: Mapping[str, Any]) -> Preferences:
    """Load stored preferences, possibly of another version; invalid values get their default."""
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
        raise Invalid(
            "%(name)s must be %(kind)s.", field=f"preferences.{name}", name=name, kind=_type_description(name)
        )
    if name in CHOICES and value not in CHOICES[name]:
        raise Invalid(
            "%(name)s must be one of %(choices)s.",
            field=f"preferences.{name}",
            name=name,
            choices=", ".join(CHOICES[name]),
        )
    if name == "auto_summary_words" and not 0 <= value <= MAX_WORDS:
        raise Invalid(
            "%(name)s must be between 0 and %(limit)s.", field=f"preferences.{name}", name=name, limit=MAX_WORDS
        )
    if name == "marked_words":
        check_marked_words(value)
    if name == "video_site":
        check_video_site(value)
    if name == "playback_speed" and not 80 <= value <= 250:
        raise Invalid("The speed must be between 80 and 250 percent.", field="preferences.playback_speed")
    if name == "loud_limit" and not 0 <= value <= 100:
        raise Invalid("loud_limit must be between 0 and 100.", field="preferences.loud_limit")
    if name.endswith("language") and not _LANGUAGE.match(value):
        raise Invalid("%(name)s must be a language code such as en or pt-BR.", field=f"preferences.{name}", name=name)
    if name == "voice" and not (len(value) <= MAX_VOICES and all(map(_VOICE.match, value.split()))):
        raise Invalid("A voice is a short name, such as en-gb or alloy.", field="preferences.voice")
    if name == "languages_read":
        check_languages(value)
    if name == "book_address" and value and not _MAILBOX.match(value):
        raise Invalid("This does not look like an e-mail address. Write it as name@example.com.", field=name)
    if name == "time_zone" and not _ZONE.match(value):
        raise Invalid("time_zone must be a name such as Europe/Berlin.", field="preferences.time_zone")


def read_languages(text: str) -> tuple[str, ...]:
    """`de, en` as codes."""
    return tuple(dict.fromkeys(text.replace(",", " ").split()))


def check_languages(text: str) -> None:
    codes = read_languages(text)
    if len(codes) > MAX_LANGUAGES or not all(_LANGUAGE.match(code) for code in codes):
        raise Invalid("Name languages by their codes, such as: de, en.", field="preferences.languages_read")


def _type_description(name: str) -> str:
    default = _DEFAULTS[name]
    if isinstance(default, bool):
        return "true or false"
    return "a whole number" if isinstance(default, int) else "text"


_DEFAULTS: Mapping[str, Any] = {field_.name: field_.default for field_ in fields(Preferences)}


# --- Device names

# The order matters: most browsers also claim to be the ones they are based on.
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
_MAX_DEVICE_NAME = 60


def device_name(user_agent: str | None) -> str:
    if not user_agent or not user_agent.strip():
        return "Unknown device"
    browser = _first_match(_BROWSERS, user_agent)
    system = _first_match(_SYSTEMS, user_agent)
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or _product(user_agent)


def split_device_name(name: str) -> tuple[str, str] | None:
    """The browser and the system of a name that `device_name` made of the two."""
    browser, _, system = name.partition(" on ")
    known = any(label == browser for _, label in _BROWSERS) and any(label == system for _, label in _SYSTEMS)
    return (browser, system) if known else None


def is_phone(user_agent: str | None) -> bool:
    return any(marker in (user_agent or "") for marker in ("iPhone", "Android", "Mobile"))


def _first_match(names: tuple[tuple[str, str], ...], user_agent: str) -> str | None:
    return next((name for marker, name in names if marker in user_agent), None)


def _product(user_agent: str) -> str:
    """The first word, such as `NetNewsWire` of `NetNewsWire/6.1 (…)`."""
    name = user_agent.split("(")[0].split("/")[0].strip()
    return name[:_MAX_DEVICE_NAME] or "Unknown device"


# --- Rate limits


@record
class Allowance:
    """A token bucket: `burst` at once, then `per_second`."""

    burst: float
    per_second: float


def per_minute(count: int) -> Allowance:
    return Allowance(count, count / 60)


@record
class RateLimits:
    login: Allowance = field(default=per_minute(5))
    """Per client IP."""
    requests: Allowance = field(default=Allowance(100, 10))
    """Per user, like the next two."""
    search: Allowance = field(default=Allowance(10, 1))
    refresh: Allowance = field(default=per_minute(10))
    deframer: Allowance = field(default=Allowance(60, 2))
    """Per client IP, for the public deframer endpoints."""
    streams: int = 50
    """Open streams per user and process."""
