"""Rules: conditions on new entries, the actions they trigger, and the texts of their notifications."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import lru_cache
from typing import Any, TypeVar

from reedbed.domain.email import Email
from reedbed.domain.errors import Invalid
from reedbed.domain.languages import ENGLISH, Texts
from reedbed.domain.patterns import compile_pattern
from reedbed.domain.records import record
from reedbed.domain.text import clean_line, storable
from reedbed.domain.times import Instant, rfc3339
from reedbed.domain.urls import MAX_URL_LENGTH, normalize_url

MAX_CONDITIONS = 20
MAX_ACTIONS = 10
MAX_VALUE = 500
MAX_RULE_NAME = 100
MAX_TAG = 100
MAX_ID_DIGITS = 15
MAX_SUBJECT = 20_000
"""Conditions check only so many characters of an entry's text."""


class Field(StrEnum):
    FEED = "feed"
    FOLDER = "folder"
    TITLE = "title"
    AUTHOR = "author"
    CONTENT = "content"
    URL = "url"
    LANGUAGE = "language"
    CATEGORY = "category"


class Operator(StrEnum):
    CONTAINS = "contains"
    REGEX = "regex"
    IS = "is"


class ActionKind(StrEnum):
    MARK_READ = "mark_read"
    STAR = "star"
    LATER = "later"
    TAG = "tag"
    MUTE = "mute"
    NOTIFY = "notify"
    SHARE = "share"


class Channel(StrEnum):
    MAIL = "mail"
    WEBHOOK = "webhook"
    PUSH = "push"
    PAGE = "page"
    """Shown in open pages only."""


class Join(StrEnum):
    ALL = "all"
    ANY = "any"


@record
class Condition:
    field: Field
    operator: Operator
    value: str
    negated: bool = False


@record
class Action:
    kind: ActionKind
    value: str = ""
    """The tag, the channel of a notification, or the id of a share target."""
    url: str = ""
    """The URL of the webhook."""


@record
class Rule:
    id: int
    name: str
    conditions: tuple[Condition, ...]
    actions: tuple[Action, ...]
    join: Join = Join.ALL
    enabled: bool = True


@record
class RuleRow:
    """A rule in its user's list."""

    rule: Rule
    position: int
    matched: int
    """The number of entries it has matched."""
    created_at: Instant


@record
class Subject:
    """An entry as one user sees it."""

    feed_id: int
    feed_title: str = ""
    folders: tuple[tuple[int, str], ...] = ()
    """(id, name) of its folder and of all parent folders."""
    title: str = ""
    authors: tuple[str, ...] = ()
    content: str = ""
    """Plain text."""
    url: str = ""
    language: str = ""
    categories: tuple[str, ...] = ()
    """As the feed names them."""


@record
class PlannedNotice:
    """One notification to send."""

    rule_id: int
    channel: Channel
    url: str = ""


@record
class PlannedShare:
    """A service that the entry is sent to."""

    rule_name: str
    target_id: int


@record
class Effects:
    read: bool = False
    starred: bool = False
    later: bool = False
    muted: bool = False
    tags: tuple[str, ...] = ()
    notify: tuple[PlannedNotice, ...] = ()
    share: tuple[PlannedShare, ...] = ()
    matched: tuple[int, ...] = ()
    """The rules that matched, in order."""

    @property
    def silent(self) -> bool:
        """Whether the entry arrives as read."""
        return self.read or self.muted


def apply(rules: Iterable[Rule], subject: Subject) -> Effects:
    """Apply the rules in the user's order. Muting stops the remaining ones."""
    effects = Effects()
    for rule in rules:
        if rule.enabled and matches(rule, subject):
            effects = _with_actions(effects, rule)
            if effects.muted:
                break
    return effects


def matches(rule: Rule, subject: Subject) -> bool:
    if not rule.conditions:
        return False
    results = (_matches_condition(condition, subject) for condition in rule.conditions)
    return all(results) if rule.join is Join.ALL else any(results)


def check_rule(
    name: str, join: str, conditions: Sequence[Condition], actions: Sequence[Action]
) -> tuple[str, Join, tuple[Condition, ...], tuple[Action, ...]]:
    """Validate and normalize the parts of a rule; raises `Invalid` with the wrong field."""
    title = clean_line(name)
    if not title:
        raise Invalid("Rule name is required", field="name")
    if len(title) > MAX_RULE_NAME:
        raise Invalid("Rule name must be at most %(limit)s characters", field="name", limit=MAX_RULE_NAME)
    if not 1 <= len(conditions) <= MAX_CONDITIONS:
        raise Invalid("A rule needs one to %(limit)s conditions", field="conditions", limit=MAX_CONDITIONS)
    if not 1 <= len(actions) <= MAX_ACTIONS:
        raise Invalid("A rule needs one to %(limit)s actions", field="actions", limit=MAX_ACTIONS)
    checked_join = _parse_choice(Join, join, "match")
    return (title, checked_join, tuple(map(_checked_condition, conditions)), tuple(map(_checked_action, actions)))


def read_condition(field: str, operator: str, value: str) -> Condition:
    """Parse a condition of a request. `not_contains`, `not_regex` and `is_not` negate it."""
    plain = {"is_not": "is", "not_contains": "contains", "not_regex": "regex"}.get(operator)
    return _checked_condition(
        Condition(
            field=_parse_choice(Field, field, "field"),
            operator=_parse_choice(Operator, plain or operator, "operator"),
            value=value,
            negated=plain is not None,
        )
    )


def read_action(kind: str, value: str = "", url: str = "") -> Action:
    return _checked_action(Action(_parse_choice(ActionKind, kind, "action"), value, url))


def operator_name(condition: Condition) -> str:
    """The operator as `read_condition` accepts it."""
    plain = condition.operator.value
    if not condition.negated:
        return plain
    return "is_not" if condition.operator is Operator.IS else f"not_{plain}"


def reordered(existing_ids: Iterable[int], ordered_ids: Sequence[int]) -> dict[int, int]:
    """Rule id to its new position; `ordered_ids` must contain every rule once."""
    ids = set(existing_ids)
    if len(ordered_ids) != len(ids) or set(ordered_ids) != ids:
        raise Invalid("The order must name every rule once", field="ids")
    return {rule_id: position for position, rule_id in enumerate(ordered_ids)}


def _checked_condition(condition: Condition) -> Condition:
    text = storable(condition.value)
    value = text if condition.operator is Operator.REGEX else text.strip()
    if not value:
        raise Invalid("A condition needs something to look for", field="value")
    if len(value) > MAX_VALUE:
        raise Invalid("A condition may have at most %(limit)s characters", field="value", limit=MAX_VALUE)
    if condition.operator is Operator.REGEX:
        compile_pattern(value)
    by_id = condition.operator is Operator.IS and condition.field in (Field.FEED, Field.FOLDER)
    if by_id and not (value.isascii() and value.isdigit()):
        raise Invalid("Choose a %(name)s by its id", field="value", name=condition.field)
    return replace(condition, value=value)


def _checked_action(action: Action) -> Action:
    value = storable(action.value).strip()
    match action.kind:
        case ActionKind.TAG:
            if not value or len(value) > MAX_TAG:
                raise Invalid("A tag needs a name of at most %(limit)s characters", field="value", limit=MAX_TAG)
            return Action(action.kind, value)
        case ActionKind.NOTIFY:
            channel = _parse_choice(Channel, value, "value")
            return Action(action.kind, channel, _checked_webhook_url(action.url) if channel is Channel.WEBHOOK else "")
        case ActionKind.SHARE:
            if not (value.isascii() and value.isdigit() and len(value) <= MAX_ID_DIGITS):
                raise Invalid("Choose a service by its id", field="value")
            return Action(action.kind, value)
        case _:
            return Action(action.kind)


def _checked_webhook_url(url: str) -> str:
    clean_url = storable(url).strip()
    if len(clean_url) > MAX_URL_LENGTH or normalize_url(clean_url) is None:
        raise Invalid("A webhook needs an address that starts with http:// or https://", field="url")
    return clean_url


_Enum = TypeVar("_Enum", bound=StrEnum)


def _parse_choice(choices: type[_Enum], text: str, field: str) -> _Enum:
    try:
        return choices(text)
    except ValueError:
        raise Invalid("Choose one of: %(choices)s", field=field, choices=", ".join(choices)) from None


def _matches_condition(condition: Condition, subject: Subject) -> bool:
    return _matches_field(condition, subject) != condition.negated


def _matches_field(condition: Condition, subject: Subject) -> bool:
    match condition.field, condition.operator:
        case Field.FEED, Operator.IS:
            return condition.value == str(subject.feed_id)
        case Field.FOLDER, Operator.IS:
            return any(condition.value == str(id) for id, _ in subject.folders)
        case Field.LANGUAGE, Operator.IS:
            return _same_language(condition.value, subject.language)
        case field, operator:
            return any(_matches_text(operator, condition.value, text) for text in _texts(field, subject))


def _texts(field: Field, subject: Subject) -> tuple[str, ...]:
    match field:
        case Field.FEED:
            return (subject.feed_title,)
        case Field.FOLDER:
            return tuple(name for _, name in subject.folders)
        case Field.TITLE:
            return (subject.title,)
        case Field.AUTHOR:
            return subject.authors
        case Field.CONTENT:
            return (subject.content,)
        case Field.URL:
            return (subject.url,)
        case Field.LANGUAGE:
            return (subject.language,)
        case Field.CATEGORY:
            return subject.categories


def _matches_text(operator: Operator, pattern: str, text: str) -> bool:
    searched = text[:MAX_SUBJECT]
    match operator:
        case Operator.CONTAINS:
            return pattern.casefold() in _folded(searched)
        case Operator.IS:
            return pattern.casefold() == searched.strip().casefold()
        case Operator.REGEX:
            return compile_pattern(pattern).occurs_in(searched)


@lru_cache(maxsize=16)
def _folded(text: str) -> str:
    """Cached, because many rules of many users check the same entry in a row."""
    return text.casefold()


def _same_language(condition_language: str, language: str) -> bool:
    """`de` fits `de-AT`; `de-AT` fits only itself."""
    expected, actual = condition_language.casefold().replace("_", "-"), language.casefold().replace("_", "-")
    return actual == expected or actual.startswith(f"{expected}-")


def _with_actions(effects: Effects, rule: Rule) -> Effects:
    effects = replace(effects, matched=(*effects.matched, rule.id))
    for action in rule.actions:
        match action.kind:
            case ActionKind.MARK_READ:
                effects = replace(effects, read=True)
            case ActionKind.STAR:
                effects = replace(effects, starred=True)
            case ActionKind.LATER:
                effects = replace(effects, later=True)
            case ActionKind.MUTE:
                effects = replace(effects, muted=True)
            case ActionKind.TAG if action.value not in effects.tags:
                effects = replace(effects, tags=(*effects.tags, action.value))
            case ActionKind.NOTIFY:
                notice = PlannedNotice(rule.id, Channel(action.value), action.url)
                effects = replace(effects, notify=(*effects.notify, notice))
            case ActionKind.SHARE:
                effects = replace(effects, share=(*effects.share, PlannedShare(rule.name, int(action.value))))
            case _:
                pass
    return effects


# --- Notifications

_SUBJECT_LENGTH = 120


@record
class NoticedEntry:
    id: int
    title: str
    url: str | None
    feed_title: str
    published_at: Instant | None


@record
class RuleNotice:
    rule_id: int
    rule_name: str
    count: int
    """The number of matched entries; `entries` may list fewer."""
    entries: Sequence[NoticedEntry]


def notice_email(to: str, notice: RuleNotice, base_url: str, texts: Texts = ENGLISH) -> Email:
    name, rest = _line(notice.rule_name), notice.count - len(notice.entries)
    opening = texts.ngettext(
        "Your rule “%(name)s” has matched %(num)s entry:",
        "Your rule “%(name)s” has matched %(num)s entries:",
        notice.count,
        name=name,
    )
    lines = [f"{opening}\n"]
    for entry in notice.entries:
        lines.append(f"{_line(entry.title)}\n{_line(entry.feed_title)}\n{base_url}/entry/{entry.id}\n")
    if rest > 0:
        lines.append(f"{texts.ngettext('… and %(num)s more', '… and %(num)s more', rest)}\n")
    lines.append(f"{texts.translate('To change the rule:')} {base_url}/rules\n")
    return Email(to, f"{name}: {_subject(notice, texts)}", "\n".join(lines))


def notice_json(notice: RuleNotice) -> dict[str, Any]:
    return {
        "event": "rule_match",
        "rule": {"id": str(notice.rule_id), "name": notice.rule_name},
        "count": notice.count,
        "entries": entries_json(notice.entries),
    }


def entries_json(entries: Sequence[NoticedEntry]) -> list[dict[str, Any]]:
    return [
        {
            "id": str(entry.id),
            "title": entry.title,
            "url": entry.url,
            "feed_title": entry.feed_title,
            "published_at": None if entry.published_at is None else rfc3339(entry.published_at),
        }
        for entry in entries
    ]


def _subject(notice: RuleNotice, texts: Texts) -> str:
    first = _line(notice.entries[0].title)[:_SUBJECT_LENGTH] if notice.entries else ""
    if notice.count <= 1:
        return first
    return texts.ngettext("%(title)s and %(num)s more", "%(title)s and %(num)s more", notice.count - 1, title=first)


def _line(text: str) -> str:
    return " ".join(text.split())
