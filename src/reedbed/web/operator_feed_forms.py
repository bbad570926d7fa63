"""The form of a feed's settings, from what is set or from what was typed, and back."""

from dataclasses import replace

from starlette.datastructures import FormData

from reedbed.domain.errors import Invalid
from reedbed.domain.same import SAME, Same
from reedbed.services.feed_settings import FeedSettings
from reedbed.services.runtime import Runtime
from reedbed.store.operator_feeds import OperatorFeed
from reedbed.web.feed_pages import interval_choices
from reedbed.web.form_values import flag_in, text_in
from reedbed.web.sentences import retell
from reedbed.web.views.frame import Choice
from reedbed.web.views.operator_feeds import OperatorFeedForm

TEXTS = ("proxy", "user_agent", "username", "max_failures", "root_domain", "prompt")
FLAGS = ("polling", "allow_duplicate_urls", "deframe", "enforce_domain")
IMPOSSIBLE = -1
"""Stands for what is no number; the checks below refuse it in their own words."""


def form_of(feed: OperatorFeed, runtime: Runtime) -> OperatorFeedForm:
    fetching = feed.fetching
    return OperatorFeedForm(
        intervals=interval_choices(fetching.interval),
        proxy=fetching.shown_proxy or "",
        user_agent=fetching.user_agent or "",
        username=fetching.username or "",
        has_password=fetching.has_password,
        max_failures="" if fetching.max_failures is None else str(fetching.max_failures),
        usual_failures=str(runtime.fetching.max_failures),
        polling=feed.polling,
        allow_duplicate_urls=fetching.allow_duplicate_urls,
        deframe=feed.deframe,
        root_domain=feed.root_domain or "",
        enforce_domain=feed.enforce_domain,
        prompt=feed.prompt or "",
    )


def settings_of(form: FormData) -> FeedSettings:
    """What the form does not hold stays; an empty text is taken back, but an empty password stays."""
    return FeedSettings(
        proxy=_text(form, "proxy"),
        user_agent=_text(form, "user_agent"),
        username=_text(form, "username"),
        password=_password(form),
        interval=_number(form, "interval"),
        max_failures=_number(form, "max_failures"),
        polling=flag_in(form, "polling"),
        allow_duplicate_urls=flag_in(form, "allow_duplicate_urls"),
        deframe=flag_in(form, "deframe"),
        root_domain=_text(form, "root_domain"),
        enforce_domain=flag_in(form, "enforce_domain"),
        prompt=_text(form, "prompt"),
    )


def typed_form(feed: OperatorFeed, form: FormData, error: Invalid, runtime: Runtime) -> OperatorFeedForm:
    known = form_of(feed, runtime)
    typed = {
        **{name: _text(form, name) for name in TEXTS},
        **{name: flag_in(form, name) for name in FLAGS},
        "intervals": _chosen(known.intervals, _text(form, "interval")),
        "errors": {error.field or "": retell(error.message)},
    }
    return replace(known, **{name: value for name, value in typed.items() if value is not SAME})


def _text(form: FormData, name: str) -> str | Same:
    value = text_in(form, name)
    return SAME if value is None else value


def _password(form: FormData) -> str | Same | None:
    if flag_in(form, "forget_password") is True:
        return None
    return _text(form, "password") or SAME


def _number(form: FormData, name: str) -> int | Same | None:
    text = _text(form, name)
    if isinstance(text, Same) or not text.strip():
        return SAME if isinstance(text, Same) else None
    digits = text.strip()
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 12 else IMPOSSIBLE


def _chosen(choices: tuple[Choice, ...], value: str | Same) -> tuple[Choice, ...]:
    if isinstance(value, Same):
        return choices
    return tuple(replace(one, chosen=one.value == value) for one in choices)
