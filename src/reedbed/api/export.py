"""Everything a user has, in one archive to take along."""

from collections.abc import AsyncGenerator
from dataclasses import asdict
from typing import Any

import orjson
from fastapi import APIRouter, Response
from fastapi.responses import StreamingResponse

from reedbed.api.bookmarks import bookmark_json
from reedbed.api.bookmarks_file import netscape_lines
from reedbed.api.entry_json import entry_item
from reedbed.api.highlights import highlight_json
from reedbed.api.highlights_file import markdown
from reedbed.api.published_feeds import published_json
from reedbed.api.rules import rule_json
from reedbed.api.subscriptions import subscription_json
from reedbed.domain.accounts import Caller
from reedbed.domain.times import to_datetime
from reedbed.http.archives import ArchiveFile, zipped
from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.downloads import download, json_list
from reedbed.http.json import moment
from reedbed.services.bookmarks import every_bookmark
from reedbed.services.export import KeptEntry, kept_entries, spend_export
from reedbed.services.highlights import every_highlight
from reedbed.services.opml import export_opml
from reedbed.services.preferences import preferences_of
from reedbed.services.runtime import Runtime
from reedbed.store import export, published_feeds, rules, subscriptions

router = APIRouter(prefix="/api/v1/export", tags=["export"])

_ARCHIVE = {"content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}}


@router.get(
    "",
    summary="All of one's own data as a zip archive",
    description=(
        "subscriptions.opml and .json, entries.json (starred, saved for later or tagged, with their texts), "
        "bookmarks.json and .html, highlights.json and .md, rules.json, searches.json, published_feeds.json, "
        "preferences.json and account.json. The archive is written as it is read."
    ),
    response_class=StreamingResponse,
    responses={200: _ARCHIVE},
)
async def export_all(runtime: RuntimeOf, caller: CallerOf) -> Response:
    await spend_export(runtime, caller.user_id)
    at = to_datetime(runtime.now())
    parts = zipped(_files(runtime, caller), (at.year, at.month, at.day, at.hour, at.minute, at.second))
    return download(parts, f"export-{at:%Y-%m-%d}.zip", "application/zip")


def _files(runtime: Runtime, caller: Caller) -> list[ArchiveFile]:
    user_id = caller.user_id
    return [
        ArchiveFile("account.json", _account(runtime, caller)),
        ArchiveFile("preferences.json", _preferences(caller)),
        ArchiveFile("subscriptions.opml", _opml(runtime, user_id)),
        ArchiveFile("subscriptions.json", json_list(_subscriptions(runtime, user_id))),
        ArchiveFile("rules.json", json_list(_rules(runtime, user_id))),
        ArchiveFile("searches.json", json_list(_searches(runtime, user_id))),
        ArchiveFile("published_feeds.json", json_list(_published(runtime, user_id))),
        ArchiveFile("highlights.json", json_list(_highlights(runtime, user_id))),
        ArchiveFile("highlights.md", markdown(every_highlight(runtime, user_id))),
        ArchiveFile("bookmarks.json", json_list(_bookmarks(runtime, user_id))),
        ArchiveFile("bookmarks.html", netscape_lines(every_bookmark(runtime, user_id))),
        ArchiveFile("entries.json", json_list(_entries(runtime, user_id))),
    ]


async def _account(runtime: Runtime, caller: Caller) -> AsyncGenerator[bytes]:
    user = caller.user
    said = {"email": user.email, "created_at": moment(user.created_at), "exported_at": moment(runtime.now())}
    yield orjson.dumps(said)


async def _preferences(caller: Caller) -> AsyncGenerator[bytes]:
    yield orjson.dumps(asdict(preferences_of(caller.user)))


async def _opml(runtime: Runtime, user_id: int) -> AsyncGenerator[bytes]:
    yield await export_opml(runtime, user_id)


async def _subscriptions(runtime: Runtime, user_id: int) -> AsyncGenerator[bytes]:
    async with runtime.db.read() as tx:
        found = await subscriptions.every(tx, user_id)
    for one in found:
        yield orjson.dumps(subscription_json(one))


async def _rules(runtime: Runtime, user_id: int) -> AsyncGenerator[bytes]:
    async with runtime.db.read() as tx:
        found = await rules.of_user(tx, user_id)
    for row in found:
        yield orjson.dumps(rule_json(row))


async def _searches(runtime: Runtime, user_id: int) -> AsyncGenerator[bytes]:
    async with runtime.db.read() as tx:
        found = await export.searches_of(tx, user_id)
    for one in found:
        said = {"name": one.name, "query": one.query, "created_at": moment(one.created_at)}
        yield orjson.dumps(said)


async def _published(runtime: Runtime, user_id: int) -> AsyncGenerator[bytes]:
    async with runtime.db.read() as tx:
        found = await published_feeds.of_user(tx, user_id)
    for feed in found:
        yield orjson.dumps(published_json(feed))


async def _highlights(runtime: Runtime, user_id: int) -> AsyncGenerator[bytes]:
    async for highlight in every_highlight(runtime, user_id):
        yield orjson.dumps(highlight_json(highlight))


async def _bookmarks(runtime: Runtime, user_id: int) -> AsyncGenerator[bytes]:
    async for bookmark in every_bookmark(runtime, user_id):
        yield orjson.dumps(bookmark_json(bookmark))


async def _entries(runtime: Runtime, user_id: int) -> AsyncGenerator[bytes]:
    async for kept in kept_entries(runtime, user_id):
        yield orjson.dumps(_entry_json(kept))


def _entry_json(kept: KeptEntry) -> dict[str, Any]:
    return {**entry_item(kept.row), "feed_title": kept.words.feed_title, "content": kept.words.content}
