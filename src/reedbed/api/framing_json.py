"""The scores of a framing in JSON, for readers and for the public doors."""

from typing import Any

from pydantic import Field

from reedbed.domain.framing import Analysis, band_of
from reedbed.http.models import ApiModel


class ScoreOut(ApiModel):
    score: float = Field(ge=0, le=1)
    reason: str
    quote: str = Field(description="The passage that earned it, word for word; may be empty.")


class ScoresOut(ApiModel):
    framing: ScoreOut
    clickbait: ScoreOut
    persuasive: ScoreOut
    hyper_stimulus: ScoreOut
    speculative: ScoreOut
    overall: ScoreOut
    band: str = Field(description="calm, mixed or loud")
    category: str


def scores_json(found: Analysis) -> dict[str, Any]:
    scores = {
        score.name: {"score": score.value, "reason": score.reason, "quote": score.quote}
        for score in (*found.scores, found.overall)
    }
    return {**scores, "band": band_of(found.overall.value), "category": found.category}
