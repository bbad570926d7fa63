"""Miniflux, asked through its API with a token of the person who moves."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

import orjson

from reedbed.domain.errors import Invalid
from reedbed.domain.fetching import Failed, Fetched, FetchRequest
from reedbed.domain.libraries import (
    MOST_FEEDS,
    MOST_TEXT,
    ForeignEntry,
    ForeignFeed,
    Library,
    ReadMark,
)
from reedbed.domain.times import from_datetime
from reedbed.ingest.fetch import Fetcher
from reedbed.ingest.libraries.values import listed, mapping, text
from reedbed.ingest.target import Target, parse_target

AT_ONCE = 200
MOST_STARRED = 10_000
MOST_READ = 5_000
_LARGEST_ANSWER = 20_000_000
_NOT_THERE = "There is no Miniflux at this address."


async def read_miniflux(fetcher: Fetcher, address: str, token: str) -> Library:
    """Raises `Invalid` with the reason when it cannot be had."""
    asking = _asking(fetcher, address, token)
    feeds = tuple(_feed(mapping(one)) for one in (await asking.feeds())[:MOST_FEEDS])
    titles = {feed.key: feed.title for feed in feeds}
    starred = await asking.entries({"starred": "true"}, MOST_STARRED)
    read = await asking.entries({"status": "read"}, MOST_READ)
    return Library(
        "Miniflux",
        feeds,
        tuple(_kept(starred, titles)),
        tuple(ReadMark(_key(one), None, text(one.get("url")) or None) for one in read),
    )


async def check_miniflux(fetcher: Fetcher, address: str, token: str) -> None:
    """Raises `Invalid` when there is none, or the token does not open it."""
    await _asking(fetcher, address, token).feeds()


def _asking(fetcher: Fetcher, address: str, token: str) -> "_Asking":
    if not token.strip():
        raise Invalid("Miniflux needs a token: make one under Settings, API Keys.", field="token")
    return _Asking(fetcher, _base(address), token.strip())


class _Asking:
    def __init__(self, fetcher: Fetcher, base: str, token: str) -> None:
        self._fetcher = fetcher
        self._base = base
        self._token = token

    async def feeds(self) -> list[Any]:
        answer = await self._ask("/v1/feeds")
        if not isinstance(answer, list):
            raise Invalid(_NOT_THERE, field="url")
        return listed(answer)

    async def entries(self, wanted: Mapping[str, str], most: int) -> list[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = []
        size = 0
        while len(found) < most:
            query = {**wanted, "order": "id", "direction": "desc", "limit": AT_ONCE, "offset": len(found)}
            answer = await self._ask(f"/v1/entries?{urlencode(query)}")
            some = [mapping(one) for one in listed(mapping(answer).get("entries"))]
            found += some
            size += sum(len(text(one.get("content"))) for one in some)
            if len(some) < AT_ONCE or size > MOST_TEXT:
                break
        return found[:most]

    async def _ask(self, path: str) -> Any:
        request = FetchRequest(
            self._base + path,
            accept="application/json",
            max_bytes=_LARGEST_ANSWER,
            token=("X-Auth-Token", self._token),
        )
        outcome = await self._fetcher.fetch(request)
        if isinstance(outcome, Fetched):
            try:
                return orjson.loads(outcome.body)
            except orjson.JSONDecodeError as error:
                raise Invalid(_NOT_THERE, field="url") from error
        if isinstance(outcome, Failed) and outcome.kind == "unauthorized":
            raise Invalid("Miniflux does not know this token.", field="token")
        reason = getattr(outcome, "message", "")
        raise Invalid(f"Miniflux could not be asked. {reason}".strip(), field="url")


def _base(address: str) -> str:
    if not isinstance(parse_target(address.strip()), Target):
        raise Invalid("The address must start with http:// or https://", field="url")
    return address.strip().rstrip("/").removesuffix("/v1")


def _feed(one: Mapping[str, Any]) -> ForeignFeed:
    folder = text(mapping(one.get("category")).get("title"))
    path = (folder,) if folder and folder != "All" else ()
    return ForeignFeed(str(one.get("id")), text(one.get("feed_url")), text(one.get("title")), path)


def _kept(entries: list[Mapping[str, Any]], titles: Mapping[str, str]) -> Iterator[ForeignEntry]:
    for one in entries:
        yield ForeignEntry(
            feed_key=_key(one),
            feed_title=titles.get(_key(one), ""),
            guid=None,
            url=text(one.get("url")) or None,
            title=text(one.get("title")),
            content=text(one.get("content")),
            author=text(one.get("author")) or None,
            published=_moment(one.get("published_at")),
        )


def _key(one: Mapping[str, Any]) -> str:
    return str(one.get("feed_id"))


def _moment(value: Any) -> int | None:
    try:
        return from_datetime(datetime.fromisoformat(value)) if isinstance(value, str) else None
    except ValueError:
        return None
