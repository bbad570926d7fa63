"""Webhooks: URLs of a user that are called when something happens.

Calls are signed as specified by Standard Webhooks: a signature over the call's id, the timestamp and the
body, with a secret that the user has. The receiver can check that a call is genuine, recent and no replay.
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
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.languages import ENGLISH, Texts
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import is_retryable
from reedbed.domain.text import storable
from reedbed.domain.times import DAY, HOUR, Instant, Millis
from reedbed.domain.urls import MAX_URL_LENGTH, normalize_url

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
    """Empty if it cannot be decrypted with the current key."""
    events: frozenset[WebhookEvent]
    """Empty: only called by rules that name its URL."""
    enabled: bool
    created_at: Instant
    failing_since: Instant | None
    disabled_at: Instant | None
    """When it was disabled after failing for a long time."""


@record
class Delivery:
    """One event to deliver to a webhook."""

    id: int
    user_id: int
    webhook_id: int
    event: WebhookEvent
    subject: Mapping[str, Any]
    state: str
    """waiting, delivered or failed."""
    tries: int
    status: int | None
    answer: Failure | None
    created_at: Instant
    tried_at: Instant | None
    next_at: Instant | None


@record
class Outcome:
    """The result of one call."""

    status: int | None
    answer: Failure | None
    again: bool
    """Whether a retry may succeed."""

    @property
    def good(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def check_url(url: str) -> str:
    clean_url = storable(url).strip()
    if len(clean_url) > MAX_URL_LENGTH or normalize_url(clean_url) is None:
        raise Invalid("A webhook needs an address that starts with http:// or https://", field="url")
    return clean_url


def check_name(name: str, url: str) -> str:
    """Defaults to the URL."""
    clean_name = " ".join(storable(name).split()) or url.partition("://")[2][:MAX_NAME]
    if len(clean_name) > MAX_NAME:
        raise Invalid("The name must have at most %(limit)s characters.", field="name", limit=MAX_NAME)
    return clean_name


def read_events(names: Iterable[str]) -> frozenset[WebhookEvent]:
    requested = frozenset(names)
    if not requested <= frozenset(CHOOSABLE):
        raise Invalid("Events are %(choices)s.", field="events", choices=", ".join(CHOOSABLE))
    return frozenset(WebhookEvent(name) for name in requested)


def delivery_outcome(status: int) -> Outcome:
    if 200 <= status < 300:
        return Outcome(status, None, again=False)
    return Outcome(status, Failure(FailureCode.WEBHOOK_STATUS, {"status": status}), again=is_retryable(status))


def is_dead(outcome: Outcome, failing_since: Instant | None, now: Instant) -> bool:
    """Whether to disable it: it returned 410, or has failed for too long."""
    if outcome.good:
        return False
    return outcome.status == GONE or (failing_since is not None and now - failing_since >= LONG_FAILURE)


def headers_for(webhook: Webhook, delivery: Delivery, body: bytes, timestamp: int) -> dict[str, str]:
    """The `webhook-…` headers of the Standard Webhooks specification."""
    call_id = f"reedbed_{delivery.id}"
    return {
        "Content-Type": "application/json",
        "webhook-id": call_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{signature(webhook.secret, call_id, timestamp, body)}",
    }


def signature(secret: str, call_id: str, timestamp: int, body: bytes) -> str:
    key = b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = hmac.new(key, f"{call_id}.{timestamp}.".encode() + body, sha256)
    return b64encode(signed.digest()).decode("ascii")


def secret_of(key: bytes) -> str:
    return SECRET_PREFIX + b64encode(key).decode("ascii")


def switched_off_email(
    to: str, webhook: Webhook, last_answer: Failure | None, base_url: str, texts: Texts = ENGLISH
) -> Email:
    parts = [
        texts.translate(
            "Your webhook “%(name)s” was switched off, because its calls failed for a long time.", name=webhook.name
        )
    ]
    if last_answer is not None:
        parts.append(f"{texts.translate('The last answer:')} {texts.explain(last_answer)}")
    again = texts.translate("Look at it, and switch it on again:")
    parts.append(f"{again} {base_url}/settings/webhooks/{webhook.id}\n")
    return Email(to, texts.translate("Webhook switched off: %(name)s", name=webhook.name), "\n\n".join(parts))


def event_words(events: Iterable[WebhookEvent]) -> str:
    """In a fixed order, as stored."""
    ordered: Sequence[WebhookEvent] = [event for event in CHOOSABLE if event in frozenset(events)]
    return " ".join(ordered)
