"""The operator's overview. A plot arrives as drawn paths on a canvas of 100 by 40."""

from dataclasses import dataclass

from reedbed.web.views.frame import Choice, Count


@dataclass(frozen=True, slots=True)
class Bar:
    x: str
    y: str
    height: str
    bad: bool = False


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class TroubledFeed:
    id: int
    name: str
    wrong: str
    failures: Count
    readers: Count
    next_try: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    name: str
    held_by: str
    waiting: Count
    oldest: str
    state: str
    """good, waiting or bad"""
    state_word: str


@dataclass(frozen=True, slots=True)
class Event:
    when: str
    what: str
    who: str


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Progress:
    name: str
    percent: int


@dataclass(frozen=True, slots=True)
class DatabasePage:
    whole: str
    used: str
    sheets: tuple[Sheet, ...]


@dataclass(frozen=True, slots=True)
class OperatorPage:
    running: str
    spans: tuple[Choice, ...]
    plots: tuple[Plot, ...]
    troubled: tuple[TroubledFeed, ...]
    jobs: tuple[Job, ...]
    events: tuple[Event, ...] = ()
    problems: tuple[str, ...] = ()
    progress: tuple[Progress, ...] = ()
    sheets: tuple[Sheet, ...] = ()
