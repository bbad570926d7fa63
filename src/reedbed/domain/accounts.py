"""Who is calling, and what they may do."""

from collections.abc import Sequence
from dataclasses import field
from enum import StrEnum

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.texts import shown_line
from reedbed.domain.times import Instant


class Scope(StrEnum):
    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


ALL_SCOPES = frozenset(Scope)
APP_SCOPES = frozenset({Scope.READ, Scope.WRITE})
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
    scopes: frozenset[Scope] = ALL_SCOPES
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
    scopes: frozenset[Scope]
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


def read_scopes(words: Sequence[str]) -> frozenset[Scope]:
    """The scopes asked for; nobody writes without reading what they wrote."""
    try:
        asked = frozenset(Scope(word) for word in words)
    except ValueError:
        raise Invalid("Scopes are read, write and admin.", field="scopes") from None
    if not asked:
        raise Invalid("Choose at least one scope: read, write or admin.", field="scopes")
    return asked | {Scope.READ}


def scope_words(scopes: frozenset[Scope]) -> str:
    """In one order, as it is stored and shown."""
    return " ".join(scope for scope in Scope if scope in scopes)


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
