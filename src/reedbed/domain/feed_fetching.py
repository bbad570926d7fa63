"""How one feed is fetched, as its operator says; what is not said is as for every other feed."""

import re
from dataclasses import field
from urllib.parse import urlsplit

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.times import Millis
from reedbed.domain.urls import feed_address

MOST_FAILURES = 1_000
LONGEST_USER_AGENT = 255
LONGEST_CREDENTIAL = 255

HIDDEN = "***"
_SENDABLE = re.compile(r"[\x20-\x7e]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@record
class FeedFetching:
    proxy: str | None = field(default=None, repr=False)
    """May hold a password: `shown_proxy` is for people."""
    user_agent: str | None = None
    username: str | None = None
    has_password: bool = False
    interval: Millis | None = None
    max_failures: int | None = None
    allow_duplicate_urls: bool = False

    @property
    def shown_proxy(self) -> str | None:
        if self.proxy is None or "@" not in self.proxy:
            return self.proxy
        scheme, _, rest = self.proxy.partition("://")
        return f"{scheme}://{HIDDEN}@{rest.rpartition('@')[2]}"


def check_proxy(text: str | None) -> str | None:
    """Scheme, host and port, and credentials where there are some; nothing, for no proxy."""
    if text is None or not text.strip():
        return None
    try:
        parts = urlsplit(feed_address(text))
    except Invalid:
        raise _no_proxy() from None
    if parts.path.strip("/") or parts.query:
        raise _no_proxy()
    return f"{parts.scheme}://{parts.netloc}"


def check_user_agent(text: str | None) -> str | None:
    """What a header can hold, so that it is never left out silently."""
    if text is None or not (line := text.strip()):
        return None
    if len(line) > LONGEST_USER_AGENT or not _SENDABLE.fullmatch(line):
        raise Invalid(
            "The user agent must be one line of at most 255 plain letters, digits and signs.",
            field="user_agent",
        )
    return line


def check_username(text: str | None) -> str | None:
    if text is None or not (name := text.strip()):
        return None
    if len(name) > LONGEST_CREDENTIAL or ":" in name or _CONTROL.search(name):
        raise Invalid(
            "The user name must be one line of at most 255 characters without a colon.", field="username"
        )
    return name


def check_password(text: str | None) -> str | None:
    """As it was typed: spaces may belong to it."""
    if not text:
        return None
    if len(text) > LONGEST_CREDENTIAL or _CONTROL.search(text):
        raise Invalid("The password must be one line of at most 255 characters.", field="password")
    return text


def check_login(username: str | None, password: str | None) -> None:
    if username is None and password is not None:
        raise Invalid("A password needs a user name.", field="username")


def check_failures(count: int | None) -> int | None:
    if count is not None and not 1 <= count <= MOST_FAILURES:
        raise Invalid("The number of failures must be between 1 and 1000.", field="max_failures")
    return count


def _no_proxy() -> Invalid:
    return Invalid("A proxy has an address like http://proxy.example:3128.", field="proxy")
