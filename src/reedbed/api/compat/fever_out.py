"""What Fever shows: groups, feeds, icons and items, in its own words."""

from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from reedbed.api.compat.greader_items import Contents, seconds, shown_content
from reedbed.domain.entries import Entry
from reedbed.domain.following import Followed
from reedbed.domain.reader_labels import Labels

NO_ICON_ID = 0
_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAAC0lEQVR42mNgAAIAAAUAAen63NgAAAAASUVORK5CYII="
"""Nothing to see: an app looks up the icon of every feed, also of those that have none."""


def groups(labels: Labels) -> list[dict[str, Any]]:
    return [{"id": folder_id, "title": label} for folder_id, label in labels.folders.items()]


def feeds_groups(followed: Sequence[Followed]) -> list[dict[str, Any]]:
    inside: dict[int, list[int]] = {}
    for one in followed:
        if one.folder_id is not None:
            inside.setdefault(one.folder_id, []).append(one.feed_id)
    return [{"group_id": folder_id, "feed_ids": joined(ids)} for folder_id, ids in inside.items()]


def feeds(followed: Sequence[Followed]) -> list[dict[str, Any]]:
    return [
        {
            "id": one.feed_id,
            "favicon_id": one.icon_id or NO_ICON_ID,
            "title": one.title,
            "url": one.url,
            "site_url": one.site_url or one.url,
            "is_spark": 0,
            "last_updated_on_time": seconds(one.last_changed_at or 0),
        }
        for one in followed
    ]


def favicons(icons: Sequence[tuple[int, str, bytes]]) -> list[dict[str, Any]]:
    """The beginning of a data address without `data:`, as Fever has it."""
    none = {"id": NO_ICON_ID, "data": f"image/png;base64,{_PIXEL}"}
    return [none] + [
        {"id": icon_id, "data": f"{media_type};base64,{b64encode(data).decode('ascii')}"}
        for icon_id, media_type, data in icons
    ]


def items(contents: Contents) -> list[dict[str, Any]]:
    return [_item(entry, contents) for entry in contents.entries]


def joined(ids: Sequence[int]) -> str:
    return ",".join(map(str, ids))


def _item(entry: Entry, contents: Contents) -> dict[str, Any]:
    row = entry.row
    origin = contents.origins[row.feed_id]
    return {
        "id": row.id,
        "feed_id": row.feed_id,
        "title": row.title,
        "author": row.author or "",
        "html": shown_content(entry, contents),
        "url": row.url or entry.external_url or origin.site_url or origin.url,
        "is_saved": int(row.states.starred),
        "is_read": int(row.states.read),
        "created_on_time": seconds(row.published_at if row.published_at is not None else row.sort_at),
    }
