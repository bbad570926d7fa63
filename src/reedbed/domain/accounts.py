"""Who is calling, and what they may do."""

from dataclasses import dataclass
from enum import StrEnum

from reedbed.domain.times import Instant


class Scope(StrEnum):
    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


ALL_SCOPES = frozenset(Scope)


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Caller:
    """A user who has proved it, and how."""

    user: User
    scopes: frozenset[Scope] = ALL_SCOPES
    session_id: int | None = None
    token_id: int | None = None
    by_cookie: bool = False
    """Cookies travel by themselves, so changes made with one need the form's own token too."""

    @property
    def user_id(self) -> int:
        return self.user.id


@dataclass(frozen=True, slots=True)
class NewSession:
    token: str
    """Shown to the client once; only its SHA-256 is stored."""
    expires_at: Instant
    user: User
