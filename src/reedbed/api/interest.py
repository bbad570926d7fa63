"""The order by interest: what was seen, what the model believes and why, and what the user corrects."""

from collections.abc import AsyncGenerator
from typing import Annotated, Literal

from fastapi import Response
from pydantic import Field

from reedbed.domain.interest.model import Belief, ScoreTerm
from reedbed.domain.records import record
from reedbed.domain.text import storable
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel, JsonId, ResponseModel, to_json
from reedbed.http.params import IdPath
from reedbed.http.responses import ApiRouter, Json, download
from reedbed.services.interest import (
    MAX_REPORTED,
    Glimpse,
    InterestReport,
    explain_entry,
    get_report,
    report_seen,
    reset,
    set_pin,
)

router = ApiRouter(prefix="/api/v1/interest", tags=["interest"])

SHOWN = 50
PinName = Literal["", "more", "less", "never"]
Kind = Annotated[
    str,
    Field(max_length=20, description="source, author, word, phrase, section, language or length", examples=["word"]),
]
Label = Annotated[
    str, Field(max_length=200, description="What the page shows; of a source, the feed_id.", examples=["bridge"])
]


@record
class BeliefResponse(ResponseModel):
    kind: Kind
    value: Annotated[str, Field(description="With the kind, names it in `PUT …/pins`.")]
    label: Annotated[str, Field(description="As written; of a source, its title.")]
    weight: Annotated[float, Field(description="What it adds to the log odds that you choose an entry.")]
    seen: Annotated[float, Field(description="Your acts on entries with it, by their strength.")]
    liked: Annotated[float, Field(description="Those of them that say that you like it.")]
    pin: Annotated[str, Field(description="more, less, never or empty")]


@record
class RatesResponse(ResponseModel):
    pairs: Annotated[int, Field(description="Of an entry you chose and one you passed by in the same session.")]
    model: Annotated[
        float, Field(description="Share in which the chosen one had the higher score before it was learnt.")
    ]
    time: Annotated[float, Field(description="Share in which the chosen one was newer.")]


@record
class InterestResponse(ResponseModel):
    verdict: Annotated[
        str,
        Field(
            description="learning: too few acts; uniform: all chosen, or one source only; no better: than time order. "
            "In these cases lists with `order=interest` are ordered by time. unmeasured and better: they follow it."
        ),
    ]
    chosen: int
    passed: int
    needed: Annotated[int, Field(description="Acts after which lists may follow it.")]
    rates: RatesResponse | None
    likes: list[BeliefResponse]
    dislikes: list[BeliefResponse]
    pins: list[BeliefResponse]


@record
class TermResponse(ResponseModel):
    kind: Annotated[str, Field(description="As in beliefs; base: how often you choose anything.")]
    value: str
    label: str
    adds: float
    pin: Annotated[str, Field(description="more, less, never or empty")]


@record
class ExplanationResponse(ResponseModel):
    verdict: str
    score: Annotated[float, Field(description="Log odds that you choose the entry when it is on the screen.")]
    terms: Annotated[list[TermResponse], Field(description="They add up to the score.")]


class GlimpseRequest(ApiModel):
    entry_id: JsonId
    ms: int = Field(ge=0, le=86_400_000, description="How long its row was on the screen.")


class SeenRequest(ApiModel):
    passed: list[GlimpseRequest] = Field(
        default_factory=list[GlimpseRequest], max_length=MAX_REPORTED, description="Rows that were not opened."
    )
    read: list[JsonId] = Field(
        default_factory=list[JsonId], max_length=MAX_REPORTED, description="Entries that were open for ten seconds."
    )


@record
class LearntResponse(ResponseModel):
    learnt: Annotated[int, Field(description="Each act on an entry teaches once.")]


class PinRequest(ApiModel):
    kind: Kind
    label: Label
    pin: PinName = Field(description="never: it is not used; empty: the model decides again.")


@record
class PinResponse(ResponseModel):
    before: Annotated[str, Field(description="What was set before, to undo it.")]


@router.get("", summary="Get what Reedbed believes about your interest, and how well that does")
async def get(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[InterestResponse]:
    async with runtime.db.read() as tx:
        report = await get_report(tx, caller.user_id)
    return Json(interest_response(report))


def interest_response(report: InterestReport) -> InterestResponse:
    likes = [belief for belief in report.beliefs if belief.weight > 0 and not belief.pin]
    dislikes = [belief for belief in reversed(report.beliefs) if belief.weight < 0 and not belief.pin]
    return InterestResponse.of(
        report,
        rates=None if report.rates is None else RatesResponse.of(report.rates),
        likes=[_belief(belief) for belief in likes[:SHOWN]],
        dislikes=[_belief(belief) for belief in dislikes[:SHOWN]],
        pins=[_belief(belief) for belief in report.beliefs if belief.pin],
    )


def _belief(belief: Belief) -> BeliefResponse:
    return BeliefResponse.of(belief)


@router.delete("", status_code=204, summary="Forget everything that was learnt and set")
async def delete(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    await reset(runtime, caller.user_id)
    return Response(status_code=204)


@router.get("/export", summary="Export everything that was learnt as JSON")
async def export(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    async with runtime.db.read() as tx:
        report = await get_report(tx, caller.user_id)
    return download(_one(interest_json(report)), "interest.json", "application/json")


async def _one(part: bytes) -> AsyncGenerator[bytes]:
    yield part


def interest_json(report: InterestReport) -> bytes:
    """All beliefs, not only the strongest."""
    rates = None if report.rates is None else RatesResponse.of(report.rates)
    fields = {"verdict": report.verdict, "chosen": report.chosen, "passed": report.passed, "rates": rates}
    return to_json({**fields, "beliefs": [_belief(belief) for belief in report.beliefs]})


@router.post("/seen", summary="Tell which rows were passed by on the screen, and which entries were read")
async def seen(runtime: CurrentRuntime, caller: CurrentCaller, body: SeenRequest) -> Json[LearntResponse]:
    glimpses = [Glimpse(one.entry_id, one.ms) for one in body.passed]
    learnt = await report_seen(runtime, caller.user_id, passed=glimpses, read=body.read)
    return Json(LearntResponse(learnt))


@router.put("/pins", summary="Say of a reason: more, less, or never use it")
async def pin(runtime: CurrentRuntime, caller: CurrentCaller, body: PinRequest) -> Json[PinResponse]:
    return Json(PinResponse(await set_pin(runtime, caller.user_id, body.kind, storable(body.label), body.pin)))


@router.get("/entries/{entry_id}", summary="Explain the score of an entry")
async def explanation(runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Json[ExplanationResponse]:
    explained = await explain_entry(runtime, caller.user_id, entry_id)
    terms = [_term(term) for term in explained.terms]
    return Json(ExplanationResponse(explained.verdict, explained.score, terms))


def _term(term: ScoreTerm) -> TermResponse:
    feature = term.feature
    return TermResponse(feature.kind, feature.value, feature.label, term.value, term.pin)
