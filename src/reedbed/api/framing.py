"""Framing analyses of entries and feeds, and the public deframer (`/rss`, `/api/item`, `/api/site`)."""

from email.utils import format_datetime, parsedate_to_datetime
from typing import Annotated, Any

from fastapi import Depends, Query, Request, Response
from pydantic import Field

from reedbed.domain.framing import CAVEAT, Analysis, AnalysisState, FramedFeed, FramedItem, score_band
from reedbed.domain.records import record
from reedbed.domain.times import Instant, from_datetime, to_datetime
from reedbed.http.auth import CurrentCaller, CurrentRuntime, client_ip
from reedbed.http.models import ApiModel, FailureName, FailureText, JsonId, ListPage, ResponseModel, Timestamp
from reedbed.http.params import IdPath
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.framing.manage import (
    FramingOfFeed,
    ServedDocument,
    framing_of_feed,
    framings_of,
    get_analysis,
    read_document,
    read_item,
    read_site,
    request_analysis,
    set_analysis_request,
)
from reedbed.services.security import network_of, spend


@record
class ScoreResponse(ResponseModel):
    score: Annotated[float, Field(ge=0, le=1)]
    reason: str
    quote: Annotated[str, Field(description="The passage behind the score, verbatim; may be empty.")]


@record
class ScoresResponse(ResponseModel):
    framing: ScoreResponse
    clickbait: ScoreResponse
    persuasive: ScoreResponse
    hyper_stimulus: ScoreResponse
    speculative: ScoreResponse
    overall: ScoreResponse
    band: Annotated[str, Field(description="calm, mixed or loud")]
    category: str


def _scores(analysis: Analysis) -> dict[str, Any]:
    """Return the fields of `ScoresResponse`."""
    scores = {score.name: ScoreResponse.of(score, score=score.value) for score in (*analysis.scores, analysis.overall)}
    return {**scores, "band": score_band(analysis.overall.value)}


# --- User API

router = ApiRouter(prefix="/api/v1", tags=["framing"])

MAX_IDS = 200


@record
class AnalysisResponse(ScoresResponse):
    title: str
    title_reason: str
    description: str
    description_reason: str
    text: Annotated[str, Field(description="Paragraphs, separated by an empty line.")]
    model: str
    language: str | None


@record
class FramingResponse(ResponseModel):
    status: Annotated[str, Field(description="ready, pending, failed, or none if never requested")]
    analysis: Annotated[
        AnalysisResponse | None, Field(description="The latest analysis; stays while a new one is pending.")
    ]
    outdated: Annotated[bool, Field(description="The entry, the model or the feed's prompt changed since.")]
    made_at: Timestamp | None
    error: FailureText
    error_code: FailureName
    caveat: str


@record
class FramingStatusResponse(ResponseModel):
    entry_id: JsonId
    title: Annotated[str, Field(description="Neutral wording.")]
    description: str
    framing: float
    clickbait: float
    persuasive: float
    hyper_stimulus: float
    speculative: float
    overall: float
    band: str


@record
class AverageResponse(ResponseModel):
    since: Annotated[Timestamp, Field(description="Start of the week.")]
    overall: float
    articles: int


@record
class FeedFramingResponse(ResponseModel):
    enabled: Annotated[bool, Field(description="This user turned it on.")]
    for_all_users: Annotated[bool, Field(description="The operator turned it on and publishes it at /rss.")]
    for_everybody: Annotated[bool, Field(description="The same as `for_all_users`, under its name in 0.1.")]
    model: str | None
    sends_texts: Annotated[bool, Field(description="The model is remote: texts leave this server.")]
    allowed: Annotated[bool, Field(description="remote_ai allows it, or the model is local.")]
    averages: list[AverageResponse]
    articles: Annotated[int, Field(description="Number of articles in the averages.")]


class SwitchRequest(ApiModel):
    enabled: bool


@router.get(
    "/framing",
    summary="List framing scores of entries",
    description="Leaves out entries without an analysis and entries you cannot see.",
)
async def of_list(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    entry_ids: Annotated[list[JsonId], Query(max_length=MAX_IDS, description="At most 200 entry ids.")],
) -> Json[ListPage[FramingStatusResponse]]:
    analyses = await framings_of(runtime, caller.user, entry_ids)
    return Json(ListPage([_status_response(*pair) for pair in analyses.items()]))


@router.get("/entries/{entry_id}/framing", summary="Get the framing analysis of an entry")
async def get(runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Json[FramingResponse]:
    return Json(_state_response(await get_analysis(runtime, caller.user, entry_id)))


@router.post(
    "/entries/{entry_id}/framing",
    status_code=202,
    summary="Analyse an entry, or analyse it again if the analysis is outdated",
    description="Keeps an analysis that is ready and current. An `entry_updated` event reports the new one.",
)
async def again(runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Json[FramingResponse]:
    return Json(_state_response(await request_analysis(runtime, caller.user, entry_id)), 202)


@router.get("/subscriptions/{subscription_id}/framing", summary="Get a feed's framing setting and weekly averages")
async def of_feed(runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath) -> Json[FeedFramingResponse]:
    return Json(_feed_response(await framing_of_feed(runtime, caller.user, subscription_id)))


@router.put(
    "/subscriptions/{subscription_id}/framing",
    summary="Turn framing analysis on or off for a feed",
    description="409 if the model is remote and `remote_ai` does not allow it.",
)
async def switch(
    runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath, body: SwitchRequest
) -> Json[FeedFramingResponse]:
    framing = await set_analysis_request(runtime, caller.user, subscription_id, requested=body.enabled)
    return Json(_feed_response(framing))


def _state_response(state: AnalysisState) -> FramingResponse:
    analysis = state.analysis and analysis_response(state.analysis)
    return FramingResponse.of(state, analysis=analysis, caveat=CAVEAT)


def _status_response(entry_id: int, analysis: Analysis) -> FramingStatusResponse:
    scores = {score.name: score.value for score in (*analysis.scores, analysis.overall)}
    return FramingStatusResponse.of(analysis, entry_id=entry_id, band=score_band(analysis.overall.value), **scores)


def analysis_response(analysis: Analysis) -> AnalysisResponse:
    return AnalysisResponse.of(analysis, language=analysis.language or None, **_scores(analysis))


def _feed_response(framing: FramingOfFeed) -> FeedFramingResponse:
    averages = [AverageResponse.of(week) for week in framing.averages]
    return FeedFramingResponse.of(
        framing,
        for_all_users=framing.for_all_users,
        for_everybody=framing.for_all_users,
        enabled=framing.requested,
        sends_texts=framing.sends,
        averages=averages,
    )


# --- Public deframer

MANY_REQUESTS = "Too many requests from your address. Wait a moment and go on."
MAX_URL_LENGTH = 4_000
_HEADERS = {"Cache-Control": "public, max-age=60", "Content-Security-Policy": "default-src 'none'; sandbox"}


async def _spend(request: Request, runtime: CurrentRuntime) -> None:
    key = f"deframer:{network_of(client_ip(request))}"
    await spend(runtime, key, runtime.limits.deframer, MANY_REQUESTS)


public_router = ApiRouter(tags=["deframer"], dependencies=[Depends(_spend)])

MaxScore = Annotated[
    float | None, Query(ge=0, le=1, description="Leaves out items with a higher `overall` score; 0 or empty keeps all.")
]


@record
class FramedItemResponse(ScoresResponse):
    url: str | None
    image: str | None
    author: str | None
    published_at: Timestamp
    title_corrected: str
    title_correction_reason: str
    title_original: str
    description_corrected: str
    description_correction_reason: str
    description_original: str
    text_corrected: Annotated[str, Field(description="Paragraphs, separated by an empty line.")]
    llm_model: str
    analysed_at: Timestamp
    feed_url: str
    feed_title: str
    caveat: str


@record
class FramedSiteResponse(ResponseModel):
    root: str
    items: list[FramedItemResponse]
    next_cursor: str | None


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
        str, Query(max_length=MAX_URL_LENGTH, examples=["https://example.org/feed.xml"], description="URL of the feed.")
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
)
async def item(
    runtime: CurrentRuntime,
    url: Annotated[
        str, Query(max_length=MAX_URL_LENGTH, examples=["https://example.org/a"], description="URL of the article.")
    ],
    max_score: MaxScore = None,
) -> Json[FramedItemResponse]:
    return Json(_item_response(*await read_item(runtime, url, max_score)))


@public_router.get(
    "/api/site",
    summary="List the newest articles of a site in neutral words",
    description="The newest items of all feeds of the site, alternating between feeds, each URL once.",
)
async def site(
    runtime: CurrentRuntime,
    root: Annotated[str, Query(max_length=300, examples=["example.org"], description="The root domain.")],
    max_score: MaxScore = None,
) -> Json[FramedSiteResponse]:
    results = await read_site(runtime, root, max_score)
    items = [_item_response(feed, item) for feed, item in results]
    return Json(FramedSiteResponse(root.strip().lower().rstrip("."), items, None))


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


def _item_response(feed: FramedFeed, item: FramedItem) -> FramedItemResponse:
    analysis = item.analysis
    return FramedItemResponse.of(
        item,
        published_at=item.sort_at,
        title_corrected=analysis.title,
        title_correction_reason=analysis.title_reason,
        description_corrected=analysis.description,
        description_correction_reason=analysis.description_reason,
        text_corrected=analysis.text,
        category=analysis.category,
        **_scores(analysis),
        llm_model=analysis.model,
        analysed_at=item.made_at,
        feed_url=feed.url,
        feed_title=feed.title,
        caveat=CAVEAT,
    )
