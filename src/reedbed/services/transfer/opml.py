"""What a user has kept of entries, page by page, for taking it along."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import replace

import orjson

from reedbed.domain.entries import EntryRow, ViewQuery
from reedbed.domain.errors import Invalid, ReedbedError
from reedbed.domain.folders import FolderNode, build_tree
from reedbed.domain.live import ChangeEvent
from reedbed.domain.pagination import Cursor
from reedbed.domain.records import record
from reedbed.domain.subscriptions import Subscription
from reedbed.domain.transfer import ImportLine, ImportReport, OpmlDocument, OpmlFeed, OpmlOutline, feeds_of
from reedbed.domain.users import Allowance
from reedbed.ingest.discovery import typed_address
from reedbed.ingest.transfer import read_opml, write_opml
from reedbed.services.folders import find_or_create_path
from reedbed.services.refresh.check import wake_worker
from reedbed.services.runtime import Runtime
from reedbed.services.security import spend
from reedbed.services.subscriptions.discover import Address, split_credentials, without_credentials
from reedbed.services.subscriptions.manage import AlreadyFollowed, SubscribeOptions, follow_address
from reedbed.store import folders, subscriptions, tags, users
from reedbed.store.engine.database import Tx
from reedbed.store.entries import lists as entry_lists
from reedbed.store.entries import read as entry_texts
from reedbed.store.entries.read import EntryWords
from reedbed.store.feeds import feeds

LINES_AT_ONCE = 100
"""A file of thousands is written in pieces, so that nobody waits for all of it."""

CUT_OFF = ImportLine(
    "The rest of the file",
    "",
    "The file ends in its middle, so feeds may be missing. Export it again from your other reader and bring "
    "it in: what you follow already stays as it is.",
)


NO_ADDRESS = "Feed URL is required"
EMPTY_FOLDER = "This line has no feed address and no feeds inside it."
LISTED_TWICE = "The file lists this feed more than once. Its first line was used."

_NO_FEEDS = "This OPML file lists no feeds. Export the subscriptions from your other reader and try again."


async def import_opml(runtime: Runtime, user_id: int, body: bytes) -> ImportReport:
    """Follow every feed of the file and report each line that cannot be. Fetching goes on later."""
    document = await asyncio.to_thread(read_opml, body)
    feeds, others = listed_feeds(document)
    imported, skipped = 0, duplicates(others)
    reported: list[ImportLine] = [CUT_OFF] if document.cut_off else []
    for start in range(0, len(feeds), LINES_AT_ONCE):
        done = await follow_lines(runtime, user_id, feeds[start : start + LINES_AT_ONCE])
        imported += done.imported
        skipped += done.skipped
        reported.extend(done.lines)
        await _tell_progress(runtime, user_id, min(start + LINES_AT_ONCE, len(feeds)), len(feeds))
    async with runtime.db.write() as tx:
        await users.record_event(
            tx, runtime.now(), "opml_imported", user_id, {"imported": imported, "skipped": skipped}
        )
    await runtime.bus.publish(ChangeEvent("subscriptions", user_id=user_id))
    return ImportReport(imported, skipped, (*reported, *others))


def listed_feeds(document: OpmlDocument) -> tuple[list[OpmlFeed], list[ImportLine]]:
    """The feeds to follow, and a report on every other line: repeated ones and those without an address."""
    feeds: list[OpmlFeed] = []
    others: list[ImportLine] = []
    seen: set[str] = set()
    for line in feeds_of(document):
        title, url = without_credentials(line.outline.title), line.outline.xml_url
        if url is None:
            is_feed = line.outline.type == "rss" or line.outline.html_url
            missing = ImportLine(title, "", NO_ADDRESS)
            others.append(missing if is_feed else replace(missing, message=EMPTY_FOLDER, status="skipped"))
        elif (address := address_key(url)) in seen:
            others.append(ImportLine(title, without_credentials(url), LISTED_TWICE, "duplicate"))
        else:
            seen.add(address)
            feeds.append(line)
    if not feeds and not document.cut_off and not any(line.status == "error" for line in others):
        raise Invalid(_NO_FEEDS, field="file")
    return feeds, others


def address_key(url: str) -> str:
    """Equal for two lines that would follow the same feed."""
    try:
        return split_credentials(typed_address(url)).url
    except Invalid:
        return url


def duplicates(lines: Iterable[ImportLine]) -> int:
    return sum(line.status == "duplicate" for line in lines)


async def export_opml(runtime: Runtime, user_id: int, *, with_credentials: bool = False) -> bytes:
    """Names and passwords of feeds stand in their addresses, if they are wanted at all."""
    async with runtime.db.read() as tx:
        rows = await folders.of_user(tx, user_id)
        logins = await feeds.credentials(tx, user_id) if with_credentials else {}
        followed = await subscriptions.every(tx, user_id)
        extras = await subscriptions.opml_attributes(tx, user_id)
    inside: defaultdict[int | None, list[Subscription]] = defaultdict(list)
    for one in followed:
        if one.feed.kind == "web":  # no other reader could follow newsletters or saved pages by an address
            inside[one.folder_id].append(one)
    addresses = {
        one.feed.id: Address(one.feed.url, *logins.get(one.feed.id, (None, None))).whole for one in followed
    }
    attributes = {id_: orjson.loads(text) for id_, text in extras.items()}
    outlines = _outlines(build_tree(rows), inside, None, attributes, addresses)
    return write_opml(OpmlDocument("Reedbed subscriptions", outlines))


async def follow_lines(runtime: Runtime, user_id: int, lines: Sequence[OpmlFeed]) -> ImportReport:
    """Follow these feeds in their folders, in one transaction."""
    async with runtime.db.write() as tx:
        paths: dict[tuple[str, ...], int | None] = {(): None}
        done = [await _import_line(tx, runtime, user_id, line, paths) for line in lines]
    await wake_worker(runtime)
    counts = Counter(line.status for line in done)
    return ImportReport(counts["added"], counts["followed"] + counts["moved"], tuple(done))


async def _import_line(
    tx: Tx, runtime: Runtime, user_id: int, line: OpmlFeed, paths: dict[tuple[str, ...], int | None]
) -> ImportLine:
    outline = line.outline
    # The report is shown and kept with its job, so it names addresses without their passwords, and so do
    # titles: some readers export the address of a feed as its title.
    title, url = without_credentials(outline.title), without_credentials(outline.xml_url or "")
    folder_id = None
    try:
        address = typed_address(outline.xml_url or "")
        if line.path not in paths:
            paths[line.path] = await find_or_create_path(tx, runtime, user_id, line.path)
        folder_id = paths[line.path]
        wish = SubscribeOptions(address, folder_id, title.strip()[:254] or None, _kept_attributes(outline))
        await follow_address(tx, runtime.now(), user_id, wish, asked_url=split_credentials(address).url)
        return ImportLine(title, url, "", "added")
    except AlreadyFollowed as error:
        if folder_id and await subscriptions.move_to_folder(tx, user_id, error.subscription_id, folder_id):
            where = " / ".join(line.path)
            return ImportLine(title, url, f"You follow this feed already. It is now in {where}.", "moved")
        return ImportLine(title, url, "You follow this feed already.", "followed")
    except ReedbedError as error:
        return ImportLine(title, url, error.message)


def _kept_attributes(outline: OpmlOutline) -> str | None:
    return orjson.dumps(outline.attributes).decode() if outline.attributes else None


def _outlines(
    tree: Sequence[FolderNode],
    inside: Mapping[int | None, list[Subscription]],
    folder_id: int | None,
    extras: dict[int, list[tuple[str, str]]],
    addresses: Mapping[int, str],
) -> tuple[OpmlOutline, ...]:
    nested = tuple(
        OpmlOutline(node.name, children=_outlines(node.children, inside, node.id, extras, addresses))
        for node in tree
    )
    followed = tuple(
        OpmlOutline(
            one.title,
            xml_url=addresses[one.feed.id],
            html_url=one.feed.site_url,
            type="rss",
            attributes=tuple((name, value) for name, value in extras.get(one.id, ())),
        )
        for one in inside.get(folder_id, ())
    )
    return (*nested, *followed)


async def _tell_progress(runtime: Runtime, user_id: int, done: int, total: int) -> None:
    await runtime.bus.publish(
        ChangeEvent("progress", user_id=user_id, data={"what": "opml", "done": done, "total": total})
    )


AT_ONCE = 20
"""Entries in memory, each with its text."""
PER_USER = Allowance(5, 5 / 3600)


@record
class ExportedEntry:
    row: EntryRow
    words: EntryWords


async def spend_export(runtime: Runtime, user_id: int) -> None:
    await spend(
        runtime,
        f"export:{user_id}",
        PER_USER,
        "You have taken several exports already. Wait a few minutes.",
    )


async def kept_entries(runtime: Runtime, user_id: int) -> AsyncGenerator[ExportedEntry]:
    """Every entry that is starred, saved for later or tagged, once."""
    async for kept in _listed(runtime, user_id, ViewQuery("starred")):
        yield kept
    async for kept in _listed(runtime, user_id, ViewQuery("later")):
        if not kept.row.states.starred:
            yield kept
    async with runtime.db.read() as tx:
        names = [tag.name for tag in await tags.counts(tx, user_id)]
    for place, name in enumerate(names):
        async for kept in _listed(runtime, user_id, ViewQuery("all", tag=name)):
            if not _came_before(kept.row, names[:place]):
                yield kept


async def _listed(runtime: Runtime, user_id: int, query: ViewQuery) -> AsyncGenerator[ExportedEntry]:
    cursor: Cursor | None = None
    while True:
        async with runtime.db.read() as tx:
            page = await entry_lists.page(tx, user_id, query, cursor, AT_ONCE)
            rows = page.rows if page else ()
            words = await entry_texts.seen_by(tx, user_id, [row.id for row in rows])
        texts = {each.id: each for each in words}
        for row in rows:
            if row.id in texts:
                yield ExportedEntry(row, texts[row.id])
        cursor = page.next if page else None
        if cursor is None:
            return


def _came_before(row: EntryRow, earlier_tags: Sequence[str]) -> bool:
    states = row.states
    return states.starred or states.later or any(tag in earlier_tags for tag in states.tags)
