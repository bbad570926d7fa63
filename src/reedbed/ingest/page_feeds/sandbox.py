"""Read lists from pages safely: large pages and XPath expressions in a process that can be killed.

`python -m reedbed.ingest.page_feeds.sandbox` is that process. It reads a line of JSON and the page from standard
input and writes the lists as JSON to standard output.
"""

import asyncio
import sys
from collections.abc import Collection
from typing import Any, cast

import orjson

from reedbed.domain.failures import Failure, FailureCode, dump_failure
from reedbed.domain.page_feeds import (
    PageBlocks,
    PageEntry,
    PageList,
    PageLists,
    PagePart,
    PageRecipe,
    PageSelectors,
    WatchedPage,
    recipe_from_fields,
)
from reedbed.domain.times import Instant
from reedbed.ingest.page_feeds.apply import apply_recipe, check_selectors, find_again, has_xpath
from reedbed.ingest.page_feeds.blocks import read_blocks
from reedbed.ingest.page_feeds.document import MAX_BYTES
from reedbed.ingest.page_feeds.finder import find_lists
from reedbed.ingest.page_feeds.watch import read_watched
from reedbed.ingest.sandbox import Sandbox, apply_limits

MEMORY = 1 << 30
_IN_THREAD_BYTES = 150_000
"""A page of this size takes some milliseconds, whatever it contains."""
GAVE_UP = Failure(FailureCode.LIST_PAGE_TOO_EXPENSIVE)

_sandbox = Sandbox("reedbed.ingest.page_feeds.sandbox")

Fields = dict[str, Any]


async def find_lists_safely(body: bytes, url: str, *, now: Instant, content_type: str | None = None) -> PageLists:
    if len(body) < _IN_THREAD_BYTES:
        return await asyncio.to_thread(find_lists, body, url, now=now, content_type=content_type)
    return await _ask({"task": "find", "url": url, "now": now, "content_type": content_type}, body)


async def apply_safely(
    body: bytes, recipe: PageRecipe, url: str, *, now: Instant, content_type: str | None = None
) -> PageLists:
    """Raise `Invalid` for wrong selectors."""
    check_selectors(recipe.selectors)
    if len(body) < _IN_THREAD_BYTES and not has_xpath(recipe.selectors):
        return await asyncio.to_thread(apply_recipe, body, recipe, url, now=now, content_type=content_type)
    request: Fields = {"task": "apply", "url": url, "now": now, "content_type": content_type, "recipe": recipe}
    return await _ask(request, body)


async def find_again_safely(
    body: bytes, recipe: PageRecipe, known: Collection[str], url: str, *, now: Instant, content_type: str | None = None
) -> PageList | None:
    if len(body) < _IN_THREAD_BYTES:
        return await asyncio.to_thread(find_again, body, recipe, known, url, now=now, content_type=content_type)
    request: Fields = {"task": "again", "url": url, "now": now, "content_type": content_type, "recipe": recipe}
    found = await _ask(request | {"known": list(known)}, body)
    return found.lists[0] if found.lists else None


async def watch_safely(body: bytes, selector: str, url: str, *, content_type: str | None = None) -> WatchedPage:
    """Raise `Invalid` for a wrong selector."""
    selectors = PageSelectors(selector)
    check_selectors(selectors)
    if len(body) < _IN_THREAD_BYTES and not has_xpath(selectors):
        return await asyncio.to_thread(read_watched, body, selector, url, content_type=content_type)
    request: Fields = {"task": "watch", "url": url, "content_type": content_type, "selector": selector}
    output = await _answer_to(request, body)
    try:
        return _watched(orjson.loads(output)) if output else WatchedPage(reason=GAVE_UP)
    except (ValueError, TypeError, KeyError):
        return WatchedPage(reason=GAVE_UP)


async def blocks_safely(
    body: bytes, recipe: PageRecipe, url: str, *, now: Instant, content_type: str | None = None
) -> PageBlocks | None:
    """The page as blocks to pick from; None where there are no items to pick in."""
    if len(body) < _IN_THREAD_BYTES and not has_xpath(recipe.selectors):
        return await asyncio.to_thread(read_blocks, body, recipe, url, now=now, content_type=content_type)
    request: Fields = {"task": "blocks", "url": url, "now": now, "content_type": content_type, "recipe": recipe}
    output = await _answer_to(request, body)
    try:
        return _blocks(orjson.loads(output)) if output else None
    except (ValueError, TypeError, KeyError):
        return None


async def _answer_to(request: Fields, body: bytes) -> bytes | None:
    return await _sandbox.ask(orjson.dumps(request), b"\n", body[: MAX_BYTES + 1])


async def _ask(request: Fields, body: bytes) -> PageLists:
    output = await _answer_to(request, body)
    try:
        return _lists(orjson.loads(output)) if output else PageLists(reason=GAVE_UP)
    except (ValueError, TypeError, KeyError):
        return PageLists(reason=GAVE_UP)


def _lists(fields: Fields) -> PageLists:
    lists = [
        PageList(
            tuple(PageEntry(**cast(Fields, entry)) for entry in one["entries"]),
            recipe_from_fields(one["recipe"]),
            one["score"],
        )
        for one in cast("list[Fields]", fields["lists"])
    ]
    reason = fields["reason"]
    return PageLists(tuple(lists), fields["title"], fields["language"], Failure.load(reason) if reason else None)


def _watched(fields: Fields) -> WatchedPage:
    reason = fields["reason"]
    found = Failure.load(reason) if reason else None
    return WatchedPage(tuple(map(str, fields["passages"])), fields["title"], fields["language"], found)


def _blocks(fields: Fields | None) -> PageBlocks | None:
    if fields is None:
        return None
    parts, lists = (tuple(PagePart(**cast(Fields, one)) for one in fields[name]) for name in ("parts", "lists"))
    return PageBlocks(fields["html"], fields["item"], fields["items"], parts, lists, fields["cut"])


def main() -> None:
    apply_limits(MEMORY)
    request = cast(Fields, orjson.loads(sys.stdin.buffer.readline()))
    body = sys.stdin.buffer.read()
    if request["task"] == "blocks":
        recipe, kind = recipe_from_fields(request["recipe"]), request["content_type"]
        blocks = read_blocks(body, recipe, request["url"], now=request["now"], content_type=kind)
        sys.stdout.buffer.write(orjson.dumps(blocks))
        return
    if request["task"] == "watch":
        found = read_watched(body, request["selector"], request["url"], content_type=request["content_type"])
        fields: Fields = {"passages": found.passages, "title": found.title, "language": found.language}
        reason = found.reason
    else:
        lists = _answer(request, body)
        fields = {"lists": lists.lists, "title": lists.title, "language": lists.language}
        reason = lists.reason
    sys.stdout.buffer.write(orjson.dumps(fields | {"reason": dump_failure(reason)}))


def _answer(request: Fields, body: bytes) -> PageLists:
    url, now, content_type = request["url"], request["now"], request["content_type"]
    if request["task"] == "find":
        return find_lists(body, url, now=now, content_type=content_type)
    recipe = recipe_from_fields(request["recipe"])
    if request["task"] == "apply":
        return apply_recipe(body, recipe, url, now=now, content_type=content_type)
    found = find_again(body, recipe, request["known"], url, now=now, content_type=content_type)
    return PageLists((found,) if found is not None else ())


if __name__ == "__main__":
    main()
