"""View models of the admin pages: charts, failing feeds, jobs, events, tables and cleanups."""

from reedbed.domain.records import record
from reedbed.web.views.layout import Count, SelectOption


@record
class Bar:
    x: str
    y: str
    height: str
    bad: bool = False


@record
class Plot:
    title: str
    figure: str
    note: str
    finding: str
    """The text alternative: what the chart shows, in one sentence."""
    axis: tuple[str, ...]
    """Axis labels; empty: only a figure, no chart."""
    bars: tuple[Bar, ...] = ()
    bar_width: str = "2.5"
    line: str = ""
    area: str = ""
    limit: bool = False


@record
class FailingFeedView:
    id: int
    name: str
    wrong: str
    failures: Count
    readers: Count
    next_try: str
    language: str = ""


@record
class JobView:
    name: str
    held_by: str
    waiting: Count
    oldest: str
    state: str
    """good, waiting or bad"""
    state_word: str


@record
class EventView:
    when: str
    what: str
    who: str


@record
class Sheet:
    """A plain table."""

    id: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    empty: str = ""
    """Shown if there are no rows."""
    numbers: int = 0
    """How many of the last columns are numbers."""

    def is_number(self, column: int) -> bool:
        return column >= len(self.columns) - self.numbers


@record
class Progress:
    name: str
    percent: int


@record
class DatabasePage:
    whole: str
    used: str
    sheets: tuple[Sheet, ...]


@record
class InstancePage:
    running: str
    spans: tuple[SelectOption, ...]
    plots: tuple[Plot, ...]
    failing: tuple[FailingFeedView, ...]
    jobs: tuple[JobView, ...]
    events: tuple[EventView, ...] = ()
    problems: tuple[str, ...] = ()
    progress: tuple[Progress, ...] = ()
    sheets: tuple[Sheet, ...] = ()


@record
class CleanupView:
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
    lines: tuple[CleanupView, ...] = ()
