"""Links that prove an address or a wish: single use, short-lived, stored only as hashes."""

from dataclasses import dataclass
from typing import Literal

from reedbed.domain.times import DAY, HOUR, Instant, Millis

Purpose = Literal["reset", "verify", "invite", "email"]

LIVES: dict[Purpose, Millis] = {"reset": HOUR, "verify": 3 * DAY, "invite": 7 * DAY, "email": DAY}
PATHS: dict[Purpose, str] = {
    "reset": "/reset/",
    "verify": "/verify/",
    "invite": "/register?invite=",
    "email": "/verify/",
}
EXPIRED = "This link is not valid any more: it was used or is too old. Ask for a new one."


@dataclass(frozen=True, slots=True)
class MailLink:
    id: int
    purpose: Purpose
    email: str
    user_id: int | None
    created_at: Instant
    expires_at: Instant
    used_at: Instant | None = None


def link_url(base_url: str, purpose: Purpose, token: str) -> str:
    """Always on the configured address: a Host header is what a stranger says."""
    return f"{base_url}{PATHS[purpose]}{token}"


def life_in_words(purpose: Purpose) -> str:
    life = LIVES[purpose]
    hours = life // HOUR
    if life >= 2 * DAY:
        return f"{life // DAY} days"
    return "1 hour" if hours == 1 else f"{hours} hours"
