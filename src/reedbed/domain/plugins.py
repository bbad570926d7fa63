"""Plugins: Python code that the operator has installed, its hooks, and when a failing plugin is switched off."""

from collections.abc import Mapping
from typing import Any, cast

from reedbed.domain.feeds import ParsedEntry
from reedbed.domain.records import record

HOOKS_VERSION = 1
"""A plugin for another version is refused."""
HOOKS = ("fetch_source", "entry_arriving", "connector", "ask_model")
MAX_FAULTS = 5
"""In a row. One call that does not end is enough."""
MAX_TEXT = 5_000_000
MAX_CATEGORIES = 50
MAX_FAULT = 300


@record
class PluginState:
    """What the operator sees of a plugin."""

    name: str
    package: str = ""
    """The distribution that brings it, with its version."""
    hooks: tuple[str, ...] = ()
    is_on: bool = True
    fault: str = ""
    """The last one, as the plugin's code wrote it."""


class Drop:
    """The answer of `entry_arriving` that keeps an entry out."""


DROP = Drop()


def entry_for_plugin(entry: ParsedEntry, feed_url: str) -> dict[str, Any]:
    return {
        "feed_url": feed_url,
        "guid": entry.guid or "",
        "url": entry.url or "",
        "title": entry.title,
        "content": entry.content,
        "authors": [author.name for author in entry.authors if author.name],
        "categories": list(entry.categories),
        "language": entry.language or "",
    }


def changed_entry(entry: ParsedEntry, answer: object) -> ParsedEntry | Drop:
    """Apply what `entry_arriving` returned. Raises `ValueError` for an answer that means nothing."""
    if answer is None:
        return entry
    if answer is False:
        return DROP
    if not isinstance(answer, Mapping):
        raise ValueError("entry_arriving must return None, False or a dict")
    changes = cast(Mapping[str, object], answer)
    unknown = set(changes) - {"title", "content", "categories"}
    if unknown:
        raise ValueError(f"entry_arriving cannot change {', '.join(sorted(map(str, unknown)))}")
    return entry._replace(
        title=_text(changes.get("title", entry.title), "title"),
        content=_text(changes.get("content", entry.content), "content"),
        categories=_categories(changes.get("categories", entry.categories)),
    )


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise ValueError(f"{name} must be a text of at most {MAX_TEXT} characters")
    return value


def _categories(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError("categories must be a list of texts")
    names = cast(list[object], value)
    if len(names) > MAX_CATEGORIES or not all(isinstance(name, str) for name in names):
        raise ValueError(f"categories must be a list of at most {MAX_CATEGORIES} texts")
    return tuple(map(str, names))
