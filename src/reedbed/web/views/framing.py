"""View models of framing scores, including the small bar chart."""

from collections.abc import Sequence
from typing import Final

from reedbed.domain.records import record

_MAX_HEIGHT: Final = 14.0
_SPACING: Final = 4
_MIN_HEIGHT: Final = 0.6


@record
class ScoreBar:
    x: int
    y: str
    height: str


@record
class ScoreBars:
    band: str
    word: str
    stems: tuple[ScoreBar, ...]


@record
class ScoreView:
    name: str
    band: str
    number: str
    percent: int
    reason: str = ""
    quote: str = ""
    language: str = ""


@record
class Framing:
    score_bars: ScoreBars
    number: str
    scores: tuple[ScoreView, ...]
    by: str
    when: str
    reason: str = ""
    """The reason for the overall score."""


@record
class FramingBlock:
    """The block below an article's title: the scores, a status message, or both."""

    framing: Framing | None = None
    note: str = ""
    waits: bool = False
    """The analysis is pending: the page polls again."""
    act: str = ""
    """The label of the button that requests a new analysis; empty: no button."""


@record
class FramingAnswer:
    """What `entries/framing.html` needs when rendered alone; passed as `article`."""

    id: int
    framing: FramingBlock


@record
class Neutral:
    """The note below a text in neutral wording."""

    by: str
    title: str
    """The original title."""
    reasons: tuple[str, ...] = ()


def score_bars(band: str, word: str, scores: Sequence[float]) -> ScoreBars:
    """Draw the scores (0 to 1, in their fixed order) on a canvas 14 units high."""
    return ScoreBars(band=band, word=word, stems=tuple(_score_bar(index, score) for index, score in enumerate(scores)))


def _score_bar(index: int, score: float) -> ScoreBar:
    height = max(_MIN_HEIGHT, min(1.0, score) * _MAX_HEIGHT)
    return ScoreBar(x=index * _SPACING, y=f"{_MAX_HEIGHT - height:.1f}", height=f"{height:.1f}")
