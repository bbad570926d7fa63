"""What cleanups removed, for operators."""

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
    """What the drawing shows, said in one sentence for those who cannot see it."""
    axis: tuple[str, ...]
    """Empty: a figure alone, without a drawing."""
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
    """What to say when there are no rows."""
    numbers: int = 0
    """So many columns at the end are numbers."""

    def is_number(self, place: int) -> bool:
        return place >= len(self.columns) - self.numbers


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
class OperatorPage:
    running: str
    spans: tuple[SelectOption, ...]
    plots: tuple[Plot, ...]
    troubled: tuple[FailingFeedView, ...]
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
