"""What a notification says, by mail and to a webhook."""

from collections.abc import Sequence
from typing import Any

from reedbed.domain.letters import Letter
from reedbed.domain.records import record
from reedbed.domain.times import Instant, rfc3339

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


def notice_letter(to: str, notice: RuleNotice, base_url: str) -> Letter:
    lines = [f"Your rule “{_line(notice.rule_name)}” has matched {_number(notice.count)}:\n"]
    for entry in notice.entries:
        lines.append(f"{_line(entry.title)}\n{_line(entry.feed_title)}\n{base_url}/entry/{entry.id}\n")
    if notice.count > len(notice.entries):
        lines.append(f"… and {notice.count - len(notice.entries)} more.\n")
    lines.append(f"To change the rule: {base_url}/rules\n")
    return Letter(to, _subject(notice), "\n".join(lines))


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
