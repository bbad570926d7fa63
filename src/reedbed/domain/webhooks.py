"""Webhooks: addresses of a user's own that are called when something happens.

Calls are signed as Standard Webhooks says: the id of the call, the second and the body, under a secret that
the user has. Whoever receives one can tell that it is ours, that it is fresh and that it came only once.
"""

import hmac
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from hashlib import sha256
from typing import Any

from reedbed.domain.email import Email
from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import may_pass
from reedbed.domain.text import storable
from reedbed.domain.times import DAY, HOUR, Instant, Millis
from reedbed.domain.urls import MAX_ADDRESS, normalize_url

MAX_NAME = 100
SECRET_PREFIX = "whsec_"  # noqa: S105  the public beginning of a secret, so that leaks can be found
GIVE_UP_AFTER: Millis = DAY
MAX_WAIT: Millis = 6 * HOUR
LONG_FAILURE: Millis = 3 * DAY
GONE = 410


class WebhookEvent(StrEnum):
    NEW_ENTRIES = "new_entries"
    RULE_MATCH = "rule_match"
    DIGEST = "digest"
    TEST = "test"


CHOOSABLE = (WebhookEvent.NEW_ENTRIES, WebhookEvent.RULE_MATCH, WebhookEvent.DIGEST)


@record
class Webhook:
    id: int
    user_id: int
    name: str
    url: str
    secret: str = field(repr=False)
    """Empty: encrypted with a key that is not here."""
    events: frozenset[WebhookEvent]
    """Empty: only rules that name its address call it."""
    enabled: bool
    created_at: Instant
    failing_since: Instant | None
    disabled_at: Instant | None
    """When we switched it off because nobody had answered for long."""


@record
class Delivery:
    """One thing that a webhook is told."""

    id: int
    user_id: int
    webhook_id: int
    event: WebhookEvent
    subject: Mapping[str, Any]
    state: str
    """waiting, delivered or failed."""
    tries: int
    status: int | None
    answer: str
    created_at: Instant
    tried_at: Instant | None
    next_at: Instant | None


@record
class Outcome:
    """What came of one call."""

    status: int | None
    answer: str
    again: bool
    """Whether a later call may do better."""

    @property
    def good(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def check_url(url: str) -> str:
    tidy = storable(url).strip()
    if len(tidy) > MAX_ADDRESS or normalize_url(tidy) is None:
        raise Invalid("A webhook needs an address that starts with http:// or https://", field="url")
    return tidy


def check_name(name: str, url: str) -> str:
    """Without a name it is called by its address."""
    shown = " ".join(storable(name).split()) or url.partition("://")[2][:MAX_NAME]
    if len(shown) > MAX_NAME:
        raise Invalid(f"The name must have at most {MAX_NAME} characters.", field="name")
    return shown


def read_events(words: Iterable[str]) -> frozenset[WebhookEvent]:
    asked = frozenset(words)
    if not asked <= frozenset(CHOOSABLE):
        raise Invalid(f"Events are {', '.join(CHOOSABLE)}.", field="events")
    return frozenset(WebhookEvent(word) for word in asked)


def judge(status: int) -> Outcome:
    if 200 <= status < 300:
        return Outcome(status, "", again=False)
    return Outcome(status, f"It answered with status {status}.", again=may_pass(status))


def is_dead(outcome: Outcome, failing_since: Instant | None, now: Instant) -> bool:
    """Whether to stop calling: it said that it is gone, or has not answered well for long."""
    if outcome.good:
        return False
    return outcome.status == GONE or (failing_since is not None and now - failing_since >= LONG_FAILURE)


def headers_for(webhook: Webhook, delivery: Delivery, body: bytes, second: int) -> dict[str, str]:
    """`webhook-…` as in the Standard Webhooks specification."""
    name = f"reedbed_{delivery.id}"
    return {
        "Content-Type": "application/json",
        "webhook-id": name,
        "webhook-timestamp": str(second),
        "webhook-signature": f"v1,{signature(webhook.secret, name, second, body)}",
    }


def signature(secret: str, name: str, second: int, body: bytes) -> str:
    key = b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = hmac.new(key, f"{name}.{second}.".encode() + body, sha256)
    return b64encode(signed.digest()).decode("ascii")


def secret_of(key: bytes) -> str:
    return SECRET_PREFIX + b64encode(key).decode("ascii")


def switched_off_email(to: str, webhook: Webhook, answer: str, base_url: str) -> Email:
    text = (
        f"Your webhook “{webhook.name}” was switched off, because its calls have failed for long.\n\n"
        f"The last answer: {answer}\n\n"
        f"Look at it, and switch it on again: {base_url}/settings/webhooks/{webhook.id}\n"
    )
    return Email(to, f"Webhook switched off: {webhook.name}", text)


def event_words(events: Iterable[WebhookEvent]) -> str:
    """In one order, as it is stored."""
    chosen: Sequence[WebhookEvent] = [event for event in CHOOSABLE if event in frozenset(events)]
    return " ".join(chosen)
