"""Import and export of subscription lists."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence

import orjson

from reedbed.domain.errors import Invalid, ReedbedError
from reedbed.domain.folders import FolderNode, build_tree
from reedbed.domain.hints import Hint
from reedbed.domain.opml import ImportProblem, ImportReport, OpmlDocument, OpmlFeed, OpmlOutline, feeds_of
from reedbed.domain.subscriptions import Subscription
from reedbed.domain.urls import feed_address
from reedbed.ingest.opml import read_opml, write_opml
from reedbed.services.credentials import split_credentials
from reedbed.services.folders import find_or_create_path
from reedbed.services.refresh import wake_worker
from reedbed.services.runtime import Runtime
from reedbed.services.subscriptions import AlreadyFollowed, Wish, follow_address
from reedbed.store import events, folders, subscriptions
from reedbed.store.database import Tx

LINES_AT_ONCE = 100
"""A file of thousands is written in pieces, so that nobody waits for all of it."""

CUT_OFF = ImportProblem(
    "The rest of the file",
    "",
    "The file ends in its middle, so feeds may be missing. Export it again from your other reader and bring "
    "it in: what you follow already stays as it is.",
)


_NO_FEEDS = "This OPML file lists no feeds. Export the subscriptions from your other reader and try again."


async def import_opml(runtime: Runtime, user_id: int, body: bytes) -> ImportReport:
    """Follow every feed of the file and report each line that cannot be. Fetching goes on later."""
    document = await asyncio.to_thread(read_opml, body)
    lines = listed_feeds(document)
    imported, skipped = 0, 0
    problems: list[ImportProblem] = [CUT_OFF] if document.cut_off else []
    for start in range(0, len(lines), LINES_AT_ONCE):
        done = await follow_lines(runtime, user_id, lines[start : start + LINES_AT_ONCE])
        imported += done.imported
        skipped += done.skipped
        problems.extend(done.errors)
        await _tell_progress(runtime, user_id, min(start + LINES_AT_ONCE, len(lines)), len(lines))
    async with runtime.db.write() as tx:
        await events.note(
            tx, runtime.now(), "opml_imported", user_id, {"imported": imported, "skipped": skipped}
        )
    await runtime.bus.publish(Hint("subscriptions", user_id=user_id))
    return ImportReport(imported, skipped, tuple(problems))


def listed_feeds(document: OpmlDocument) -> list[OpmlFeed]:
    """An empty list helps nobody; of one that was cut off its reader is told that."""
    lines = list(feeds_of(document))
    if not lines and not document.cut_off:
        raise Invalid(_NO_FEEDS, field="file")
    return lines


async def export_opml(runtime: Runtime, user_id: int) -> bytes:
    async with runtime.db.read() as tx:
        rows = await folders.of_user(tx, user_id)
        followed = await subscriptions.every(tx, user_id)
        extras = await subscriptions.opml_attributes(tx, user_id)
    inside: defaultdict[int | None, list[Subscription]] = defaultdict(list)
    for one in followed:
        if one.feed.kind == "web":  # no other reader could follow newsletters or saved pages by an address
            inside[one.folder_id].append(one)
    outlines = _outlines(
        build_tree(rows), inside, None, {id_: orjson.loads(text) for id_, text in extras.items()}
    )
    return write_opml(OpmlDocument("Reedbed subscriptions", outlines))


async def follow_lines(runtime: Runtime, user_id: int, lines: Sequence[OpmlFeed]) -> ImportReport:
    """Follow these feeds in their folders, in one transaction."""
    imported, skipped = 0, 0
    problems: list[ImportProblem] = []
    async with runtime.db.write() as tx:
        paths: dict[tuple[str, ...], int | None] = {(): None}
        for line in lines:
            try:
                await _import_line(tx, runtime, user_id, line, paths)
                imported += 1
            except AlreadyFollowed:
                skipped += 1
            except ReedbedError as error:
                problems.append(ImportProblem(line.outline.title, line.outline.xml_url or "", error.message))
    await wake_worker(runtime)
    return ImportReport(imported, skipped, tuple(problems))


async def _import_line(
    tx: Tx, runtime: Runtime, user_id: int, line: OpmlFeed, paths: dict[tuple[str, ...], int | None]
) -> None:
    address = feed_address(line.outline.xml_url or "")
    if line.path not in paths:
        paths[line.path] = await find_or_create_path(tx, runtime, user_id, line.path)
    wish = Wish(
        address, paths[line.path], line.outline.title.strip()[:254] or None, _kept_attributes(line.outline)
    )
    await follow_address(tx, runtime.now(), user_id, wish, asked_url=split_credentials(address).url)


def _kept_attributes(outline: OpmlOutline) -> str | None:
    return orjson.dumps(outline.attributes).decode() if outline.attributes else None


def _outlines(
    tree: Sequence[FolderNode],
    inside: Mapping[int | None, list[Subscription]],
    folder_id: int | None,
    extras: dict[int, list[tuple[str, str]]],
) -> tuple[OpmlOutline, ...]:
    nested = tuple(
        OpmlOutline(node.name, children=_outlines(node.children, inside, node.id, extras)) for node in tree
    )
    followed = tuple(
        OpmlOutline(
            one.title,
            xml_url=one.feed.url,
            html_url=one.feed.site_url,
            type="rss",
            attributes=tuple((name, value) for name, value in extras.get(one.id, ())),
        )
        for one in inside.get(folder_id, ())
    )
    return (*nested, *followed)


async def _tell_progress(runtime: Runtime, user_id: int, done: int, total: int) -> None:
    await runtime.bus.publish(
        Hint("progress", user_id=user_id, data={"what": "opml", "done": done, "total": total})
    )
