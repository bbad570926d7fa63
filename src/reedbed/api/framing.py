"""How entries are framed, for those who follow their feeds."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import Field

from reedbed.api.framing_json import ScoresOut, scores_json
from reedbed.domain.framing import Analysis, AnalysisState, band_of
from reedbed.domain.framing_items import CAVEAT
from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.ids import IdPath, JsonId
from reedbed.http.json import json_response, moment
from reedbed.http.models import ApiModel
from reedbed.services.framing import (
    FramingOfFeed,
    framing_of_feed,
    framings_of,
    get_analysis,
    read_again,
    set_wish,
)

router = APIRouter(prefix="/api/v1", tags=["framing"])

MOST_IDS = 200


class AnalysisOut(ScoresOut):
    title: str
    title_reason: str
    description: str
    description_reason: str
    text: str = Field(description="Paragraphs, apart by an empty line.")
    model: str
    language: str | None


class FramingOut(ApiModel):
    status: str = Field(description="ready, pending, failed, or none where nobody has asked")
    analysis: AnalysisOut | None = Field(description="Also while another reading is under way.")
    outdated: bool = Field(description="The entry, the model or the feed's prompt is another one now.")
    made_at: str | None
    error: str | None
    caveat: str


class FramingLine(ApiModel):
    entry_id: str
    title: str = Field(description="In neutral words.")
    description: str
    framing: float
    clickbait: float
    persuasive: float
    hyper_stimulus: float
    speculative: float
    overall: float
    band: str


class ListFramingOut(ApiModel):
    items: list[FramingLine]
    next_cursor: str | None


class AverageOut(ApiModel):
    since: str = Field(description="The first moment of a week.")
    overall: float
    articles: int


class FeedFramingOut(ApiModel):
    enabled: bool = Field(description="This user has it switched on.")
    for_everybody: bool = Field(description="The operator has it read and shows it at /rss.")
    model: str | None
    sends_texts: bool = Field(description="The model is somebody else's: texts leave this server.")
    allowed: bool = Field(description="The preference remote_ai allows that, or nothing is sent.")
    averages: list[AverageOut]
    articles: int = Field(description="Behind the averages.")


class SwitchBody(ApiModel):
    enabled: bool


@router.get(
    "/framing",
    summary="How the entries of a list are framed",
    description="What was not read, or is not yours to see, is left out.",
    responses={200: {"model": ListFramingOut}},
)
async def of_list(
    runtime: RuntimeOf,
    caller: CallerOf,
    entry_ids: Annotated[list[JsonId], Query(max_length=MOST_IDS, description="Entries, at most 200.")],
) -> Response:
    found = await framings_of(runtime, caller.user, entry_ids)
    items = [{"entry_id": str(id_), **_line(analysis)} for id_, analysis in found.items()]
    return json_response({"items": items, "next_cursor": None})


@router.get(
    "/entries/{entry_id}/framing",
    summary="How an entry is framed",
    responses={200: {"model": FramingOut}},
)
async def get(runtime: RuntimeOf, caller: CallerOf, entry_id: IdPath) -> Response:
    return json_response(_state(await get_analysis(runtime, caller.user, entry_id)))


@router.post(
    "/entries/{entry_id}/framing",
    status_code=202,
    summary="Have it read, or read again when the model or the prompt has changed",
    description="What is ready and not outdated stays. An `entry_updated` event tells when to look again.",
    responses={202: {"model": FramingOut}},
)
async def again(runtime: RuntimeOf, caller: CallerOf, entry_id: IdPath) -> Response:
    return json_response(_state(await read_again(runtime, caller.user, entry_id)), 202)


@router.get(
    "/subscriptions/{subscription_id}/framing",
    summary="The framing of a feed: its switch, and its averages by week",
    responses={200: {"model": FeedFramingOut}},
)
async def of_feed(runtime: RuntimeOf, caller: CallerOf, subscription_id: IdPath) -> Response:
    return json_response(_feed(await framing_of_feed(runtime, caller.user, subscription_id)))


@router.put(
    "/subscriptions/{subscription_id}/framing",
    summary="Have the entries of a feed read, or not",
    description="409 when texts would be sent to somebody else's model and `remote_ai` does not allow it.",
    responses={200: {"model": FeedFramingOut}},
)
async def switch(runtime: RuntimeOf, caller: CallerOf, subscription_id: IdPath, body: SwitchBody) -> Response:
    return json_response(_feed(await set_wish(runtime, caller.user, subscription_id, wished=body.enabled)))


def _state(state: AnalysisState) -> dict[str, Any]:
    return {
        "status": state.status,
        "analysis": None if state.analysis is None else analysis_json(state.analysis),
        "outdated": state.outdated,
        "made_at": moment(state.made_at),
        "error": state.error,
        "caveat": CAVEAT,
    }


def _line(found: Analysis) -> dict[str, Any]:
    return {
        "title": found.title,
        "description": found.description,
        **{score.name: score.value for score in (*found.scores, found.overall)},
        "band": band_of(found.overall.value),
    }


def analysis_json(found: Analysis) -> dict[str, Any]:
    return {
        "title": found.title,
        "title_reason": found.title_reason,
        "description": found.description,
        "description_reason": found.description_reason,
        "text": found.text,
        **scores_json(found),
        "model": found.model,
        "language": found.language or None,
    }


def _feed(found: FramingOfFeed) -> dict[str, Any]:
    return {
        "enabled": found.wished,
        "for_everybody": found.for_everybody,
        "model": found.model,
        "sends_texts": found.sends,
        "allowed": found.allowed,
        "averages": [
            {"since": moment(week.since), "overall": week.overall, "articles": week.articles}
            for week in found.averages
        ],
        "articles": found.articles,
    }
