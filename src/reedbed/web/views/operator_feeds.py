"""The operator's pages about feeds: the list of all shared ones, and one with its settings."""

from collections.abc import Mapping
from dataclasses import field

from reedbed.domain.records import record
from reedbed.web.views.frame import Choice, FeedMark, Pages
from reedbed.web.views.operator import Plot


@record
class OperatorFeedLine:
    id: int
    name: str
    url: str
    address: str
    """The same, as short as it can be shown."""
    mark: FeedMark
    state: str
    """good, waiting or bad"""
    state_word: str
    why: str
    enabled: bool
    language: str = ""


@record
class OperatorFeedsPage:
    search: str
    statuses: tuple[Choice, ...]
    lines: tuple[OperatorFeedLine, ...]
    pages: Pages
    empty: str = ""


@record
class OperatorFeedForm:
    """What is set, or what was typed and refused; a password is never among it."""

    intervals: tuple[Choice, ...]
    proxy: str = ""
    user_agent: str = ""
    username: str = ""
    has_password: bool = False
    max_failures: str = ""
    usual_failures: str = ""
    polling: bool = False
    allow_duplicate_urls: bool = False
    deframe: bool = False
    root_domain: str = ""
    enforce_domain: bool = False
    prompt: str = ""
    errors: Mapping[str, str] = field(default_factory=dict[str, str])


@record
class OperatorFeedPage:
    feed: OperatorFeedLine
    facts: tuple[tuple[str, str], ...]
    form: OperatorFeedForm
    spans: tuple[Choice, ...]
    plots: tuple[Plot, ...]
