"""Found entries as the API says them: list items with the places that match."""

from collections.abc import Mapping
from typing import Any

from fastapi import Response
from pydantic import Field

from reedbed.api.entry_json import EntryItem, entry_item
from reedbed.domain.paging import Order, encode_cursor
from reedbed.http.json import json_response
from reedbed.http.models import ApiModel
from reedbed.services.search import Matched, SearchOrder, SearchPage


class ExcerptOut(ApiModel):
    text: str = Field(description="Plain text around the first match.")
    spans: list[tuple[int, int]] = Field(description="Half-open ranges of it to mark.", examples=[[[4, 9]]])


class MatchedOut(ApiModel):
    title: list[tuple[int, int]] = Field(description="Half-open ranges of the title to mark.")
    excerpt: ExcerptOut


class FoundItem(EntryItem):
    matched: MatchedOut


class FoundList(ApiModel):
    items: list[FoundItem]
    next_cursor: str | None = Field(description="A page may be short, or empty, and still have a next one.")
    unknown: list[str] = Field(
        description="The feeds, folders and tags of the search that do not exist.",
        examples=[["feed:nothing"]],
    )


def keyset_order(order: SearchOrder) -> Order:
    """What a cursor says of its order; a ranking is made among the newest."""
    return "newest" if order == "relevance" else order


def found_page(page: SearchPage, lines: Mapping[int, str], order: SearchOrder, name: str) -> Response:
    following = page.next and encode_cursor(page.next.sort_at, page.next.id, keyset_order(order), name)
    items = [
        {**entry_item(row, lines.get(row.id)), "matched": _matched(page.matched[row.id])} for row in page.rows
    ]
    unknown = [f"{each.kind}:{each.value}" for each in page.unknown]
    return json_response({"items": items, "next_cursor": following, "unknown": unknown})


def _matched(matched: Matched) -> dict[str, Any]:
    excerpt = matched.excerpt
    return {"title": matched.title, "excerpt": {"text": excerpt.text, "spans": excerpt.spans}}
