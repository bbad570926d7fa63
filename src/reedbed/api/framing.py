"""Framing analyses of entries and feeds, and the public deframer (`/rss`, `/api/item`, `/api/site`)."""

from email.utils import format_datetime, parsedate_to_datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field

from reedbed.domain.framing import CAVEAT, Analysis, AnalysisState, FramedFeed, FramedItem, score_band
from reedbed.domain.times import Instant, from_datetime, to_datetime
from reedbed.http.auth import CurrentCaller, CurrentRuntime, client_ip
from reedbed.http.models import ApiModel
from reedbed.http.params import IdPath, JsonId
from reedbed.http.responses import json_response, moment
from reedbed.services.framing.manage import (
    FramingOfFeed,
    framing_of_feed,
    framings_of,
    get_analysis,
    request_analysis,
    set_analysis_request,
)
from reedbed.services.framing.public import ServedDocument, read_document, read_item, read_site
from reedbed.services.security import network_of, spend


class ScoreResponse(ApiModel):
    score: float = Field(ge=0, le=1)
    reason: str
    quote: str = Field(description="The passage behind the score, verbatim; may be empty.")


class ScoresResponse(ApiModel):
    framing: ScoreResponse
    clickbait: ScoreResponse
    persuasive: ScoreResponse
    hyper_stimulus: ScoreResponse
    speculative: ScoreResponse
    overall: ScoreResponse
    band: str = Field(description="calm, mixed or loud")
    category: str


def scores_json(analysis: Analysis) -> dict[str, Any]:
    scores = {
        score.name: {"score": score.value, "reason": score.reason, "quote": score.quote}
        for score in (*analysis.scores, analysis.overall)
    }
    return {**scores, "band": score_band(analysis.overall.value), "category": analysis.category}


# --- User API

router = APIRouter(prefix="/api/v1", tags=["framing"])

MAX_IDS = 200


class AnalysisResponse(ScoresResponse):
    title: str
    title_reason: str
    description: str
    description_reason: str
    text: str = Field(description="Paragraphs, separated by an empty line.")
    model: str
    language: str | None


class FramingResponse(ApiModel):
    status: str = Field(description="ready, pending, failed, or none if never requested")
    analysis: AnalysisResponse | None = Field(
        description="The latest analysis; stays while a new one is pending."
    )
    outdated: bool = Field(description="The entry, the model or the feed's prompt changed since.")
    made_at: str | None
    error: str | None
    caveat: str


class FramingStatusResponse(ApiModel):
    entry_id: str
    title: str = Field(description="Neutral wording.")
    description: str
    framing: float
    clickbait: float
    persuasive: float
    hyper_stimulus: float
    speculative: float
    overall: float
    band: str


class ListFramingResponse(ApiModel):
    items: list[FramingStatusResponse]
    next_cursor: str | None


class AverageResponse(ApiModel):
    since: str = Field(description="Start of the week.")
    overall: float
    articles: int


class FeedFramingResponse(ApiModel):
    enabled: bool = Field(description="This user turned it on.")
    for_everybody: bool = Field(description="The operator turned it on and publishes it at /rss.")
    model: str | None
    sends_texts: bool = Field(description="The model is remote: texts leave this server.")
    allowed: bool = Field(description="remote_ai allows it, or the model is local.")
    averages: list[AverageResponse]
    articles: int = Field(description="Number of articles in the averages.")


class SwitchRequest(ApiModel):
    enabled: bool


@router.get(
    "/framing",
    summary="List framing scores of entries",
    description="Leaves out entries without an analysis and entries you cannot see.",
    responses={200: {"model": ListFramingResponse}},
)
async def of_list(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    entry_ids: Annotated[list[JsonId], Query(max_length=MAX_IDS, description="At most 200 entry ids.")],
) -> Response:
    analyses = await framings_of(runtime, caller.user, entry_ids)
    items = [{"entry_id": str(id_), **_status_json(analysis)} for id_, analysis in analyses.items()]
    return json_response({"items": items, "next_cursor": None})


@router.get(
    "/entries/{entry_id}/framing",
    summary="Get the framing analysis of an entry",
    responses={200: {"model": FramingResponse}},
)
async def get(runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Response:
    return json_response(_state_json(await get_analysis(runtime, caller.user, entry_id)))


@router.post(
    "/entries/{entry_id}/framing",
    status_code=202,
    summary="Analyse an entry, or analyse it again if the analysis is outdated",
    description="Keeps an analysis that is ready and current. An `entry_updated` event reports the new one.",
    responses={202: {"model": FramingResponse}},
)
async def again(runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Response:
    return json_response(_state_json(await request_analysis(runtime, caller.user, entry_id)), 202)


@router.get(
    "/subscriptions/{subscription_id}/framing",
    summary="Get a feed's framing setting and weekly averages",
    responses={200: {"model": FeedFramingResponse}},
)
async def of_feed(runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath) -> Response:
    return json_response(_feed_json(await framing_of_feed(runtime, caller.user, subscription_id)))


@router.put(
    "/subscriptions/{subscription_id}/framing",
    summary="Turn framing analysis on or off for a feed",
    description="409 if the model is remote and `remote_ai` does not allow it.",
    responses={200: {"model": FeedFramingResponse}},
)
async def switch(
    runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath, body: SwitchRequest
) -> Response:
    return json_response(
        _feed_json(await set_analysis_request(runtime, caller.user, subscription_id, wished=body.enabled))
    )


def _state_json(state: AnalysisState) -> dict[str, Any]:
    return {
        "status": state.status,
        "analysis": None if state.analysis is None else analysis_json(state.analysis),
        "outdated": state.outdated,
        "made_at": moment(state.made_at),
        "error": state.error,
        "caveat": CAVEAT,
    }


def _status_json(analysis: Analysis) -> dict[str, Any]:
    return {
        "title": analysis.title,
        "description": analysis.description,
        **{score.name: score.value for score in (*analysis.scores, analysis.overall)},
        "band": score_band(analysis.overall.value),
    }


def analysis_json(analysis: Analysis) -> dict[str, Any]:
    return {
        "title": analysis.title,
        "title_reason": analysis.title_reason,
        "description": analysis.description,
        "description_reason": analysis.description_reason,
        "text": analysis.text,
        **scores_json(analysis),
        "model": analysis.model,
        "language": analysis.language or None,
    }


def _feed_json(framing: FramingOfFeed) -> dict[str, Any]:
    return {
        "enabled": framing.wished,
        "for_everybody": framing.for_everybody,
        "model": framing.model,
        "sends_texts": framing.sends,
        "allowed": framing.allowed,
        "averages": [
            {"since": moment(week.since), "overall": week.overall, "articles": week.articles}
            for week in framing.averages
        ],
        "articles": framing.articles,
    }


# --- Public deframer

MANY_REQUESTS = "Too many requests from your address. Wait a moment and go on."
MAX_URL_LENGTH = 4_000
_HEADERS = {
    "Cache-Control": "public, max-age=60",
    "Content-Security-Policy": "default-src 'none'; sandbox",
}


async def _spend(request: Request, runtime: CurrentRuntime) -> None:
    key = f"deframer:{network_of(client_ip(request))}"
    await spend(runtime, key, runtime.limits.deframer, MANY_REQUESTS)


public_router = APIRouter(tags=["deframer"], dependencies=[Depends(_spend)])

MaxScore = Annotated[
    float | None,
    Query(ge=0, le=1, description="Leaves out items with a higher `overall` score; 0 or empty keeps all."),
]


class FramedItemResponse(ScoresResponse):
    url: str | None
    image: str | None
    author: str | None
    published_at: str
    title_corrected: str
    title_correction_reason: str
    title_original: str
    description_corrected: str
    description_correction_reason: str
    description_original: str
    text_corrected: str = Field(description="Paragraphs, separated by an empty line.")
    llm_model: str
    analysed_at: str
    feed_url: str
    feed_title: str
    caveat: str


class FramedSiteResponse(ApiModel):
    root: str
    items: list[FramedItemResponse]
    next_cursor: str | None = None


@public_router.get(
    "/rss",
    summary="Get a feed in neutral words, as RSS 2.0",
    description="404: unknown feed, or nothing deframed yet; 403: disabled by the operator.",
    response_class=Response,
    responses={200: {"content": {"application/rss+xml": {}}}},
)
async def feed(
    request: Request,
    runtime: CurrentRuntime,
    url: Annotated[
        str,
        Query(
            max_length=MAX_URL_LENGTH,
            examples=["https://example.org/feed.xml"],
            description="URL of the feed.",
        ),
    ],
    max_score: MaxScore = None,
) -> Response:
    document = await read_document(runtime, url, max_score)
    headers = {
        **_HEADERS,
        "ETag": f'"{document.tag}"',
        "Last-Modified": format_datetime(to_datetime(document.built_at), usegmt=True),
    }
    if _is_not_modified(request, document):
        return Response(status_code=304, headers=headers)
    return Response(document.content, 200, headers, "application/rss+xml; charset=utf-8")


@public_router.get(
    "/api/item",
    summary="Get an article in neutral words",
    description="404: not deframed, or its score is above `max_score`.",
    responses={200: {"model": FramedItemResponse}},
)
async def item(
    runtime: CurrentRuntime,
    url: Annotated[
        str,
        Query(
            max_length=MAX_URL_LENGTH, examples=["https://example.org/a"], description="URL of the article."
        ),
    ],
    max_score: MaxScore = None,
) -> Response:
    return json_response(_item_json(*await read_item(runtime, url, max_score)))


@public_router.get(
    "/api/site",
    summary="List the newest articles of a site in neutral words",
    description="The newest items of all feeds of the site, alternating between feeds, each URL once.",
    responses={200: {"model": FramedSiteResponse}},
)
async def site(
    runtime: CurrentRuntime,
    root: Annotated[str, Query(max_length=300, examples=["example.org"], description="The root domain.")],
    max_score: MaxScore = None,
) -> Response:
    results = await read_site(runtime, root, max_score)
    items = [_item_json(feed, item) for feed, item in results]
    return json_response({"root": root.strip().lower().rstrip("."), "items": items, "next_cursor": None})


def _is_not_modified(request: Request, document: ServedDocument) -> bool:
    """`If-None-Match` takes precedence over `If-Modified-Since`."""
    tags = request.headers.get("if-none-match")
    if tags is not None:
        return "*" in tags or f'"{document.tag}"' in tags
    since = request.headers.get("if-modified-since")
    if since is None or not document.is_whole:
        return False
    return document.built_at <= (_parse_http_date(since) or 0)


def _parse_http_date(text: str) -> Instant | None:
    try:
        return from_datetime(parsedate_to_datetime(text))
    except (ValueError, OverflowError):
        return None


def _item_json(feed: FramedFeed, item: FramedItem) -> dict[str, Any]:
    analysis = item.analysis
    return {
        "url": item.url,
        "image": item.image,
        "author": item.author,
        "published_at": moment(item.sort_at),
        "title_corrected": analysis.title,
        "title_correction_reason": analysis.title_reason,
        "title_original": item.title_original,
        "description_corrected": analysis.description,
        "description_correction_reason": analysis.description_reason,
        "description_original": item.description_original,
        "text_corrected": analysis.text,
        **scores_json(analysis),
        "llm_model": analysis.model,
        "analysed_at": moment(item.made_at),
        "feed_url": feed.url,
        "feed_title": feed.title,
        "caveat": CAVEAT,
    }
