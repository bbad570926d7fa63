"""What cleanups removed, for operators."""

from reedbed.domain.records import record
from reedbed.web.views.frame import Count


@record
class CleanupLine:
    when: str
    took: str
    removed: Count
    unread: Count
    articles: Count
    feeds: Count
    freed: str
    notes: str


@record
class CleanupsPage:
    rules: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    lines: tuple[CleanupLine, ...] = ()
