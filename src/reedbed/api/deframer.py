"""The deframer's doors, open to strangers: `/rss`, `/api/item`, `/api/site`."""

from email.utils import format_datetime, parsedate_to_datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field

from reedbed.api.framing_json import ScoresOut, scores_json
from reedbed.domain.framing_items import CAVEAT, FramedFeed, FramedItem
from reedbed.domain.times import Instant, from_datetime, to_datetime
from reedbed.http.caller import RuntimeOf
from reedbed.http.client_ip import client_ip
from reedbed.http.json import json_response, moment
from reedbed.http.models import ApiModel
from reedbed.services.deframer import ServedDocument, read_document, read_item, read_site
from reedbed.services.limits import network_of, spend

MANY_REQUESTS = "Too many requests from your address. Wait a moment and go on."
MOST_ADDRESS = 4_000
_HEADERS = {
    "Cache-Control": "public, max-age=60",
    "Content-Security-Policy": "default-src 'none'; sandbox",
}


async def _spend(request: Request, runtime: RuntimeOf) -> None:
    key = f"deframer:{network_of(client_ip(request))}"
    await spend(runtime, key, runtime.limits.deframer, MANY_REQUESTS)


router = APIRouter(tags=["deframer"], dependencies=[Depends(_spend)])

MaxScore = Annotated[
    float | None,
    Query(ge=0, le=1, description="Leaves out what is louder (`overall`); 0 or nothing leaves all in."),
]


class FramedItemOut(ScoresOut):
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


class FramedSiteOut(ApiModel):
    root: str
    items: list[FramedItemOut]
    next_cursor: str | None = None


@router.get(
    "/rss",
    summary="A feed in neutral words, as RSS 2.0",
    description="404: unknown, or nothing deframed yet; 403: disabled by the operator.",
    response_class=Response,
    responses={200: {"content": {"application/rss+xml": {}}}},
)
async def feed(
    request: Request,
    runtime: RuntimeOf,
    url: Annotated[
        str,
        Query(max_length=MOST_ADDRESS, examples=["https://example.org/feed.xml"], description="The feed."),
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


@router.get(
    "/api/item",
    summary="One article in neutral words",
    description="404: not deframed here, or louder than `max_score`.",
    responses={200: {"model": FramedItemOut}},
)
async def item(
    runtime: RuntimeOf,
    url: Annotated[
        str, Query(max_length=MOST_ADDRESS, examples=["https://example.org/a"], description="The article.")
    ],
    max_score: MaxScore = None,
) -> Response:
    return json_response(_item(*await read_item(runtime, url, max_score)))


@router.get(
    "/api/site",
    summary="What a site reports, in neutral words",
    description="The newest items of every feed of the site, each feed in its turn, each address once.",
    responses={200: {"model": FramedSiteOut}},
)
async def site(
    runtime: RuntimeOf,
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
