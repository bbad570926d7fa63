"""What a notification says, by mail and to a webhook."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import lru_cache
from typing import Any, TypeVar

from reedbed.domain.email import Email
from reedbed.domain.errors import Invalid
from reedbed.domain.patterns import compile_pattern
from reedbed.domain.records import record
from reedbed.domain.text import shown_line, storable
from reedbed.domain.times import Instant, rfc3339
from reedbed.domain.urls import MAX_ADDRESS, normalize_url

MAX_CONDITIONS = 20
MAX_ACTIONS = 10
MAX_VALUE = 500
MAX_RULE_NAME = 100
MAX_TAG = 100
MAX_SUBJECT = 20_000
"""Characters of an entry's text that conditions look at."""


class Field(StrEnum):
    FEED = "feed"
    FOLDER = "folder"
    TITLE = "title"
    AUTHOR = "author"
    CONTENT = "content"
    URL = "url"
    LANGUAGE = "language"


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


class Channel(StrEnum):
    MAIL = "mail"
    WEBHOOK = "webhook"
    PUSH = "push"
    PAGE = "page"
    """Shown in the pages that are open, and nowhere else."""


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
    """The tag, or the channel of a notification."""
    url: str = ""
    """Where a webhook is called."""


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
    """How many entries it has met."""
    created_at: Instant


@record
class Subject:
    """An entry as one user sees it."""

    feed_id: int
    feed_title: str = ""
    folders: tuple[tuple[int, str], ...] = ()
    """(id, name) of the folder it lies in and of all folders around that."""
    title: str = ""
    authors: tuple[str, ...] = ()
    content: str = ""
    """Plain text."""
    url: str = ""
    language: str = ""


@record
class PlannedNotice:
    """One notification to send."""

    rule_id: int
    channel: Channel
    url: str = ""


@record
class Effects:
    read: bool = False
    starred: bool = False
    later: bool = False
    muted: bool = False
    tags: tuple[str, ...] = ()
    notify: tuple[PlannedNotice, ...] = ()
    matched: tuple[int, ...] = ()
    """The rules that matched, in order."""

    @property
    def silent(self) -> bool:
        """Whether the entry arrives as read."""
        return self.read or self.muted


def apply(rules: Iterable[Rule], subject: Subject) -> Effects:
    """What these rules, in the user's order, do to an entry."""
    effects = Effects()
    for rule in rules:
        if rule.enabled and matches(rule, subject):
            effects = _with(effects, rule)
            if effects.muted:
                break
    return effects


def matches(rule: Rule, subject: Subject) -> bool:
    if not rule.conditions:
        return False
    answers = (_holds(condition, subject) for condition in rule.conditions)
    return all(answers) if rule.join is Join.ALL else any(answers)


def check_rule(
    name: str, join: str, conditions: Sequence[Condition], actions: Sequence[Action]
) -> tuple[str, Join, tuple[Condition, ...], tuple[Action, ...]]:
    """The parts of a rule, tidied; raises `Invalid` with the field that is wrong."""
    title = shown_line(name)
    if not title:
        raise Invalid("Rule name is required", field="name")
    if len(title) > MAX_RULE_NAME:
        raise Invalid(f"Rule name must be at most {MAX_RULE_NAME} characters", field="name")
    if not 1 <= len(conditions) <= MAX_CONDITIONS:
        raise Invalid(f"A rule needs one to {MAX_CONDITIONS} conditions", field="conditions")
    if not 1 <= len(actions) <= MAX_ACTIONS:
        raise Invalid(f"A rule needs one to {MAX_ACTIONS} actions", field="actions")
    known = _one_of(Join, join, "match")
    return title, known, tuple(map(_checked_condition, conditions)), tuple(map(_checked_action, actions))


def read_condition(field: str, operator: str, value: str) -> Condition:
    """From the words of a request; `not_contains`, `not_regex` and `is_not` turn a condition round."""
    plain = {"is_not": "is", "not_contains": "contains", "not_regex": "regex"}.get(operator)
    return _checked_condition(
        Condition(
            field=_one_of(Field, field, "field"),
            operator=_one_of(Operator, plain or operator, "operator"),
            value=value,
            negated=plain is not None,
        )
    )


def read_action(kind: str, value: str = "", url: str = "") -> Action:
    return _checked_action(Action(_one_of(ActionKind, kind, "action"), value, url))


def operator_word(condition: Condition) -> str:
    """The word `read_condition` would take for it."""
    plain = condition.operator.value
    if not condition.negated:
        return plain
    return "is_not" if condition.operator is Operator.IS else f"not_{plain}"


def reordered(known: Iterable[int], wanted: Sequence[int]) -> dict[int, int]:
    """Rule id to its new position; `wanted` must name every rule once."""
    ids = set(known)
    if len(wanted) != len(ids) or set(wanted) != ids:
        raise Invalid("The order must name every rule once", field="ids")
    return {id: position for position, id in enumerate(wanted)}


def _checked_condition(condition: Condition) -> Condition:
    text = storable(condition.value)
    value = text if condition.operator is Operator.REGEX else text.strip()
    if not value:
        raise Invalid("A condition needs something to look for", field="value")
    if len(value) > MAX_VALUE:
        raise Invalid(f"A condition may have at most {MAX_VALUE} characters", field="value")
    if condition.operator is Operator.REGEX:
        compile_pattern(value)
    by_id = condition.operator is Operator.IS and condition.field in (Field.FEED, Field.FOLDER)
    if by_id and not (value.isascii() and value.isdigit()):
        raise Invalid(f"Choose a {condition.field} by its id", field="value")
    return replace(condition, value=value)


def _checked_action(action: Action) -> Action:
    value = storable(action.value).strip()
    match action.kind:
        case ActionKind.TAG:
            if not value or len(value) > MAX_TAG:
                raise Invalid(f"A tag needs a name of at most {MAX_TAG} characters", field="value")
            return Action(action.kind, value)
        case ActionKind.NOTIFY:
            channel = _one_of(Channel, value, "value")
            return Action(action.kind, channel, _hook(action.url) if channel is Channel.WEBHOOK else "")
        case _:
            return Action(action.kind)


def _hook(url: str) -> str:
    tidy = storable(url).strip()
    if len(tidy) > MAX_ADDRESS or normalize_url(tidy) is None:
        raise Invalid("A webhook needs an address that starts with http:// or https://", field="url")
    return tidy


_Word = TypeVar("_Word", bound=StrEnum)


def _one_of(words: type[_Word], text: str, field: str) -> _Word:
    try:
        return words(text)
    except ValueError:
        raise Invalid(f"Choose one of: {', '.join(words)}", field=field) from None


def _holds(condition: Condition, subject: Subject) -> bool:
    return _finds(condition, subject) != condition.negated


def _finds(condition: Condition, subject: Subject) -> bool:
    match condition.field, condition.operator:
        case Field.FEED, Operator.IS:
            return condition.value == str(subject.feed_id)
        case Field.FOLDER, Operator.IS:
            return any(condition.value == str(id) for id, _ in subject.folders)
        case Field.LANGUAGE, Operator.IS:
            return _same_language(condition.value, subject.language)
        case field, operator:
            return any(_fits(operator, condition.value, text) for text in _texts(field, subject))


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


def _fits(operator: Operator, wanted: str, text: str) -> bool:
    seen = text[:MAX_SUBJECT]
    match operator:
        case Operator.CONTAINS:
            return wanted.casefold() in _folded(seen)
        case Operator.IS:
            return wanted.casefold() == seen.strip().casefold()
        case Operator.REGEX:
            return compile_pattern(wanted).occurs_in(seen)


@lru_cache(maxsize=16)
def _folded(text: str) -> str:
    """Kept for a while, because many rules of many users ask about one entry after the other."""
    return text.casefold()


def _same_language(wanted: str, language: str) -> bool:
    """`de` fits `de-AT`; `de-AT` fits only itself."""
    wish, tongue = wanted.casefold().replace("_", "-"), language.casefold().replace("_", "-")
    return tongue == wish or tongue.startswith(f"{wish}-")


def _with(effects: Effects, rule: Rule) -> Effects:
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
            case _:
                pass
    return effects


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
    """How many entries matched; `entries` may be fewer."""
    entries: Sequence[NoticedEntry]


def notice_email(to: str, notice: RuleNotice, base_url: str) -> Email:
    lines = [f"Your rule “{_line(notice.rule_name)}” has matched {_number(notice.count)}:\n"]
    for entry in notice.entries:
        lines.append(f"{_line(entry.title)}\n{_line(entry.feed_title)}\n{base_url}/entry/{entry.id}\n")
    if notice.count > len(notice.entries):
        lines.append(f"… and {notice.count - len(notice.entries)} more.\n")
    lines.append(f"To change the rule: {base_url}/rules\n")
    return Email(to, _subject(notice), "\n".join(lines))


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


def _subject(notice: RuleNotice) -> str:
    first = _line(notice.entries[0].title)[:_SUBJECT_LENGTH] if notice.entries else ""
    more = f" and {notice.count - 1} more" if notice.count > 1 else ""
    return f"{_line(notice.rule_name)}: {first}{more}"


def _number(count: int) -> str:
    return "one entry" if count == 1 else f"{count} entries"


def _line(text: str) -> str:
    return " ".join(text.split())
