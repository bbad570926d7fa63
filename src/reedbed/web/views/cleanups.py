"""What cleanups removed, for operators."""

from dataclasses import dataclass

from reedbed.web.views.frame import Count


@dataclass(frozen=True, slots=True)
class CleanupLine:
    when: str
    took: str
    removed: Count
    unread: Count
    articles: Count
    feeds: Count
    freed: str
    notes: str


@dataclass(frozen=True, slots=True)
class CleanupsPage:
    rules: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    lines: tuple[CleanupLine, ...] = ()
