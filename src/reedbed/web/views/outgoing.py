"""What leaves the house: webhooks with their log, and services that links are sent to."""

from collections.abc import Mapping
from dataclasses import field

from reedbed.domain.records import record
from reedbed.web.views.frame import Choice
from reedbed.web.views.settings import Saved


@record
class WebhookLine:
    id: int
    name: str
    url: str
    events: str
    state: str
    kind: str
    """good, warn or bad: how the state is to be shown."""


@record
class WebhookCall:
    event: str
    when: str
    state: str
    kind: str
    detail: str


@record
class OneWebhook:
    line: WebhookLine
    events: tuple[Choice, ...]
    calls: tuple[WebhookCall, ...]
    enabled: bool


@record
class WebhooksSettings:
    webhooks: tuple[WebhookLine, ...]
    events: tuple[Choice, ...]
    """For a new one."""
    one: OneWebhook | None = None
    made: Saved | None = None
    name: str = ""
    url: str = ""
    error: str = ""
    errors: Mapping[str, str] = field(default_factory=dict[str, str])
    """By the field of the form; then `name`, `url` and `events` are what was typed."""


@record
class ShareTargetLine:
    id: int
    name: str
    kind: str
    url: str
    used: str
    problem: str = ""


@record
class SecretField:
    name: str
    label: str
    hidden: bool


@record
class ShareSettings:
    targets: tuple[ShareTargetLine, ...]
    kinds: tuple[Choice, ...]
    """Each with the address of its form; the chosen one's is shown."""
    fields: tuple[SecretField, ...]
    name: str = ""
    url: str = ""
    errors: Mapping[str, str] = field(default_factory=dict[str, str])


@record
class SharePage:
    """One entry, and the ways it can go."""

    entry_id: int
    title: str
    address: str
    letter: str
    targets: tuple[Choice, ...]
