"""Entries as Google Reader items."""

from collections.abc import Sequence
from typing import Any

from reedbed.domain.entries import Entry
from reedbed.domain.feeds import Enclosure
from reedbed.domain.following import Origin
from reedbed.domain.full_articles import content_for_programs
from reedbed.domain.reader_ids import feed_name, label_name, long_id, state_name
from reedbed.domain.reader_labels import Labels, labels_of
from reedbed.domain.records import record
from reedbed.domain.times import SECOND, Instant
from reedbed.services.images import Pictures
from reedbed.store import entries, folders, following
from reedbed.store.database import Tx

LATEST_SECOND = 2**31 - 1
"""newsboat reads seconds into 32 bits."""

_READING_LIST, _READ, _STARRED = state_name("reading-list"), state_name("read"), state_name("starred")


@record
class Contents:
    entries: Sequence[Entry]
    origins: dict[int, Origin]
    labels: Labels
    pictures: Pictures


async def read_contents(tx: Tx, user_id: int, ids: list[int], pictures: Pictures) -> Contents:
    """Four statements, however many entries."""
    found = await entries.by_ids(tx, user_id, ids) if ids else []
    feed_ids = list({entry.row.feed_id for entry in found})
    origins = await following.origins(tx, user_id, feed_ids) if feed_ids else {}
    labels = labels_of(await folders.of_user(tx, user_id))
    return Contents(found, origins, labels, pictures)


def items(contents: Contents) -> list[dict[str, Any]]:
    return [_item(entry, contents) for entry in contents.entries]


def shown_content(entry: Entry, contents: Contents) -> str:
    full_text = contents.origins[entry.row.feed_id].full_text
    return contents.pictures.in_html(content_for_programs(entry, full_text))


def seconds(moment: Instant) -> int:
    return min(max(moment // SECOND, 0), LATEST_SECOND)


def microseconds(moment: Instant) -> str:
    return f"{moment}000"


def _item(entry: Entry, contents: Contents) -> dict[str, Any]:
    row = entry.row
    origin, labels = contents.origins[row.feed_id], contents.labels
    published = row.published_at if row.published_at is not None else row.sort_at
    # Apps take the first address without looking, so there always is one.
    address = row.url or entry.external_url or origin.site_url or origin.url
    item: dict[str, Any] = {
        "id": long_id(row.id),
        "crawlTimeMsec": str(row.fetched_at),
        "timestampUsec": microseconds(row.fetched_at),
        "published": seconds(published),
        "updated": seconds(row.changed_at if row.changed_at is not None else published),
        "title": row.title,
        "canonical": [{"href": address}],
        "alternate": [{"href": address, "type": "text/html"}],
        "summary": {"direction": "ltr", "content": shown_content(entry, contents)},
        "categories": _categories(entry, origin, labels),
        "origin": {
            "streamId": feed_name(row.feed_id),
            "title": origin.title,
            "htmlUrl": origin.site_url or origin.url,
        },
    }
    if row.author:
        item["author"] = row.author
    if entry.enclosures:
        item["enclosure"] = [_enclosure(one) for one in entry.enclosures]
    return item


def _categories(entry: Entry, origin: Origin, labels: Labels) -> list[str]:
    states = entry.row.states
    named = [_READING_LIST]
    if origin.folder_id is not None and origin.folder_id in labels.folders:
        named.append(label_name(labels.folders[origin.folder_id]))
    named += [label for tag in states.tags if (label := label_name(tag)) not in named]
    if states.read:
        named.append(_READ)
    if states.starred:
        named.append(_STARRED)
    return named


def _enclosure(one: Enclosure) -> dict[str, Any]:
    return {"href": one.url, "type": one.type or "", "length": one.length or 0}
