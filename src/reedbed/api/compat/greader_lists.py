"""Lists of Google Reader: subscriptions, tags, unread counts, and who the user is."""

from typing import Any

from fastapi import Request, Response

from reedbed.api.compat.answers import json
from reedbed.api.compat.calls import Call
from reedbed.api.compat.greader_items import microseconds
from reedbed.api.compat.icons import icon_address
from reedbed.domain.entries import Counts
from reedbed.domain.following import Followed
from reedbed.domain.reader_ids import feed_name, label_name, state_name
from reedbed.domain.reader_labels import Labels, labels_of
from reedbed.domain.times import SECOND, Instant
from reedbed.services.runtime import Runtime
from reedbed.store import counts, folders, following


async def user_info(call: Call) -> Response:
    user = call.caller.user
    number = str(user.id)
    return json(
        {
            "userId": number,
            "userName": user.email,
            "userProfileId": number,
            "userEmail": user.email,
            "isBloggerUser": False,
            "signupTimeSec": user.created_at // SECOND,
            "isMultiLoginEnabled": False,
        }
    )


async def subscription_list(call: Call) -> Response:
    async with call.runtime.db.read() as tx:
        followed = await following.followed(tx, call.user_id)
        labels = labels_of(await folders.of_user(tx, call.user_id))
    shown = [
        _subscription(call.request, call.runtime, one, labels, place) for place, one in enumerate(followed)
    ]
    return json({"subscriptions": shown})


def _subscription(
    request: Request, runtime: Runtime, one: Followed, labels: Labels, place: int
) -> dict[str, Any]:
    label = labels.folders.get(one.folder_id) if one.folder_id is not None else None
    return {
        "id": feed_name(one.feed_id),
        "title": one.title,
        "categories": [{"id": label_name(label), "label": label}] if label else [],
        "sortid": f"{place:08X}",
        "firstitemmsec": str(one.subscribed_at),
        "url": one.url,
        "htmlUrl": one.site_url or one.url,
        "iconUrl": icon_address(request, runtime, one.icon_id) if one.icon_id is not None else "",
    }


async def tag_list(call: Call) -> Response:
    async with call.runtime.db.read() as tx:
        counted = await counts.counts(tx, call.user_id)
        labels = labels_of(await folders.of_user(tx, call.user_id))
    unread_in = _unread_by_folder(counted)
    shown: list[dict[str, Any]] = [{"id": state_name("starred"), "sortid": "00000000"}]
    shown += [
        {"id": label_name(label), "type": "folder", "unread_count": unread_in.get(folder_id, 0)}
        for folder_id, label in labels.folders.items()
    ]
    taken = {tag["id"] for tag in shown}
    shown += [
        {"id": label_name(tag.name), "type": "tag", "unread_count": tag.unread}
        for tag in counted.tags
        if label_name(tag.name) not in taken
    ]
    return json({"tags": [{**tag, "sortid": f"{place:08X}"} for place, tag in enumerate(shown)]})


async def unread_count(call: Call) -> Response:
    async with call.runtime.db.read() as tx:
        counted = await counts.counts(tx, call.user_id)
        labels = labels_of(await folders.of_user(tx, call.user_id))
        arrivals = await following.newest_arrivals(tx, call.user_id)
        newest_tagged = await following.newest_tagged(tx, call.user_id)
    newest = {feed_id: arrived for feed_id, (_, arrived) in arrivals.items()}
    rows = [
        _count(feed_name(one.feed_id), one.unread, newest.get(one.feed_id, 0))
        for one in counted.subscriptions
    ]
    rows += _folder_counts(counted, labels, newest)
    taken = {row["id"] for row in rows}
    rows += [
        _count(label_name(tag.name), tag.unread, newest_tagged.get(tag.name, 0))
        for tag in counted.tags
        if label_name(tag.name) not in taken
    ]
    rows.append(_count(state_name("reading-list"), counted.unread, max(newest.values(), default=0)))
    return json({"max": counted.unread, "unreadcounts": rows})


def _folder_counts(counted: Counts, labels: Labels, newest: dict[int, Instant]) -> list[dict[str, Any]]:
    unread_in = _unread_by_folder(counted)
    newest_in: dict[int | None, Instant] = {}
    for one in counted.subscriptions:
        arrived = newest.get(one.feed_id, 0)
        newest_in[one.folder_id] = max(newest_in.get(one.folder_id, 0), arrived)
    return [
        _count(label_name(label), unread_in.get(folder_id, 0), newest_in.get(folder_id, 0))
        for folder_id, label in labels.folders.items()
    ]


def _unread_by_folder(counted: Counts) -> dict[int | None, int]:
    """Of a folder's own feeds: those below it have a label of their own in an app."""
    unread_in: dict[int | None, int] = {}
    for one in counted.subscriptions:
        unread_in[one.folder_id] = unread_in.get(one.folder_id, 0) + one.unread
    return unread_in


def _count(name: str, unread: int, newest: Instant) -> dict[str, Any]:
    """The true moment of the newest entry: apps fetch again, or skip, by it."""
    return {"id": name, "count": unread, "newestItemTimestampUsec": microseconds(newest) if newest else "0"}
