"""Change events: open pages and workers reload. They may be lost; nothing depends on one arriving."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from reedbed.domain.records import record


@record
class ChangeEvent:
    topic: str
    """new_entry, entry_updated, state_changed, counts, progress, subscriptions, session_revoked, wake ..."""
    user_id: int | None = None
    """Set: only for listeners of this user."""
    feed_id: int | None = None
    """Set: only for listeners of this feed's subscribers."""
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    id: str = ""
    """Set by the bus; the `Last-Event-ID` of a stream."""
