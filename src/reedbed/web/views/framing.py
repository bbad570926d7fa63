"""How a framing is drawn: five reeds whose height is the score, and the scores with their quotes."""

from collections.abc import Sequence
from typing import Final

from reedbed.domain.records import record

_TALLEST: Final = 14.0
_APART: Final = 4
_SHORTEST: Final = 0.6


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
    reeds: ScoreBars
    number: str
    scores: tuple[ScoreView, ...]
    by: str
    when: str
    reason: str = ""
    """Of the whole."""


@record
class FramingBlock:
    """What stands below an article's title: the meter, a sentence about its making, or both."""

    framing: Framing | None = None
    note: str = ""
    waits: bool = False
    """Another look may show more."""
    act: str = ""
    """What the button is called that has it read again; empty: there is none."""


@record
class FramingAnswer:
    """What `reading/framing.html` needs when it is the whole answer; given to it as `article`."""

    id: int
    framing: FramingBlock


@record
class Neutral:
    """What is told below a text in neutral words."""

    by: str
    title: str
    """The original one."""
    reasons: tuple[str, ...] = ()


def reeds(band: str, word: str, scores: Sequence[float]) -> ScoreBars:
    """Draw the scores (0 to 1, in their fixed order) on a canvas 14 units high."""
    return ScoreBars(
        band=band, word=word, stems=tuple(_reed(place, score) for place, score in enumerate(scores))
    )


def _reed(place: int, score: float) -> ScoreBar:
    height = max(_SHORTEST, min(1.0, score) * _TALLEST)
    return ScoreBar(x=place * _APART, y=f"{_TALLEST - height:.1f}", height=f"{height:.1f}")
