"""The deframer's doors, open to strangers: `/rss`, `/api/item`, `/api/site`."""

from email.utils import format_datetime, parsedate_to_datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field

from reedbed.domain.framing import CAVEAT, Analysis, AnalysisState, FramedFeed, FramedItem, band_of
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
    read_again,
    set_wish,
)
from reedbed.services.framing.public import ServedDocument, read_document, read_item, read_site
from reedbed.services.security import network_of, spend


class ScoreResponse(ApiModel):
    score: float = Field(ge=0, le=1)
    reason: str
    quote: str = Field(description="The passage that earned it, word for word; may be empty.")


class ScoresResponse(ApiModel):
    framing: ScoreResponse
    clickbait: ScoreResponse
    persuasive: ScoreResponse
    hyper_stimulus: ScoreResponse
    speculative: ScoreResponse
    overall: ScoreResponse
    band: str = Field(description="calm, mixed or loud")
    category: str


def scores_json(found: Analysis) -> dict[str, Any]:
    scores = {
        score.name: {"score": score.value, "reason": score.reason, "quote": score.quote}
        for score in (*found.scores, found.overall)
    }
    return {**scores, "band": band_of(found.overall.value), "category": found.category}


router = APIRouter(prefix="/api/v1", tags=["framing"])

MAX_IDS = 200


class AnalysisResponse(ScoresResponse):
    title: str
    title_reason: str
    description: str
    description_reason: str
    text: str = Field(description="Paragraphs, apart by an empty line.")
    model: str
    language: str | None


class FramingResponse(ApiModel):
    status: str = Field(description="ready, pending, failed, or none where nobody has asked")
    analysis: AnalysisResponse | None = Field(description="Also while another reading is under way.")
    outdated: bool = Field(description="The entry, the model or the feed's prompt is another one now.")
    made_at: str | None
    error: str | None
    caveat: str


class FramingStatusResponse(ApiModel):
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


class ListFramingResponse(ApiModel):
    items: list[FramingStatusResponse]
    next_cursor: str | None


class AverageResponse(ApiModel):
    since: str = Field(description="The first moment of a week.")
    overall: float
    articles: int


class FeedFramingResponse(ApiModel):
    enabled: bool = Field(description="This user has it switched on.")
    for_everybody: bool = Field(description="The operator has it read and shows it at /rss.")
    model: str | None
    sends_texts: bool = Field(description="The model is somebody else's: texts leave this server.")
    allowed: bool = Field(description="The preference remote_ai allows that, or nothing is sent.")
    averages: list[AverageResponse]
    articles: int = Field(description="Behind the averages.")


class SwitchRequest(ApiModel):
    enabled: bool


@router.get(
    "/framing",
    summary="How the entries of a list are framed",
    description="What was not read, or is not yours to see, is left out.",
    responses={200: {"model": ListFramingResponse}},
)
async def of_list(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    entry_ids: Annotated[list[JsonId], Query(max_length=MAX_IDS, description="Entries, at most 200.")],
) -> Response:
    found = await framings_of(runtime, caller.user, entry_ids)
    items = [{"entry_id": str(id_), **_line(analysis)} for id_, analysis in found.items()]
    return json_response({"items": items, "next_cursor": None})


@router.get(
    "/entries/{entry_id}/framing",
    summary="How an entry is framed",
    responses={200: {"model": FramingResponse}},
)
async def get(runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Response:
    return json_response(_state(await get_analysis(runtime, caller.user, entry_id)))


@router.post(
    "/entries/{entry_id}/framing",
    status_code=202,
    summary="Have it read, or read again when the model or the prompt has changed",
    description="What is ready and not outdated stays. An `entry_updated` event tells when to look again.",
    responses={202: {"model": FramingResponse}},
)
async def again(runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Response:
    return json_response(_state(await read_again(runtime, caller.user, entry_id)), 202)


@router.get(
    "/subscriptions/{subscription_id}/framing",
    summary="The framing of a feed: its switch, and its averages by week",
    responses={200: {"model": FeedFramingResponse}},
)
async def of_feed(runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath) -> Response:
    return json_response(_feed(await framing_of_feed(runtime, caller.user, subscription_id)))


@router.put(
    "/subscriptions/{subscription_id}/framing",
    summary="Have the entries of a feed read, or not",
    description="409 when texts would be sent to somebody else's model and `remote_ai` does not allow it.",
    responses={200: {"model": FeedFramingResponse}},
)
async def switch(
    runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath, body: SwitchRequest
) -> Response:
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


MANY_REQUESTS = "Too many requests from your address. Wait a moment and go on."
MAX_ADDRESS = 4_000
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
    Query(ge=0, le=1, description="Leaves out what is louder (`overall`); 0 or nothing leaves all in."),
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
    text_corrected: str = Field(description="Paragraphs, apart by an empty line.")
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
    summary="A feed in neutral words, as RSS 2.0",
    description="404: unknown, or nothing deframed yet; 403: disabled by the operator.",
    response_class=Response,
    responses={200: {"content": {"application/rss+xml": {}}}},
)
async def feed(
    request: Request,
    runtime: CurrentRuntime,
    url: Annotated[
        str,
        Query(max_length=MAX_ADDRESS, examples=["https://example.org/feed.xml"], description="The feed."),
    ],
    max_score: MaxScore = None,
) -> Response:
    document = await read_document(runtime, url, max_score)
    headers = {
        **_HEADERS,
        "ETag": f'"{document.tag}"',
        "Last-Modified": format_datetime(to_datetime(document.built_at), usegmt=True),
    }
    if _is_known(request, document):
        return Response(status_code=304, headers=headers)
    return Response(document.content, 200, headers, "application/rss+xml; charset=utf-8")


@public_router.get(
    "/api/item",
    summary="One article in neutral words",
    description="404: not deframed here, or louder than `max_score`.",
    responses={200: {"model": FramedItemResponse}},
)
async def item(
    runtime: CurrentRuntime,
    url: Annotated[
        str, Query(max_length=MAX_ADDRESS, examples=["https://example.org/a"], description="The article.")
    ],
    max_score: MaxScore = None,
) -> Response:
    return json_response(_item(*await read_item(runtime, url, max_score)))


@public_router.get(
    "/api/site",
    summary="What a site reports, in neutral words",
    description="The newest items of every feed of the site, each feed in its turn, each address once.",
    responses={200: {"model": FramedSiteResponse}},
)
async def site(
    runtime: CurrentRuntime,
    root: Annotated[str, Query(max_length=300, examples=["example.org"], description="The root domain.")],
    max_score: MaxScore = None,
) -> Response:
    found = await read_site(runtime, root, max_score)
    items = [_item(feed, item) for feed, item in found]
    return json_response({"root": root.strip().lower().rstrip("."), "items": items, "next_cursor": None})


def _is_known(request: Request, document: ServedDocument) -> bool:
    """A tag decides where there is one."""
    tags = request.headers.get("if-none-match")
    if tags is not None:
        return "*" in tags or f'"{document.tag}"' in tags
    since = request.headers.get("if-modified-since")
    if since is None or not document.is_whole:
        return False
    return document.built_at <= (_moment(since) or 0)


def _moment(text: str) -> Instant | None:
    try:
        return from_datetime(parsedate_to_datetime(text))
    except (ValueError, OverflowError):
        return None


def _item(feed: FramedFeed, item: FramedItem) -> dict[str, Any]:
    found = item.analysis
    return {
        "url": item.url,
        "image": item.image,
        "author": item.author,
        "published_at": moment(item.sort_at),
        "title_corrected": found.title,
        "title_correction_reason": found.title_reason,
        "title_original": item.title_original,
        "description_corrected": found.description,
        "description_correction_reason": found.description_reason,
        "description_original": item.description_original,
        "text_corrected": found.text,
        **scores_json(found),
        "llm_model": found.model,
        "analysed_at": moment(item.made_at),
        "feed_url": feed.url,
        "feed_title": feed.title,
        "caveat": CAVEAT,
    }
