"""Links that prove an address or a wish: single use, short-lived, stored only as hashes."""

from typing import Literal

from reedbed.domain.records import record
from reedbed.domain.times import DAY, HOUR, Instant, Millis

Purpose = Literal["reset", "verify", "invite"]

LIVES: dict[Purpose, Millis] = {"reset": HOUR, "verify": 3 * DAY, "invite": 7 * DAY}
PATHS: dict[Purpose, str] = {
    "reset": "/reset/",
    "verify": "/verify/",
    "invite": "/register?invite=",
}
EXPIRED = "This link is not valid any more: it was used or is too old. Ask for a new one."


@record
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
    days = LIVES[purpose] // DAY
    return f"{days} days" if days else "1 hour"
