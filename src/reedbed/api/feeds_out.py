"""A feed as the API shows it, with its fetch state nested."""

from typing import Any

from reedbed.domain.checks import FetchState
from reedbed.domain.schedule import explain
from reedbed.domain.subscriptions import FollowedFeed
from reedbed.http.json import moment
from reedbed.http.models import ApiModel


class FetchStateOut(ApiModel):
    status: str
    etag: str | None
    last_modified: str | None
    cache_control: str | None
    expires_at: str | None
    retry_after_until: str | None
    last_checked_at: str | None
    next_check_at: str | None
    next_check_reason: str | None
    last_http_status: int | None
    last_success_at: str | None
    last_error_at: str | None
    last_error: str | None
    consecutive_failures: int
    stopped_at: str | None
    stop_reason: str | None


class FeedOut(ApiModel):
    id: str
    url: str
    title: str
    site_url: str | None
    description: str | None
    language: str | None
    icon_url: str | None
    kind: str
    enabled: bool
    private: bool
    username: str | None
    has_password: bool
    fetch_state: FetchStateOut


def feed_json(feed: FollowedFeed) -> dict[str, Any]:
    return {
        "id": str(feed.id),
        "url": feed.url,
        "title": feed.title,
        "site_url": feed.site_url,
        "description": feed.description,
        "language": feed.language,
        "icon_url": None if feed.icon_id is None else f"/icons/{feed.icon_id}",
        "kind": feed.kind,
        "enabled": feed.enabled,
        "private": feed.private,
        "username": feed.username,
        "has_password": feed.has_password,
        "fetch_state": _state_json(feed.state),
    }


def _state_json(state: FetchState) -> dict[str, Any]:
    return {
        "status": state.status,
        "etag": state.etag,
        "last_modified": state.last_modified,
        "cache_control": state.cache_control,
        "expires_at": moment(state.expires_at),
        "retry_after_until": moment(state.retry_after_until),
        "last_checked_at": moment(state.last_checked_at),
        "next_check_at": moment(state.next_check_at),
        "next_check_reason": _reason(state),
        "last_http_status": state.last_http_status,
        "last_success_at": moment(state.last_success_at),
        "last_error_at": moment(state.last_error_at),
        "last_error": state.last_error,
        "consecutive_failures": state.consecutive_failures,
        "stopped_at": moment(state.stopped_at),
        "stop_reason": state.stop_reason,
    }


def _reason(state: FetchState) -> str | None:
    if state.next_check_rule is None or state.next_check_delay is None:
        return None
    return explain(state.next_check_rule, state.next_check_delay)
